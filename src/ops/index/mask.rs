//! Elements chosen by truth values.

use super::expression::get;
use super::places::to_write;
use crate::array::Array;
use crate::dtype::{Bool8, DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{Kernel, Made, Operands, Tensor, Unrecorded, unrecorded};
use crate::kernel::{index, interrupt};
use crate::ops::Index;
use crate::ops::entry::{Operand, Value, op};
use crate::ops::gather::gather;
use crate::ops::movement::{broadcast_to, cast, expand_dims, reshape_to, stack};
use crate::ops::pointwise::select::select;
use crate::ops::promote::as_tensor;
use crate::shape;
use crate::stored::Stored;

/// The reason why functions such as `unique` do not take a batch of `vmap`.
pub const SIZE_DEPENDS: &str = "vmap: We do not support batching operators that can output dynamic shape. The size of \
                                the result depends on the values, which differ within the batch: use where or \
                                masked_fill, which keep the size, or a loop of Python";

fn truth<'a>(op: &'static str, mask: &'a Tensor) -> Result<&'a Tensor> {
    if mask.dtype() != DType::Bool {
        bail!(Dtype, op, "only supports boolean masks, but got mask with dtype {}", mask.dtype());
    }
    Ok(mask)
}

/// `x` with a number where a mask of truth values holds; the mask broadcasts against `x`. Works under vmap.
///
/// ```python
/// >>> fg.masked_fill(fg.tensor([1, 2]), fg.tensor([True, False]), 9).numpy()
/// array([9, 2])
/// ```
#[op(in_place, half, torch(LaidInCOrder, WrapsNegative))]
pub fn masked_fill(x: &Tensor, mask: &Tensor, value: Operand<'_>) -> Result<Tensor> {
    let value = as_tensor(value, x.dtype())?;
    if value.rank() != 0 {
        bail!(
            Shape,
            "masked_fill",
            "only supports a 0-dimensional value tensor, but got tensor with {} dimension(s)",
            value.rank()
        );
    }
    select(truth("masked_fill", mask)?, &value, x)
}

/// The elements where a mask of truth values holds, in C order in one axis; both broadcast against each
/// other.
///
/// ```python
/// >>> fg.masked_select(fg.tensor([1, 2, 3]), fg.tensor([True, False, True])).numpy()
/// array([1, 3])
/// ```
#[op(method, half)]
pub fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let dims = shape::broadcast("masked_select", x.dims(), truth("masked_select", mask)?.dims())?;
    get(&broadcast_to(x, &dims)?, &[Index::Tensor(broadcast_to(mask, &dims)?)])
}

/// `x` with the first elements of `source`, in C order, where a mask of truth values holds. `x` and the mask broadcast.
///
/// ```python
/// >>> fg.masked_scatter(fg.tensor([1, 2, 3]), fg.tensor([True, False, True]), fg.tensor([7, 8])).numpy()
/// array([7, 2, 8])
/// ```
#[op(in_place, torch(LaidInCOrder))]
pub fn masked_scatter(x: &Tensor, mask: &Tensor, source: &Tensor) -> Result<Tensor> {
    let dims = shape::broadcast("masked_scatter", x.dims(), mask.dims())?;
    let x = &broadcast_to(x, &dims)?;
    let mask = broadcast_to(truth("masked_scatter", mask)?, &dims)?;
    let source = to_write("masked_scatter", source.into(), x.dtype())?;
    let source = reshape_to(&source, &[shape::len(source.dims())])?;
    let places =
        unrecorded(Places { elements: source.dims()[0] }, &[&mask]).expect("truth values have no edge")?;
    let taken = gather("masked_scatter", &source, &reshape_to(&places, &[shape::len(&dims)])?, 1)?;
    select(&mask, &reshape_to(&taken, &dims)?, x)
}

/// How many truth values hold before each one that does (int64), and -1 for the others.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct Places {
    /// No more of them hold.
    elements: usize,
}

impl Kernel for Places {
    fn name(&self) -> &'static str {
        "masked_scatter"
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let mask = ins[0].contiguous()?;
        let from = mask.as_slice::<Bool8>().expect("contiguous");
        let each = shape::len(&mask.dims()[batch_ndim..]).max(1);
        let mut most = 0;
        let places = Array::build::<i64>(self.name(), mask.dims(), |out| {
            for (out, from) in out.chunks_exact_mut(each).zip(from.chunks_exact(each)) {
                let mut count = 0;
                for part in interrupt::parts(0..each, 1) {
                    for (o, m) in out[part.clone()].iter_mut().zip(&from[part]) {
                        let holds = i64::from(m.0 != 0);
                        *o = count * holds + holds - 1;
                        count += holds;
                    }
                }
                most = count.max(most);
            }
        })?;
        if most as usize > self.elements {
            bail!(Shape, self.name(), "{} elements for {most} places", self.elements);
        }
        Ok(places)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        let (dtype, dims) = ins.alike::<1>()?;
        if dtype == DType::Bool { ins.make(&[(DType::I64, &[dims])]) } else { None }
    }
}

