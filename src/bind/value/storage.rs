//! Memory that several tensors share. The values are in one storage. A tensor and its views share one history, which is
//! how the values were computed; a detached tensor has another history of the same storage.
//!
//! Locks are taken in the order tensor, history, storage. No Python code runs while one of them is held.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::array::{Array, Layout, Loan};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{DetachReason, Edge, Modes, Recording, Tensor};
use crate::kernel::broadcast::{dense_order, inverse};
use crate::ops::Index;
use crate::ops::copy::{alias, shareable};
use crate::ops::index::put_at;
use crate::ops::movement::{permute_dims, strided};
use crate::shape::{self, Dims, Strides};

thread_local! {
    static BY_THREAD: Cell<u32> = const { Cell::new(0) };
}

/// Counts a write to a value, and among those of this thread.
pub fn count_write(writes: &mut u32) {
    *writes = writes.wrapping_add(1);
    BY_THREAD.set(BY_THREAD.get().wrapping_add(1));
}

/// How often this thread has written to any value.
pub fn writes_of_thread() -> u32 {
    BY_THREAD.get()
}

/// The values, and how often they were written to.
pub struct Storage {
    /// Has no edge. It is C-contiguous once there is a view that is not of all elements.
    pub whole: Tensor,
    pub writes: u32,
    /// Whether the values were made in inference mode.
    inference: bool,
    /// Whether the memory was lent to somebody who may write to it. No op may read it before it is taken back.
    lent: bool,
    /// What the storage has, while another library has the memory too and both write to it.
    exported: Option<Box<Exported>>,
}

/// Memory that a storage shares with another library.
struct Exported {
    /// The storage's own right to write there.
    loan: Loan,
    /// The copy that a trace reads and writes in the place of the memory.
    traced: Option<Array>,
}

impl Storage {
    fn new(whole: Tensor, writes: u32, inference: bool) -> Storage {
        Storage { whole, writes, inference, lent: false, exported: None }
    }

    /// Ends what is over: sharing the memory with another library that has let it go, and a loan. If the borrower still has
    /// the memory, the values move to memory of their own.
    fn take_back(&mut self) {
        if self.exported.as_ref().is_some_and(|exported| exported.loan.is_last()) {
            self.exported = None;
        }
        if std::mem::take(&mut self.lent)
            && let Err(error) = self.whole.array.own()
        {
            error.throw()
        }
    }

    /// Whether another library may write to the elements. Not while a trace has them.
    fn is_exported(&self) -> bool {
        self.exported.is_some() && !self.whole.array.is_sealed()
    }

    /// All elements, in memory that nobody writes to.
    fn kept(&self) -> Tensor {
        if !self.is_exported() {
            return self.whole.clone();
        }
        let array = self.whole.array.packed().unwrap_or_else(|error| error.throw());
        // A trace knows the copy again by its buffer.
        Tensor { array: array.buffered(), ..self.whole.clone() }
    }

    /// Puts all elements into the place of those that are there. Another library that has the memory sees them.
    fn put(&mut self, array: Array) {
        self.whole.array = array;
        self.settle();
    }

    /// Brings elements that have moved to another array back to the memory that another library has.
    fn settle(&mut self) {
        let Some(exported) = &mut self.exported else { return };
        let array = &mut self.whole.array;
        if array.is_sealed() || exported.loan.holds(array) {
            return;
        }
        let dims = array.dims().to_vec();
        // What a trace has not changed may have been changed by the other library since.
        if !exported.traced.take().is_some_and(|before| before.is_same(array)) {
            let packed = array.contiguous().unwrap_or_else(|error| error.throw());
            exported.loan.write(&packed);
        }
        let memory = exported.loan.array(array.dtype()).expect("the memory has had such elements");
        *array = memory.reshaped(&dims).expect("the memory is contiguous");
    }
}

/// How the values were computed.
pub struct History {
    /// The edge of all elements of the storage, which may be a leaf.
    edge: Option<Edge>,
    /// How often the edge was changed.
    changes: u64,
    /// The axes in the order of the storage, if the edge is that of the elements in another order. A result in such an order needs no
    /// node for its storage, unless it is written to.
    order: Option<Box<Dims>>,
    /// The elements that the edge is of, if it is not that of all. The others are constants.
    part: Option<Box<Layout>>,
}

