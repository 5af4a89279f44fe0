//! Memory with code that no one writes to any more.

#[cfg(not(all(target_vendor = "apple", target_arch = "aarch64")))]
pub use anywhere::Executable;
#[cfg(all(target_vendor = "apple", target_arch = "aarch64"))]
pub use apple::Executable;

#[cfg(not(all(target_vendor = "apple", target_arch = "aarch64")))]
mod anywhere {
    use memmap2::{Mmap, MmapMut};

    pub struct Executable(Mmap);

    impl Executable {
        /// Code behind so many bytes. None if the system gives no memory for it.
        pub fn new(begin: usize, code: &[u8]) -> Option<Executable> {
            let mut memory = MmapMut::map_anon(begin + code.len()).ok()?;
            memory[begin..].copy_from_slice(code);
            let memory = memory.make_exec().ok()?;
            flush(&memory);
            Some(Executable(memory))
        }

        pub fn bytes(&self) -> &[u8] {
            &self.0
        }
    }

    /// From now on the processor runs the code that is in memory. Those of x86-64 see to it by themselves.
    #[cfg(target_arch = "x86_64")]
    fn flush(_: &[u8]) {}

    #[cfg(all(target_arch = "aarch64", windows))]
    fn flush(code: &[u8]) {
        unsafe extern "system" {
            fn GetCurrentProcess() -> *mut u8;
            fn FlushInstructionCache(process: *mut u8, start: *const u8, length: usize) -> i32;
        }
        // SAFETY: the system's function changes no memory.
        unsafe { FlushInstructionCache(GetCurrentProcess(), code.as_ptr(), code.len()) };
    }

    /// Instructions have a cache of their own, which is told of lines that were written.
    #[cfg(all(target_arch = "aarch64", not(windows)))]
    fn flush(code: &[u8]) {
        use std::arch::asm;
        let sizes: usize;
        // SAFETY: the register says how long the lines of both caches are, which a process may read.
        unsafe { asm!("mrs {}, ctr_el0", out(reg) sizes, options(nomem, nostack, preserves_flags)) };
        let lines = |shift: u32| {
            let bytes = 4 << (sizes >> shift & 15);
            let all = code.as_ptr_range();
            (all.start.addr() & !(bytes - 1)..all.end.addr()).step_by(bytes)
        };
        // SAFETY: these lines are in memory that can be read, and what is in it stays.
        unsafe {
            for line in lines(16) {
                asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags));
            }
            asm!("dsb ish", options(nostack, preserves_flags));
            for line in lines(0) {
                asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags));
            }
            asm!("dsb ish", "isb", options(nostack, preserves_flags));
        }
    }
}

/// Here a thread may either write to memory for code or run it. A program that is signed without leave to make code gets none of this
/// kind; other memory it would get, but not run.
#[cfg(all(target_vendor = "apple", target_arch = "aarch64"))]
mod apple {
    use std::ptr::{self, NonNull};

    pub struct Executable {
        start: NonNull<u8>,
        length: usize,
    }

    // SAFETY: no one writes to the memory.
    unsafe impl Send for Executable {}
    // SAFETY: as above.
    unsafe impl Sync for Executable {}

    unsafe extern "C" {
        fn sys_icache_invalidate(start: *const u8, length: usize);
    }

    impl Executable {
        /// Code behind so many bytes. None if the system gives no memory for it.
        pub fn new(begin: usize, code: &[u8]) -> Option<Executable> {
            let length = begin + code.len();
            let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_JIT;
            // SAFETY: the memory is new, and has room for the code.
            unsafe {
                let start = libc::mmap(ptr::null_mut(), length, access, kind, -1, 0);
                if start == libc::MAP_FAILED {
                    return None;
                }
                let start = NonNull::new(start.cast::<u8>())?;
                libc::pthread_jit_write_protect_np(0);
                ptr::copy_nonoverlapping(code.as_ptr(), start.as_ptr().add(begin), code.len());
                libc::pthread_jit_write_protect_np(1);
                sys_icache_invalidate(start.as_ptr(), length);
                Some(Executable { start, length })
            }
        }

        pub fn bytes(&self) -> &[u8] {
            // SAFETY: the memory has so many bytes.
            unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
        }
    }

    impl Drop for Executable {
        fn drop(&mut self) {
            // SAFETY: the memory is this one's own.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
        }
    }
}
