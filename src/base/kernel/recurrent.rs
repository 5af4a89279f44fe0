//! The steps of an LSTM over a sequence, and their gradient.

use crate::array::Array;
use crate::dtype::dispatch;
use crate::error::{Result, bail};
use crate::kernel::broadcast::broadcast_batch;
use crate::kernel::num::Real;
use crate::kernel::pointwise::tanh::TANH;
use crate::kernel::pointwise::unary::{UnaryLoop, UnaryLoops};
use crate::kernel::rows::not_defined;
use crate::kernel::{interrupt, matmul, simd};
use crate::shape::{self, Dims};

/// How many steps, sequences and numbers in a state there are, in each element of a batch of such layers.
struct Sizes {
    hidden: Dims,
    steps: usize,
    rows: usize,
    units: usize,
}

impl Sizes {
    /// The sizes, from the weights and an array `[steps, sequences, ...]`.
    fn of(steps: &Array, weight: &Array, batch_ndim: usize) -> Option<Sizes> {
        let (&[count, rows, _], &[_, units]) = (&steps.dims()[batch_ndim..], &weight.dims()[batch_ndim..])
        else {
            return None;
        };
        Some(Sizes { hidden: steps.dims()[..batch_ndim].into(), steps: count, rows, units })
    }

    fn with(&self, dims: &[usize]) -> Dims {
        self.hidden.iter().chain(dims).copied().collect()
    }

    /// An array that the caller writes.
    fn unwritten(&self, op: &'static str, like: &Array, dims: &[usize]) -> Result<Array> {
        Ok(Array::unwritten(op, like.dtype(), &self.with(dims))?.written())
    }

    /// How many batches there are to compute: none where the state has no elements, however many steps there are.
    fn batch(&self) -> usize {
        if self.rows == 0 || self.units == 0 { 0 } else { shape::len(&self.hidden) }
    }

    /// Matrix `n` of the batch of weights.
    fn weight(&self, weight: &Array, n: usize) -> Array {
        let strides = weight.strides();
        let own = self.hidden.len();
        weight.restride(&weight.dims()[own..], &strides[own..], shape::offset(n, &self.hidden, &strides))
    }
}

fn read<T: Real>(x: &Array) -> &[T] {
    x.as_slice().expect("it is contiguous and of this dtype")
}

fn write<T: Real>(x: &mut Array) -> &mut [T] {
    x.as_mut_slice().expect("nobody else has it")
}

/// Part `i` of a slice of parts of `n` elements.
fn part<T>(x: &[T], i: usize, n: usize) -> &[T] {
    &x[i * n..][..n]
}

fn part_mut<T>(x: &mut [T], i: usize, n: usize) -> &mut [T] {
    &mut x[i * n..][..n]
}

/// Writes a function of each element.
fn mapped<T: Real>(row: UnaryLoop, x: &[T], out: &mut [T]) {
    assert_eq!(x.len(), out.len());
    // SAFETY: both have as many elements, of the dtype that the loop was looked up for.
    unsafe { row(x.len(), x.as_ptr().cast(), out.as_mut_ptr().cast(), &[0.0; 3]) }
}

