//! Functions of two tensors, element by element, broadcast against each other: the family, and the rows of arithmetic.

use smallvec::smallvec;

use super::compare::{and_same, or_same};
use super::entry::{Operand, op};
use super::pointwise::{in_one_pass, log_or_zero, one_less, reciprocal_or_zero, sign};
pub use super::promote::default_float;
pub(super) use super::promote::{Class, promoted};
use super::terms::add_terms;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Result, bail};
use crate::graph::{Cotangents, Grads, NeedsGrad, Op, Outputs, Saved, Saves, Tangents, Tensor, apply, only};
use crate::kernel::pointwise::binary::{self, BinaryLoops};
use crate::kernel::pointwise::{division, power};
use crate::shape;

/// A row of the family.
pub(super) trait Binary: Send + Sync + 'static {
    const NAME: &'static str;
    const TABLE: &'static BinaryLoops;
    /// What the derivative by the first and by the second input reads.
    const SAVES: [Saves; 2];
    /// `g` times the derivative by input `i`; none for zero. Linear in `g`, so it serves both directions.
    fn rule(i: usize, g: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>>;
    /// The tangent where both inputs move.
    fn both(a: &Tensor, b: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>> {
        Ok(add_terms([Self::rule(0, a, s)?, Self::rule(1, b, s)?]))
    }
}

pub(super) struct Zip<B>(pub std::marker::PhantomData<fn(B)>);

impl<B: Binary> Op for Zip<B> {
    fn name(&self) -> &'static str {
        B::NAME
    }

    #[inline]
    fn forward(&self, ins: &[&Array], lanes: usize) -> Result<Outputs> {
        Ok([binary::apply(B::NAME, B::TABLE, ins[0], ins[1], lanes)?].into())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn saves(&self, needs: NeedsGrad) -> Saves {
        B::SAVES[0].when(needs.has(0)).and(B::SAVES[1].when(needs.has(1)))
    }

    fn vjp(&self, g: &Cotangents, s: &Saved<'_>) -> Result<Grads> {
        let g = only(g);
        let part = |i: usize| if s.needs(i) { B::rule(i, g, s) } else { Ok(None) };
        Ok(Grads::from_buf([part(0)?, part(1)?]))
    }

    fn jvp(&self, t: &Tangents, s: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![match (&t[0], &t[1]) {
            (Some(a), Some(b)) => B::both(a, b, s)?,
            (Some(a), None) => B::rule(0, a, s)?,
            (None, Some(b)) => B::rule(1, b, s)?,
            (None, None) => None,
        }])
    }
}

/// The derivative of a function that is constant piece by piece.
pub(super) fn zero() -> Option<Tensor> {
    None
}

