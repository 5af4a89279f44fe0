//! Functions of two tensors, element by element, broadcast against each other.

use std::borrow::Cow;

use smallvec::smallvec;

use super::entry::{Entry, Operand, entry};
use super::movement::cast;
use crate::array::{Array, Item};
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::graph::{Cotangents, Grads, Keeps, Needs, Op, Outs, Saved, Tangents, Tensor, apply};
use crate::kernel::zip::{self, Table, zip_table};

/// A row of the family.
trait Binary: Send + Sync + 'static {
    const NAME: &'static str;
    const TABLE: &'static Table;
    /// What the derivative by the first and by the second input reads.
    const KEEPS: [Keeps; 2];
    /// `g` times the derivative by input `i`. Linear in `g`, so it serves both directions.
    fn rule(i: usize, g: &Tensor, s: &Saved<'_>) -> Result<Tensor>;
}

struct Zip<B>(std::marker::PhantomData<fn(B)>);

impl<B: Binary> Op for Zip<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    #[inline]
    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outs> {
        Ok(smallvec![zip::apply(B::NAME, B::TABLE, ins[0], ins[1], lanes)?])
    }

    fn keeps(&self, needs: Needs) -> Keeps {
        B::KEEPS[0].when(needs.has(0)).and(B::KEEPS[1].when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let Some(g) = &g[0] else { return Ok(smallvec![None, None]) };
        (0..2).map(|i| s.needs(i).then(|| B::rule(i, g, s)).transpose()).collect()
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        let part = |i: usize| t[i].as_ref().map(|t| B::rule(i, t, s)).transpose();
        Ok(smallvec![match (part(0)?, part(1)?) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }])
    }
}

/// Rows `Name function, same(other names): class x, y => number; [kept] g => gradient of x; [kept] g => gradient of y; "documentation"`.
/// The class is that of [`zip_table!`]; the kept letters are `x`, `y` (the inputs) and `z` (the output). The function
/// takes operands and promotes them; `same` takes two tensors of one dtype.
macro_rules! binary {
    ($($Row:ident $f:ident, $same:ident $(($($alias:ident),*))?: $class:ident $x:ident, $y:ident => $e:expr;
        [$($kx:ident),*] $gx:ident => $dx:expr; [$($ky:ident),*] $gy:ident => $dy:expr; $doc:expr)*) => {
        $(
            struct $Row;
            impl Binary for $Row {
                const NAME: &'static str = stringify!($f);
                const TABLE: &'static Table = zip_table!($class $x, $y => $e);
                const KEEPS: [Keeps; 2] = [
                    Keeps::NOTHING $(.and(binary!(@keeps $kx)))*,
                    Keeps::NOTHING $(.and(binary!(@keeps $ky)))*,
                ];
                fn rule(i: usize, g: &Tensor, _s: &Saved<'_>) -> Result<Tensor> {
                    Ok(if i == 0 {
                        $( let $kx = &binary!(@saved _s $kx); )*
                        let $gx = g;
                        $dx
                    } else {
                        $( let $ky = &binary!(@saved _s $ky); )*
                        let $gy = g;
                        $dy
                    })
                }
            }
            #[doc = $doc]
            pub fn $f(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
                let (x, y) = promoted(binary!(@class $class), x, y)?;
                $same(&x, &y)
            }
            #[doc = concat!("[`", stringify!($f), "`] of two tensors of one dtype.")]
            #[inline]
            pub fn $same(x: &Tensor, y: &Tensor) -> Result<Tensor> {
                apply(Zip::<$Row>(std::marker::PhantomData), &[x, y])
            }
        )*
        pub(crate) const ENTRIES: &[Entry] = &[
            $( entry!(method [stringify!($f) $($(, stringify!($alias))*)?] $f (x: Operand<'_>, y: Operand<'_>) $doc) ),*
        ];
    };
    (@keeps x) => { Keeps::inputs(1) };
    (@keeps y) => { Keeps::inputs(2) };
    (@keeps z) => { Keeps::outputs(1) };
    (@saved $s:ident x) => { $s.input(0) };
    (@saved $s:ident y) => { $s.input(1) };
    (@saved $s:ident z) => { $s.output(0) };
    (@class num) => { Class::Num };
    (@class real) => { Class::Real };
}

