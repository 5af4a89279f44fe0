//! What ops make of operands, as far as the dtypes and shapes of these tell it.

use smallvec::SmallVec;

use super::lower::{Loops, Operands};
use crate::dtype::DType;
use crate::kernel::softmax;
use crate::shape::{Dims, checked_len};

/// By output of an op: its dtype, and its shape, which begins with the hidden axes.
pub type Made = SmallVec<[(DType, Dims); 1]>;

impl<'a> Operands<'a> {
    /// The dtypes of `N` operands, and their axes after the hidden ones. None if there are not so many.
    pub fn each<const N: usize>(&self) -> Option<[(DType, &'a [usize]); N]> {
        let is_there = self.dims.len() == N && self.dtypes.len() == N;
        is_there.then(|| std::array::from_fn(|k| (self.dtypes[k], &self.dims[k][self.batch_ndim..])))
    }

    /// The dtype of `N` operands that have one, and their axes after the hidden ones.
    pub fn of_one_dtype<const N: usize>(&self) -> Option<(DType, [&'a [usize]; N])> {
        let each = self.each::<N>()?;
        let dtype = each.first()?.0;
        each.iter().all(|x| x.0 == dtype).then(|| (dtype, each.map(|x| x.1)))
    }

    /// The dtype of `N` operands that have one, and their only shape after the hidden axes.
    pub fn alike<const N: usize>(&self) -> Option<(DType, &'a [usize])> {
        let (dtype, each) = self.of_one_dtype::<N>()?;
        each.iter().all(|dims| *dims == each[0]).then_some((dtype, each[0]))
    }

    /// An output like the `N` operands, if these are alike, have `own` axes at least, and are of a dtype for which the op is.
    pub fn like<const N: usize>(&self, own: usize, takes: fn(DType) -> bool) -> Option<Made> {
        let (dtype, dims) = self.alike::<N>()?;
        if takes(dtype) && dims.len() >= own { self.make(&[(dtype, &[dims])]) } else { None }
    }

    /// The first `n` operands. None if there are not so many.
    pub fn first(&self, n: usize) -> Option<Operands<'a>> {
        Some(Operands { dtypes: self.dtypes.get(..n)?, dims: self.dims.get(..n)?, ..*self })
    }

    /// Outputs of these dtypes. After the hidden axes they have the axes of these lists, one after the other.
    pub fn make(&self, outs: &[(DType, &[&[usize]])]) -> Option<Made> {
        let hidden = self.hidden()?;
        let dims = |own: &[&[usize]]| hidden.iter().chain(own.iter().copied().flatten()).copied().collect();
        Some(outs.iter().map(|&(dtype, own)| (dtype, dims(own))).collect())
    }

    /// The hidden axes of all operands together. None if an operand lacks one, or has another size there.
    pub fn hidden(&self) -> Option<Dims> {
        let own = |dims: &&'a [usize]| dims.get(..self.batch_ndim);
        let all = self.dims.iter().map(own).collect::<Option<SmallVec<[&[usize]; 4]>>>()?;
        broadcast(all.iter().copied(), self.batch_ndim)
    }

    /// The shape of all operands without the last `own` axes, broadcast against each other.
    pub fn broadcast(&self, own: usize) -> Option<Dims> {
        broadcast(self.dims.iter().map(|dims| &dims[..dims.len().saturating_sub(own)]), self.batch_ndim)
    }
}

/// The shape that these are broadcast to, the first `batch_ndim` axes matched from the left.
fn broadcast<'a>(shapes: impl Iterator<Item = &'a [usize]> + Clone, batch_ndim: usize) -> Option<Dims> {
    let rank = shapes.clone().map(<[usize]>::len).max().unwrap_or(batch_ndim);
    let mut all = Dims::from_elem(1, rank);
    for dims in shapes {
        for (axis, &d) in dims.iter().enumerate() {
            let size = &mut all[if axis < batch_ndim { axis } else { axis + rank - dims.len() }];
            match (*size, d) {
                (1, _) => *size = d,
                (size, d) if size == d || d == 1 => {}
                _ => return None,
            }
        }
    }
    Some(all)
}

impl Loops {
    /// What they make of such operands. None if they are not for these, or are a kernel's, which does not tell.
    pub fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let one = |dtype: DType, dims: Dims| -> Option<Made> { Some([(dtype, dims)].into_iter().collect()) };
        match self {
            Loops::Pointwise(row) if row.takes(ins.dtypes.iter().copied()) => one(row.out, ins.broadcast(0)?),
            Loops::Pointwise(_) | Loops::Kernel(_) => None,
            Loops::Fold(table, _, dims) => one(table.makes(*ins.dtypes.first()?)?, dims.clone()),
            Loops::Moves(map) => {
                let dtype = *ins.dtypes.first()?;
                let lens = ins.dims.iter().map(|dims| checked_len(dims).unwrap_or(0));
                let is_so = ins.dtypes.iter().all(|d| *d == dtype) && map.fits(lens);
                if is_so { one(dtype, map.dims.clone()) } else { None }
            }
            Loops::Product => match ins.of_one_dtype()? {
                (dtype, [&[.., m, k], &[.., rows, n]]) if k == rows => {
                    one(dtype, ins.broadcast(2)?.into_iter().chain([m, n]).collect())
                }
                _ => None,
            },
            Loops::Dot => match ins.alike::<2>()? {
                (dtype, [_, ..]) => one(dtype, ins.broadcast(1)?),
                _ => None,
            },
            Loops::Rows(softmax::Formula::LogSumExp) => match ins.alike::<1>()? {
                (dtype, [lead @ .., _]) => ins.make(&[(dtype, &[lead, &[1]])]),
                _ => None,
            },
            Loops::Rows(softmax::Formula::Gradient { .. }) => ins.like::<2>(1, DType::is_float),
            Loops::Rows(_) => ins.like::<1>(1, DType::is_float),
        }
    }
}