/// A row as a function of two tensors of one dtype:
/// `Name function "public name": class x, y => number; [kept] g => gradient of x; [kept] g => gradient of y;`.
/// A row may say `both [kept] a, b => tangent;` before the gradients, where that is more than their sum.
/// The class is that of [`binary_loops!`](crate::kernel::pointwise::binary); the kept letters are `x`, `y` (the inputs) and `z` (the output). A gradient is
/// a tensor or [`zero()`].
macro_rules! binary_rows {
    ($($(#[$attr:meta])* $Row:ident $same:ident $name:expr, $class:ident $x:ident, $y:ident => $e:expr;
        $(both [$($kb:ident),*] $ga:ident, $gb:ident => $db:expr;)?
        [$($kx:ident),*] $gx:ident => $dx:expr; [$($ky:ident),*] $gy:ident => $dy:expr;)*) => { $(
        // A module of its own gives each row a code unit of its own: a changed row compiles no other.
        mod $same {
            #[allow(unused_imports)]
            use super::*;
            pub(super) struct $Row;
        impl $crate::ops::arithmetic::Binary for $Row {
            const NAME: &'static str = $name;
            const TABLE: &'static $crate::kernel::pointwise::binary::BinaryLoops = $crate::kernel::pointwise::binary::binary_loops!($class $x, $y => $e);
            const SAVES: [Saves; 2] = [
                Saves::NOTHING $(.and($crate::ops::arithmetic::binary_rows!(@keeps $kx)))*,
                Saves::NOTHING $(.and($crate::ops::arithmetic::binary_rows!(@keeps $ky)))*,
            ];
            fn rule(i: usize, g: &Tensor, _s: &Saved<'_>) -> Result<Option<Tensor>> {
                if i == 0 {
                    $( let $kx = &$crate::ops::arithmetic::binary_rows!(@saved _s $kx); )*
                    let $gx = g;
                    Ok(Option::from($dx))
                } else {
                    $( let $ky = &$crate::ops::arithmetic::binary_rows!(@saved _s $ky); )*
                    let $gy = g;
                    Ok(Option::from($dy))
                }
            }
            $(fn both($ga: &Tensor, $gb: &Tensor, s: &Saved<'_>) -> Result<Option<Tensor>> {
                $( let $kb = &$crate::ops::arithmetic::binary_rows!(@saved s $kb); )*
                Ok(Some($db))
            })?
        }
        }
        $(#[$attr])*
        #[inline]
        pub fn $same(x: &Tensor, y: &Tensor) -> Result<Tensor> {
            apply($crate::ops::arithmetic::Zip::<$same::$Row>(std::marker::PhantomData), &[x, y])
        }
    )* };
    (@keeps x) => { Saves::inputs(1) };
    (@keeps y) => { Saves::inputs(2) };
    (@keeps z) => { Saves::outputs(1) };
    (@saved $s:ident x) => { $s.input(0) };
    (@saved $s:ident y) => { $s.input(1) };
    (@saved $s:ident z) => { $s.output(0) };
}

/// Rows of [`binary_rows!`] that are public: `Name function, same(other names): …; "documentation", "example" => "what
/// it prints";`. The function takes operands and promotes them; `same` takes two tensors of one dtype. After `bools`
/// comes the function that stands for it where both operands are truth values.
macro_rules! binary {
    ($($Row:ident $f:ident, $same:ident $(($($alias:ident),*))? $(bools $bools:ident)?: $class:ident $x:ident, $y:ident => $e:expr;
        $(both [$($kb:ident),*] $ga:ident, $gb:ident => $db:expr;)?
        [$($kx:ident),*] $gx:ident => $dx:expr; [$($ky:ident),*] $gy:ident => $dy:expr;
        $doc:expr, $example:expr => $result:expr;)*) => {
        binary_rows! { $(
            #[doc = concat!("[`", stringify!($f), "`] of two tensors of one dtype.")]
            $Row $same stringify!($f), $class $x, $y => $e; $(both [$($kb),*] $ga, $gb => $db;)?
            [$($kx),*] $gx => $dx; [$($ky),*] $gy => $dy;
        )* }
        $(
            #[doc = concat!($doc, binary!(@note $class))]
            #[doc = ""]
            #[doc = "```python"]
            #[doc = concat!(">>> ", $example)]
            #[doc = $result]
            #[doc = "```"]
            #[op(in_place, names(stringify!($f) $($(, stringify!($alias))*)?))]
            pub fn $f(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
                let (x, y) = promoted(binary!(@class $class), x, y)?;
                $(if x.dtype() == DType::Bool {
                    return $bools(&x, &y);
                })?
                $same(&x, &y)
            }
        )*
    };
    (@class num) => { Class::Num };
    (@class table) => { Class::Num };
    (@class plain) => { Class::Real };
    (@class real) => { Class::Real };
    (@note num) => { " The shapes broadcast and the dtypes promote." };
    (@note table) => { binary!(@note num) };
    (@note plain) => { binary!(@note real) };
    (@note real) => { " The shapes broadcast, the dtypes promote, and integers are taken as the default float." };
}
pub(super) use binary_rows;

binary! {
    Add add, add_same bools or_same: num x, y => x.add(y);
        [] g => g.clone(); [] g => g.clone();
        "The sum, element by element; of truth values, whether either holds.",
        "fg.add(fg.tensor([1.0, 2.0]), 0.5).tolist()" => "[1.5, 2.5]";
    Sub subtract, subtract_same(sub): num x, y => x.sub(y);
        [] g => g.clone(); [] g => -g;
        "The difference, element by element; refused for truth values (`^` and `~` are theirs).",
        "fg.subtract(fg.tensor([1.0, 2.0]), 0.5).tolist()" => "[0.5, 1.5]";
    Mul multiply, multiply_same(mul) bools and_same: num x, y => x.mul(y);
        [y] g => g * y; [x] g => g * x;
        "The product, element by element; of truth values, whether both hold.",
        "fg.multiply(fg.tensor([1.0, 2.0]), 3).tolist()" => "[3.0, 6.0]";
    Div divide, divide_same(div, true_divide): plain x, y => x.div(y); both [y, z] a, b => (a - b * z) / y;
        [y] g => g / y; [y, z] g => -(g * z / y);
        "The quotient, element by element.",
        "fg.divide(fg.tensor([1, 3]), 2).tolist()" => "[0.5, 1.5]";
    FloorDivide floor_divide, floor_divide_same: table x, y => division::FLOOR;
        [] _g => zero(); [] _g => zero();
        "The quotient rounded towards minus infinity; an integer divided by 0 is 0. Its derivative is zero.",
        "fg.floor_divide(fg.tensor([7, -7]), 2).tolist()" => "[3, -4]";
    Remainder remainder, remainder_same(mod): table x, y => division::REST;
        [] g => g.clone(); [x, y] g => -(g * floor_divide_same(x, y)?);
        "What `floor_divide` leaves, x - y * floor(x / y), with the sign of y; an integer modulo 0 is 0.",
        "fg.remainder(fg.tensor([7, -7]), 3).tolist()" => "[1, 2]";
    Pow pow, pow_same(power): table x, y => power::POWER;
        [x, y] g => pow_gradient(g, x, y)?; [x, y, z] g => g * z * pow_log(x, y)?;
        "x to the power of y. The derivatives are exact at zero: that of `x ** 0` is 0, and by an exponent it is 0 where \
        x is 0 and y is not negative. An integer to a negative power is cut to an integer.",
        "fg.pow(fg.tensor([1.0, 2.0, 3.0]), 2).tolist()" => "[1.0, 4.0, 9.0]";
    Atan2 atan2, atan2_same(arctan2): real x, y => x.atan2(y);
        [x, y] g => turned(g, y, x, y)?; [x, y] g => -turned(g, x, x, y)?;
        "The angle of the point (y, x): that of x / y in the quadrant that the signs tell, in radians from -pi to pi. \
        Its derivative at (0, 0) is 0.",
        "fg.atan2(fg.tensor([0.0]), fg.tensor([2.0])).tolist()" => "[0.0]";
    Hypot hypot, hypot_same: real x, y => x.hypot(y);
        [x, z] g => g * (x * reciprocal_or_zero(z)?); [y, z] g => g * (y * reciprocal_or_zero(z)?);
        "The length of the vector (x, y), without overflow. Its derivative at (0, 0) is 0.",
        "fg.hypot(fg.tensor([3.0]), fg.tensor([4.0])).tolist()" => "[5.0]";
    Copysign copysign, copysign_same: plain x, y => x.copysign(y);
        [x, y] g => g * copysign_same(&sign(x)?, &multiply_same(&sign(x)?, y)?)?; [] _g => zero();
        "The magnitude of x with the sign of y.",
        "fg.copysign(fg.tensor([3.0]), -0.0).tolist()" => "[-3.0]";
    Maximum maximum, maximum_same bools or_same: num x, y => x.max(y);
        [x, y] g => masked(g, &larger_share(x, y)?)?; [x, y] g => masked(g, &larger_share(y, x)?)?;
        "The larger one of two elements; NaN if either is. Where they are equal each gets half of the gradient.",
        "fg.maximum(fg.tensor([1.0, 5.0]), 3.0).tolist()" => "[3.0, 5.0]";
    Minimum minimum, minimum_same bools and_same: num x, y => x.min(y);
        [x, y] g => masked(g, &smaller_share(x, y)?)?; [x, y] g => masked(g, &smaller_share(y, x)?)?;
        "The smaller one of two elements; NaN if either is. Where they are equal each gets half of the gradient.",
        "fg.minimum(fg.tensor([1.0, 5.0]), 3.0).tolist()" => "[1.0, 3.0]";
    Nextafter nextafter, nextafter_same: plain x, y => x.next_after(y);
        [] _g => none_for("nextafter")?; [] _g => none_for("nextafter")?;
        "The number that comes next after x on the way to y, in the dtype; y where they are equal. It has no derivative.",
        "fg.nextafter(fg.tensor([1.0], dtype=fg.float64), 2.0).item() - 1.0" => "2.220446049250313e-16";
}

binary_rows! {
    /// `y x^(y - 1)`, the derivative of `x^y` by `x`; 0 where `y` is 0.
    PowSlope pow_slope "pow_slope",
        table x, y => power::SLOPE;
        [x, y] g => g * (y * pow_slope(x, &one_less(y)?)?);
        [x, y, z] g => g * (pow_same(x, &(y - 1.0))? + z * log_or_zero(x)?);
    /// `log x`; 0 where `x` is 0 and `y` is not negative, since `x^y log x` tends to 0 there.
    PowLog pow_log "pow_log",
        real x, y => if x == T::ZERO && y >= T::ZERO { x } else { x.ln() };
        [x] g => g * reciprocal_or_zero(x)?; [] _g => zero();
    /// The part of the gradient of `maximum` that goes to `x`. A NaN takes all of it.
    LargerShare larger_share "larger_share",
        plain x, y => if x > y || (x.nan() && !y.nan()) { T::ONE } else if x < y || (y.nan() && !x.nan()) { T::ZERO } else { T::lit(0.5) };
        [] _g => zero(); [] _g => zero();
    /// The part of the gradient of `minimum` that goes to `x`. A NaN takes all of it.
    SmallerShare smaller_share "smaller_share",
        plain x, y => if x < y || (x.nan() && !y.nan()) { T::ONE } else if x > y || (y.nan() && !x.nan()) { T::ZERO } else { T::lit(0.5) };
        [] _g => zero(); [] _g => zero();
    /// `x * y` for a piecewise constant `y`, and 0 where `y` is 0, whatever `x` is.
    Masked masked "masked",
        plain x, y => if y == T::ZERO { T::ZERO } else { x.mul(y) };
        [y] g => masked(g, y)?; [] _g => zero();
}

/// `g y x^(y - 1)`: in one pass where one exponent serves all.
fn pow_gradient(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if y.array.len() == 1 && y.edge.is_none() && y.levels.is_empty() && x.dtype().is_float() {
        let exponent = [y.array.item().to_f64(), 0.0, 0.0];
        if let Some(grad) = in_one_pass("pow", power::GRADIENT, g, x, exponent)? {
            return Ok(grad);
        }
    }
    Ok(g * pow_slope(x, y)?)
}

/// The refusal of a derivative that is asked of an op without one.
fn none_for(op: &'static str) -> Result<Option<Tensor>> {
    bail!(
        NotDifferentiable,
        op,
        "the derivative for '{op}' is not implemented: it moves by single steps of its dtype"
    )
}

/// `g n / (x² + y²)`, and 0 at the origin: the derivative of an angle.
fn turned(g: &Tensor, n: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let s = reciprocal_or_zero(&hypot_same(x, y)?)?;
    Ok(g * (n * &s) * s)
}

/// Adds `y` into `x` where nobody else can see `x`; says whether it did. The same bits as [`add_same`].
pub(crate) fn add_in_place(x: &mut Array, y: &Array) -> bool {
    fn go<T: crate::kernel::num::Num>(x: &mut Array, y: &Array) -> bool {
        let (Some(y), true) = (y.as_slice::<T>(), shape::same(x.dims(), y.dims())) else { return false };
        let Some(x) = x.as_mut_slice::<T>() else { return false };
        x.iter_mut().zip(y).for_each(|(x, &y)| *x = x.add(y));
        true
    }
    crate::dtype::dispatch!(y.dtype(), float T => go::<T>(x, y), else false)
}

/// Whether `add_in_place` would succeed.
pub fn can_add_in_place(x: &mut Array, y: &Array) -> bool {
    y.is_contiguous()
        && x.dtype() == y.dtype()
        && x.dims() == y.dims()
        && x.is_writable()
        && y.dtype().is_float()
}
