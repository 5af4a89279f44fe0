//! Losses for classification.

use std::borrow::Cow;

use smallvec::smallvec;

use super::reduction::Reduction;
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{
    Cotangents, Grads, Kernel, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor,
    Unrecorded, apply, only, unrecorded,
};
use crate::kernel::broadcast::{broadcast_batch, broadcast_batch_pair};
use crate::kernel::{output, softmax};
use crate::ops::entry::op;
use crate::ops::gather::gather;
use crate::ops::movement::{cast, permute_dims, reshape_to};
use crate::ops::nn::softmax::{log_softmax, softmax, softmax_gradient, sum_rows};
use crate::ops::promote::promoted_float;
use crate::ops::terms::add_terms;
use crate::shape::{self, Dims};
use crate::stored::Stored;

/// The cross entropy of rows of logits with one class each (int64, -1 for none); the last axis has size 1.
/// The second output, the log-sum-exp of the rows, is used by the gradient and is not differentiated.
#[derive(Stored)]
#[stored(op)]
struct CrossEntropy;

/// Its gradient, from `g`, logits, log-sum-exp (treated as a function of the logits) and classes.
#[derive(Stored)]
#[stored(op)]
struct CrossEntropyGrad;

impl Op for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let (x, classes) = broadcast_batch_pair(ins[0], ins[1], batch_ndim);
        let (lse, loss) = softmax::cross_entropy("cross_entropy", &x, Some(&classes))?;
        Ok([loss, lse].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(dtype, &[ref lead @ .., _]), (DType::I64, classes)] = ins.each()? else { return None };
        let fits = dtype.is_float() && shape::checked_len(classes) == shape::checked_len(lead);
        let column: (DType, &[&[usize]]) = (dtype, &[lead, &[1]]);
        if fits { ins.make(&[column, column]) } else { None }
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::inputs(3).and(Saves::outputs(2))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None, None]) };
        let lse = s.output(1).detach();
        Ok(smallvec![Some(apply(CrossEntropyGrad, &[g, &s.input(0), &lse, &s.input(1)])?), None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let t = only(t);
        Ok(smallvec![Some(along_gradient(t, &s.input(0), &s.input(1))?), None])
    }
}

impl Op for CrossEntropyGrad {
    fn name(&self) -> &'static str {
        "cross_entropy_gradient"
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let all = broadcast_batch([ins[0], ins[1], ins[2], ins[3]], batch_ndim);
        Ok([softmax::cross_entropy_gradient(self.name(), all.each_ref())?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let [(of_g, g), (dtype, x @ &[ref lead @ .., _]), (same, lse), (DType::I64, classes)] = ins.each()?
        else {
            return None;
        };
        let are_rows = [g, lse, classes].iter().all(|x| shape::checked_len(x) == shape::checked_len(lead));
        let fits = are_rows && of_g == dtype && same == dtype && dtype.is_float();
        if fits { ins.make(&[(dtype, &[x])]) } else { None }
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        Saves::inputs(0b1110).and(Saves::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, c: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let c = only(c);
        let (x, classes) = (s.input(1), s.input(3));
        let by_g = || along_gradient(c, &x, &classes);
        let by_x = || softmax_gradient(&(c * live(&s.input(0), &classes)?), &softmax(&x, -1)?);
        Ok(smallvec![s.needs(0).then(by_g).transpose()?, s.needs(1).then(by_x).transpose()?, None, None])
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let (x, lse, classes) = (s.input(1), s.input(2), s.input(3));
        let by_g = |t: &Tensor| apply(CrossEntropyGrad, &[t, &x, &lse, &classes]);
        let by_x = |t: &Tensor| -> Result<Tensor> {
            Ok(live(&s.input(0), &classes)? * softmax_gradient(t, &softmax(&x, -1)?)?)
        };
        let (g, x) = (t[0].as_ref().map(by_g).transpose()?, t[1].as_ref().map(by_x).transpose()?);
        Ok(smallvec![add_terms([g, x])])
    }
}

/// The inner product of `c` with each row's gradient, `softmax(x) - [the class]`.
fn along_gradient(c: &Tensor, x: &Tensor, classes: &Tensor) -> Result<Tensor> {
    Ok(live(&sum_rows(&(c * softmax(x, -1)?))?, classes)? - gather("gather", c, classes, 1)?)
}

/// `x` for rows with a class, 0 for the others.
fn live(x: &Tensor, classes: &Tensor) -> Result<Tensor> {
    let first = clamped(classes)?;
    gather("gather", x, &first, 1)
}

/// 0 for every class, -1 for none.
fn clamped(classes: &Tensor) -> Result<Tensor> {
    unrecorded(Clamped, &[classes]).expect("integers have no edge")
}

/// See [`clamped`].
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Clamped;

impl Kernel for Clamped {
    fn name(&self) -> &'static str {
        "cross_entropy"
    }

    fn compute(&self, ins: &[&Array], _: usize) -> Result<Array> {
        let array = ins[0].contiguous()?;
        let named = array.as_slice::<i64>().expect("contiguous");
        output::build::<i64>("cross_entropy", array.dims(), 1, |first, out| {
            out.iter_mut().zip(&named[first..]).for_each(|(o, &c)| *o = c.min(0));
        })
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<1>(0, |dtype| dtype == DType::I64)
    }
}

/// Logits as rows, one for each sample.
struct Rows<'a> {
    op: &'static str,
    /// The predictions with the classes on the last axis.
    x: Cow<'a, Tensor>,
    /// The axis of the classes in what was given.
    axis: usize,
    /// The shape of the samples.
    samples: Dims,
    classes: usize,
}

