//! Batching: a function of single values applied to all lanes of an axis at once.
//!
//! A level is entered: the axis becomes a hidden one, which ops do not see. While the call runs the level is live, so
//! gradients taken inside it are those of each lane. Afterwards it is closed: gradients that flow out to values
//! without the level are summed over its lanes.

use crate::engine::{Answer, Request};
use crate::error::{Result, bail};
use crate::graph::{Level, LiveLevel, Modes, ModesGuard, Randomness, Tensor};
use crate::ops::batch::{enter, leave};
use crate::shape;

/// `f` applied to every lane: each input is given with the axis that is split into lanes, none where all lanes share
/// it. The results have their lanes at `out_axis`. Calls nest.
///
/// ```
/// use ferrograd::{Array, Tensor, transform::vmap};
/// let x = Tensor::constant(Array::from_slice(&[1.0, 2.0, 3.0], &[3])?);
/// let y = vmap(|t| Ok(vec![&t[0] * &t[0]]), &[(&x, Some(0))], 0)?;
/// assert_eq!(y[0].array.to_vec::<f64>(), [1.0, 4.0, 9.0]);
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// What `f` reports; where no input has lanes, or they have different numbers of them.
pub fn vmap(
    f: impl FnOnce(&[Tensor]) -> Result<Vec<Tensor>>,
    ins: &[(&Tensor, Option<i64>)],
    out_axis: i64,
) -> Result<Vec<Tensor>> {
    let mut lanes = None;
    for (i, (x, axis)) in ins.iter().enumerate() {
        let Some(axis) = axis else { continue };
        let n = x.dims()[shape::axis("vmap", *axis, x.rank())?];
        if let Some(other) = lanes.filter(|&other| other != n) {
            bail!(Shape, "vmap", "input {i} has {n} lanes, an input before it {other}");
        }
        lanes = Some(n);
    }
    let Some(lanes) = lanes else { bail!(Argument, "vmap", "no input has an axis to split into lanes") };
    let level = Level::new(lanes);
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

/// The axis of a tensor made the lanes of a level.
///
/// # Errors
/// Where the axis is not there or has another size than the level.
pub fn enter_at(x: &Tensor, level: Level, axis: i64) -> Result<Tensor> {
    let at = shape::axis("vmap", axis, x.rank())?;
    if x.dims()[at] != level.lanes {
        bail!(Shape, "vmap", "axis {axis} of {:?} has not the {} lanes of the call", x.dims(), level.lanes);
    }
    enter(x, level, at)
}

/// The lanes of a level made an axis; a tensor without the level is repeated.
///
/// # Errors
/// Where the result has no such axis.
pub fn leave_at(x: &Tensor, level: Level, axis: i64) -> Result<Tensor> {
    leave(x, level, shape::axis("vmap", axis, x.rank() + 1)?)
}

/// Many backward passes at once: every seed has one more axis, the first, which counts the passes; so do the
/// gradients.
///
/// # Errors
/// As [`Request::run`]; where a seed is not of this shape, or `leaves` are asked for.
pub fn batched(mut request: Request<'_>) -> Result<Answer> {
    if request.leaves {
        bail!(
            Argument,
            "grad",
            "batched gradients have one more axis than the leaves they would be added to"
        );
    }
    let mut lanes = None;
    for (edge, g) in &request.roots {
        let (seed, out) = (g.dims(), edge.meta().dims.as_slice());
        if seed.is_empty() || seed[1..] != *out || lanes.is_some_and(|n| n != seed[0]) {
            bail!(
                Shape,
                "grad",
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch \
                 dimension: {seed:?} is not a batch{} of {out:?}",
                lanes.map_or(String::new(), |n| format!(" of {n}"))
            );
        }
        lanes = Some(seed[0]);
    }
    let level = Level::new(lanes.unwrap_or(1));
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