impl History {
    fn new(edge: Option<Edge>) -> History {
        History { edge, changes: 0, order: None, part: None }
    }

    /// The edge of all elements of the storage, in its order.
    fn edge_of(&mut self, whole: &Tensor) -> Option<Edge> {
        if let Some(order) = self.order.take()
            && let Some(edge) = self.edge.take()
        {
            let k = whole.levels.len();
            let back: Dims = (0..k).chain(inverse(&order).iter().map(|a| k + a)).collect();
            let before = Tensor { array: whole.array.permute(&back), edge: Some(edge), ..whole.clone() };
            let axes: SmallVec<[i64; 4]> = order.iter().map(|&a| a as i64).collect();
            self.edge = permute_dims(&before, &axes).expect("an order of all axes").edge;
        }
        if let Some(layout) = self.part.take() {
            // Whoever reads the history may do so while ops are not recorded.
            let _recorded = Modes::enter(|m| m.recording = Recording::On);
            let array = whole.array.part(&layout, whole.levels.len());
            let part = Tensor { array, edge: self.edge.take(), ..whole.clone() };
            let mut all = whole.clone();
            let written = put_at(&mut all, Some(&layout), &[Index::Ellipsis], (&part).into());
            written.unwrap_or_else(|error| error.throw());
            self.edge = all.edge;
        }
        self.edge.clone()
    }
}

/// The order of axes in which the elements of a value lie without gaps, behind its hidden axes. None if there is none.
fn own_order(t: &Tensor) -> Option<Dims> {
    let order = dense_order(&t.array)?;
    let k = t.levels.len();
    (!t.array.is_sealed() && order[..k].iter().copied().eq(0..k)).then_some(order)
}

/// The value of a tensor whose memory other tensors may share.
pub struct SharedValue {
    storage: Arc<Mutex<Storage>>,
    history: Arc<Mutex<History>>,
    /// The elements of the storage that are this tensor's, in the C order of the storage.
    pub layout: Layout,
    /// The tensor's edge. It holds until the history is changed again.
    edge: Option<Edge>,
    /// The reason why there is no edge.
    pub detach_reason: DetachReason,
    changes_seen: u64,
    /// The tensor that this one is a view of.
    pub base: Option<Py<PyAny>>,
}

/// Which elements of which memory a tensor has.
pub struct Region {
    storage: Arc<Mutex<Storage>>,
    history: Arc<Mutex<History>>,
    pub layout: Layout,
    tracked: bool,
}

impl Region {
    /// Whether both are the same elements of the same memory.
    pub fn is_same(&self, other: &Region) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage) && self.layout == other.layout
    }
}

