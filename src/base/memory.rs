//! Memory that runs out is an error of one call, not the end of the process.
//!
//! Whatever grows with the user's data is reserved in a way that can fail. Small blocks, such as a node, cannot report
//! a failure. When the system has no memory left they get it from a reserve, and [`check`], with which every op
//! begins, is an error until the reserve is whole again.

use std::alloc::{GlobalAlloc, Layout, System, alloc, dealloc};
use std::collections::TryReserveError;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use std::time::Duration;

use smallvec::{Array, CollectionAllocErr, SmallVec};

/// The size of the reserve. It is address space, and costs no memory while nobody writes to it. Blocks of more than 32
/// MiB go back to the system when glibc frees them.
const RESERVE: usize = 33 << 20;
/// The reserve is for blocks up to this size. A larger one fails, so whoever asks for one must be able to report that.
pub const SMALL: usize = 8 << 20;

/// The reserve. Null: it must be filled before the next op begins.
static KEPT: AtomicPtr<u8> = AtomicPtr::new(null_mut());

/// Whether a thread fills the reserve or gives it back.
static MOVING: AtomicBool = AtomicBool::new(false);

const LAYOUT: Layout = match Layout::from_size_align(RESERVE, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("a valid size and alignment"),
};

/// No memory is left.
#[derive(Debug, thiserror::Error)]
#[error("no memory is left")]
pub struct NoMemory;

impl From<TryReserveError> for NoMemory {
    fn from(_: TryReserveError) -> NoMemory {
        NoMemory
    }
}

impl From<CollectionAllocErr> for NoMemory {
    fn from(_: CollectionAllocErr) -> NoMemory {
        NoMemory
    }
}

/// Fills the reserve if it was used.
///
/// # Errors
/// There is not enough memory for that.
#[inline]
pub fn check() -> Result<(), NoMemory> {
    if is_short() { refill() } else { Ok(()) }
}

#[cold]
fn refill() -> Result<(), NoMemory> {
    alone(|| {
        if is_short() {
            // SAFETY: the size is not zero.
            KEPT.store(unsafe { alloc(LAYOUT) }, Relaxed);
        }
    });
    if is_short() { Err(NoMemory) } else { Ok(()) }
}

/// To be called in the child of a fork: a thread that moved the reserve is not there.
#[doc(hidden)]
pub fn after_fork_in_child() {
    MOVING.store(false, Relaxed);
}

/// Gives the reserve back to the global allocator, which gave it. Only within [`alone`].
fn give_back() {
    let kept = KEPT.swap(null_mut(), Relaxed);
    if !kept.is_null() {
        // SAFETY: `refill` made the block with this layout, and only this thread gets it out of `KEPT`.
        unsafe { dealloc(kept, LAYOUT) };
    }
}

/// Runs `f` while no other thread moves the reserve: between its block and `KEPT`, memory may seem to have ended. None: another
/// thread moves it for more than a second.
fn alone<R>(f: impl FnOnce() -> R) -> Option<R> {
    for _ in 0..1000 {
        if !MOVING.swap(true, Acquire) {
            let result = f();
            MOVING.store(false, Release);
            return Some(result);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// Looks whether this many bytes can be allocated, for code that cannot report that they cannot.
///
/// # Errors
/// They cannot.
pub fn ensure(bytes: usize) -> Result<(), NoMemory> {
    if bytes <= SMALL {
        return check();
    }
    Ok(Vec::<u8>::new().try_reserve_exact(bytes)?)
}

/// Takes the memory that the C library needs to drop local variables at the end of this thread. It takes it where the first
/// of them is used, and ends the process if there is none, so a new thread calls this while there is memory.
#[doc(hidden)]
pub fn begin_thread() {
    struct First;
    impl Drop for First {
        fn drop(&mut self) {}
    }
    thread_local!(static FIRST: First = const { First });
    FIRST.with(|_| ());
}

/// The size of the largest cache of the processor, or a guess.
pub fn largest_cache() -> usize {
    const GUESS: usize = 64 << 20;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: this reads a number that the system knows.
        let found = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
        usize::try_from(found).ok().filter(|&n| n > 0).unwrap_or(GUESS)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    GUESS
}

/// Whether the reserve was used and is not whole again.
#[inline]
pub fn is_short() -> bool {
    KEPT.load(Relaxed).is_null()
}

/// An allocator with a reserve, for programs that go on when memory has run out: with it as the global allocator an op for
/// which there is no memory is an [`Error`](crate::Error), and the program does not end.
///
/// ```
/// # use ferrograd_base::memory as ferrograd;
/// #[global_allocator]
/// static ALLOCATOR: ferrograd::WithReserve = ferrograd::WithReserve::new();
/// ```
pub struct WithReserve<A = System>(A);

impl WithReserve {
    /// The system's allocator with a reserve.
    pub const fn new() -> WithReserve {
        WithReserve::around(System)
    }
}

impl Default for WithReserve {
    fn default() -> WithReserve {
        WithReserve::new()
    }
}

impl<A: GlobalAlloc> WithReserve<A> {
    /// Another allocator with a reserve.
    pub const fn around(allocator: A) -> WithReserve<A> {
        WithReserve(allocator)
    }

    /// Tries once more with the reserve, after the system had no memory for a block of this size.
    #[cold]
    fn again(&self, size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
        if size > SMALL {
            return null_mut();
        }
        alone(|| {
            give_back();
            allocate()
        })
        .unwrap_or(null_mut())
    }
}

// SAFETY: every block comes from the inner allocator and goes back to it, with the layout of the call.
unsafe impl<A: GlobalAlloc> GlobalAlloc for WithReserve<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this function, which is the inner allocator's.
        let allocate = || unsafe { self.0.alloc(layout) };
        let block = allocate();
        if block.is_null() { self.again(layout.size(), allocate) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let allocate = || unsafe { self.0.alloc_zeroed(layout) };
        let block = allocate();
        if block.is_null() { self.again(layout.size(), allocate) } else { block }
    }

    #[inline]
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above. A block that could not be resized is still there.
        let allocate = || unsafe { self.0.realloc(old, layout, size) };
        let block = allocate();
        if block.is_null() { self.again(size, allocate) } else { block }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.0.dealloc(block, layout) }
    }
}