/// The outputs of all steps and the last cells of an LSTM. With `keeps` also what [`lstm_gradient`] reads: the gates after
/// their functions, and the cells of all steps.
///
/// `gates` is `[steps, sequences, 4 units]`, the part of the gates (input, forget, cell, output) that does not depend on
/// the state; `weight` is `[4 units, units]`, `h` and `c` are `[sequences, units]`. `sigmoid` has the loops of that function.
pub fn lstm(
    op: &'static str,
    ins: [&Array; 4],
    batch_ndim: usize,
    keeps: bool,
    sigmoid: &UnaryLoops,
) -> Result<Vec<Array>> {
    let shapes = || ins.map(|x| &x.dims()[batch_ndim..]);
    let [gates, weight, h, c] = broadcast_batch(ins, batch_ndim);
    let Some(sizes) = Sizes::of(&gates, &weight, batch_ndim) else {
        bail!(
            Shape,
            op,
            "the gates are [steps, sequences, 4 units] and the weight a matrix, not {:?}",
            shapes()
        );
    };
    let &Sizes { steps, rows, units, .. } = &sizes;
    let four = 4usize.saturating_mul(units);
    let state = [rows, units];
    if shapes() != [&[steps, rows, four][..], &[four, units], &state, &state] {
        bail!(Shape, op, "gates, weight, h and c of the shapes {:?} do not fit together", shapes());
    }
    if steps == 0 {
        bail!(Shape, op, "a sequence has at least one step");
    }
    let (gates, h, c) = (gates.contiguous()?, h.contiguous()?, c.contiguous()?);
    let kept = if keeps { steps } else { 1 };
    let mut outputs = sizes.unwritten(op, &gates, &[steps, rows, units])?;
    let mut last = sizes.unwritten(op, &gates, &state)?;
    let mut active = sizes.unwritten(op, &gates, &[kept, rows, four])?;
    let mut cells = sizes.unwritten(op, &gates, &[kept, rows, units])?;
    dispatch!(gates.dtype(), float T => {
        let loops = [sigmoid, TANH].map(|table| table.loops[gates.dtype() as usize]);
        let [Some(sigmoid), Some(tanh)] = loops else { return not_defined(op, gates.dtype()) };
        let (wide, narrow) = (rows * four, rows * units);
        let mut squashed = sizes.unwritten(op, &gates, &[units])?;
        let squashed = &mut write::<T>(&mut squashed)[..units];
        for n in 0..sizes.batch() {
            let weight = sizes.weight(&weight, n).permute(&[1, 0]).contiguous()?;
            let cell = part_mut(write::<T>(&mut last), n, narrow);
            cell.copy_from_slice(part(read(&c), n, narrow));
            let mut state = Array::from_slice(part(read::<T>(&h), n, narrow), &[rows, units])?;
            for t in 0..steps {
                interrupt::check()?;
                let mut sums = matmul::matmul(op, &state, &weight, 0)?;
                let sums = write::<T>(&mut sums);
                let x = part(read::<T>(&gates), n * steps + t, wide);
                let at = n * kept + if keeps { t } else { 0 };
                let active = part_mut(write::<T>(&mut active), at, wide);
                let out = part_mut(write::<T>(&mut outputs), n * steps + t, narrow);
                for row in 0..rows {
                    let sums = part_mut(sums, row, four);
                    added(sums, part(x, row, four));
                    let active = part_mut(active, row, four);
                    mapped(sigmoid, &sums[..2 * units], &mut active[..2 * units]);
                    mapped(tanh, part(sums, 2, units), part_mut(active, 2, units));
                    mapped(sigmoid, part(sums, 3, units), part_mut(active, 3, units));
                    let cell = part_mut(cell, row, units);
                    next_cell(active, cell);
                    mapped(tanh, cell, squashed);
                    product(part(active, 3, units), squashed, part_mut(out, row, units));
                }
                if keeps {
                    part_mut(write::<T>(&mut cells), at, narrow).copy_from_slice(cell);
                }
                state = Array::from_slice(out, &[rows, units])?;
            }
        }
        Ok(())
    }, else not_defined(op, gates.dtype()))?;
    let mut all = vec![outputs, last];
    if keeps {
        all.extend([active, cells]);
    }
    Ok(all)
}

fn added<T: Real>(sums: &mut [T], x: &[T]) {
    simd::autovectorize_floats_for::<T, ()>(
        #[inline(always)]
        || sums.iter_mut().zip(x).for_each(|(s, &x)| *s = s.add(x)),
    );
}

fn product<T: Real>(a: &[T], b: &[T], out: &mut [T]) {
    simd::autovectorize_floats_for::<T, ()>(
        #[inline(always)]
        || out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&a, &b))| *out = a.mul(b)),
    );
}

/// The cell after a step, of the gates of that step.
fn next_cell<T: Real>(active: &[T], cell: &mut [T]) {
    let units = cell.len();
    let [i, f, g] = [0, 1, 2].map(|k| part(active, k, units));
    simd::autovectorize_floats_for::<T, ()>(
        #[inline(always)]
        || {
            for j in 0..units {
                cell[j] = f[j].mul(cell[j]).add(i[j].mul(g[j]));
            }
        },
    );
}