/// An edge that is no longer needed. It may be the last holder of a graph, whose drop may run Python code, so it must
/// be dropped where no lock is held.
#[must_use]
pub struct OldEdge(#[allow(dead_code, reason = "held to be dropped")] pub Option<Edge>);

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared<T>(value: T) -> Arc<Mutex<T>> {
    Arc::new(Mutex::new(value))
}

/// A storage, as a place that compiled programs read and write.
#[derive(Clone)]
pub struct Place {
    storage: Arc<Mutex<Storage>>,
    history: Arc<Mutex<History>>,
}

/// A [`Place`] that does not keep the memory: it is gone with the last tensor that has it.
pub struct WeakPlace {
    storage: Weak<Mutex<Storage>>,
    history: Weak<Mutex<History>>,
}

impl WeakPlace {
    /// Calls `f` with all elements, if the memory exists and has no edge.
    pub fn with_untracked<R>(&self, f: impl FnOnce(&Tensor) -> R) -> Option<R> {
        let (storage, history) = (self.storage.upgrade()?, self.history.upgrade()?);
        if lock(&history).edge.is_some() {
            return None;
        }
        let mut storage = lock(&storage);
        storage.take_back();
        Some(f(&storage.kept()))
    }

    pub fn upgrade(&self) -> Option<Place> {
        Some(Place { storage: self.storage.upgrade()?, history: self.history.upgrade()? })
    }
}

impl Place {
    pub fn downgrade(&self) -> WeakPlace {
        WeakPlace { storage: Arc::downgrade(&self.storage), history: Arc::downgrade(&self.history) }
    }

    /// A number that tells the storage from all others, as long as it exists.
    pub fn key(&self) -> usize {
        Arc::as_ptr(&self.storage).addr()
    }

    /// All elements, with the edge of the history.
    pub fn read(&self) -> Tensor {
        let mut history = lock(&self.history);
        let mut storage = lock(&self.storage);
        storage.take_back();
        Tensor { edge: history.edge_of(&storage.whole), ..storage.kept() }
    }

    /// Puts an array with the same values in the place of the one that is there.
    pub fn put(&self, array: Array) {
        let mut storage = lock(&self.storage);
        if let Some(exported) = storage.exported.as_mut().filter(|_| array.is_sealed()) {
            exported.traced = Some(array.unsealed().clone());
        }
        storage.put(array);
    }

    /// Whether two of these storages have bytes in common, which another library has too.
    pub fn overlap<'a>(places: impl Iterator<Item = &'a Place>) -> bool {
        let mut seen: Vec<(usize, Loan)> = vec![];
        places.into_iter().any(|place| {
            let Some(loan) = lock(&place.storage).exported.as_ref().map(|e| e.loan.clone()) else {
                return false;
            };
            let meets = seen.iter().any(|(key, other)| *key != place.key() && other.overlaps(&loan));
            seen.push((place.key(), loan));
            meets
        })
    }

    /// Writes all elements. The history stays.
    pub fn write(&self, array: Array) {
        let mut storage = lock(&self.storage);
        storage.put(array);
        count_write(&mut storage.writes);
    }
}

impl SharedValue {
    /// The storage with this value's history, if the value is all of it.
    pub fn place(&self) -> Option<Place> {
        let whole = self.is_whole(&lock(&self.storage));
        whole.then(|| self.place_of_part())
    }

    /// The storage with this value's history.
    pub fn place_of_part(&self) -> Place {
        Place { storage: self.storage.clone(), history: self.history.clone() }
    }

    /// A number that tells the history from all others, as long as it exists.
    pub fn history(&self) -> usize {
        Arc::as_ptr(&self.history).addr()
    }

    /// The same elements of the same memory, for another tensor.
    pub fn again(&self, py: Python<'_>) -> SharedValue {
        SharedValue {
            storage: self.storage.clone(),
            history: self.history.clone(),
            layout: self.layout.clone(),
            edge: self.edge.clone(),
            detach_reason: self.detach_reason,
            changes_seen: self.changes_seen,
            base: self.base.as_ref().map(|b| b.clone_ref(py)),
        }
    }

    /// The same elements in a storage and a history of their own, which begin as these are. `array` has the values of
    /// the storage.
    pub fn apart(&self, py: Python<'_>, array: Array) -> SharedValue {
        let mut history = lock(&self.history);
        let storage = lock(&self.storage);
        let edge = history.edge_of(&storage.whole);
        let whole = Tensor { array, ..storage.whole.clone() };
        SharedValue {
            storage: shared(Storage::new(whole, 0, storage.inference)),
            history: shared(History::new(edge)),
            changes_seen: 0,
            ..self.again(py)
        }
    }

    /// Takes over what was written to a value that was made [`SharedValue::apart`] from this one.
    pub fn rejoin(&mut self, other: &SharedValue) -> [OldEdge; 2] {
        let (edge, changes) = {
            let mut history = lock(&other.history);
            let edge = history.edge_of(&lock(&other.storage).whole);
            (edge, history.changes)
        };
        let array = lock(&other.storage).whole.array.unsealed().clone();
        let mut history = lock(&self.history);
        let mut storage = lock(&self.storage);
        storage.put(array);
        count_write(&mut storage.writes);
        let mut old = None;
        if changes > 0 {
            history.changes += 1;
            (history.order, history.part) = (None, None);
            old = std::mem::replace(&mut history.edge, edge);
        }
        self.layout.clone_from(&other.layout);
        self.changes_seen = if other.changes_seen == changes { history.changes } else { u64::MAX };
        [OldEdge(old), OldEdge(std::mem::replace(&mut self.edge, other.edge.clone()))]
    }