/// The targets of a program: -1 for those that are ignored.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Targets {
    op: &'static str,
    ignore: i64,
    classes: usize,
}

impl Targets {
    /// The targets, which are contiguous now, and whether one is ignored.
    fn checked(&self, x: &Array) -> Result<(Array, bool)> {
        let x = x.contiguous()?;
        let ignored = is_any_ignored(self.op, x.as_slice().expect("contiguous"), self.ignore, self.classes)?;
        Ok((x, ignored))
    }
}

impl Kernel for Targets {
    fn name(&self) -> &'static str {
        self.op
    }

    fn compute(&self, ins: &[&Array], _: usize) -> Result<Array> {
        without_ignored(self.op, &self.checked(ins[0])?.0, self.ignore)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.like::<1>(0, |dtype| dtype == DType::I64)
    }
}

/// Whether a target is ignored. Refuses targets that are no class.
fn is_any_ignored(op: &'static str, targets: &[i64], ignore: i64, classes: usize) -> Result<bool> {
    let outside = |&&c: &&i64| c != ignore && usize::try_from(c).map_or(true, |c| c >= classes);
    if let Some(c) = targets.iter().find(outside) {
        bail!(Index, op, "target {c} is not one of the {classes} classes");
    }
    Ok(targets.contains(&ignore))
}

/// The targets with -1 for those that are ignored.
fn without_ignored(op: &'static str, targets: &Array, ignore: i64) -> Result<Array> {
    let given = targets.as_slice::<i64>().expect("contiguous");
    output::build::<i64>(op, targets.dims(), 1, |first, out| {
        out.iter_mut().zip(&given[first..]).for_each(|(o, &c)| *o = if c == ignore { -1 } else { c });
    })
}

