//! Function multiversioning: loops compiled for several instruction sets, one of which is chosen at run time. A loop
//! is plain Rust. Inside the wrappers below the compiler may vectorise it with the chosen instruction set.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
#[cfg(target_arch = "x86_64")]
use std::{
    cell::Cell,
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Elements that a loop handles before it checks whether all results are valid. A block stays in the first-level
/// cache.
pub const BLOCK: usize = 256;

/// The instruction sets that loops are compiled for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Isa {
    Baseline = 1,
    /// Every 64-bit ARM processor has NEON, and fused multiply-add with it.
    Neon,
    Avx2,
    Avx512,
}

/// The best instruction set of this processor, or the weaker one named by `FERROGRAD_CPU` (`baseline`, `avx2`,
/// `avx512`).
#[inline]
pub fn isa() -> Isa {
    static ISA: AtomicU8 = AtomicU8::new(0);
    match ISA.load(Relaxed) {
        0 => {
            let isa = detect();
            ISA.store(isa as u8, Relaxed);
            isa
        }
        1 => Isa::Baseline,
        2 => Isa::Neon,
        3 => Isa::Avx2,
        _ => Isa::Avx512,
    }
}

#[cold]
fn detect() -> Isa {
    let asked = match std::env::var("FERROGRAD_CPU").as_deref() {
        Ok("baseline") => Isa::Baseline,
        Ok("avx2") => Isa::Avx2,
        _ => Isa::Avx512,
    };
    asked.min(best())
}

#[cfg(target_arch = "x86_64")]
fn best() -> Isa {
    use std::arch::is_x86_feature_detected as has;
    if !(has!("avx2") && has!("fma")) {
        Isa::Baseline
    } else if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
        Isa::Avx512
    } else {
        Isa::Avx2
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Isa {
    if cfg!(target_arch = "aarch64") { Isa::Neon } else { Isa::Baseline }
}

/// A stream of products uses registers of 512 bits once it has `WIDE` multiplications. A processor that has to power up
/// its units first computes at a quarter of its speed for a hundred microseconds, which a shorter stream would not make
/// up for. Products of fewer than `SMALL` multiplications do not count.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 1 << 23;
#[cfg(target_arch = "x86_64")]
const SMALL: usize = 1 << 15;

/// A stream ends with a pause of this length, after which processors are powered down again.
#[cfg(target_arch = "x86_64")]
const PAUSE: Duration = Duration::from_micros(500);

/// Counts a product in this thread's stream. Returns whether the product takes less time in registers of 512 bits.
#[cfg(target_arch = "x86_64")]
pub fn is_wide_worthwhile(multiplications: usize) -> bool {
    thread_local! {
        /// The multiplications of the stream of products, and when the last one began.
        static STREAM: Cell<(usize, Option<Instant>)> = const { Cell::new((0, None)) };
    }
    static FOUND: OnceLock<bool> = OnceLock::new();
    if multiplications < SMALL || isa() != Isa::Avx512 {
        return false;
    }
    let (before, last) = STREAM.get();
    let now = Instant::now();
    let goes_on = last.is_some_and(|last| now - last < PAUSE);
    let all = if goes_on { before.saturating_add(multiplications) } else { multiplications };
    STREAM.set((all, Some(now)));
    all >= WIDE && *FOUND.get_or_init(units::are_wide)
}

#[cfg(not(target_arch = "x86_64"))]
pub fn is_wide_worthwhile(_: usize) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod units {
    use std::arch::x86_64::*;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    const STEPS: usize = 200;
    /// Within this time a processor is at the clock rate at which it computes in registers of 512 bits.
    const UNTIL_WARM: Duration = Duration::from_micros(500);

    macro_rules! chains {
        ($name:ident $splat:ident $fmadd:ident $($sum:ident)*) => {
            /// Products that do not wait for each other, so many that all units are busy.
            ///
            /// # Safety
            /// The processor has AVX-512.
            #[target_feature(enable = "avx512f,avx512vl,fma")]
            unsafe fn $name() {
                let x = black_box($splat(0.5));
                $(let mut $sum = x;)*
                for _ in 0..STEPS {
                    $($sum = $fmadd(x, x, $sum);)*
                }
                black_box(($($sum,)*));
            }
        };
    }
    chains!(half _mm256_set1_ps _mm256_fmadd_ps a b c d e f g h i j k l);
    chains!(whole _mm512_set1_ps _mm512_fmadd_ps a b c d e f g h i j k l);

    /// Whether a product in a register of 512 bits takes less than one and a half times as long as in one of 256 bits,
    /// on a processor with AVX-512. It is measured, in half a millisecond.
    pub fn are_wide() -> bool {
        let time = |f: unsafe fn()| {
            let start = Instant::now();
            // SAFETY: the caller looked for AVX-512.
            unsafe { f() };
            start.elapsed()
        };
        let start = Instant::now();
        while start.elapsed() < UNTIL_WARM {
            time(whole);
        }
        let best = |f| (0..8).map(|_| time(f)).min().unwrap_or_default();
        let (whole, half) = (best(whole), best(half));
        2 * whole < 3 * half
    }
}

/// Calls that are compiled for more vector instructions than the rest of the crate.
///
/// They are methods of a type that the caller chooses, because rustc compiles a generic method in the code unit of the
/// module that defines its `Self` type. As free functions they would all stand in this module's unit, and one changed
/// loop would compile every loop of the crate again.
#[cfg(target_arch = "x86_64")]
trait Wide {
    /// # Safety
    /// The processor has AVX2 and FMA.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<R>(f: impl FnOnce() -> R) -> R {
        f()
    }

    /// # Safety
    /// The processor has AVX2, FMA and the F, VL, DQ and BW parts of AVX-512.
    #[target_feature(enable = "avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")]
    unsafe fn avx512<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
}