    /// The value of a tensor that nobody shares, moved to a storage of its own.
    pub fn whole(t: &Tensor, writes: u32, inference: bool) -> SharedValue {
        // What is written later gives the storage stems of its own.
        let detach_reason = DetachReason::default();
        SharedValue {
            storage: shared(Storage::new(Tensor { detach_reason, ..t.detach() }, writes, inference)),
            history: shared(History::new(t.edge.clone())),
            layout: Layout::contiguous(t.dims()),
            edge: t.edge.clone(),
            detach_reason: t.detach_reason,
            changes_seen: 0,
            base: None,
        }
    }

    /// [`SharedValue::whole`] with the elements in the order in which they lie without gaps. None if there is no such order.
    pub fn in_order(t: &Tensor, inference: bool) -> Option<SharedValue> {
        let order = own_order(t)?;
        let k = t.levels.len();
        let stored = Tensor { array: t.array.permute(&order), ..t.clone() };
        let mut value = SharedValue::whole(&stored, 0, inference);
        value.layout = Layout { dims: t.dims().into(), strides: t.array.strides()[k..].into(), offset: 0 };
        lock(&value.history).order = Some(Box::new(order[k..].iter().map(|a| a - k).collect()));
        Some(value)
    }

    /// The same elements with a history of their own. It begins with this edge, or has none for that reason.
    pub fn detached(&self, edge: Option<Edge>, detach_reason: DetachReason) -> SharedValue {
        SharedValue {
            storage: self.storage.clone(),
            history: shared(self.history_of(edge.clone())),
            layout: self.layout.clone(),
            edge,
            detach_reason,
            changes_seen: 0,
            base: None,
        }
    }

    /// All elements of the memory as an untracked vector, in C order.
    pub fn memory(&self) -> SharedValue {
        let all = Layout::contiguous(&[shape::len(lock(&self.storage).whole.dims())]);
        SharedValue { layout: all, ..self.detached(None, self.detach_reason) }
    }

    /// Other elements of the same memory and history, with the edge that an op on this tensor gave them. `base` is the
    /// tensor that the result is a view of.
    pub fn view(
        &self,
        layout: Layout,
        edge: Option<Edge>,
        detach_reason: DetachReason,
        base: Py<PyAny>,
    ) -> SharedValue {
        let (storage, history) = (self.storage.clone(), self.history.clone());
        let changes_seen = lock(&history).changes;
        SharedValue { storage, history, layout, edge, detach_reason, changes_seen, base: Some(base) }
    }

    /// Whether these are all elements of the storage, in its order and shape.
    fn is_whole(&self, storage: &Storage) -> bool {
        self.layout.offset == 0
            && self.layout.dims.as_slice() == storage.whole.dims()
            && self.layout.is_contiguous()
    }

    /// The value, how often it was written to, and whether it was made in inference mode, if no other tensor and no program
    /// has this memory and its history.
    pub fn alone(&mut self) -> Option<(Tensor, u32, bool)> {
        let history = Arc::get_mut(&mut self.history)?.get_mut().ok()?;
        let storage = Arc::get_mut(&mut self.storage)?.get_mut().ok()?;
        if self.base.is_some()
            || storage.lent
            || storage.exported.is_some()
            || self.changes_seen != history.changes
        {
            return None;
        }
        let (writes, inference) = (storage.writes, storage.inference);
        let detach_reason = self.detach_reason.joined(storage.whole.detach_reason);
        let t = Tensor { edge: self.edge.clone(), detach_reason, ..storage.whole.clone() };
        let whole = self.layout.offset == 0 && *self.layout.dims == *t.dims() && self.layout.is_contiguous();
        whole.then_some((t, writes, inference))
    }

