//! Vector registers behind one trait, for the innermost loops of matrix products and convolutions.

use crate::kernel::num::{Field, Num};

/// A vector register.
///
/// # Safety
/// For all functions: the processor has the instructions, and pointers are valid for `LEN` elements (for `splat`:
/// one).
#[allow(clippy::missing_safety_doc, reason = "the section above is about all of them")]
pub trait Vector: Copy {
    type T: Num;
    const LEN: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const Self::T) -> Self;
    unsafe fn splat(from: *const Self::T) -> Self;
    unsafe fn store(self, to: *mut Self::T);
    /// `self + a · b`
    unsafe fn mul_acc(self, a: Self, b: Self) -> Self;
    /// `self + a`
    #[inline(always)]
    unsafe fn plus(self, a: Self) -> Self {
        // SAFETY: as the trait's `# Safety` section requires.
        unsafe { self.mul_acc(Self::splat(&Self::T::ONE), a) }
    }
    /// The elements where the bits of `mask` are set, and zeros elsewhere.
    unsafe fn masked(self, mask: Self) -> Self;
    /// The sum of the elements, added in halves.
    unsafe fn sum(self) -> Self::T;
}

/// The most elements that any of these registers has.
pub const MAX_LANES: usize = 16;

/// Arrays that the compiler keeps in registers.
macro_rules! arrays {
    ($($t:ident $len:literal)*) => { $(
        impl Vector for [$t; $len] {
            type T = $t;
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn zero() -> Self {
                [0.0; $len]
            }
            #[inline(always)]
            unsafe fn load(from: *const $t) -> Self {
                // SAFETY: the caller guarantees that the elements are readable; the read allows any alignment.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn splat(from: *const $t) -> Self {
                // SAFETY: as the function's `# Safety` section requires.
                [unsafe { *from }; $len]
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: as the function's `# Safety` section requires.
                unsafe { to.cast::<Self>().write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn mul_acc(self, a: Self, b: Self) -> Self {
                let mut sum = self;
                for i in 0..$len {
                    sum[i] += a[i] * b[i];
                }
                sum
            }
            #[inline(always)]
            unsafe fn masked(self, mask: Self) -> Self {
                let mut kept = self;
                for i in 0..$len {
                    kept[i] = if mask[i] == 0.0 { 0.0 } else { kept[i] };
                }
                kept
            }
            #[inline(always)]
            unsafe fn sum(mut self) -> $t {
                let mut n = $len;
                while n > 1 {
                    n /= 2;
                    for i in 0..n {
                        self[i] += self[i + n];
                    }
                }
                self[0]
            }
        }
    )* };
}
arrays!(f32 1 f32 4 f64 1 f64 2);

#[cfg(target_arch = "x86_64")]
pub use x86::BfloatPairs;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::mem::transmute;

    use super::Vector;

    macro_rules! registers {
        ($V:ident $t:ident $len:literal $zero:ident $load:ident $splat:ident $store:ident $mul_acc:ident $and:ident $sum:ident) => {
            // SAFETY: in all of these functions the caller guarantees the instructions and the elements behind
            // pointers.
            impl Vector for $V {
                type T = $t;
                const LEN: usize = $len;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: as above.
                    unsafe { $zero() }
                }
                #[inline(always)]
                unsafe fn load(from: *const $t) -> Self {
                    // SAFETY: as above.
                    unsafe { $load(from) }
                }
                #[inline(always)]
                unsafe fn splat(from: *const $t) -> Self {
                    // SAFETY: as above.
                    unsafe { $splat(*from) }
                }
                #[inline(always)]
                unsafe fn store(self, to: *mut $t) {
                    // SAFETY: as above.
                    unsafe { $store(to, self) }
                }
                #[inline(always)]
                unsafe fn mul_acc(self, a: Self, b: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $mul_acc(a, b, self) }
                }
                #[inline(always)]
                unsafe fn masked(self, mask: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $and(self, mask) }
                }
                #[inline(always)]
                unsafe fn sum(self) -> $t {
                    // SAFETY: as above.
                    unsafe { $sum(self) }
                }
            }
        };
    }
    /// Pairs of bfloat16 in the place of the elements of a register, whose products are summed in float32.
    #[derive(Clone, Copy)]
    pub struct BfloatPairs(__m256);

    // SAFETY: in all of these functions the caller guarantees the instructions and the elements behind pointers.
    impl Vector for BfloatPairs {
        type T = f32;
        const LEN: usize = <__m256 as Vector>::LEN;
        #[inline(always)]
        unsafe fn zero() -> Self {
            // SAFETY: as above.
            BfloatPairs(unsafe { Vector::zero() })
        }
        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as above.
            BfloatPairs(unsafe { Vector::load(from) })
        }
        #[inline(always)]
        unsafe fn splat(from: *const f32) -> Self {
            // SAFETY: as above. As integers the bits of pairs stay what they are.
            BfloatPairs(unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(*from.cast())) })
        }
        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as above.
            unsafe { self.0.store(to) }
        }
        /// The sums `self`, and to each of them both products of a pair.
        #[inline(always)]
        unsafe fn mul_acc(self, a: Self, b: Self) -> Self {
            // SAFETY: all registers of 256 bits have the same layout.
            let bfloats = |x| unsafe { transmute::<__m256, __m256bh>(x) };
            // SAFETY: as above.
            BfloatPairs(unsafe { _mm256_dpbf16_ps(self.0, bfloats(a.0), bfloats(b.0)) })
        }
        #[inline(always)]
        unsafe fn plus(self, a: Self) -> Self {
            // SAFETY: as above.
            BfloatPairs(unsafe { _mm256_add_ps(self.0, a.0) })
        }
        #[inline(always)]
        unsafe fn masked(self, mask: Self) -> Self {
            // SAFETY: as above.
            BfloatPairs(unsafe { self.0.masked(mask.0) })
        }
        #[inline(always)]
        unsafe fn sum(self) -> f32 {
            // SAFETY: as above.
            unsafe { self.0.sum() }
        }
    }
    // Horizontal sums by shuffles. Without them the compiler would go through memory.
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn four_singles(x: __m128) -> f32 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            let two = _mm_add_ps(x, _mm_movehl_ps(x, x));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn two_doubles(x: __m128d) -> f64 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x))) }
    }
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn eight_singles(x: __m256) -> f32 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { four_singles(_mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x))) }
    }
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn four_doubles(x: __m256d) -> f64 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { two_doubles(_mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd::<1>(x))) }
    }
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn sixteen_singles(x: __m512) -> f32 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { eight_singles(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps::<1>(x))) }
    }
    /// # Safety
    /// The processor has the instructions.
    #[inline(always)]
    unsafe fn eight_doubles(x: __m512d) -> f64 {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe { four_doubles(_mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd::<1>(x))) }
    }
    registers!(__m128 f32 4 _mm_setzero_ps _mm_loadu_ps _mm_set1_ps _mm_storeu_ps _mm_fmadd_ps _mm_and_ps four_singles);
    registers!(__m128d f64 2 _mm_setzero_pd _mm_loadu_pd _mm_set1_pd _mm_storeu_pd _mm_fmadd_pd _mm_and_pd two_doubles);
    registers!(__m256 f32 8 _mm256_setzero_ps _mm256_loadu_ps _mm256_set1_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_and_ps eight_singles);
    registers!(__m256d f64 4 _mm256_setzero_pd _mm256_loadu_pd _mm256_set1_pd _mm256_storeu_pd _mm256_fmadd_pd _mm256_and_pd four_doubles);
    registers!(__m512 f32 16 _mm512_setzero_ps _mm512_loadu_ps _mm512_set1_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_and_ps sixteen_singles);
    registers!(__m512d f64 8 _mm512_setzero_pd _mm512_loadu_pd _mm512_set1_pd _mm512_storeu_pd _mm512_fmadd_pd _mm512_and_pd eight_doubles);
}
