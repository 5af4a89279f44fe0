//! The memory of arrays. Blocks are aligned and initialised. A failed allocation is an error, not an abort. Freed
//! blocks are cached for the next array of the same size class.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::any::Any;
use std::hint::black_box;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Buffers of at least this many bytes start on a cache line.
const LARGE: usize = 1024;
const LINE: usize = 64;

/// Buffers of at least this many bytes start on a page. Processors tell a load from an earlier store by the position in
/// the page alone, so a loop that reads somewhat behind where it writes, in another page, would wait for each store.
const PAGED: usize = 32 << 10;
const PAGE: usize = 4096;

/// The alignment of a buffer of this size, in bytes. It is a matter of speed alone.
fn alignment(bytes: usize) -> usize {
    match bytes {
        _ if EXACT => SYSTEM,
        PAGED.. => PAGE,
        LARGE.. => LINE,
        _ => SYSTEM,
    }
}

/// Whether each buffer is a block of its own that ends where its elements end, so that AddressSanitizer and Miri see every
/// byte beyond it. Builds with `--cfg exact_buffers` are such.
const EXACT: bool = cfg!(exact_buffers);

/// The alignment of the system's blocks. With a larger one the allocator would clear large zeroed blocks itself instead
/// of taking zeroed pages. So a little more is allocated, and the start is moved.
const SYSTEM: usize = 16;

/// The block of a buffer of `bytes` bytes.
fn block(bytes: usize) -> Option<Layout> {
    let size = bytes.checked_add(alignment(bytes) - SYSTEM)?;
    Layout::from_size_align(size.max(1), SYSTEM).ok()
}

/// Buffers of at least this many bytes ask for huge pages, which need fewer page faults and fewer TLB entries.
const HUGE: usize = 4 << 20;

/// Asks the system to back this untouched memory with huge pages. The system may refuse.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(base: NonNull<u8>, bytes: usize) {
    let first = base.as_ptr().align_offset(PAGE);
    let whole = (bytes - first) / PAGE * PAGE;
    // SAFETY: the pages lie inside the block, which the caller owns, and this advice changes none of their bytes.
    unsafe { libc::madvise(base.as_ptr().add(first).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: NonNull<u8>, _: usize) {}

/// Owns memory that is lent: see `lent.rs`.
pub(super) struct Keeper {
    /// What keeps the memory alive.
    #[allow(dead_code, reason = "held to be dropped")]
    pub owner: Box<dyn Any + Send + Sync>,
    /// Whether the memory is another library's, which may write to it without a loan.
    pub is_foreign: bool,
    /// Is held once by the keeper and once by each loan.
    pub loans: Arc<()>,
}

impl Keeper {
    /// Whether somebody else may write to the memory, or there is the right to.
    pub(super) fn is_lent(&self) -> bool {
        self.is_foreign || Arc::strong_count(&self.loans) > 1
    }
}

pub(super) struct Buffer {
    base: NonNull<u8>,
    /// Bytes from the base to the first used byte.
    skip: usize,
    layout: Layout,
    /// Who has the memory, if it is not the buffer's own.
    keeper: Option<Arc<Keeper>>,
}

// SAFETY: a buffer is plain memory without thread affinity. `Array` writes to it only while it is the unique owner.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// At least `bytes` bytes with unspecified values, or `None` if the allocation fails.
    pub(super) fn new(bytes: usize) -> Option<triomphe::Arc<Buffer>> {
        let (class, bytes) = class(bytes);
        match class.and_then(take) {
            Some(kept) => kept.buffer(bytes),
            None => Buffer::fresh(bytes),
        }
    }

    /// At least `bytes` zeroed bytes. `clear` is called with address and length when the memory was used before.
    pub(super) fn zeroed(bytes: usize, clear: impl FnOnce(*mut u8, usize)) -> Option<triomphe::Arc<Buffer>> {
        let (class, bytes) = class(bytes);
        let Some(kept) = class.and_then(take) else { return Buffer::fresh(bytes) };
        let buffer = kept.buffer(bytes)?;
        clear(buffer.ptr(), bytes);
        Some(buffer)
    }

    /// `bytes` zeroed bytes from the system.
    fn fresh(bytes: usize) -> Option<triomphe::Arc<Buffer>> {
        let layout = block(bytes)?;
        // The system keeps small freed blocks at hand for `alloc`, but not for `alloc_zeroed`, which the compiler would make of
        // `alloc` and zeros if it knew where they are written.
        let base = if bytes < SMALLEST {
            // SAFETY: the layout's size is at least one.
            let base = NonNull::new(black_box(unsafe { alloc(layout) }))?;
            // SAFETY: the block has these bytes.
            unsafe { base.write_bytes(0, layout.size()) };
            base
        } else {
            // SAFETY: the layout's size is at least one.
            NonNull::new(unsafe { alloc_zeroed(layout) })?
        };
        let skip = base.as_ptr().align_offset(alignment(bytes));
        if bytes >= HUGE {
            ask_for_huge_pages(base, bytes);
        }
        // It is made where it stays: moved, it would be read before it has been written.
        Some(triomphe::Arc::new(Buffer { base, skip, layout, keeper: None }))
    }

    /// Memory that a keeper has. None if there are more bytes than memory can have.
    ///
    /// # Safety
    /// The memory has these bytes, which are initialised, and lives as long as the keeper.
    pub(super) unsafe fn kept(base: NonNull<u8>, bytes: usize, keeper: Arc<Keeper>) -> Option<Buffer> {
        Some(Buffer { base, skip: 0, layout: Layout::from_size_align(bytes, 1).ok()?, keeper: Some(keeper) })
    }

    /// Who has the memory, if it is not the buffer's own.
    #[inline]
    pub(super) fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    #[inline]
    pub(super) fn ptr(&self) -> *mut u8 {
        // SAFETY: `skip` is at most what `block` added to the size.
        unsafe { self.base.as_ptr().add(self.skip) }
    }

    /// Bytes from the first used byte to the end of the block.
    pub(super) fn len(&self) -> usize {
        self.layout.size() - self.skip
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.keeper.is_some() {
            return;
        }
        let kept = self.layout.size() >= SMALLEST && {
            let size = self.layout.size();
            let used = size - if size >= PAGED + PAGE - SYSTEM { PAGE - SYSTEM } else { LINE - SYSTEM };
            let (class, bytes) = class(used);
            let whole = block(bytes) == Some(self.layout);
            class.is_some_and(|class| whole && put(class, Kept { base: self.base, skip: self.skip }, bytes))
        };
        if !kept {
            // SAFETY: the block was allocated by `fresh` with this layout, and nobody else has it.
            unsafe { dealloc(self.base.as_ptr(), self.layout) }
        }
    }
}