    /// Calls `f` with the value, if it is all of the memory and has no edge.
    pub fn with_untracked<R>(&self, f: impl FnOnce(&Tensor) -> R) -> Option<R> {
        let history = lock(&self.history);
        if self.edge.is_some() || self.changes_seen != history.changes {
            return None;
        }
        drop(history);
        let mut storage = lock(&self.storage);
        storage.take_back();
        self.is_whole(&storage).then(|| f(&storage.kept()))
    }

    /// The value with its edge, for whoever may keep it.
    pub fn read(&mut self) -> (Tensor, OldEdge) {
        let (t, old) = self.look();
        let array = t.array.kept().unwrap_or_else(|error| error.throw());
        (Tensor { array, ..t }, old)
    }

    /// The value with its edge. The edge is made anew if the history has changed. The array may lie in memory that another
    /// library writes to, so whoever keeps it takes a copy.
    pub fn look(&mut self) -> (Tensor, OldEdge) {
        let mut history = lock(&self.history);
        let mut storage = lock(&self.storage);
        storage.take_back();
        let (is_whole, whole) = (self.is_whole(&storage), storage.whole.clone());
        drop(storage);
        let mut old = None;
        if self.changes_seen != history.changes {
            self.changes_seen = history.changes;
            let edge = history.edge_of(&whole).and_then(|edge| {
                // A view is an op of its own in the graph, even if it is a view of all elements.
                if is_whole && self.base.is_none() {
                    return Some(edge);
                }
                let whole = Tensor { edge: Some(edge), ..whole.clone() };
                strided(&whole, &self.layout).expect("a layout of this storage, which lies in C order").edge
            });
            old = std::mem::replace(&mut self.edge, edge);
        }
        let array = if is_whole { whole.array } else { whole.array.part(&self.layout, whole.levels.len()) };
        (
            Tensor {
                array,
                edge: self.edge.clone(),
                levels: whole.levels,
                detach_reason: self.detach_reason.joined(whole.detach_reason),
            },
            OldEdge(old),
        )
    }

    /// The edge as of the last read.
    pub fn edge(&self) -> Option<Edge> {
        self.edge.clone()
    }

    pub fn last_edge(&self) -> &Option<Edge> {
        &self.edge
    }

    /// Shows the edges that no other tensor holds: this tensor's, and that of the history if the history is not shared.
    pub fn own_edges(&self, see: impl FnOnce(&[&Edge])) {
        let alone = Arc::strong_count(&self.history) == 1;
        let history = if alone { self.history.try_lock().ok() } else { None };
        let edges = [self.edge.as_ref(), history.as_ref().and_then(|h| h.edge.as_ref())];
        see(&edges.into_iter().flatten().collect::<SmallVec<[&Edge; 2]>>());
    }

    pub fn writes(&self) -> u32 {
        lock(&self.storage).writes
    }

    pub fn is_inference(&self) -> bool {
        lock(&self.storage).inference
    }

    /// The layout of an array that lies in this memory; None for other arrays.
    pub fn layout_of(&self, t: &Tensor) -> Option<Layout> {
        let storage = lock(&self.storage);
        let batch_ndim = t.levels.len();
        if t.levels != storage.whole.levels {
            None
        } else {
            t.array.layout_in(&storage.whole.array, batch_ndim)
        }
    }

    /// Whether an array lies in this memory.
    pub fn shares_memory(&self, array: &Array) -> bool {
        lock(&self.storage).whole.array.shares_memory(array)
    }

    pub fn region(&self) -> Region {
        Region {
            storage: self.storage.clone(),
            history: self.history.clone(),
            layout: self.layout.clone(),
            tracked: self.edge.is_some(),
        }
    }

    /// Whether the tensor at a region has the same storage and history, and both are tracked or neither is.
    pub fn shares_history(&self, region: &Region) -> bool {
        Arc::ptr_eq(&self.storage, &region.storage)
            && Arc::ptr_eq(&self.history, &region.history)
            && lock(&self.history).edge.is_some() == region.tracked
    }

