//! The stack that is left to a thread. Hooks and functions of the user's may call the library again, which may call
//! them again: that ends in a `RecursionError` before the stack does.

use std::cell::Cell;

use pyo3::exceptions::PyRecursionError;

use super::error::foreign;
use crate::error::Result;

/// Python's code, an op and its kernels together take less than this.
const LEAST: usize = 128 << 10;

/// Checks that enough stack is left for an op.
///
/// # Errors
/// `RecursionError`.
pub fn check() -> Result<()> {
    thread_local! {
        /// The lowest address of this thread's stack, or 0 where that is not known.
        static END: Cell<Option<usize>> = const { Cell::new(None) };
    }
    let end = END.get().unwrap_or_else(|| {
        let end = end();
        END.set(Some(end));
        end
    });
    let here = std::ptr::from_ref(&end) as usize;
    if here.saturating_sub(end) < LEAST {
        let text = "calls of the library within hooks or functions that it calls are nested too deep for the stack of \
                    this thread; threading.stack_size() sets the size of new threads";
        return Err(foreign(PyRecursionError::new_err(text)));
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn end() -> usize {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the first call fills the attributes if it returns 0. The others read them, and the last frees them.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return 0;
        }
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    let lowest = lowest as usize;
    if cfg!(target_env = "musl") { lowest_of_musl(lowest, size) } else { lowest }
}

/// Of the first thread musl says how much stack is mapped by now. The system maps more up to a limit.
#[cfg(target_os = "linux")]
fn lowest_of_musl(lowest: usize, size: usize) -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: these ask the system for numbers, and write one to the variable.
    let (is_first, is_known) = unsafe {
        let thread = libc::syscall(libc::SYS_gettid);
        (
            thread == libc::c_long::from(libc::getpid()),
            libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) == 0,
        )
    };
    if !is_first {
        return lowest;
    }
    let is_limited = is_known && limit.rlim_cur != libc::RLIM_INFINITY;
    if is_limited { (lowest + size).saturating_sub(limit.rlim_cur as usize) } else { 0 }
}

#[cfg(target_os = "macos")]
fn end() -> usize {
    // SAFETY: these read what the system knows of the running thread.
    unsafe {
        let this = libc::pthread_self();
        libc::pthread_get_stackaddr_np(this) as usize - libc::pthread_get_stacksize_np(this)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn end() -> usize {
    0
}