/// Writes a value where it stays, each field by itself: a value that is made before it has a place is moved there in
/// pieces, each of which waits for what was stored before. Gives the value at its place.
#[macro_export]
macro_rules! write_fields {
    ($place:expr, $T:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        let place: &mut std::mem::MaybeUninit<$T> = $place;
        let at = place.as_mut_ptr();
        $(
            let value = $value;
            // SAFETY: the field lies in the place.
            unsafe { (&raw mut (*at).$field).write(value) };
        )*
        let _all = |$T { $($field: _),* }: $T| {};
        // SAFETY: all fields have been written.
        unsafe { place.assume_init_mut() }
    }};
}
pub use write_fields;

/// A shared value that `write` writes where it stays, with [`write_fields!`].
#[inline(always)]
#[doc(hidden)]
pub fn shared<T>(write: impl for<'a> FnOnce(&'a mut MaybeUninit<T>) -> &'a mut T) -> Arc<T> {
    let mut new = Arc::new(MaybeUninit::uninit());
    let place = Arc::get_mut(&mut new).expect("nobody else has it yet");
    let at = place.as_ptr();
    assert!(std::ptr::eq(write(place), at), "another value was written");
    // SAFETY: there is a reference to the value at this place, so it has been written.
    unsafe { new.assume_init() }
}

/// Lists that can fail to grow.
pub trait TryPush<T>: Sized {
    /// Appends an item.
    ///
    /// # Errors
    /// There is no memory for it.
    fn try_push(&mut self, item: T) -> Result<(), NoMemory>;

    /// Makes room for this many more items.
    ///
    /// # Errors
    /// As above.
    fn try_room(&mut self, more: usize) -> Result<(), NoMemory>;
}

impl<T> TryPush<T> for Vec<T> {
    #[inline]
    fn try_push(&mut self, item: T) -> Result<(), NoMemory> {
        self.try_reserve(1)?;
        self.push(item);
        Ok(())
    }

    fn try_room(&mut self, more: usize) -> Result<(), NoMemory> {
        Ok(self.try_reserve(more)?)
    }
}

impl<A: Array> TryPush<A::Item> for SmallVec<A> {
    #[inline]
    fn try_push(&mut self, item: A::Item) -> Result<(), NoMemory> {
        if self.len() == self.capacity() {
            self.try_reserve(1)?;
        }
        self.push(item);
        Ok(())
    }

    fn try_room(&mut self, more: usize) -> Result<(), NoMemory> {
        Ok(self.try_reserve(more)?)
    }
}

/// What a test works on: all of it, or what Miri can interpret in seconds.
#[cfg(test)]
pub fn sized<T>(all: T, interpreted: T) -> T {
    if cfg!(miri) { interpreted } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_value_has_its_fields_and_drops_them_once() {
        struct Pair {
            name: String,
            counted: Arc<u8>,
        }
        let counted = Arc::new(7);
        let pair = shared(|place| {
            let pair = write_fields!(place, Pair { name: "a".to_owned(), counted: counted.clone() });
            pair.name.push('b');
            pair
        });
        assert_eq!((pair.name.as_str(), *pair.counted, Arc::strong_count(&counted)), ("ab", 7, 2));
        drop(pair);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
