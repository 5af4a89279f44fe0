//! Complex arrays, their parts and their polar form.

use num_complex::Complex;

use crate::array::Array;
use crate::dtype::{DTYPES, DType, c64, c128};
use crate::error::Result;
use crate::kernel::num::{ComplexNum, sgn, truth};
use crate::kernel::pointwise::binary::{self, BinaryLoop, BinaryLoops, binary_loops};
use crate::kernel::pointwise::formula::Formula;
use crate::kernel::pointwise::unary::{self, UnaryLoop, UnaryLoops, unary_loops};

/// Applies one of two loops, for elements of 32 and of 64 bits or for complex numbers of such parts. The results have
/// the dtype `out`.
fn converted(op: &'static str, [narrow, wide]: [UnaryLoop; 2], x: &Array, out: DType) -> Result<Array> {
    let row = if matches!(x.dtype(), DType::F64 | DType::C128) { wide } else { narrow };
    // SAFETY: the callers pass loops of these dtypes.
    unsafe { unary::apply_loop(op, (row, &[0.0; 3], 1), out, x) }
}

/// The loops of a function of complex numbers (or floats) that gives another type.
macro_rules! both {
    ($from:ident $other:ident, $x:ident => $e:expr) => {
        [
            // SAFETY: `converted` passes arrays of these elements.
            |n, x, out, _| unsafe { unary::map(|$x: $from| $e, n, x, out) },
            // SAFETY: as above.
            |n, x, out, _| unsafe { unary::map(|$x: $other| $e, n, x, out) },
        ]
    };
}

/// Floats as complex numbers.
pub fn from_real(x: &Array) -> Result<Array> {
    let loops: [UnaryLoop; 2] = both!(f32 f64, x => Complex::new(x, 0.0));
    converted("cast", loops, x, x.dtype().complex())
}

/// Complex numbers of the other width.
pub fn widened(x: &Array, to: DType) -> Result<Array> {
    if x.dtype() == to {
        return Ok(x.clone());
    }
    let loops: [UnaryLoop; 2] = [
        // SAFETY: `converted` passes complex64 for complex128.
        |n, x, out, _| unsafe { unary::map(|z: c64| z.wide(), n, x, out) },
        // SAFETY: as above, the other way round.
        |n, x, out, _| unsafe { unary::map(|z: c128| c64::of(z), n, x, out) },
    ];
    converted("cast", loops, x, to)
}

/// Whether each complex number is not 0.
pub fn is_not_zero(x: &Array) -> Result<Array> {
    converted("cast", both!(c64 c128, z => truth(z != Default::default())), x, DType::Bool)
}

/// The real parts: a view.
pub fn real(x: &Array) -> Array {
    x.parts().0
}

/// The absolute values.
pub fn abs(x: &Array) -> Result<Array> {
    const HYPOT: &BinaryLoops = binary_loops!(real x, y => x.hypot(y));
    let (re, im) = x.parts();
    binary::apply("abs", HYPOT, &re.contiguous()?, &im.contiguous()?, 0)
}

/// The angles of complex numbers.
pub fn angles(x: &Array) -> Result<Array> {
    const ATAN2: &BinaryLoops = binary_loops!(real y, x => y.atan2(x));
    let (re, im) = x.parts();
    binary::apply("angle", ATAN2, &im.contiguous()?, &re.contiguous()?, 0)
}

/// The complex conjugates.
pub const CONJ: &UnaryLoops = unary_loops!(complex z => {
    let (re, im) = z.parts();
    T::new(re, im.neg())
});

/// The numbers divided by their absolute values.
pub const SGN: &UnaryLoops = unary_loops!(complex z => sgn(z));

/// Complex numbers of real and imaginary parts, which broadcast.
pub fn from_parts(re: &Array, im: &Array, batch_ndim: usize) -> Result<Array> {
    struct Parts;
    let mut loops: [Option<BinaryLoop>; DTYPES] = [None; DTYPES];
    // SAFETY: `apply` passes arrays of the dtype that it looked up, and an output of that dtype's complex one.
    loops[DType::F32 as usize] = Some(|n, x, sx, y, sy, out, _| unsafe {
        binary::zip(|x: f32, y| c64::new(x, y), n, (x, sx), (y, sy), out)
    });
    // SAFETY: as above.
    loops[DType::F64 as usize] = Some(|n, x, sx, y, sy, out, _| unsafe {
        binary::zip(|x: f64, y| c128::new(x, y), n, (x, sx), (y, sy), out)
    });
    let table = BinaryLoops {
        loops,
        out: Some(re.dtype().complex()),
        divides: false,
        has_forms: false,
        formula: Formula::of::<Parts>(None),
        weight: 1,
    };
    binary::apply("complex", &table, re, im, batch_ndim)
}

/// What is linear in each of two complex arrays, such as a matrix product: four real ones, so that no loop and no
/// packing is written for complex numbers.
pub fn by_parts(
    op: &'static str,
    x: &Array,
    y: &Array,
    product: impl Fn(&Array, &Array) -> Result<Array>,
) -> Result<Array> {
    const ADD: &BinaryLoops = binary_loops!(plain x, y => x.add(y));
    const SUB: &BinaryLoops = binary_loops!(plain x, y => x.sub(y));
    let parts = |z: &Array| -> Result<(Array, Array)> {
        let (re, im) = z.parts();
        Ok((re.contiguous()?, im.contiguous()?))
    };
    let ((a, b), (c, d)) = (parts(x)?, parts(y)?);
    let re = binary::apply(op, SUB, &product(&a, &c)?, &product(&b, &d)?, 0)?;
    let im = binary::apply(op, ADD, &product(&a, &d)?, &product(&b, &c)?, 0)?;
    from_parts(&re, &im, 0)
}