/// Sizes of cached buffers: smaller ones are left to the allocator, larger ones to the system.
const SMALLEST: usize = 1 << 10;
const LARGEST: usize = 1 << 30;
/// Size classes between a power of two and the next.
const STEPS: usize = 4;
const CLASSES: usize = STEPS * (LARGEST / SMALLEST).ilog2() as usize;

/// A free buffer. The size class of its list gives its length.
struct Kept {
    base: NonNull<u8>,
    skip: usize,
}

// SAFETY: a free block of memory has no owner and no thread affinity.
unsafe impl Send for Kept {}

impl Kept {
    /// A buffer of `bytes` bytes, the size of the class.
    #[inline]
    fn buffer(self, bytes: usize) -> Option<triomphe::Arc<Buffer>> {
        let layout = block(bytes)?;
        Some(triomphe::Arc::new(Buffer { base: self.base, skip: self.skip, layout, keeper: None }))
    }
}

/// The free buffers of a class.
struct List {
    kept: Vec<Kept>,
    /// So many of them, the first ones, were free since the last look.
    unused: usize,
    puts: u8,
}

/// The free buffers by size class, used last in, first out. A list that stays locked is skipped.
static WAITING: [Mutex<List>; CLASSES] =
    [const { Mutex::new(List { kept: vec![], unused: 0, puts: 0 }) }; CLASSES];
/// Bytes in the cache, and the most that it may hold.
static BYTES: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(256 << 20);

/// A buffer that nobody takes for one to two of these goes back to the system, when other buffers are freed.
const PERIOD: Duration = Duration::from_secs(2);
/// When it was looked last which buffers nobody takes. Nobody waits for the lock.
static LOOKED: Mutex<Option<Instant>> = Mutex::new(None);
/// A thread that frees a buffer of at least so many bytes reads the clock, to see whether it is time to look.
const CLOCKED: usize = 64 << 10;
/// Among the smaller buffers of a class, the thread reads the clock for one of so many.
const FEW_CLOCKED: u8 = 32;
/// When so many bytes go back to the system, the C library gives back what it keeps of its own.
const MUCH: usize = 8 << 20;

/// The size class of a size (`None` if buffers of that size are not cached), and the size rounded up to its class.
#[inline]
fn class(bytes: usize) -> (Option<usize>, usize) {
    if EXACT || !(SMALLEST..LARGEST).contains(&bytes) {
        return (None, bytes);
    }
    let power = bytes.ilog2();
    let step = 1usize << (power - STEPS.ilog2());
    let size = bytes.next_multiple_of(step);
    let at = size.ilog2();
    let class = STEPS * (at - SMALLEST.ilog2()) as usize + (size >> (at - STEPS.ilog2())) - STEPS;
    if class < CLASSES { (Some(class), size) } else { (None, bytes) }
}

/// The size of the buffers of a class.
fn size(class: usize) -> usize {
    ((STEPS + class % STEPS) * (SMALLEST / STEPS)) << (class / STEPS)
}

/// The list of a class, or `None` if it stays locked for longer than a push or pop takes.
#[inline]
fn list(class: usize) -> Option<MutexGuard<'static, List>> {
    (0..100).find_map(|_| WAITING[class].try_lock().inspect_err(|_| std::hint::spin_loop()).ok())
}