#[cfg(target_arch = "x86_64")]
impl<T> Wide for T {}

/// Runs `vector`, compiled for this processor's vectors with fused multiply-add, or `plain` on processors without
/// them. Both are `#[inline(always)]` closures that call only `#[inline(always)]` functions.
#[inline(always)]
pub fn multiversion<R, V: FnOnce() -> R>(plain: impl FnOnce() -> R, vector: V) -> R {
    multiversion_for::<V, R>(plain, vector)
}

/// [`multiversion`] for a loop of the module that defines `Owner`.
#[inline(always)]
pub fn multiversion_for<Owner, R>(plain: impl FnOnce() -> R, vector: impl FnOnce() -> R) -> R {
    multiversion_with_for::<Owner, (), R>(
        (),
        #[inline(always)]
        |()| plain(),
        #[inline(always)]
        |()| vector(),
    )
}

/// [`multiversion`] for two loops that need the same arguments by value, such as the memory that they write.
#[inline(always)]
pub fn multiversion_with<A, R, V: FnOnce(A) -> R>(args: A, plain: impl FnOnce(A) -> R, vector: V) -> R {
    multiversion_with_for::<V, A, R>(args, plain, vector)
}

#[inline(always)]
fn multiversion_with_for<Owner, A, R>(args: A, plain: impl FnOnce(A) -> R, vector: impl FnOnce(A) -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    match isa() {
        Isa::Avx512 => {
            // SAFETY: `isa` detected these features on this processor.
            return unsafe {
                Owner::avx512(
                    #[inline(always)]
                    || vector(args),
                )
            };
        }
        Isa::Avx2 => {
            // SAFETY: as above.
            return unsafe {
                Owner::avx2(
                    #[inline(always)]
                    || vector(args),
                )
            };
        }
        Isa::Baseline | Isa::Neon => {}
    }
    #[cfg(target_arch = "aarch64")]
    if isa() == Isa::Neon {
        return vector(args);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = vector;
    plain(args)
}

/// [`multiversion_for`] with a copy for AVX-512 if it is `WIDE`. Such a copy of a long loop takes some thousand bytes, and
/// about half of the time.
#[inline(always)]
pub fn multiversion_if_wide_for<const WIDE: bool, Owner, R>(
    plain: impl FnOnce() -> R,
    vector: impl FnOnce() -> R,
) -> R {
    if WIDE {
        return multiversion_for::<Owner, R>(plain, vector);
    }
    #[cfg(target_arch = "x86_64")]
    if isa() != Isa::Baseline {
        // SAFETY: every instruction set above the baseline has these features.
        return unsafe { Owner::avx2(vector) };
    }
    #[cfg(target_arch = "aarch64")]
    if isa() == Isa::Neon {
        return vector();
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = vector;
    plain()
}

/// Runs a loop compiled for AVX2 where the processor has it. The loop must give the same bits with any vectors and
/// without.
#[inline(always)]
pub fn autovectorize<R, F: FnOnce() -> R>(f: F) -> R {
    autovectorize_for::<F, R>(f)
}

/// [`autovectorize`] for a loop of the module that defines `Owner`.
#[inline(always)]
pub fn autovectorize_for<Owner, R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if isa() != Isa::Baseline {
        // SAFETY: every instruction set above the baseline has these features.
        return unsafe { Owner::avx2(f) };
    }
    f()
}

/// [`autovectorize_for`] for a loop over floats. Compiled programs run such loops on data in the first-level cache, where
/// wider vectors load and store more at a time.
#[inline(always)]
pub fn autovectorize_floats_for<Owner, R>(f: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if isa() == Isa::Avx512 {
        // SAFETY: `isa` detected these features on this processor.
        return unsafe { Owner::avx512(f) };
    }
    autovectorize_for::<Owner, R>(f)
}
