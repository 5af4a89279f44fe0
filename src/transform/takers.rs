//! The examples of a batch that take a side of a branch: whoever does not computes on operands of one that does.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::graph::{self, Level, Takers, Tensor, for_all};
use crate::ops::batch::leave;
use crate::ops::entry::Operand;
use crate::ops::index::take;
use crate::ops::movement::reshape_to;
use crate::ops::pointwise::arithmetic::{floor_divide, remainder};
use crate::ops::pointwise::compare::logical_and;
use crate::ops::pointwise::select::select;
use crate::ops::reduce::extreme::argmax;

/// So many tensors are remembered with what became of them.
const REMEMBERED: usize = 16;

static NUMBER: AtomicU32 = AtomicU32::new(0);

struct Side {
    /// Its levels say the number of this side.
    mask: Tensor,
    number: u32,
    /// By level of the mask: which example of it is the first that takes the side.
    first: Vec<(Level, Tensor)>,
    known: Mutex<Vec<(Tensor, Tensor)>>,
}

/// The examples for which a mask of truth values holds, as the takers of what this thread computes next. The mask has no
/// axes besides its levels.
///
/// # Errors
/// For want of memory.
pub fn takers(mask: &Tensor) -> Result<Arc<dyn Takers>> {
    let _modes = for_all();
    let number = NUMBER.fetch_add(1, Relaxed) + 1;
    let mask = Tensor { levels: mask.levels.of_takers(number), ..mask.detach() };
    let first = if mask.array.len() == 0 { vec![] } else { first(&mask)? };
    Ok(Arc::new(Side { mask, number, first, known: Mutex::default() }))
}

fn first(mask: &Tensor) -> Result<Vec<(Level, Tensor)>> {
    let levels = mask.levels.as_slice();
    let visible = levels.iter().rev().try_fold(mask.clone(), |x, level| leave(&x, *level, 0))?;
    let mut at = argmax(&reshape_to(&visible, &[visible.array.len()])?, Some(0), false)?;
    let mut found = vec![];
    for level in levels.iter().rev() {
        let size = Tensor::scalar(level.batch_size as i64);
        found.push((*level, remainder(Operand::Tensor(&at), Operand::Tensor(&size))?));
        at = floor_divide(Operand::Tensor(&at), Operand::Tensor(&size))?;
    }
    Ok(found)
}

impl Side {
    fn computed(&self, x: &Tensor) -> Result<Tensor> {
        let _modes = for_all();
        let mut first = x.detach();
        for (level, index) in self.first.iter().filter(|(level, _)| x.levels.contains(*level)) {
            first = take(&leave(&first, *level, 0)?, index, Some(0))?;
        }
        select(&self.mask, x, &first)
    }
}

impl Takers for Side {
    fn mask(&self) -> &Tensor {
        &self.mask
    }

    fn has_others(&self, x: &Tensor) -> bool {
        let taken = |level: &Level| self.first.iter().any(|(l, _)| l == level);
        x.levels.as_slice().iter().any(|level| taken(level) && level.takers < self.number)
    }

    fn operand(&self, x: &Tensor) -> Result<Option<Tensor>> {
        if !self.has_others(x) {
            return Ok(None);
        }
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, taken)) = known().iter().find(|(other, _)| is_same(other, x)) {
            return Ok(Some(taken.clone()));
        }
        let taken = self.computed(x)?;
        let forgotten = {
            let mut known = known();
            known.push((x.clone(), taken.clone()));
            (known.len() > REMEMBERED).then(|| known.remove(0))
        };
        drop(forgotten);
        Ok(Some(taken))
    }

    fn written(&self, new: &Tensor, old: &Tensor) -> Result<Tensor> {
        let _modes = for_all();
        select(&self.mask, new, old)
    }
}

/// Whether two tensors are one value with one history.
fn is_same(x: &Tensor, y: &Tensor) -> bool {
    let edges = match (&x.edge, &y.edge) {
        (Some(x), Some(y)) => Arc::ptr_eq(&x.node, &y.node) && x.out == y.out,
        (x, y) => x.is_none() && y.is_none(),
    };
    edges && x.array.is_same(&y.array) && x.levels == y.levels
}

/// The mask of those of the examples that take a side for which a condition holds.
///
/// # Errors
/// For want of memory.
pub fn joined(holds: &Tensor) -> Result<Tensor> {
    match graph::takers() {
        Some(outer) => logical_and(Operand::Tensor(holds), Operand::Tensor(outer.mask())),
        None => Ok(holds.clone()),
    }
}