/// The positions of the elements that are not zero.
fn positions(op: &'static str, x: &Tensor) -> Result<Array> {
    if !x.levels.is_empty() {
        bail!(Vmap, op, "{SIZE_DEPENDS}");
    }
    index::nonzero(&x.array)
}

/// The indices of the elements that are not zero: one tensor an axis.
fn indices(op: &'static str, x: &Tensor) -> Result<Vec<Tensor>> {
    if x.rank() == 0 {
        bail!(Shape, op, "a 0-d tensor has no axis to count along");
    }
    let positions = positions(op, x)?;
    (0..x.rank()).map(|a| Ok(Tensor::constant(index::unravel_index(&positions, x.dims(), a)?))).collect()
}

/// The indices (int64) of the elements that are not zero, in C order: one tensor for each axis.
///
/// ```python
/// >>> fg.nonzero(fg.tensor([0, 3, 0, 4]))[0].numpy()
/// array([1, 3])
/// ```
#[op(method)]
pub fn nonzero(x: &Tensor) -> Result<Value> {
    Ok(Value::Tuple(indices("nonzero", x)?))
}

/// The indices (int64) of the elements that are not zero, in C order: one row an element.
///
/// ```python
/// >>> fg.argwhere(fg.tensor([[0, 3], [4, 0]])).numpy()
/// array([[0, 1],
///        [1, 0]])
/// ```
#[op(function)]
pub fn argwhere(x: &Tensor) -> Result<Tensor> {
    // The rows of a 0-d tensor are empty; their number says whether it is zero.
    if x.rank() == 0 {
        let rows = positions("argwhere", x)?.len();
        return Ok(Tensor::constant(Array::zeros("argwhere", DType::I64, &[rows, 0])?));
    }
    stack(&indices("argwhere", x)?, 1)
}

/// A new last axis of `num_classes` zeros (int64 unless `dtype` says otherwise) with a one at the index that
/// `x` gives; with -1 the largest index decides how many.
///
/// ```python
/// >>> fg.one_hot(fg.tensor([0, 2])).numpy()
/// array([[1, 0, 0],
///        [0, 0, 1]])
/// ```
#[op(method, torch(FromZero))]
pub fn one_hot(
    x: &Tensor,
    #[default(-1)] num_classes: i64,
    #[default(None)] dtype: Option<DType>,
) -> Result<Tensor> {
    if x.dtype().kind() != DTypeKind::Int {
        bail!(Dtype, "one_hot", "classes are integers, not {}", x.dtype());
    }
    let classes = match num_classes {
        -1 if !x.levels.is_empty() => bail!(
            Vmap,
            "one_hot",
            "the number of classes depends on the values, and under vmap those differ within the batch; give num_classes"
        ),
        -1 if shape::len(x.dims()) == 0 => {
            bail!(Argument, "one_hot", "no element says how many classes there are; give num_classes")
        }
        -1 => {
            let own = Tensor::constant(x.array.without_repeats());
            let all = cast(&own, DType::I64)?;
            all.array.view::<i64>().iter().max().map_or(0, |m| m.saturating_add(1))
        }
        n => n,
    };
    let Ok(size) = usize::try_from(classes) else {
        bail!(Argument, "one_hot", "{classes} is not a number of classes");
    };
    let mut dims: crate::shape::Dims = x.dims().into();
    dims.push(size);
    let held =
        shape::checked_len(&dims).and_then(|n| n.checked_mul(8)).is_some_and(|n| n <= isize::MAX as usize);
    let dtype = dtype.unwrap_or(DType::I64);
    if !held {
        return Err(crate::error::Error::memory("one_hot", dims.to_vec(), dtype));
    }
    let zeros = broadcast_to(&Tensor::scalar_of(dtype, 0.0), &dims)?;
    let one = Tensor::constant(Array::full(&[], Bool8::from(true)));
    let rows = expand_dims(x, &[-1])?;
    super::along::put_along_axis(&zeros, &rows, Operand::Tensor(&one), Some(-1), "assign", true)
}
