//! Convolutions of images. The image, the weight and the result are each linear in the two others, so one op with three
//! faces is its own family of gradients.

use smallvec::smallvec;

use super::arithmetic::add;
use super::entry::{IntsOrStr, entries};
use super::movement::reshape_to;
use super::promote::{Class, promoted};
use crate::array::Array;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply};
use crate::kernel::conv::{self, Geometry, Third};
use crate::shape::Dims;

const THIRDS: [Third; 3] = [Third::Image, Third::Weight, Third::Result];

/// One of the three arrays of a convolution, made of the two others, which come in the order of [`THIRDS`].
#[derive(Clone)]
struct Conv {
    geometry: Geometry,
    out: Third,
}

impl Conv {
    /// Which arrays the inputs are.
    fn inputs(&self) -> [Third; 2] {
        let mut others = THIRDS.into_iter().filter(|&t| t != self.out);
        std::array::from_fn(|_| others.next().expect("two of three"))
    }

    /// The array `out` of the same convolution, from two others.
    fn third(&self, out: Third, a: (Third, &Tensor), b: (Third, &Tensor)) -> Result<Tensor> {
        let (a, b) = if (a.0 as usize) < b.0 as usize { (a.1, b.1) } else { (b.1, a.1) };
        apply(Conv { geometry: self.geometry.clone(), out }, &[a, b])
    }
}

impl Op for Conv {
    fn name(&self) -> &'static str {
        "conv2d"
    }

    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        Ok([conv::third(self.name(), &self.geometry, self.out, ins[0], ins[1], lanes)?].into())
    }

    fn keeps(&self, needs: Needs) -> Keeps {
        Keeps::inputs(2).when(needs.has(0)).and(Keeps::inputs(1).when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None, None]) };
        let of = self.inputs();
        let one = |i: usize| self.third(of[i], (of[1 - i], &s.input(1 - i)), (self.out, g));
        (0..2).map(|i| s.needs(i).then(|| one(i)).transpose()).collect()
    }

    fn jvp(&self, d: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let of = self.inputs();
        let one =
            |i: usize| d[i].as_ref().map(|d| self.third(self.out, (of[i], d), (of[1 - i], &s.input(1 - i))));
        Ok(smallvec![match (one(0).transpose()?, one(1).transpose()?) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }])
    }
}

/// Two sizes, of which one may stand for both, each at least `least`.
pub(super) fn pair(op: &'static str, what: &str, list: &[i64], least: i64) -> Result<[usize; 2]> {
    let [a, b] = match *list {
        [both] => [both, both],
        [a, b] => [a, b],
        _ => bail!(Argument, op, "{what} is one number or two, not {list:?}"),
    };
    match (usize::try_from(a), usize::try_from(b)) {
        (Ok(x), Ok(y)) if a >= least && b >= least => Ok([x, y]),
        _ => bail!(Argument, op, "{what} is at least {least}, not {list:?}"),
    }
}

/// The number of places of a window along one axis; none if the window does not fit once.
pub(super) fn places(
    image: usize,
    pads: usize,
    window: usize,
    stride: usize,
    dilation: usize,
) -> Option<usize> {
    let reach = dilation.checked_mul(window.checked_sub(1)?)?.checked_add(1)?;
    Some(image.checked_add(pads)?.checked_sub(reach)? / stride + 1)
}

/// An image with its batch axis, and whether it had one.
pub(super) fn batched(op: &'static str, x: &Tensor) -> Result<(Tensor, bool)> {
    match *x.dims() {
        [_, _, _, _] => Ok((x.clone(), true)),
        [c, h, w] => Ok((reshape_to(x, &[1, c, h, w])?, false)),
        ref dims => bail!(Shape, op, "images are [batch, channels, height, width], not {dims:?}"),
    }
}

/// The result without the batch axis that its input had not, and with the bias of its channels.
fn finished(op: &'static str, y: Tensor, had_batch: bool, bias: Option<&Tensor>) -> Result<Tensor> {
    let channels = y.dims()[1];
    let y = match bias {
        None => y,
        Some(b) if b.dims() == [channels] => add((&y).into(), (&reshape_to(b, &[channels, 1, 1])?).into())?,
        Some(b) => bail!(Shape, op, "a bias of shape {:?} is not one of {channels} channels", b.dims()),
    };
    if had_batch { Ok(y) } else { reshape_to(&y, &Dims::from_slice(&y.dims()[1..])) }
}

