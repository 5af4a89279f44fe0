//! vmap: a function of single values applied to a whole batch at once.
//!
//! The axis of the batch becomes a hidden axis, which ops do not see: it belongs to a level. While the call runs the
//! level is live, and gradients taken inside are those of each element of the batch. Afterwards the level is closed,
//! and gradients that flow out to values without the level are summed over the batch.

use crate::engine::{Answer, Request};
use crate::error::{Result, bail};
use crate::graph::{Level, LiveLevel, Modes, ModesGuard, Randomness, Tensor};
use crate::ops::batch::{enter, leave};
use crate::shape;

/// Applies `f` to every element of a batch. Each input is given with its batch axis, or none if it is the same for the
/// whole batch. The outputs have their batch axis at `out_axis`. Calls nest.
///
/// ```
/// use ferrograd::{Array, Tensor, transform::vmap};
/// let x = Tensor::constant(Array::from_slice(&[1.0, 2.0, 3.0], &[3])?);
/// let y = vmap(|t| Ok(vec![&t[0] * &t[0]]), &[(&x, Some(0))], 0)?;
/// assert_eq!(y[0].array().to_vec::<f64>(), [1.0, 4.0, 9.0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// What `f` reports; where no input has a batch axis, or those have different sizes.
pub fn vmap(
    f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
    ins: &[(&Tensor, Option<i64>)],
    out_axis: i64,
) -> Result<Vec<Tensor>> {
    let mut batch_size = None;
    for (i, (x, axis)) in ins.iter().enumerate() {
        let Some(axis) = axis else { continue };
        let n = x.dims()[shape::axis("vmap", *axis, x.rank())?];
        if let Some(other) = batch_size.filter(|&other| other != n) {
            bail!(Shape, "vmap", "input {i} has a batch of {n}, an input before it one of {other}");
        }
        batch_size = Some(n);
    }
    let Some(batch_size) = batch_size else { bail!(Argument, "vmap", "no input has a batch axis") };
    let level = Level::new(batch_size);
    let _live = live(level);
    let inside = |(x, axis): &(&Tensor, Option<i64>)| match axis {
        Some(axis) => enter_at(x, level, *axis),
        None => Ok((*x).clone()),
    };
    let outs = f(&ins.iter().map(inside).collect::<Result<Vec<_>>>()?)?;
    outs.iter().map(|y| leave_at(y, level, out_axis)).collect()
}

/// Makes a level the innermost live one of this thread, until the guard is dropped.
fn live(level: Level) -> ModesGuard {
    Modes::enter(|m| m.live_levels.push(LiveLevel { level, randomness: Randomness::default() }))
}

/// Makes an axis of a tensor the hidden axis of a level.
///
/// # Errors
/// Where the tensor has no such axis, or its size is not the batch size of the level.
pub fn enter_at(x: &Tensor, level: Level, axis: i64) -> Result<Tensor> {
    let at = shape::axis("vmap", axis, x.rank())?;
    if x.dims()[at] != level.batch_size {
        bail!(
            Shape,
            "vmap",
            "axis {axis} of {:?} does not have the batch size {} of the call",
            x.dims(),
            level.batch_size
        );
    }
    enter(x, level, at)
}

/// Makes the hidden axis of a level an ordinary axis. A tensor without the level is repeated.
///
/// # Errors
/// Where the result would have no such axis.
pub fn leave_at(x: &Tensor, level: Level, axis: i64) -> Result<Tensor> {
    leave(x, level, shape::axis("vmap", axis, x.rank() + 1)?)
}

/// Many backward passes at once: every seed and every gradient has one more axis at the front, which counts the passes.
///
/// # Errors
/// As [`Request::run`]; where a seed has another shape, or `leaves` are asked for.
pub fn batched(mut request: Request<'_>) -> Result<Answer> {
    if request.leaves {
        bail!(
            Argument,
            "grad",
            "batched gradients have one more axis than the leaves they would be added to"
        );
    }
    let mut batch_size = None;
    for (edge, g) in &request.roots {
        let (seed, out) = (g.dims(), edge.meta().dims.as_slice());
        if seed.is_empty() || seed[1..] != *out || batch_size.is_some_and(|n| n != seed[0]) {
            bail!(
                Shape,
                "grad",
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch \
                 dimension: {seed:?} is not a batch{} of {out:?}",
                batch_size.map_or(String::new(), |n| format!(" of {n}"))
            );
        }
        batch_size = Some(seed[0]);
    }
    let level = Level::new(batch_size.unwrap_or(1));
    let _live = live(level);
    for (_, g) in &mut request.roots {
        *g = enter(g, level, 0)?;
    }
    let mut answer = request.run()?;
    for g in answer.wanted.iter_mut().flatten() {
        *g = leave(g, level, 0)?;
    }
    Ok(answer)
}
