//! The ops that change which axes are hidden: a level of `vmap` is entered or left, and hidden axes are added. Sums over
//! hidden axes.

use smallvec::smallvec;

use crate::array::Array;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Level, Levels, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, only, recorded,
};
use crate::ops::movement::sum_to;
use crate::shape::Dims;

#[derive(Clone)]
enum BatchAxis {
    /// A visible axis becomes the level's hidden axis.
    Enter(Level, usize),
    /// The hidden axis of a level becomes a visible axis.
    Leave(Level, usize),
    /// The value broadcast over the hidden axes of these levels.
    Spread(Levels),
}

impl BatchAxis {
    fn apply(self, x: &Tensor) -> Result<Tensor> {
        let (array, levels) = self.array(x)?;
        Ok(recorded(self, &[x], [array].into(), levels)?.remove(0))
    }

    fn array(&self, x: &Tensor) -> Result<(Array, Levels)> {
        let hidden = x.levels.as_slice();
        let moved = |from: usize, to: usize| {
            let mut order: Dims = (0..x.array.rank()).collect();
            let axis = order.remove(from);
            order.insert(to, axis);
            x.array.permute(&order)
        };
        Ok(match self {
            BatchAxis::Enter(level, axis) => {
                let levels = x.levels.union(&Levels::new([*level]));
                let at = levels.as_slice().iter().position(|l| l == level).expect("just added");
                (moved(hidden.len() + axis, at), levels)
            }
            BatchAxis::Leave(level, axis) => match hidden.iter().position(|l| l == level) {
                Some(at) => (
                    moved(at, hidden.len() - 1 + axis),
                    Levels::new(hidden.iter().copied().filter(|l| l != level)),
                ),
                None => {
                    let mut dims = Dims::from_slice(x.array.dims());
                    dims.insert(hidden.len() + axis, 1);
                    let one = x.array.reshape(&dims)?;
                    dims[hidden.len() + axis] = level.batch_size;
                    (one.expand(&dims, 0), x.levels.clone())
                }
            },
            BatchAxis::Spread(over) => {
                let levels = x.levels.union(over);
                let array = crate::graph::align(x, &levels);
                let dims: Dims =
                    levels.as_slice().iter().map(|l| l.batch_size).chain(x.dims().iter().copied()).collect();
                (array.expand(&dims, levels.len()), levels)
            }
        })
    }
}

impl Op for BatchAxis {
    fn name(&self) -> &'static str {
        match self {
            BatchAxis::Enter(..) => "enter_level",
            BatchAxis::Leave(..) => "leave_level",
            BatchAxis::Spread(_) => "expand_batch",
        }
    }

    fn forward(&self, _: &[&Array], _: usize) -> Result<Outputs> {
        unreachable!("{} changes the levels and is computed before the door", self.name())
    }

    fn carries_integers(&self) -> u64 {
        1
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, g: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        Ok(smallvec![Some(match self {
            BatchAxis::Enter(level, axis) => leave(g, *level, *axis)?,
            BatchAxis::Leave(level, axis) => enter(g, *level, *axis)?,
            // The engine sums over the hidden axes that the input did not have.
            BatchAxis::Spread(_) => g.clone(),
        })])
    }

    fn jvp(&self, t: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![t[0].as_ref().map(|t| self.clone().apply(t)).transpose()?])
    }
}

/// Makes a visible axis the hidden axis of a level.
pub fn enter(x: &Tensor, level: Level, axis: usize) -> Result<Tensor> {
    BatchAxis::Enter(level, axis).apply(x)
}

/// Makes the hidden axis of a level visible. A tensor without the level is broadcast.
pub fn leave(x: &Tensor, level: Level, axis: usize) -> Result<Tensor> {
    BatchAxis::Leave(level, axis).apply(x)
}

/// The sum over the hidden axes of those levels that the tensor has.
pub fn sum_batch(x: &Tensor, over: &Levels) -> Result<Tensor> {
    let mut visible = x.clone();
    for &level in over.as_slice().iter().filter(|l| x.levels.contains(**l)) {
        visible = leave(&visible, level, 0)?;
    }
    sum_to(&visible, x.dims())
}

/// The tensor broadcast over those of the levels that it lacks.
pub fn expand_batch(x: &Tensor, over: &Levels) -> Result<Tensor> {
    if over.as_slice().iter().all(|l| x.levels.contains(*l)) {
        Ok(x.clone())
    } else {
        BatchAxis::Spread(over.clone()).apply(x)
    }
}