fn shared(op: &'static str, groups: i64, a: usize, b: usize) -> Result<usize> {
    match usize::try_from(groups) {
        Ok(n) if n > 0 && a.is_multiple_of(n) && b.is_multiple_of(n) => Ok(n),
        _ => bail!(Argument, op, "{a} and {b} channels cannot be split into {groups} groups"),
    }
}

/// Each window of an image times each filter.
pub fn conv2d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: IntsOrStr<'_>,
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    const OP: &str = "conv2d";
    let (x, weight) = promoted(Class::Real, x.into(), weight.into())?;
    let (x, had_batch) = batched(OP, &x)?;
    let (&[batch, channels, h, w], &[filters, per_group, kh, kw]) = (x.dims(), weight.dims()) else {
        bail!(Shape, OP, "a weight is [filters, channels / groups, height, width], not {:?}", weight.dims());
    };
    let groups = shared(OP, groups, channels, filters)?;
    if per_group != channels / groups {
        let fits = channels / groups;
        bail!(
            Shape,
            OP,
            "{channels} channels in {groups} groups are {fits} a filter, the weight has {per_group}"
        );
    }
    let (stride, dilation) = (pair(OP, "stride", stride, 1)?, pair(OP, "dilation", dilation, 1)?);
    let (image, window) = ([h, w], [kh, kw]);
    let (before, after) = match padding {
        IntsOrStr::Ints(list) => {
            let p = pair(OP, "padding", list, 0)?;
            (p, p)
        }
        IntsOrStr::Str("valid") => ([0; 2], [0; 2]),
        IntsOrStr::Str("same") if stride == [1, 1] => {
            let all = |i: usize| dilation[i].saturating_mul(window[i].saturating_sub(1));
            let before = [all(0) / 2, all(1) / 2];
            (before, [all(0) - before[0], all(1) - before[1]])
        }
        IntsOrStr::Str("same") => bail!(Argument, OP, "padding 'same' needs stride 1, not {stride:?}"),
        IntsOrStr::Str(word) => bail!(Argument, OP, "padding is numbers, 'same' or 'valid', not '{word}'"),
    };
    let along = |i: usize| -> Result<usize> {
        let pads = before[i].saturating_add(after[i]);
        let Some(n) = places(image[i], pads, window[i], stride[i], dilation[i]) else {
            bail!(
                Shape,
                OP,
                "a window of {window:?} (dilation {dilation:?}) does not fit into an image of {image:?} with padding {before:?}"
            );
        };
        Ok(n)
    };
    let places = [along(0)?, along(1)?];
    let geometry =
        Geometry { batch, channels, filters, groups, image, window, places, stride, dilation, before };
    let y = apply(Conv { geometry, out: Third::Result }, &[&x, &weight])?;
    finished(OP, y, had_batch, bias)
}

/// Each pixel times each filter, added up where the windows overlap: the transpose of [`conv2d`] by its image.
#[allow(clippy::too_many_arguments)]
pub fn conv_transpose2d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    padding: &[i64],
    output_padding: &[i64],
    groups: i64,
    dilation: &[i64],
) -> Result<Tensor> {
    const OP: &str = "conv_transpose2d";
    let (x, weight) = promoted(Class::Real, x.into(), weight.into())?;
    let (x, had_batch) = batched(OP, &x)?;
    let (&[batch, filters, h, w], &[given, per_group, kh, kw]) = (x.dims(), weight.dims()) else {
        bail!(Shape, OP, "a weight is [channels, filters / groups, height, width], not {:?}", weight.dims());
    };
    if given != filters {
        bail!(Shape, OP, "the image has {filters} channels, the weight {given}");
    }
    let groups = shared(OP, groups, filters, filters)?;
    let (stride, dilation) = (pair(OP, "stride", stride, 1)?, pair(OP, "dilation", dilation, 1)?);
    let (before, extra) = (pair(OP, "padding", padding, 0)?, pair(OP, "output_padding", output_padding, 0)?);
    let (places, window) = ([h, w], [kh, kw]);
    let along = |i: usize| -> Result<usize> {
        if extra[i] >= stride[i].max(dilation[i]) {
            bail!(Argument, OP, "output_padding {extra:?} is smaller than stride or dilation");
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
                OP,
                "an image of {places:?} with a window of {window:?} and padding {before:?} leaves nothing"
            );
        };
        Ok(n)
    };
    let image = [along(0)?, along(1)?];
    let Some(channels) = per_group.checked_mul(groups) else { bail!(Shape, OP, "too many channels") };
    let geometry =
        Geometry { batch, channels, filters, groups, image, window, places, stride, dilation, before };
    let y = apply(Conv { geometry, out: Third::Image }, &[&weight, &x])?;
    finished(OP, y, had_batch, bias)
}

