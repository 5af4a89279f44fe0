//! Places of values in sorted rows.

use super::keys::Key;
use crate::array::Array;
use crate::dtype::{Ordered, dispatch};
use crate::error::Result;
use crate::kernel::output;
use crate::kernel::rows::not_defined;

/// Where values would be inserted into rising rows so that these stay rising: before equal elements, or after them if
/// `right`. `rows` has either the leading axes of `values` or none; both have the same dtype.
pub fn search(op: &'static str, rows: &Array, values: &Array, right: bool) -> Result<Array> {
    let (rows, values) = (rows.contiguous()?, values.contiguous()?);
    let n = rows.dims()[rows.rank() - 1];
    let count: usize = rows.dims()[..rows.rank() - 1].iter().product();
    let each = values.len().checked_div(count).unwrap_or(0).max(1);
    dispatch!(rows.dtype(), ordered T => {
        let (rows, all) = (rows.as_slice::<T>().expect("contiguous"), values.as_slice::<T>().expect("contiguous"));
        let even = if count == 1 && n <= all.len() { Even::of(rows) } else { None };
        output::build_from::<i64>(op, values.dims(), 1, 8, |first, out| {
            for (i, place) in (first..).zip(out) {
                let row = if count == 1 { rows } else { &rows[i / each * n..][..n] };
                if let Some(at) = even.as_ref().and_then(|even| even.place(row, all[i], right)) {
                    *place = at as i64;
                    continue;
                }
                let key = Key::key(all[i]);
                let before = |v: &T| if right { Key::key(*v) <= key } else { Key::key(*v) < key };
                *place = row.partition_point(before) as i64;
            }
        })
    }, else not_defined(op, rows.dtype()))
}

/// A rising row whose elements are about equally far apart, so that places in it are computed and not searched for.
struct Even {
    start: f64,
    /// Elements in one unit.
    density: f64,
}

impl Even {
    /// `None` if the row is not even.
    fn of<T: Ordered>(row: &[T]) -> Option<Even> {
        let (start, end) = (row.first()?.to_f64(), row.last()?.to_f64());
        let even = Even { start, density: (row.len() - 1) as f64 / (end - start) };
        let close = |(i, v): (usize, &T)| even.guess(*v).abs_diff(i + 1) <= 1;
        (even.density.is_finite() && row.iter().enumerate().all(close)).then_some(even)
    }

    /// About how many elements are not greater.
    #[inline(always)]
    fn guess<T: Ordered>(&self, v: T) -> usize {
        (((v.to_f64() - self.start) * self.density) as usize).saturating_add(1)
    }

    /// The number of elements below `v`, or up to `v` if `right`. `None` for NaN, and where the guess is more than one
    /// beside it.
    #[inline(always)]
    fn place<T: Ordered>(&self, row: &[T], v: T, right: bool) -> Option<usize> {
        let starts = |at: usize| at == 0 || if right { row[at - 1] <= v } else { row[at - 1] < v };
        let ends = |at: usize| at == row.len() || if right { v < row[at] } else { v <= row[at] };
        let mut at = self.guess(v).min(row.len());
        if !starts(at) {
            at -= 1;
        } else if !ends(at) {
            at += 1;
        }
        (starts(at) && ends(at)).then_some(at)
    }
}