fn take(class: usize) -> Option<Kept> {
    let mut list = list(class)?;
    let kept = list.kept.pop()?;
    list.unused = list.unused.min(list.kept.len());
    drop(list);
    BYTES.fetch_sub(size(class), Relaxed);
    Some(kept)
}

/// Puts a free buffer into the cache. Returns whether the cache took it.
fn put(class: usize, kept: Kept, bytes: usize) -> bool {
    if BYTES.fetch_add(bytes, Relaxed) + bytes <= LIMIT.load(Relaxed)
        && let Some(mut list) = list(class)
        && list.kept.try_reserve(1).is_ok()
    {
        list.kept.push(kept);
        list.puts = list.puts.wrapping_add(1);
        let is_clocked = bytes >= CLOCKED || list.puts.is_multiple_of(FEW_CLOCKED);
        drop(list);
        if is_clocked {
            give_back_unused();
        }
        return true;
    }
    BYTES.fetch_sub(bytes, Relaxed);
    false
}

/// Gives the buffers back to the system that nobody has taken since the last look, if that was long ago.
#[cold]
fn give_back_unused() {
    let Ok(mut looked) = LOOKED.try_lock() else { return };
    let now = Instant::now();
    if looked.is_some_and(|then| now - then < PERIOD) {
        return;
    }
    *looked = Some(now);
    drop(looked);
    let mut freed = 0;
    for class in 0..CLASSES {
        let Some(mut list) = list(class) else { continue };
        let unused: Vec<Kept> = {
            let unused = list.unused;
            list.kept.drain(..unused).collect()
        };
        list.unused = list.kept.len();
        drop(list);
        freed += free_all(class, unused);
    }
    trim(freed);
}

/// Gives the buffers of a class, which are in no list any more, back to the system. Returns how many bytes that are.
fn free_all(class: usize, kept: Vec<Kept>) -> usize {
    let bytes = kept.len() * size(class);
    BYTES.fetch_sub(bytes, Relaxed);
    if let Some(layout) = block(size(class)) {
        // SAFETY: the blocks were allocated by `fresh` with the layout of their class, and nobody else has them.
        kept.into_iter().for_each(|Kept { base, .. }| unsafe { dealloc(base.as_ptr(), layout) });
    }
    bytes
}

/// Has the C library give the pages back that it keeps, after so many bytes were freed.
fn trim(freed: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    if freed >= MUCH {
        // SAFETY: this frees pages that are in no block.
        unsafe { libc::malloc_trim(0) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    let _ = (freed, MUCH);
}

/// Holds the lists while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    let held: Option<Vec<_>> = WAITING.iter().map(|list| list.try_lock().ok()).collect();
    Some(Box::new((held?, LOOKED.try_lock().ok()?)))
}

/// Returns all cached memory to the system, and how many bytes that were.
pub fn empty_cache() -> usize {
    let mut freed = 0;
    for class in 0..CLASSES {
        let Some(mut list) = list(class) else { continue };
        let kept = std::mem::take(&mut list.kept);
        list.unused = 0;
        drop(list);
        freed += free_all(class, kept);
    }
    trim(freed);
    freed
}

/// Sets the most bytes that the cache may hold, and returns the previous limit. If the limit falls, the cache is
/// emptied.
pub fn set_cache_limit(bytes: usize) -> usize {
    let before = LIMIT.swap(bytes, Relaxed);
    if bytes < before {
        empty_cache();
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::sized;

    #[test]
    fn a_size_has_the_class_of_its_own_size() {
        for bytes in (SMALLEST..1 << 16).step_by(sized(1, 997)).chain([1 << 20, (1 << 20) + 1, LARGEST - 1]) {
            let (found, rounded) = class(bytes);
            assert!(rounded >= bytes && rounded <= bytes + bytes / 4, "{bytes} {rounded}");
            if let Some(found) = found {
                assert_eq!((size(found), class(rounded)), (rounded, (Some(found), rounded)));
            }
        }
        assert_eq!(class(SMALLEST - 1), (None, SMALLEST - 1));
        assert_eq!(class(usize::MAX), (None, usize::MAX));
    }

    #[test]
    fn memory_is_used_again_and_zeroed_where_it_is_asked_for() {
        let bytes = sized(123_457, 4099);
        let first = Buffer::new(bytes).expect("memory");
        // SAFETY: the buffer has `bytes` bytes.
        unsafe { first.ptr().write_bytes(7, bytes) };
        let at = first.ptr() as usize;
        drop(first);
        // SAFETY: as above.
        let again = Buffer::zeroed(bytes, |at, n| unsafe { at.write_bytes(0, n) }).expect("memory");
        // Another test may have taken the cached buffer.
        if again.ptr() as usize == at {
            // SAFETY: as above.
            assert!((0..bytes).all(|i| unsafe { *again.ptr().add(i) } == 0));
        }
        assert!(EXACT || (again.ptr() as usize).is_multiple_of(LINE));
    }
}
