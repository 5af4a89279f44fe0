//! Sums of cotangents. They are added in one order, whatever the order they arrive in, so the bits of a gradient depend
//! only on the graph.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::arena::List;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::kernel::par::while_blocked;
use crate::ops::movement::cast;
use crate::ops::pointwise::arithmetic::{add_in_place, add_same};
use crate::ops::pointwise::compare::or_same;
use crate::sync::{Mutex, MutexGuard, yield_now};

/// Room for the sums that most graphs have at a time.
const FEW: usize = 4;

/// Where the cotangents that wait for their turn take more bytes than this, the thread that brings another waits too, as
/// long as a thread at work may bring the one whose turn it is.
const MOST_EARLY: usize = 16 << 20;

fn bytes(g: Option<&Tensor>) -> usize {
    g.map_or(0, |g| g.array.len() * g.dtype().size())
}

/// Adds a cotangent to a sum, in place where nothing is recorded and the sum has one owner. Their dtypes differ only
/// where their node takes any dtype.
#[inline]
fn add(sum: &mut Tensor, mut g: Tensor, record: bool) -> Result<()> {
    if sum.dtype() != g.dtype() {
        let dtype = sum.dtype().promote(g.dtype());
        (*sum, g) = (cast(sum, dtype)?, cast(&g, dtype)?);
    }
    if record || sum.levels != g.levels || !add_in_place(&mut sum.array, &g.array) {
        *sum = if sum.dtype() == DType::Bool { or_same(sum, &g)? } else { add_same(sum, &g)? };
    }
    Ok(())
}

/// The sum of two terms, of which each may be missing.
pub(super) fn added(sum: Option<Tensor>, g: Option<Tensor>, record: bool) -> Result<Option<Tensor>> {
    let (mut sum, g) = match (sum, g) {
        (Some(sum), Some(g)) => (sum, g),
        (sum, g) => return Ok(sum.or(g)),
    };
    add(&mut sum, g, record)?;
    Ok(Some(sum))
}

/// The sums of all slots in a pass on one thread. Few slots have a sum at the same time, so only those take room.
#[derive(Default)]
pub(super) struct Sums {
    /// By slot: the index of its sum in `sums`, plus one; 0 where the slot has no sum.
    places: List<u32>,
    sums: Vec<Option<Tensor>>,
    free: List<u32>,
}

impl Sums {
    pub(super) fn new(slots: usize) -> Sums {
        Sums { places: List::from_elem(0, slots), sums: Vec::with_capacity(FEW), free: List::new() }
    }

    pub(super) fn get(&self, slot: usize) -> Option<&Tensor> {
        self.sums.get(self.places[slot].checked_sub(1)? as usize)?.as_ref()
    }

    #[inline]
    pub(super) fn take(&mut self, slot: usize) -> Option<Tensor> {
        let place = std::mem::take(&mut self.places[slot]).checked_sub(1)?;
        self.free.push(place);
        self.sums[place as usize].take()
    }

    /// Puts a sum into a slot that has none.
    pub(super) fn put(&mut self, slot: usize, sum: Tensor) {
        self.places[slot] = match self.free.pop() {
            Some(place) => {
                self.sums[place as usize] = Some(sum);
                place + 1
            }
            None => {
                self.sums.push(Some(sum));
                self.sums.len() as u32
            }
        };
    }

    /// Adds a cotangent to the sum of a slot.
    #[inline(always)]
    pub(super) fn add(&mut self, slot: usize, g: Tensor, record: bool) -> Result<()> {
        let place = self.places[slot].wrapping_sub(1) as usize;
        match self.sums.get_mut(place).and_then(Option::as_mut) {
            Some(sum) => add(sum, g, record),
            None => {
                self.put(slot, g);
                Ok(())
            }
        }
    }
}

impl FromIterator<Option<Tensor>> for Sums {
    fn from_iter<I: IntoIterator<Item = Option<Tensor>>>(list: I) -> Sums {
        let mut sums = Sums::default();
        for (slot, sum) in list.into_iter().enumerate() {
            sums.places.push(0);
            if let Some(sum) = sum {
                sums.put(slot, sum);
            }
        }
        sums
    }
}

/// The sum of one slot in a pass with several threads. Each edge that leads to the slot has a position. Its cotangent
/// (or none) is added by the thread that brings it if it is the turn of that position, and waits otherwise.
pub(super) struct Sum(Mutex<State>);

#[derive(Default)]
struct State {
    sum: Option<Tensor>,
    /// The position of the edge whose cotangent is added next.
    next: u32,
    /// Whether a thread is adding, and has taken the sum out.
    busy: bool,
    /// Cotangents that wait for their turn.
    early: BTreeMap<u32, Option<Tensor>>,
    early_bytes: usize,
}

