//! The memory of an array: aligned, initialised, and refused rather than aborted when it is not to be had.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Buffers of at least this many bytes start on a cache line.
const LARGE: usize = 1024;
const LINE: usize = 64;

pub(super) struct Buffer {
    base: NonNull<u8>,
    /// Bytes from the base to the first byte in use.
    skip: usize,
    layout: Layout,
}

// SAFETY: a buffer is plain memory; who may write it is decided by `Array`, through unique ownership only.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `bytes` zeroed bytes, or nothing if there is no such memory.
    pub(super) fn new(bytes: usize) -> Option<Buffer> {
        // Asking the allocator for more than 16-byte alignment makes it clear large zeroed blocks by hand;
        // so a little more is asked for, and the start moved.
        let slack = if bytes >= LARGE { LINE - 16 } else { 0 };
        let layout = Layout::from_size_align(bytes.checked_add(slack)?.max(1), 16).ok()?;
        // SAFETY: the layout has a size of at least one.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let skip = if slack == 0 { 0 } else { base.as_ptr().align_offset(LINE) };
        Some(Buffer { base, skip, layout })
    }

    #[inline]
    pub(super) fn ptr(&self) -> *mut u8 {
        // SAFETY: `skip` is at most the slack that was added to the layout.
        unsafe { self.base.as_ptr().add(self.skip) }
    }

    /// Bytes in use.
    pub(super) fn len(&self) -> usize {
        self.layout.size() - self.skip
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}