impl<'a> Rows<'a> {
    fn new(op: &'static str, input: &'a Tensor, axis: Option<i64>) -> Result<Rows<'a>> {
        let axis = shape::axis(op, axis.unwrap_or(if input.rank() > 1 { 1 } else { 0 }), input.rank())?;
        let x = promoted_float(input)?;
        let mut samples = Dims::from_slice(input.dims());
        let classes = samples.remove(axis);
        let mut rows = Rows { op, x: Cow::Borrowed(input), axis, samples, classes };
        rows.x = if axis + 1 == input.rank() { x } else { Cow::Owned(rows.last(&x)?) };
        Ok(rows)
    }

    /// A tensor of the input's shape with the classes moved to the last axis.
    fn last(&self, x: &Tensor) -> Result<Tensor> {
        let others = (0..x.rank()).filter(|&a| a != self.axis);
        permute_dims(x, &others.chain([self.axis]).map(|a| a as i64).collect::<Vec<_>>())
    }

    /// The targets as a column of classes, -1 for ignored ones, and whether any is ignored.
    fn named(&self, target: &Tensor, ignore: i64) -> Result<(Tensor, bool)> {
        let op = self.op;
        let column: Dims = self.samples.iter().copied().chain([1]).collect();
        let mut kept = self.samples.clone();
        kept.insert(self.axis, 1);
        if target.dims() != self.samples.as_slice() && target.dims() != kept.as_slice() {
            let why = match (self.samples.as_slice(), target.dims()) {
                ([samples], [targets]) => {
                    format!("Expected input batch_size ({samples}) to match target batch_size ({targets}): ")
                }
                ([_], _) => "1D target tensor expected, multi-target not supported: ".to_owned(),
                _ => String::new(),
            };
            bail!(
                Shape,
                op,
                "{why}targets of shape {:?} for samples of shape {:?}",
                target.dims(),
                &self.samples[..]
            );
        }
        if target.dtype().kind() != DTypeKind::Int {
            bail!(Dtype, op, "class labels are integers, not {}: target.astype('int64')", target.dtype());
        }
        let target = reshape_to(&cast(&target.detach(), DType::I64)?, &column)?;
        let targets = Targets { op, ignore, classes: self.classes };
        if target.array.is_sealed() {
            // The targets of a later run of the program may be ignored. Weights of 1 give the same bits as none.
            let named = unrecorded(targets, &[&target]);
            return Ok((named.expect("integers have no edge")?, true));
        }
        let (array, ignored) = targets.checked(&target.array)?;
        let array = if ignored { without_ignored(op, &array, ignore)? } else { array };
        Ok((Tensor { array, ..target }, ignored))
    }

    /// One weight for each class, in the dtype of the predictions.
    fn weight(&self, weight: Option<&Tensor>) -> Result<Option<Tensor>> {
        let Some(w) = weight else { return Ok(None) };
        if w.dims() != [self.classes] {
            bail!(
                Shape,
                self.op,
                "weight tensor should be defined either for all {} classes or no classes, not in the shape {:?}",
                self.classes,
                w.dims()
            );
        }
        cast(w, self.x.dtype()).map(Some)
    }

    /// The weight of each sample as a column: that of its class, or 0 if it is ignored. None if all are 1.
    fn sample_weights(
        &self,
        named: &Tensor,
        ignored: bool,
        weight: Option<&Tensor>,
    ) -> Result<Option<Tensor>> {
        let ones = || {
            let one = Array::full_of(self.x.dtype(), &[self.classes.max(1)], 1.0);
            Tensor::constant(one)
        };
        let weight = match weight {
            Some(w) => w.clone(),
            None if ignored => ones(),
            None => return Ok(None),
        };
        let flat = reshape_to(named, &[shape::len(named.dims())])?;
        // With no classes there is nothing to gather from, and all samples are ignored.
        let weight = if self.classes == 0 { ones() } else { weight };
        reshape_to(&gather("gather", &weight, &flat, 1)?, named.dims()).map(Some)
    }

    /// A column in the shape of the samples.
    fn samples(&self, column: &Tensor) -> Result<Tensor> {
        reshape_to(column, &self.samples)
    }
}

/// Refuses scores of integers beside labels of floats and of another shape, which are each other's arguments.
fn check_order(op: &'static str, x: &Tensor, target: &Tensor) -> Result<()> {
    if !x.dtype().is_differentiable() && target.dtype().is_float() && x.dims() != target.dims() {
        bail!(
            Dtype,
            op,
            "the first argument, the scores of the classes, is of {}, and the second, the labels, of {}: are the \
             arguments swapped?",
            x.dtype(),
            target.dtype()
        );
    }
    Ok(())
}

