//! Two formulas of arithmetic in one loop: what the first one computes stays in a register of the processor.

use crate::dtype::DType;
use crate::kernel::pointwise::arithmetic::Arithmetic;
use crate::kernel::pointwise::row::{Loop, Row};

/// The loop of `(a · b) · c`, or of `c · (a · b)` where the `first` result is the second operand of the next formula. Each
/// formula rounds its result. Where several operands are NaN, the result is the first of them, as the formula is written.
/// None where there is no such loop.
pub fn fused(first: &Row, next: &Row, is_second: bool) -> Option<Row> {
    let arithmetic = [first.arithmetic?, next.arithmetic?];
    if first.of != next.of {
        return None;
    }
    let apply = Loop::Ternary(loops(arithmetic, is_second, first.of)?);
    Some(Row { apply, arithmetic: None, has_forms: false, ..*next })
}

#[cfg(not(target_arch = "x86_64"))]
fn loops(_: [Arithmetic; 2], _: bool, _: DType) -> Option<super::ternary::TernaryLoop> {
    None
}

#[cfg(target_arch = "x86_64")]
use x86::loops;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::asm;
    use std::arch::x86_64::*;

    use super::{Arithmetic, DType};
    use crate::kernel::pointwise::ternary::TernaryLoop;
    use crate::kernel::pointwise::unary::Scalars;
    use crate::kernel::simd::{Isa, isa};

    const ADD: u8 = 0;
    const SUBTRACT: u8 = 1;
    const MULTIPLY: u8 = 2;

    /// The loop for the vectors of this processor.
    pub fn loops([first, next]: [Arithmetic; 2], is_second: bool, dtype: DType) -> Option<TernaryLoop> {
        macro_rules! next {
            ($apply:ident $first:ident) => {
                match (next, is_second) {
                    (Arithmetic::Add, false) => $apply::<$first, ADD, false>,
                    (Arithmetic::Add, true) => $apply::<$first, ADD, true>,
                    (Arithmetic::Subtract, false) => $apply::<$first, SUBTRACT, false>,
                    (Arithmetic::Subtract, true) => $apply::<$first, SUBTRACT, true>,
                    (Arithmetic::Multiply, false) => $apply::<$first, MULTIPLY, false>,
                    (Arithmetic::Multiply, true) => $apply::<$first, MULTIPLY, true>,
                    _ => return None,
                }
            };
        }
        macro_rules! first {
            ($apply:ident) => {
                match first {
                    Arithmetic::Add => next!($apply ADD),
                    Arithmetic::Subtract => next!($apply SUBTRACT),
                    Arithmetic::Multiply => next!($apply MULTIPLY),
                    _ => return None,
                }
            };
        }
        Some(match (isa(), dtype) {
            (Isa::Avx512, DType::F32) => first!(avx512_f32),
            (Isa::Avx512, DType::F64) => first!(avx512_f64),
            (Isa::Avx2, DType::F32) => first!(avx2_f32),
            (Isa::Avx2, DType::F64) => first!(avx2_f64),
            _ => return None,
        })
    }

    /// Vectors that do not reach over the end of a cache line.
    #[repr(align(64))]
    struct Aligned<T>(T);

    macro_rules! instruction {
        ($($name:ident $instruction:literal $features:literal $class:ident $V:ident)*) => { $(
            /// The instruction, with its operands in this order: the compiler changes the places of those of sums and products,
            /// and where both are NaN, the result is the first one.
            #[inline]
            #[target_feature(enable = $features)]
            fn $name(x: $V, y: $V) -> $V {
                let z;
                // SAFETY: the instruction reads and writes these registers alone.
                unsafe {
                    asm!(
                        concat!($instruction, " {z}, {x}, {y}"),
                        z = lateout($class) z, x = in($class) x, y = in($class) y,
                        options(pure, nomem, nostack, preserves_flags)
                    );
                }
                z
            }
        )* };
    }
    instruction! {
        add_512_f32 "vaddps" "avx512f" zmm_reg __m512
        subtract_512_f32 "vsubps" "avx512f" zmm_reg __m512
        multiply_512_f32 "vmulps" "avx512f" zmm_reg __m512
        add_512_f64 "vaddpd" "avx512f" zmm_reg __m512d
        subtract_512_f64 "vsubpd" "avx512f" zmm_reg __m512d
        multiply_512_f64 "vmulpd" "avx512f" zmm_reg __m512d
        add_256_f32 "vaddps" "avx2" ymm_reg __m256
        subtract_256_f32 "vsubps" "avx2" ymm_reg __m256
        multiply_256_f32 "vmulps" "avx2" ymm_reg __m256
        add_256_f64 "vaddpd" "avx2" ymm_reg __m256d
        subtract_256_f64 "vsubpd" "avx2" ymm_reg __m256d
        multiply_256_f64 "vmulpd" "avx2" ymm_reg __m256d
    }

    macro_rules! apply {
        ($apply:ident $repeat:ident $features:literal $T:ident $len:literal
         $splat:ident $load:ident $store:ident $add:ident $subtract:ident $multiply:ident
         $mask:expr, $load_some:ident $store_some:ident) => {
            /// The addresses of the operands. An operand that is one number is first copied to each element of a vector.
            ///
            /// # Safety
            /// Each operand has a number.
            #[target_feature(enable = $features)]
            unsafe fn $repeat(
                from: [*const u8; 3],
                steps: [usize; 3],
                room: &mut Aligned<[[$T; $len]; 3]>,
            ) -> [*const $T; 3] {
                let mut at = [from[0].cast(), from[1].cast(), from[2].cast()];
                for k in 0..3 {
                    if steps[k] == 0 {
                        // SAFETY: as the function's `# Safety` section requires.
                        unsafe { $store(room.0[k].as_mut_ptr(), $splat(*at[k])) };
                        at[k] = room.0[k].as_ptr();
                    }
                }
                at
            }

            /// # Safety
            /// As [`TernaryLoop`], for elements of the type in its name, on a processor with the vectors in its name.
            #[target_feature(enable = $features)]
            unsafe fn $apply<const FIRST: u8, const NEXT: u8, const IS_SECOND: bool>(
                n: usize,
                from: [*const u8; 3],
                steps: [usize; 3],
                out: *mut u8,
                _: &Scalars,
            ) {
                let out = out.cast::<$T>();
                let mut room = Aligned([[0.0; $len]; 3]);
                // SAFETY: as the function's `# Safety` section requires.
                let [a, b, c] = unsafe { $repeat(from, steps, &mut room) };
                let [sa, sb, sc] = steps;
                macro_rules! one {
                    ($x:expr, $y:expr, $formula:expr) => {
                        match $formula {
                            ADD => $add($x, $y),
                            SUBTRACT => $subtract($x, $y),
                            _ => $multiply($x, $y),
                        }
                    };
                }
                macro_rules! both {
                    ($a:expr, $b:expr, $c:expr) => {{
                        let t = one!($a, $b, FIRST);
                        if IS_SECOND { one!($c, t, NEXT) } else { one!(t, $c, NEXT) }
                    }};
                }
                let mut i = 0;
                // SAFETY: as the function's `# Safety` section requires, and a repeated number has a whole vector.
                unsafe {
                    while i + $len <= n {
                        let z = both!($load(a.add(i * sa)), $load(b.add(i * sb)), $load(c.add(i * sc)));
                        $store(out.add(i), z);
                        i += $len;
                    }
                    if i < n {
                        let mask = $mask(n - i);
                        let z = both!(
                            $load_some(mask, a.add(i * sa)),
                            $load_some(mask, b.add(i * sb)),
                            $load_some(mask, c.add(i * sc))
                        );
                        $store_some(out.add(i), mask, z);
                    }
                }
            }
        };
    }

    /// As [`_mm256_maskload_ps`], with the arguments of the others.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_some_f32(mask: __m256i, x: *const f32) -> __m256 {
        // SAFETY: the caller guarantees the elements of the mask.
        unsafe { _mm256_maskload_ps(x, mask) }
    }

    /// As [`load_some_f32`].
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_some_f64(mask: __m256i, x: *const f64) -> __m256d {
        // SAFETY: the caller guarantees the elements of the mask.
        unsafe { _mm256_maskload_pd(x, mask) }
    }

    /// The first `n` elements of a vector.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn some_f32(n: usize) -> __m256i {
        _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
    }

    /// As [`some_f32`].
    #[inline]
    #[target_feature(enable = "avx2")]
    fn some_f64(n: usize) -> __m256i {
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), _mm256_setr_epi64x(0, 1, 2, 3))
    }

    apply!(avx512_f32 repeat_512_f32 "avx512f" f32 16
        _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps add_512_f32 subtract_512_f32 multiply_512_f32
        |n| (1u16 << n) - 1, _mm512_maskz_loadu_ps _mm512_mask_storeu_ps);
    apply!(avx512_f64 repeat_512_f64 "avx512f" f64 8
        _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd add_512_f64 subtract_512_f64 multiply_512_f64
        |n| (1u8 << n) - 1, _mm512_maskz_loadu_pd _mm512_mask_storeu_pd);
    apply!(avx2_f32 repeat_256_f32 "avx2" f32 8
        _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps add_256_f32 subtract_256_f32 multiply_256_f32
        some_f32, load_some_f32 _mm256_maskstore_ps);
    apply!(avx2_f64 repeat_256_f64 "avx2" f64 4
        _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd add_256_f64 subtract_256_f64 multiply_256_f64
        some_f64, load_some_f64 _mm256_maskstore_pd);
}
