//! Fourier transforms of a signal's parts, and the signal of such parts.

use smallvec::SmallVec;

use super::{from_half, to_half, whole};
use crate::array::{Array, Layout};
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::ops::check::{self, Test};
use crate::ops::entry::{Operand, op};
use crate::ops::index::{add_at_places, narrow};
use crate::ops::movement::strided::strided;
use crate::ops::movement::{matrix_transpose, pad, reshape_to, view_as_real};
use crate::ops::pointwise::arithmetic::{divide, multiply};
use crate::ops::pointwise::elementary::abs;
use crate::ops::promote::promoted_inexact;
use crate::shape::{self, Dims};

/// How a signal is cut into frames.
struct Frames {
    op: &'static str,
    n_fft: usize,
    hop: usize,
}

impl Frames {
    fn new(op: &'static str, n_fft: i64, hop_length: Option<i64>) -> Result<Frames> {
        let hop = hop_length.unwrap_or(n_fft / 4);
        let (Some(n_fft), Some(hop)) =
            (usize::try_from(n_fft).ok().filter(|&n| n > 0), usize::try_from(hop).ok().filter(|&h| h > 0))
        else {
            bail!(Argument, op, "n_fft {n_fft} and hop_length {hop} must be at least 1");
        };
        Ok(Frames { op, n_fft, hop })
    }

    /// The window, with zeros on both sides up to the length of a frame. None where it is 1 everywhere.
    fn window(
        &self,
        window: Option<&Tensor>,
        win_length: Option<i64>,
        like: &Tensor,
    ) -> Result<Option<Tensor>> {
        let (op, n_fft) = (self.op, self.n_fft as i64);
        let length = win_length.unwrap_or(n_fft);
        if length < 1 || length > n_fft {
            bail!(Argument, op, "win_length is between 1 and n_fft ({n_fft}), not {length}");
        }
        let window = match window {
            None if length == n_fft => return Ok(None),
            None => Tensor::constant(Array::full_of(like.dtype().real(), &[length as usize], 1.0)),
            Some(window) if window.dims() != [length as usize] => {
                bail!(Shape, op, "the window has shape {:?}, not ({length},)", window.dims())
            }
            Some(window) => promoted_inexact(window)?.into_owned(),
        };
        let left = (n_fft - length) / 2;
        Ok(Some(pad(&window, &[(left, n_fft - length - left)], "constant", Operand::from(0.0))?))
    }

    /// Where the elements of the frames of `batch` signals of `length` elements are.
    fn layout(&self, batch: usize, length: usize, count: usize) -> Layout {
        let dims: Dims = [batch, count, self.n_fft].into_iter().collect();
        Layout { dims, strides: [length as isize, self.hop as isize, 1].into_iter().collect(), offset: 0 }
    }
}

