//! Convolutions over one to three axes. The image, the weight and the result are each linear in the other
//! two, so one op computes any of the three from the others and needs no other op for its gradients.

use std::borrow::Cow;

use smallvec::smallvec;

use super::spatial::{Spatial, places};
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::modes::{self, Flags};
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply, only,
};
use crate::kernel::conv::{self, Axes, ConvArray, Geometry};
use crate::ops::entry::{IntsOrStr, op};
use crate::ops::movement::reshape_to;
use crate::ops::pointwise::arithmetic::add;
use crate::ops::promote::{Class, promoted};
use crate::ops::terms::add_terms;
use crate::stored::Stored;

/// One of the three arrays of a convolution, computed from [the two others](ConvArray::others).
#[derive(Clone, Stored)]
#[stored(op)]
struct Conv {
    name: &'static str,
    geometry: Geometry,
    out: ConvArray,
}

/// A convolution that may round float32 to bfloat16 before it multiplies, and so may its gradients.
#[derive(Clone, Stored)]
#[stored(op)]
struct RoundedConv(Conv);

impl Conv {
    /// The result of the convolution, which may round if `rounds` says so.
    fn apply(self, rounds: bool, ins: [&Tensor; 2]) -> Result<Tensor> {
        if rounds { apply(RoundedConv(self), &ins) } else { apply(self, &ins) }
    }

    /// The array `out` of the same convolution, from two others.
    fn third(
        &self,
        rounds: bool,
        out: ConvArray,
        a: (ConvArray, &Tensor),
        b: (ConvArray, &Tensor),
    ) -> Result<Tensor> {
        let (a, b) = if (a.0 as usize) < b.0 as usize { (a.1, b.1) } else { (b.1, a.1) };
        Conv { name: self.name, geometry: self.geometry.clone(), out }.apply(rounds, [a, b])
    }

    fn gradients(&self, rounds: bool, g: &Tensor, s: &Saved<'_>) -> Result<Grads> {
        let of = self.out.others();
        let one = |i: usize| self.third(rounds, of[i], (of[1 - i], &s.input(1 - i)), (self.out, g));
        (0..2).map(|i| s.needs(i).then(|| one(i)).transpose()).collect()
    }

    fn tangents(&self, rounds: bool, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let of = self.out.others();
        // An operand is kept only if the other one may have a tangent.
        let one = |i: usize| {
            let of_other = |d| self.third(rounds, self.out, (of[i], d), (of[1 - i], &s.input(1 - i)));
            d[i].as_ref().map(of_other)
        };
        Ok(smallvec![add_terms([one(0).transpose()?, one(1).transpose()?])])
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = ins.of_one_dtype::<2>()?;
        let fits = dtype != DType::Bool && self.geometry.fits(self.out, dims);
        if fits { ins.make(&[(dtype, &[&self.geometry.dims(self.out)])]) } else { None }
    }

    fn computed(&self, rounds: bool, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        let Conv { name, geometry, out } = self;
        Ok([conv::convolve(name, geometry, *out, ins[0], ins[1], batch_ndim, rounds)?].into())
    }
}

/// An op that is a convolution, and whether it rounds.
macro_rules! op_of_conv {
    ($Op:ident $self:ident => $conv:expr, $rounds:literal) => {
        impl Op for $Op {
            fn name(&$self) -> &'static str {
                $conv.name
            }

            fn forward(&$self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
                $conv.computed($rounds, ins, batch_ndim)
            }

            fn makes(&$self, ins: &Operands<'_>) -> Option<Made> {
                $conv.makes(ins)
            }

            fn saves(&$self, needs: NeedsGrad) -> Saves {
                Saves::inputs(2).when(needs.has(0)).and(Saves::inputs(1).when(needs.has(1)))
            }

            fn vjp(&$self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
                $conv.gradients($rounds, only(g), s)
            }

            fn jvp(&$self, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
                $conv.tangents($rounds, d, s)
            }
        }
    };
}
op_of_conv!(Conv self => self, false);
op_of_conv!(RoundedConv self => self.0, true);

/// The result with the bias of its channels.
fn biased(op: &'static str, y: Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let Some(bias) = bias else { return Ok(y) };
    let channels = y.dims()[1];
    if bias.dims() != [channels] {
        bail!(Shape, op, "a bias of shape {:?} is not one of {channels} channels", bias.dims());
    }
    let mut dims = vec![1; y.dims().len() - 1];
    dims[0] = channels;
    add((&y).into(), (&reshape_to(bias, &dims)?).into())
}

fn shared(op: &'static str, groups: i64, a: usize, b: usize) -> Result<usize> {
    match usize::try_from(groups) {
        Ok(n) if n > 0 && a.is_multiple_of(n) && b.is_multiple_of(n) => Ok(n),
        _ => bail!(Argument, op, "{a} and {b} channels cannot be split into {groups} groups"),
    }
}