/// Each window of a sequence times each filter.
pub fn conv1d(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: i64,
    padding: IntsOrStr<'_>,
    dilation: i64,
    groups: i64,
) -> Result<Tensor> {
    const OP: &str = "conv1d";
    let flat = |t: &Tensor| -> Result<Tensor> {
        match t.dims() {
            [lead @ .., n] if matches!(lead.len(), 1 | 2) => {
                reshape_to(t, &lead.iter().copied().chain([1, *n]).collect::<Dims>())
            }
            dims => bail!(
                Shape,
                OP,
                "sequences are [batch, channels, length] and weights [filters, channels / groups, length], not {dims:?}"
            ),
        }
    };
    let tall;
    let padding = match padding {
        IntsOrStr::Ints(&[p]) => {
            tall = [0, p];
            IntsOrStr::Ints(&tall)
        }
        IntsOrStr::Ints(list) => bail!(Argument, OP, "padding is one number, not {list:?}"),
        word => word,
    };
    let y = conv2d(&flat(x)?, &flat(weight)?, bias, &[1, stride], padding, &[1, dilation], groups)?;
    let (&n, lead) = y.dims().split_last().expect("an image");
    reshape_to(&y, &lead[..lead.len() - 1].iter().copied().chain([n]).collect::<Dims>())
}

entries! {
    function conv2d (x: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None, stride: &[i64] = Ints(&[1]), padding: IntsOrStr<'_> = Ints(&[0]), dilation: &[i64] = Ints(&[1]), groups: i64 = Int(1))
        "The cross-correlation of images [batch, channels, height, width] (or one of them) with the filters\n\n\
        [filters, channels / groups, height, width] of a weight: y[b, f, p] = Σ x[b, c, p · stride + k · dilation - padding]\n\
        · weight[f, c, k], with zeros outside of the image.\n\n\
        Numbers are one for both axes, or two. padding='same' keeps the size (stride 1), 'valid' pads nothing.\n\n\
        >>> fg.conv2d(fg.ones((1, 3, 8, 8)), fg.ones((4, 3, 3, 3)), stride=2, padding=1).shape\n(1, 4, 4, 4)";
    function conv_transpose2d | conv2d_transpose (x: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None, stride: &[i64] = Ints(&[1]), padding: &[i64] = Ints(&[0]), output_padding: &[i64] = Ints(&[0]), groups: i64 = Int(1), dilation: &[i64] = Ints(&[1]))
        "The transpose of conv2d by its image: x is [batch, channels, height, width], the weight\n\n\
        [channels, filters / groups, height, width]. The size is (n - 1) · stride - 2 · padding + dilation · (k - 1) + 1 +\n\
        output_padding.\n\n\
        >>> fg.conv_transpose2d(fg.ones((1, 4, 4, 4)), fg.ones((4, 3, 3, 3)), stride=2).shape\n(1, 3, 9, 9)";
    function conv1d (x: &Tensor, weight: &Tensor, bias: Option<&Tensor> = None, stride: i64 = Int(1), padding: IntsOrStr<'_> = Ints(&[0]), dilation: i64 = Int(1), groups: i64 = Int(1))
        "The cross-correlation of sequences [batch, channels, length] with filters [filters, channels / groups, length].\n\n\
        The other arguments are those of conv2d, for one axis.\n\n\
        >>> fg.conv1d(fg.ones((1, 2, 8)), fg.ones((3, 2, 3))).shape\n(1, 3, 6)";
}