/// The gradients of [`lstm`] with respect to the gates and the first cells, from those of the outputs and of the last cells,
/// the gates after their functions, the cells of all steps, the first cells and the weight.
pub fn lstm_gradient(op: &'static str, ins: [&Array; 6], batch_ndim: usize) -> Result<[Array; 2]> {
    let [of_outputs, of_last, active, cells, c, weight] = broadcast_batch(ins, batch_ndim);
    let Some(sizes) = Sizes::of(&active, &weight, batch_ndim) else {
        bail!(Shape, op, "the gates are [steps, sequences, 4 units] and the weight a matrix");
    };
    let &Sizes { steps, rows, units, .. } = &sizes;
    let four = 4usize.saturating_mul(units);
    let (of_outputs, of_last) = (of_outputs.contiguous()?, of_last.contiguous()?);
    let (active, cells, c) = (active.contiguous()?, cells.contiguous()?, c.contiguous()?);
    let mut of_gates = sizes.unwritten(op, &active, &[steps, rows, four])?;
    let mut of_cell = sizes.unwritten(op, &active, &[rows, units])?;
    dispatch!(active.dtype(), float T => {
        let Some(tanh) = TANH.loops[active.dtype() as usize] else { return not_defined(op, active.dtype()) };
        let (wide, narrow) = (rows * four, rows * units);
        let mut squashed = sizes.unwritten(op, &active, &[units])?;
        let squashed = &mut write::<T>(&mut squashed)[..units];
        for n in 0..sizes.batch() {
            let weight = sizes.weight(&weight, n).contiguous()?;
            let of_cell = part_mut(write::<T>(&mut of_cell), n, narrow);
            of_cell.copy_from_slice(part(read(&of_last), n, narrow));
            let mut later: Option<Array> = None;
            for t in (0..steps).rev() {
                interrupt::check()?;
                let at = n * steps + t;
                let own = part(read::<T>(&of_outputs), at, narrow);
                let mut of_state = match later {
                    None => Array::from_slice(own, &[rows, units])?,
                    Some(later) => {
                        let mut all = matmul::matmul(op, &later, &weight, 0)?;
                        added(write(&mut all), own);
                        all
                    }
                };
                let of_state = write::<T>(&mut of_state);
                let before = if t > 0 { part(read::<T>(&cells), at - 1, narrow) } else { part(read(&c), n, narrow) };
                let of_gates = part_mut(write::<T>(&mut of_gates), at, wide);
                for row in 0..rows {
                    mapped(tanh, part(part(read::<T>(&cells), at, narrow), row, units), squashed);
                    step_back(
                        part(part(read::<T>(&active), at, wide), row, four),
                        [squashed, part(before, row, units), part(of_state, row, units)],
                        part_mut(of_cell, row, units),
                        part_mut(of_gates, row, four),
                    );
                }
                later = Some(Array::from_slice(of_gates, &[rows, four])?);
            }
        }
        Ok(())
    }, else not_defined(op, active.dtype()))?;
    Ok([of_gates, of_cell])
}

/// The gradient of one step of one sequence. `of_cell` becomes that of the cell before the step.
fn step_back<T: Real>(
    active: &[T],
    [squashed, before, of_state]: [&[T]; 3],
    of_cell: &mut [T],
    of_gates: &mut [T],
) {
    let units = of_cell.len();
    let [i, f, g, o] = [0, 1, 2, 3].map(|k| part(active, k, units));
    let (first, second) = of_gates.split_at_mut(2 * units);
    let ((di, df), (dg, d_o)) = (first.split_at_mut(units), second.split_at_mut(units));
    let (squashed, before, of_state) = (&squashed[..units], &before[..units], &of_state[..units]);
    let d_o = &mut d_o[..units];
    simd::autovectorize_floats_for::<T, ()>(
        #[inline(always)]
        || {
            let slope = |y: T| y.mul(T::ONE.sub(y));
            for j in 0..units {
                let (dh, s) = (of_state[j], squashed[j]);
                let dc = dh.mul(o[j]).mul(T::ONE.sub(s.mul(s))).add(of_cell[j]);
                di[j] = dc.mul(g[j]).mul(slope(i[j]));
                df[j] = dc.mul(before[j]).mul(slope(f[j]));
                dg[j] = dc.mul(i[j]).mul(T::ONE.sub(g[j].mul(g[j])));
                d_o[j] = dh.mul(s).mul(slope(o[j]));
                of_cell[j] = dc.mul(f[j]);
            }
        },
    );
}