/// The image and the weight in one dtype: integers stay integers if both are.
fn operands<'a>(x: &'a Tensor, weight: &'a Tensor) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    let whole = [x, weight].iter().all(|t| t.dtype().kind() == DTypeKind::Int);
    promoted(if whole { Class::Num } else { Class::Real }, x.into(), weight.into())
}

/// Each window of the image times each filter.
#[expect(clippy::too_many_arguments, reason = "those of the public functions")]
fn convolve(
    at: Spatial,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: IntsOrStr<'_>,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    let op = at.op;
    let (x, weight) = operands(x, weight)?;
    let (x, had_batch) = at.batched(&x)?;
    let ((batch, channels, image), (filters, per_group, window)) = (at.sizes(&x)?, at.sizes(&weight)?);
    let groups = shared(op, groups, channels, filters)?;
    if per_group != channels / groups {
        let fits = channels / groups;
        bail!(
            Shape,
            op,
            "the image has {channels} channels, and the weight {:?} expects {per_group} in each of {groups} groups (groups={groups}); \
             it has to have {fits} in axis 1",
            weight.dims()
        );
    }
    let (stride, dilation) = (at.each("stride", stride, 1, 1)?, at.each("dilation", dilation, 1, 1)?);
    let (before, after) = match padding {
        IntsOrStr::Ints(list) => {
            let p = at.each("padding", list, 0, 0)?;
            (p, p)
        }
        IntsOrStr::Str("valid") => ([0; 3], [0; 3]),
        IntsOrStr::Str("same") if stride == [1; 3] => {
            let all: Axes = std::array::from_fn(|i| dilation[i].saturating_mul(window[i].saturating_sub(1)));
            let before = all.map(|n| n / 2);
            (before, std::array::from_fn(|i| all[i] - before[i]))
        }
        IntsOrStr::Str("same") => {
            bail!(Argument, op, "padding 'same' needs stride 1, not {:?}", at.own(&stride))
        }
        IntsOrStr::Str(word) => bail!(Argument, op, "padding is numbers, 'same' or 'valid', not '{word}'"),
    };
    let mut all = [0; 3];
    for i in 0..3 {
        let pads = before[i].saturating_add(after[i]);
        let Some(n) = places(image[i], pads, window[i], stride[i], dilation[i]) else {
            let padded: Axes =
                std::array::from_fn(|i| image[i].saturating_add(before[i]).saturating_add(after[i]));
            let wide: Axes =
                std::array::from_fn(|i| dilation[i].saturating_mul(window[i].saturating_sub(1)) + 1);
            bail!(
                Shape,
                op,
                "a window of {:?} (dilation {:?}) does not fit into an image of {:?} with padding {:?}: Calculated padded \
                 input size per channel: ({}). Kernel size: ({}). Kernel size can't be greater than actual input size",
                at.own(&window),
                at.own(&dilation),
                at.own(&image),
                at.own(&before),
                at.shown(&padded),
                at.shown(&wide)
            );
        };
        all[i] = n;
    }
    let axes = at.axes;
    let geometry = Geometry {
        batch,
        channels,
        filters,
        groups,
        axes,
        image,
        window,
        places: all,
        stride,
        dilation,
        before,
    };
    let rounds = modes::flags().has(Flags::ROUNDS_FACTORS);
    let y = Conv { name: op, geometry, out: ConvArray::Result }.apply(rounds, [&x, &weight])?;
    at.unbatched(biased(op, y, bias)?, had_batch)
}