binary! {
    Add add, add_same: num x, y => x.add(y);
        [] g => g.clone(); [] g => g.clone();
        "The sum, element by element."
    Sub subtract, subtract_same(sub): num x, y => x.sub(y);
        [] g => g.clone(); [] g => -g;
        "The difference, element by element."
    Mul multiply, multiply_same(mul): num x, y => x.mul(y);
        [y] g => g * y; [x] g => g * x;
        "The product, element by element."
    Div divide, divide_same(div, true_divide): real x, y => x.div(y);
        [y] g => g / y; [y, z] g => -(g * z / y);
        "The quotient, element by element; of two integers it is a float."
}

/// Which dtypes a row computes in: any number, or floats only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Num,
    Real,
}

/// Both operands as tensors of the dtype of the result: that of the table of tensors, raised in kind (never in width)
/// by a weak number, and to the default float where the op knows only floats.
pub(super) fn promoted<'a>(
    class: Class,
    x: Operand<'a>,
    y: Operand<'a>,
) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    if let (Operand::Tensor(x), Operand::Tensor(y)) = (x, y) {
        if x.dtype() == y.dtype()
            && (x.dtype().is_float() || (class == Class::Num && x.dtype() != DType::Bool))
        {
            return Ok((Cow::Borrowed(x), Cow::Borrowed(y)));
        }
    }
    let common = match (x, y) {
        (Operand::Tensor(x), Operand::Tensor(y)) => x.dtype().promote(y.dtype()),
        (Operand::Tensor(t), Operand::Number(n)) | (Operand::Number(n), Operand::Tensor(t)) => {
            raised(t.dtype(), n)
        }
        (Operand::Number(a), Operand::Number(b)) => raised(raised(DType::Bool, a), b),
    };
    let dtype = match (class, common.kind()) {
        (Class::Real, Kind::Bool | Kind::Int) => default_float(),
        (Class::Num, Kind::Bool) => DType::I64,
        _ => common,
    };
    Ok((as_tensor(x, dtype)?, as_tensor(y, dtype)?))
}

/// The dtype of a tensor's, raised in kind where the number is of a stronger one.
pub(super) fn raised(dtype: DType, by: Item) -> DType {
    match (dtype.kind(), by) {
        (Kind::Bool, Item::Int(_)) => DType::I64,
        (Kind::Bool | Kind::Int, Item::Float(_)) => default_float(),
        _ => dtype,
    }
}

/// An operand as a tensor of a dtype.
pub(super) fn as_tensor(x: Operand<'_>, dtype: DType) -> Result<Cow<'_, Tensor>> {
    Ok(match x {
        Operand::Tensor(t) if t.dtype() == dtype => Cow::Borrowed(t),
        Operand::Tensor(t) => Cow::Owned(cast(t, dtype)?),
        Operand::Number(Item::Int(i)) if !dtype.is_float() => Cow::Owned(Tensor::constant(
            crate::dtype::dispatch!(dtype, all T => Array::scalar(<T as crate::dtype::Element>::from_i64(i as i64))),
        )),
        Operand::Number(n) => Cow::Owned(Tensor::scalar_of(dtype, n.to_f64())),
    })
}

/// The dtype of floats that nothing else decides.
pub fn default_float() -> DType {
    DType::F32
}

/// The tensor itself if it is a float, else in the default float.
pub(super) fn promoted_float(x: &Tensor) -> Result<Cow<'_, Tensor>> {
    if x.dtype().is_float() {
        return Ok(Cow::Borrowed(x));
    }
    Ok(Cow::Owned(cast(x, default_float())?))
}

/// Adds `y` into `x` where nobody else can see `x`; says whether it did. The same bits as [`add_same`].
pub(crate) fn add_in_place(x: &mut Array, y: &Array) -> bool {
    fn go<T: crate::kernel::num::Num>(x: &mut Array, y: &Array) -> bool {
        let (Some(y), true) = (y.as_slice::<T>(), x.dims() == y.dims()) else { return false };
        let Some(x) = x.as_mut_slice::<T>() else { return false };
        x.iter_mut().zip(y).for_each(|(x, &y)| *x = x.add(y));
        true
    }
    crate::dtype::dispatch!(y.dtype(), float T => go::<T>(x, y), else false)
}

/// Whether [`add_in_place`] would succeed.
pub(crate) fn can_add_in_place(x: &mut Array, y: &Array) -> bool {
    y.is_contiguous()
        && x.dtype() == y.dtype()
        && x.dims() == y.dims()
        && x.is_writable()
        && y.dtype().is_float()
}