/// The cross entropy between the softmax of logits along `axis` (by default 1, for a vector 0) and targets:
/// integers (the shape without that axis, or with size 1 there) or probabilities (floats of the shape of
/// `x`). `weight` has a number for each class; samples whose target is `ignore_index` do not count;
/// `reduction` is 'mean' (by the weights), 'sum' or 'none'. Raises IndexOutOfRange for a target that is no
/// class.
///
/// ```python
/// >>> fg.cross_entropy(fg.tensor([[0., 0.]]), fg.tensor([1])).item()
/// 0.6931471824645996
/// ```
#[allow(clippy::too_many_arguments)]
#[op(function)]
pub fn cross_entropy(
    x: &Tensor,
    target: &Tensor,
    #[default(None)] weight: Option<&Tensor>,
    #[default(-100)] ignore_index: i64,
    #[default("mean")] reduction: &str,
    #[default(0.0)] label_smoothing: f64,
    #[default(None)] axis: Option<i64>,
) -> Result<Tensor> {
    let op = "cross_entropy";
    let reduction = Reduction::parse(op, reduction)?;
    if !(0.0..=1.0).contains(&label_smoothing) {
        bail!(Argument, op, "label_smoothing must be between 0.0 and 1.0, not {label_smoothing}");
    }
    check_order(op, x, target)?;
    let rows = Rows::new(op, x, axis)?;
    let weight = rows.weight(weight)?;
    let smooth = label_smoothing / rows.classes.max(1) as f64;
    if target.dtype().is_float() {
        if target.dims() != x.dims() {
            bail!(
                Shape,
                op,
                "targets of floats are probabilities and have the input's shape {:?}, not {:?}; class labels are integers: \
                 target.astype('int64')",
                x.dims(),
                target.dims()
            );
        }
        let mut p = rows.last(&cast(target, rows.x.dtype())?)?;
        if label_smoothing > 0.0 {
            p = p * (1.0 - label_smoothing) + smooth;
        }
        if let Some(w) = &weight {
            p = p * w;
        }
        let loss = rows.samples(&-sum_rows(&(p * log_softmax(&rows.x, -1)?))?)?;
        return reduction.of(&loss, None);
    }
    let (named, ignored) = rows.named(target, ignore_index)?;
    let weights = rows.sample_weights(&named, ignored, weight.as_ref())?;
    let mut loss = if label_smoothing > 0.0 {
        let p = log_softmax(&rows.x, -1)?;
        let own = gather("gather", &p, &named, 1)?;
        let own = if weight.is_some() { own * weights.as_ref().expect("of the classes") } else { own };
        let all = live(&sum_rows(&weight.as_ref().map_or_else(|| p.clone(), |w| &p * w))?, &named)?;
        -(own * (1.0 - label_smoothing) + all * smooth)
    } else {
        apply(CrossEntropy, &[&rows.x, &named])?
    };
    if let (Some(w), true) = (&weights, weight.is_some() && label_smoothing == 0.0) {
        loss = loss * w;
    }
    reduction.of(&rows.samples(&loss)?, weights.as_ref())
}

/// The negative log-probability of each sample's class: `cross_entropy` of log-probabilities.
///
/// ```python
/// >>> fg.nll_loss(fg.tensor([[-1., -2.]]), fg.tensor([1])).item()
/// 2.0
/// ```
#[op(function)]
pub fn nll_loss(
    x: &Tensor,
    target: &Tensor,
    #[default(None)] weight: Option<&Tensor>,
    #[default(-100)] ignore_index: i64,
    #[default("mean")] reduction: &str,
    #[default(None)] axis: Option<i64>,
) -> Result<Tensor> {
    let op = "nll_loss";
    let reduction = Reduction::parse(op, reduction)?;
    check_order(op, x, target)?;
    let rows = Rows::new(op, x, axis)?;
    let weight = rows.weight(weight)?;
    let (named, ignored) = rows.named(target, ignore_index)?;
    let weights = rows.sample_weights(&named, ignored, weight.as_ref())?;
    let own = -gather("gather", &rows.x, &named, 1)?;
    let loss = match &weights {
        Some(w) if weight.is_some() => own * w,
        _ => own,
    };
    reduction.of(&rows.samples(&loss)?, weights.as_ref())
}