/// The transpose of [`convolve`] with respect to its image: the pixels of `x` are the positions of the
/// windows.
#[expect(clippy::too_many_arguments, reason = "those of the public functions")]
fn transposed(
    at: Spatial,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<Tensor> {
    let op = at.op;
    let (x, weight) = operands(x, weight)?;
    let (x, had_batch) = at.batched(&x)?;
    let ((batch, filters, places), (given, per_group, window)) = (at.sizes(&x)?, at.sizes(&weight)?);
    if given != filters {
        bail!(Shape, op, "the image has {filters} channels, the weight {given}");
    }
    let groups = shared(op, groups, filters, filters)?;
    let (stride, dilation) = (at.each("stride", stride, 1, 1)?, at.each("dilation", dilation, 1, 1)?);
    let (before, extra) =
        (at.each("padding", padding, 0, 0)?, at.each("output_padding", output_padding, 0, 0)?);
    let mut image = [0; 3];
    for i in 0..3 {
        if extra[i] >= stride[i].max(dilation[i]) {
            bail!(Argument, op, "output_padding {:?} is smaller than stride or dilation", at.own(&extra));
        }
        let size = || {
            let steps = places[i].checked_sub(1)?.checked_mul(stride[i])?;
            let reach = dilation[i].checked_mul(window[i].checked_sub(1)?)?;
            let all = steps.checked_add(reach)?.checked_add(extra[i])?.checked_add(1)?;
            all.checked_sub(before[i].checked_mul(2)?)
        };
        let Some(n) = size() else {
            bail!(
                Shape,
                op,
                "an image of {:?} with a window of {:?} and padding {:?} leaves nothing",
                at.own(&places),
                at.own(&window),
                at.own(&before)
            );
        };
        image[i] = n;
    }
    let Some(channels) = per_group.checked_mul(groups) else { bail!(Shape, op, "too many channels") };
    let axes = at.axes;
    let geometry =
        Geometry { batch, channels, filters, groups, axes, image, window, places, stride, dilation, before };
    let rounds = modes::flags().has(Flags::ROUNDS_FACTORS);
    let y = Conv { name: op, geometry, out: ConvArray::Image }.apply(rounds, [&weight, &x])?;
    at.unbatched(biased(op, y, bias)?, had_batch)
}

/// The public functions for a number of axes: what the inputs are called, the names of their axes, and sizes for the
/// examples.
macro_rules! convolutions {
    ($($axes:literal $inputs:literal $sizes:literal, $three:literal $four:literal $eight:literal $nine:literal:
        $conv:ident $transposed:ident $alias:ident;)*) => { $(
        #[doc = concat!("The cross-correlation of ", $inputs, " `[batch, channels, ", $sizes, "]` (or of one without a batch)")]
        #[doc = concat!("with the filters `[filters, channels / groups, ", $sizes, "]` of a weight.")]
        ///
        /// `y[b, f, p] = Σ x[b, c, p · stride + k · dilation - padding] · weight[f, c, k]`, with zeros outside of x. One
        /// number stands for all axes. The padding 'same' keeps the size and needs stride 1; 'valid' pads nothing. Sums of
        /// products of integers have to stay below 2^53.
        ///
        /// ```python
        #[doc = concat!(
            ">>> fg.", stringify!($conv), "(fg.ones((1, 3, ", $eight, ")), fg.ones((4, 3, ", $three,
            ")), stride=2, padding=1).shape"
        )]
        #[doc = concat!("(1, 4, ", $four, ")")]
        /// ```
        #[op(function, heavy, torch(LaidAsImagesByWeight))]
        pub fn $conv(
            x: &Tensor,
            weight: &Tensor,
            #[default(None)] bias: Option<&Tensor>,
            #[default([1])] stride: &[i64],
            #[default([0])] padding: IntsOrStr<'_>,
            #[default([1])] dilation: &[i64],
            #[default(1)] groups: i64,
        ) -> Result<Tensor> {
            let at = Spatial { op: stringify!($conv), axes: $axes };
            convolve(at, x, weight, bias, stride, padding, dilation, groups)
        }

        #[doc = concat!("The transpose of `", stringify!($conv), "` with respect to its input: x is `[batch, channels, ", $sizes, "]`,")]
        #[doc = concat!("the weight `[channels, filters / groups, ", $sizes, "]`.")]
        ///
        /// An axis of size n gets the size (n - 1) · stride - 2 · padding + dilation · (k - 1) + 1 + output_padding.
        ///
        /// ```python
        #[doc = concat!(
            ">>> fg.", stringify!($transposed), "(fg.ones((1, 4, ", $four, ")), fg.ones((4, 3, ", $three,
            ")), stride=2).shape"
        )]
        #[doc = concat!("(1, 3, ", $nine, ")")]
        /// ```
        #[op(function, names(stringify!($transposed), stringify!($alias)), heavy, torch(LaidAsImagesByWeight))]
        #[expect(clippy::too_many_arguments, reason = "those of PyTorch's function")]
        pub fn $transposed(
            x: &Tensor,
            weight: &Tensor,
            #[default(None)] bias: Option<&Tensor>,
            #[default([1])] stride: &[i64],
            #[default([0])] padding: &[i64],
            #[default([0])] output_padding: &[i64],
            #[default(1)] groups: i64,
            #[default([1])] dilation: &[i64],
        ) -> Result<Tensor> {
            let at = Spatial { op: stringify!($transposed), axes: $axes };
            transposed(at, x, weight, bias, stride, padding, output_padding, groups, dilation)
        }
    )* };
}
convolutions! {
    1 "sequences" "length", "3" "4" "8" "9": conv1d conv_transpose1d conv1d_transpose;
    2 "images" "height, width", "3, 3" "4, 4" "8, 8" "9, 9": conv2d conv_transpose2d conv2d_transpose;
    3 "volumes" "depth, height, width", "3, 3, 3" "4, 4, 4" "8, 8, 8" "9, 9, 9":
        conv3d conv_transpose3d conv3d_transpose;
}