    /// Takes the elements and the edge of another tensor of the same memory, which counts as a write. A leaf begins a
    /// new history. Returns None, and changes nothing, if the memory is another.
    pub fn move_to(&mut self, region: &Region, edge: Option<Edge>) -> Option<OldEdge> {
        if !Arc::ptr_eq(&self.storage, &region.storage) {
            return None;
        }
        self.layout = region.layout.clone();
        self.count_write();
        if edge.as_ref().is_some_and(|e| e.node.is_leaf()) {
            return Some(self.restart(edge));
        }
        self.changes_seen = lock(&self.history).changes;
        Some(OldEdge(std::mem::replace(&mut self.edge, edge)))
    }

    /// Whether the history is that of a leaf.
    pub fn is_of_leaf(&self) -> bool {
        lock(&self.history).edge.as_ref().is_some_and(|e| e.node.is_leaf())
    }

    /// Begins a history of this view alone, in which the elements of the storage are those of the leaf so far, or untracked
    /// where the view is. What is written to the view is recorded there, and the leaf stays a leaf. Returns None, and changes
    /// nothing, unless this is a view of a leaf.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn part_from_leaf(&mut self) -> Result<Option<OldEdge>> {
        if self.base.is_none() || !self.is_of_leaf() {
            return Ok(None);
        }
        if self.was_made_unrecorded() {
            return Ok(Some(self.restart(None)));
        }
        let (_, old) = self.look();
        let leaf = self.place_of_part().read();
        self.history = shared(History::new(alias(&leaf)?.edge));
        self.changes_seen = 0;
        Ok(Some(old))
    }

    /// Whether this view was made while ops were not recorded, of a tensor that has a history.
    pub fn was_made_unrecorded(&self) -> bool {
        let history = lock(&self.history);
        self.edge.is_none() && history.edge.is_some() && self.changes_seen == history.changes
    }

    /// Makes the next read make the edge anew.
    pub fn forget_edge(&mut self) -> OldEdge {
        self.changes_seen = u64::MAX;
        OldEdge(self.edge.take())
    }

    /// A new history that begins with the edge of this value, which may be a part of the storage.
    fn history_of(&self, edge: Option<Edge>) -> History {
        let is_result = edge.as_ref().is_some_and(|e| !e.node.is_leaf());
        let is_part = is_result && !self.is_whole(&lock(&self.storage));
        History { part: is_part.then(|| Box::new(self.layout.clone())), ..History::new(edge) }
    }

    /// Begins a new history: the tensor becomes a leaf, or untracked. The views of a tensor that becomes a leaf follow
    /// it.
    pub fn restart(&mut self, edge: Option<Edge>) -> OldEdge {
        let whole = self.is_whole(&lock(&self.storage));
        if edge.is_some() && self.base.is_none() && whole {
            let mut history = lock(&self.history);
            history.edge = edge.clone();
            history.part = None;
            history.changes += 1;
            self.changes_seen = history.changes;
        } else {
            self.history = shared(self.history_of(edge.clone()));
            self.changes_seen = 0;
        }
        OldEdge(std::mem::replace(&mut self.edge, edge))
    }

    /// Makes the memory such that views can share it.
    pub fn share(&self) -> Result<()> {
        let mut storage = lock(&self.storage);
        storage.take_back();
        storage.whole.array = shareable(&storage.whole.array)?;
        Ok(())
    }

    /// Lends the memory to somebody who may write to it. None if another tensor, a node or a borrower has it too, other
    /// than the tensor of a region, or if the tensor is a part of it.
    pub fn lend(&self, base: Option<&Region>) -> Option<Array> {
        let mut storage = lock(&self.storage);
        if storage.exported.is_some() {
            return None;
        }
        // The region is a holder itself.
        let others = if base.is_some_and(|base| Arc::ptr_eq(&base.storage, &self.storage)) { 2 } else { 0 };
        let dims = &self.layout.dims;
        let alone = Arc::strong_count(&self.storage) == 1 + others
            && self.layout == Layout::contiguous(dims)
            && shape::len(dims) == storage.whole.array.len();
        (alone && storage.whole.array.is_writable()).then(|| {
            storage.lent = true;
            storage.whole.array.part(&self.layout, storage.whole.levels.len())
        })
    }

    /// Writes: `f` changes the storage's tensor, at the layout if one is given. Only if `record` does `f` see the edge
    /// of the history and change it.
    pub fn write(
        &mut self,
        record: bool,
        f: impl FnOnce(&mut Tensor, Option<&Layout>) -> Result<()>,
    ) -> Result<OldEdge> {
        let mut history = lock(&self.history);
        let mut storage = lock(&self.storage);
        storage.take_back();
        let is_whole = self.is_whole(&storage);
        storage.whole.edge = if record { history.edge_of(&storage.whole) } else { None };
        let done = f(&mut storage.whole, (!is_whole).then_some(&self.layout));
        let edge = storage.whole.edge.take();
        storage.settle();
        done?;
        count_write(&mut storage.writes);
        let same = match (&edge, &history.edge) {
            (Some(new), Some(old)) => new.is_same(old),
            (new, old) => new.is_none() && old.is_none(),
        };
        if !record || same {
            return Ok(OldEdge(None));
        }
        history.changes += 1;
        Ok(OldEdge(std::mem::replace(&mut history.edge, edge)))
    }

    /// The elements for writing in place, if these are all elements of the storage.
    pub fn all<R>(&mut self, f: impl FnOnce(&mut Array) -> R) -> Option<R> {
        let mut storage = lock(&self.storage);
        storage.take_back();
        self.is_whole(&storage).then(|| {
            let done = f(&mut storage.whole.array);
            storage.settle();
            done
        })
    }

    /// Shares the memory with another library, which may write to it as this does. The values move to memory of their own
    /// if a node, a program or another array has them.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn export(&self) -> Result<(Array, Loan)> {
        let mut storage = lock(&self.storage);
        storage.take_back();
        let batch_ndim = storage.whole.levels.len();
        let loan = match &storage.exported {
            Some(exported) => exported.loan.clone(),
            None => {
                let loan = storage.whole.array.lend()?;
                storage.exported = Some(Box::new(Exported { loan: loan.clone(), traced: None }));
                loan
            }
        };
        Ok((storage.whole.array.part(&self.layout, batch_ndim), loan))
    }

    /// The bytes of the elements, read as elements of another dtype in the same memory. None if they make up none.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn reread(&self, dtype: DType) -> Result<Option<SharedValue>> {
        let (array, loan) = self.export()?;
        let (old, new) = (array.dtype().size(), dtype.size());
        let mut layout = self.layout.clone();
        if old != new {
            let Some((last, rest)) = layout.strides.split_last() else { return Ok(None) };
            let size = layout.dims[rest.len()];
            // How many bytes lie between elements, in elements of the new dtype.
            let steps: Option<Strides> = rest
                .iter()
                .chain([&layout.offset])
                .map(|s| (s * old as isize % new as isize == 0).then(|| s * old as isize / new as isize))
                .collect();
            let (Some(mut steps), true, true) =
                (steps, *last == 1 || size < 2, (size * old).is_multiple_of(new))
            else {
                return Ok(None);
            };
            layout.offset = steps.pop().expect("the offset is the last of them");
            steps.push(1);
            layout.dims[rest.len()] = size * old / new;
            layout.strides = steps;
        }
        let loan = loan.of(dtype);
        let Some(memory) = loan.array(dtype).filter(|memory| layout.fits(memory.len())) else {
            return Ok(None);
        };
        let whole = layout.offset == 0 && layout.is_contiguous() && shape::len(&layout.dims) == memory.len();
        let memory = if whole { memory.reshaped(&layout.dims).expect("as many elements") } else { memory };
        Ok(Some(SharedValue::of_loan(memory, loan, layout, self.is_inference())))
    }

    /// Some elements of memory that is shared with another library.
    pub fn of_loan(memory: Array, loan: Loan, layout: Layout, inference: bool) -> SharedValue {
        let t = Tensor::constant(memory);
        let value = SharedValue::whole(&t, 0, inference);
        lock(&value.storage).exported = Some(Box::new(Exported { loan, traced: None }));
        SharedValue { layout, ..value }
    }

    /// Counts a write that changes nothing.
    pub fn count_write(&self) {
        let mut storage = lock(&self.storage);
        count_write(&mut storage.writes);
    }
}