/// The frequencies of short parts of signals, which lie along the last axis of a tensor of one or two axes. The result has
/// the axes (batch,) frequency, part.
///
/// A part has `n_fft` elements and begins `hop_length` (default: `n_fft // 4`) after the one before. It is
/// multiplied by `window`, a tensor of `win_length` (default: `n_fft`) numbers, which has zeros on both sides if it is shorter.
/// If `center`, the signal is continued at both ends (as `pad` does in `pad_mode`), so that part t is centered at element
/// `t * hop_length`. `normalized` divides by the root of `n_fft`. If `onesided` (default: where signal
/// and window are real), the frequencies up to the middle are given. Without `return_complex` the last axis holds real and
/// imaginary parts.
///
/// ```python
/// >>> fg.stft(fg.ones((16,)), 8).shape
/// (5, 9)
/// ```
#[allow(clippy::too_many_arguments)]
#[op(method)]
pub fn stft(
    x: &Tensor,
    n_fft: i64,
    #[default(None)] hop_length: Option<i64>,
    #[default(None)] win_length: Option<i64>,
    #[default(None)] window: Option<&Tensor>,
    #[default(true)] center: bool,
    #[default("reflect")] pad_mode: &str,
    #[default(false)] normalized: bool,
    #[default(None)] onesided: Option<bool>,
    #[default(true)] return_complex: bool,
) -> Result<Tensor> {
    const OP: &str = "stft";
    let frames = Frames::new(OP, n_fft, hop_length)?;
    if !(1..=2).contains(&x.rank()) {
        bail!(Shape, OP, "expects a signal or a batch of them, not shape {:?}", x.dims());
    }
    let mut signal = promoted_inexact(x)?.into_owned();
    let window = frames.window(window, win_length, &signal)?;
    if center {
        let side = n_fft / 2;
        let mut widths: SmallVec<[(i64, i64); 2]> = SmallVec::from_elem((0, 0), x.rank());
        widths[x.rank() - 1] = (side, side);
        if pad_mode == "reflect" && side as usize >= signal.dims()[x.rank() - 1] {
            let what = "Padding size should be less than the corresponding input dimension";
            bail!(Argument, OP, "{what}, but got padding {side} for a signal of shape {:?}", x.dims());
        }
        signal = pad(&signal, &widths, pad_mode, Operand::from(0.0))?;
    }
    let length = signal.dims()[x.rank() - 1];
    if frames.n_fft > length {
        bail!(Argument, OP, "a part has {n_fft} elements, and the signal only {length}");
    }
    let is_complex = signal.dtype().is_complex() || window.as_ref().is_some_and(|w| w.dtype().is_complex());
    let half = onesided.unwrap_or(!is_complex);
    if half && is_complex {
        bail!(Argument, OP, "only real signals and windows have onesided frequencies");
    }
    let batch = if x.rank() == 2 { x.dims()[0] } else { 1 };
    let count = 1 + (length - frames.n_fft) / frames.hop;
    let layout = frames.layout(batch, length, count);
    if shape::checked_len(&layout.dims).is_none() {
        return Err(Error::memory(OP, layout.dims.to_vec(), x.dtype()));
    }
    let mut parts = strided(&signal, &layout)?;
    if let Some(window) = &window {
        parts = multiply((&parts).into(), window.into())?;
    }
    let norm = Some(if normalized { "ortho" } else { "backward" });
    let at = (None, Some(&[-1][..]));
    let parts =
        if half { to_half(OP, &parts, at, norm, false)? } else { whole(OP, &parts, at, norm, false)? };
    let mut parts = matrix_transpose(&parts)?;
    if x.rank() == 1 {
        let dims: Dims = parts.dims()[1..].into();
        parts = reshape_to(&parts, &dims)?;
    }
    if return_complex { Ok(parts) } else { view_as_real(&parts) }
}

