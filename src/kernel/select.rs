//! Three arrays in, one out: a truth value chooses between two elements. Works on element size, never on dtype.

use super::map::Shared;
use super::par;
use super::walk::{Walk, common_order, inverse, repeated, stepwise};
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;

/// # Safety
/// The pointers are those of `n` elements (one where the step is 0), `out` has room for `n`.
#[inline(always)]
unsafe fn run<T: Copy>(n: usize, [c, x, y]: [*const u8; 3], [sc, sx, sy]: [usize; 3], out: *mut u8) {
    let (x, y, out) = (x.cast::<T>(), y.cast::<T>(), out.cast::<T>());
    let each = |sc: usize, sx: usize, sy: usize| {
        for i in 0..n {
            // SAFETY: the caller's promise.
            unsafe {
                let (a, b) = (*x.add(i * sx), *y.add(i * sy));
                out.add(i).write(if *c.add(i * sc) != 0 { a } else { b });
            }
        }
    };
    // Steps known in the loop let it vectorise.
    match (sc, sx, sy) {
        (1, 1, 1) => each(1, 1, 1),
        (1, 1, 0) => each(1, 1, 0),
        (1, 0, 1) => each(1, 0, 1),
        _ => each(sc, sx, sy),
    }
}

/// The elements of `x` where `condition` (of truth values) holds, else those of `y`, which has the dtype of `x`.
/// `lanes` leading axes are matched from the left, the others broadcast from the right.
pub fn select(op: &'static str, condition: &Array, x: &Array, y: &Array, lanes: usize) -> Result<Array> {
    assert!(
        condition.dtype() == DType::Bool && x.dtype() == y.dtype(),
        "{op}: the dtypes were promoted before"
    );
    let size = x.dtype().size();
    let row = match size {
        1 => run::<u8>,
        2 => run::<u16>,
        4 => run::<u32>,
        8 => run::<u64>,
        _ => unreachable!("no dtype has {size} bytes"),
    };
    let rank = condition.rank().max(x.rank()).max(y.rank());
    let mut ins = [condition, x, y].map(|a| a.with_rank(rank, lanes));
    // Elements that lie densely in another order of the axes stay in that order.
    if let Some(order) = common_order(&ins) {
        let [condition, x, y] = ins.map(|a| a.permute(&order));
        return Ok(select(op, &condition, &x, &y, 0)?.permute(&inverse(&order)));
    }
    if let Some([condition, x, y]) = repeated(&ins)? {
        let whole = ins.iter().max_by_key(|a| a.len()).expect("three");
        return select(op, &condition, &x, &y, 0)?.reshape(whole.dims());
    }
    for a in &mut ins {
        *a = stepwise(a)?;
    }
    let walk = Walk::new(op, &ins)?;
    Array::build_raw(op, x.dtype(), &walk.dims, |o| {
        let o = Shared(o);
        let work = |range: std::ops::Range<usize>| {
            let o = &o;
            walk.runs(range, |at, [c, x, y], n| {
                let ptr = |i: usize, offset: isize| {
                    // SAFETY: the walk stays inside each array.
                    unsafe { ins[i].ptr().offset(offset * ins[i].dtype().size() as isize) }
                };
                // SAFETY: each piece writes its own part of the output, and `stepwise` left only the steps 0 and 1.
                unsafe { row(n, [ptr(0, c), ptr(1, x), ptr(2, y)], walk.steps, o.0.add(at * size)) };
            });
        };
        if !par::pays(walk.len() * size) {
            work(0..walk.len());
        } else {
            par::pieces(walk.len(), par::piece(walk.len()), &work);
        }
    })
}
