//! Elements moved, repeated or given another type; nothing is computed.

pub(super) mod axes;
mod broadcast;
mod cast;
pub(super) mod diagonal;
mod join;
mod pad;
pub(super) mod parts;
pub(super) mod region;
mod repeat;
mod shapes;
mod split;
pub(super) mod strided;

pub use axes::{matrix_transpose, moveaxis, permute_dims, swapaxes, transpose};
pub(super) use broadcast::SUM;
pub use broadcast::{broadcast_to, expand, meshgrid, sum_to};
pub use cast::{cast, tracked_cast};
pub use diagonal::{diagonal, tril, triu};
pub(super) use diagonal::{diagonal_of, on_diagonal};
pub use join::{concat, stack};
pub use pad::{flip, pad, roll};
pub use parts::{conj, imag, real, view_as_complex, view_as_real};
pub use repeat::tile;
pub use shapes::{expand_dims, flatten, reshape, reshape_to, squeeze};
pub use split::{split, split_sizes, unbind};
pub use strided::strided;

#[cfg(test)]
mod tests {
    use smallvec::smallvec;

    use super::pad::{flip, roll};
    use super::region::{AxisPart, Region, place, view};
    use super::*;
    use crate::array::{Array, Layout};
    use crate::dtype::DType;
    use crate::error::Result;
    use crate::graph::{Loops, NodeKind, Op, Operands, Tensor};

    /// An array of the numbers from `first` on.
    fn numbers(dims: &[usize], first: usize) -> Array {
        let numbers: Vec<f64> = (0..crate::shape::len(dims)).map(|i| (first + i) as f64).collect();
        Array::from_slice(&numbers, dims).unwrap()
    }

    /// Whether the map of an op says what its `forward` does with operands of these shapes.
    fn check(op: &dyn Op, dims: &[&[usize]], batch_ndim: usize) {
        let dtypes = vec![DType::F64; dims.len()];
        let Some(Loops::Moves(map)) = op.lower(&Operands { dtypes: &dtypes, dims, batch_ndim }) else {
            panic!("{} has no map", op.name());
        };
        let ins: Vec<Array> = dims.iter().zip(0..).map(|(d, k)| numbers(d, 1 + 1000 * k)).collect();
        let outs = op.forward(&ins.iter().collect::<Vec<_>>(), batch_ndim).unwrap();
        let expected = outs[0].to_vec::<f64>();
        let places = map.places(dims.iter().map(|d| crate::shape::len(d))).expect("all places are inside");
        let found: Vec<f64> =
            places.into_iter().map(|p| p.map_or(0.0, |(k, i)| (1 + 1000 * k + i) as f64)).collect();
        assert_eq!((&found, &map.dims[..]), (&expected, outs[0].dims()), "{} of {dims:?}", op.name());
    }

    /// Checks the op that made a tensor from others of these shapes, with hidden axes too: in all operands and in the first.
    fn check_op_of(y: &Tensor, dims: &[&[usize]]) {
        let edge = y.edge.as_ref().expect("it is recorded");
        let NodeKind::Op(op) = &edge.node.kind else { panic!("a leaf has no op") };
        check(&**op, dims, 0);
        for sizes in [[3, 3], [3, 1], [1, 1]] {
            let hidden: Vec<Vec<usize>> =
                dims.iter().zip(sizes).map(|(d, n)| [&[n][..], d].concat()).collect();
            check(&**op, &hidden.iter().map(|d| &d[..]).collect::<Vec<_>>(), 1);
        }
    }

    #[test]
    fn maps_of_moves_say_what_forward_does() {
        let x = Tensor::constant(numbers(&[2, 3, 4], 1)).leaf();
        let dims: &[&[usize]] = &[&[2, 3, 4]];
        let of_one: [fn(&Tensor) -> Result<Tensor>; 12] = [
            |x| permute_dims(x, &[2, 0, 1]),
            |x| reshape_to(x, &[4, 6]),
            |x| broadcast_to(x, &[5, 2, 3, 4]),
            |x| roll(x, &[3], Some(&[2])),
            |x| roll(x, &[-1], Some(&[0])),
            |x| flip(x, Some(&[1])),
            |x| crate::ops::copy::copy(x),
            |x| crate::ops::copy::alias(x),
            |x| diagonal(x, 1, 1, 2),
            |x| view("at", x, Region::at(x.dims(), 1, 2)),
            |x| {
                let span = AxisPart::Span { start: 3, step: -2, count: 2 };
                let parts = [AxisPart::At(1), AxisPart::New, AxisPart::whole(3), span];
                view("box", x, Region::Box(parts.into_iter().collect()))
            },
            |x| strided(x, &Layout { dims: smallvec![2, 2], strides: smallvec![5, 0], offset: 3 }),
        ];
        for f in of_one {
            check_op_of(&f(&x).unwrap(), dims);
        }
        let y = Tensor::constant(numbers(&[2, 1, 4], 1)).leaf();
        let regions = [Region::span(&[2, 6, 4], 1, 0, 3), Region::span(&[2, 6, 4], 1, 4, 1)];
        let joined = place("place", &[2, 6, 4], &[&x, &y], regions, None).unwrap();
        check_op_of(&joined, &[&[2, 3, 4], &[2, 1, 4]]);
        // A part is repeated to its region.
        let regions = [Region::span(&[2, 6, 4], 1, 0, 3), Region::span(&[2, 6, 4], 1, 4, 2)];
        let joined = place("place", &[2, 6, 4], &[&x, &y], regions, None).unwrap();
        check_op_of(&joined, &[&[2, 3, 4], &[2, 1, 4]]);
        let diagonal = Region::Diagonal { axes: (0, 1), offset: -1 };
        let z = Tensor::constant(numbers(&[3], 1)).leaf();
        check_op_of(&place("place", &[4, 4], &[&z], [diagonal], None).unwrap(), &[&[3]]);
    }
}