impl Sum {
    /// A sum that starts from the seeds of the slot.
    pub(super) fn new(seed: Option<Tensor>) -> Sum {
        Sum(Mutex::new(State { sum: seed, ..State::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the cotangent of the edge at a position. No lock is held while arrays are added. `comes` tells whether a
    /// thread that does not wait for this one may bring a cotangent for an earlier position.
    pub(super) fn add(
        &self,
        position: u32,
        g: Option<Tensor>,
        record: bool,
        comes: impl Fn() -> bool,
    ) -> Result<()> {
        let mut state = self.lock();
        if state.busy || position != state.next {
            state.early_bytes += bytes(g.as_ref());
            state.early.insert(position, g);
            // A thread that adds waits for nobody.
            while state.early_bytes > MOST_EARLY && (state.busy || comes()) {
                drop(state);
                while_blocked(yield_now);
                state = self.lock();
            }
            return Ok(());
        }
        state.busy = true;
        let mut sum = state.sum.take();
        let mut item = g;
        loop {
            drop(state);
            let result = Error::catch(|| added(sum, item, record));
            state = self.lock();
            sum = result.inspect_err(|_| state.busy = false)?;
            state.next += 1;
            let next = state.next;
            match state.early.remove(&next) {
                Some(early) => {
                    state.early_bytes -= bytes(early.as_ref());
                    item = early;
                }
                None => {
                    state.sum = sum;
                    state.busy = false;
                    return Ok(());
                }
            }
        }
    }

    /// Puts a sum in place of the one that was taken.
    pub(super) fn put(&self, sum: Option<Tensor>) {
        self.lock().sum = sum;
    }

    /// The sum, once all edges have been added. With `keep` it also stays here.
    pub(super) fn take(&self, keep: bool) -> Option<Tensor> {
        let mut state = self.lock();
        if keep { state.sum.clone() } else { state.sum.take() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The numbers 0..n in an order that depends on `seed`.
    fn shuffled(n: usize, seed: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|i| (i * 7919 + seed * 104_729) % 1009 * (i + seed) % 1013);
        order
    }

    #[test]
    fn the_order_of_arrival_does_not_matter_but_would() {
        let items: Vec<Tensor> =
            (0..64).map(|i| Tensor::scalar((0.1 + 0.37 * i as f32).sin() * 10f32.powi(i % 5))).collect();
        let bits = |t: &Tensor| t.array.to_vec::<f32>()[0].to_bits();
        let (mut ordered, mut by_arrival) = (vec![], vec![]);
        for seed in 0..20 {
            let (sum, mut naive) = (Sum::new(None), None);
            for i in shuffled(items.len(), seed) {
                // Some edges bring nothing.
                let g = (i % 7 != 3).then(|| items[i].clone());
                naive = added(naive, g.clone(), false).unwrap();
                sum.add(i as u32, g, false, || false).unwrap();
            }
            ordered.push(bits(&sum.take(false).unwrap()));
            by_arrival.push(bits(&naive.unwrap()));
        }
        ordered.dedup();
        by_arrival.dedup();
        assert_eq!(ordered.len(), 1);
        assert!(by_arrival.len() > 1, "sums in the order of arrival should differ");
    }

    #[test]
    fn threads_that_bring_at_once_lose_nothing() {
        for _ in 0..50 {
            let sum = Sum::new(Some(Tensor::scalar(1.0f64)));
            std::thread::scope(|s| {
                for k in 0..4u32 {
                    let sum = &sum;
                    s.spawn(move || {
                        (0..25).for_each(|i| {
                            sum.add(4 * i + k, Some(Tensor::scalar(1.0f64)), false, || false).unwrap();
                        });
                    });
                }
            });
            assert_eq!(sum.take(false).unwrap().array.item().to_f64(), Some(101.0));
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread::spawn;

    use super::*;
    use crate::sync::Arc;

    #[test]
    fn any_order_of_arrival_gives_the_same_bits() {
        // The first two cancel, so any other order gives another sum.
        const TERMS: [f64; 3] = [1e17, -1e17, 1.0];
        loom::model(|| {
            let sum = Arc::new(Sum::new(Some(Tensor::scalar(0.5))));
            let bring = |i: usize| {
                let sum = sum.clone();
                move || sum.add(i as u32, Some(Tensor::scalar(TERMS[i])), false, || false).unwrap()
            };
            let threads = [spawn(bring(2)), spawn(bring(1))];
            bring(0)();
            threads.into_iter().for_each(|t| t.join().unwrap());
            assert_eq!(sum.take(false).unwrap().array.item().to_f64(), Some(1.0));
        });
    }
}