/// The signals of which these are the frequencies of parts, as `stft` gives them. Where parts overlap, the signal is that
/// with the least squared error. The window must not vanish in all parts of an element.
///
/// `length` is that of the signals, if they are to be cut off or continued with zeros. With `return_complex` the
/// signals are complex, and the frequencies not onesided.
///
/// ```python
/// >>> window = fg.tensor([0.5, 1.0, 1.0, 0.5])
/// >>> fg.istft(fg.stft(fg.tensor([1., 2., 3., 4.]), 4, window=window), 4, window=window).round(decimals=3).tolist()
/// [1.0, 2.0, 3.0, 4.0]
/// ```
#[allow(clippy::too_many_arguments)]
#[op(method)]
pub fn istft(
    x: &Tensor,
    n_fft: i64,
    #[default(None)] hop_length: Option<i64>,
    #[default(None)] win_length: Option<i64>,
    #[default(None)] window: Option<&Tensor>,
    #[default(true)] center: bool,
    #[default(false)] normalized: bool,
    #[default(None)] onesided: Option<bool>,
    #[default(None)] length: Option<i64>,
    #[default(false)] return_complex: bool,
) -> Result<Tensor> {
    const OP: &str = "istft";
    let frames = Frames::new(OP, n_fft, hop_length)?;
    let dims = x.dims();
    if !x.dtype().is_complex() || !(2..=3).contains(&x.rank()) || dims.contains(&0) {
        bail!(
            Shape,
            OP,
            "expects complex numbers of shape (batch,) frequency, part, not {dims:?} of {}",
            x.dtype()
        );
    }
    let (count, parts) = (dims[x.rank() - 2], dims[x.rank() - 1]);
    let half = onesided.unwrap_or(count != frames.n_fft);
    let expected = if half { frames.n_fft / 2 + 1 } else { frames.n_fft };
    if count != expected {
        bail!(Shape, OP, "expects {expected} frequencies for n_fft {n_fft}, not {count}");
    }
    if half && return_complex {
        bail!(Argument, OP, "the signals of onesided frequencies are real, not complex");
    }
    let window = frames.window(window, win_length, x)?;
    if !return_complex && window.as_ref().is_some_and(|w| w.dtype().is_complex()) {
        bail!(Argument, OP, "a complex window needs return_complex=True");
    }
    let batch = if x.rank() == 3 { dims[0] } else { 1 };
    let norm = Some(if normalized { "ortho" } else { "backward" });
    let at = (Some(std::slice::from_ref(&n_fft)), Some(&[-1][..]));
    let lines = matrix_transpose(&reshape_to(x, &[batch, count, parts])?)?;
    let mut signals = if return_complex {
        whole(OP, &lines, at, norm, true)?
    } else {
        // Of all frequencies of a real signal the first half says the rest.
        from_half(OP, &lines, at, norm, true)?
    };
    let ones = || -> Result<Tensor> {
        let one = Array::full_of(signals.dtype().real(), &[frames.n_fft], 1.0);
        Ok(Tensor::constant(one))
    };
    let (window, signal_is_weighted) = match window {
        Some(window) => (window, true),
        None => (ones()?, false),
    };
    if signal_is_weighted {
        signals = multiply((&signals).into(), (&window).into())?;
    }
    let whole_length = frames
        .hop
        .checked_mul(parts - 1)
        .and_then(|n| n.checked_add(frames.n_fft))
        .filter(|n| n.checked_mul(batch.max(1)).is_some_and(|n| n <= isize::MAX as usize / 16))
        .ok_or_else(|| Error::memory(OP, vec![usize::MAX], x.dtype()))?;
    let added =
        add_at_places(OP, batch * whole_length, &frames.layout(batch, whole_length, parts), &signals)?;
    let added = reshape_to(&added, &[batch, whole_length])?;
    let squares = multiply((&window).into(), (&window).into())?;
    let squares = crate::ops::movement::broadcast_to(&squares, &[1, parts, frames.n_fft])?;
    let weights = add_at_places(OP, whole_length, &frames.layout(1, whole_length, parts), &squares)?;
    let start = if center { n_fft / 2 } else { 0 };
    let all = whole_length as i64;
    let end = match length {
        Some(n) if n < 0 => bail!(Argument, OP, "a length of {n}"),
        Some(n) => start.saturating_add(n).min(all),
        None if center => all - n_fft / 2,
        None => all,
    };
    let kept = (end - start).max(0);
    let (start, kept) = if start > all { (all, 0) } else { (start, kept) };
    let (added, weights) = (narrow(&added, 1, start, kept)?, narrow(&weights, 0, start, kept)?);
    const REFUSAL: &str = "window overlap add min: 1, all windows vanish at an element";
    check::all(OP, &abs(&weights.detach())?, Test::NotZero, REFUSAL)?;
    let mut signals = divide((&added).into(), (&weights).into())?;
    if let Some(n) = length.filter(|&n| n > kept) {
        signals = pad(&signals, &[(0, 0), (0, n - kept)], "constant", Operand::from(0.0))?;
    }
    if x.rank() == 3 {
        return Ok(signals);
    }
    let n = signals.dims()[1];
    reshape_to(&signals, &[n])
}
