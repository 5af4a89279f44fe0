//! Arithmetic, element by element.

use super::binary::{binary_ops, binary_rows};
use super::compare::{and_same, equal_same, less_same, or_same};
use super::elementary::{round_even, sign, trunc};
use super::hypot::share;
use super::safe::{log_or_zero, one_less, reciprocal_or_zero};
use super::unary::{in_one_pass, zero};
use crate::array::Array;
use crate::dtype::{DType, DTypeKind};
use crate::error::{Result, bail};
use crate::graph::{Kernel, Loops, Made, Operands, Saved, Saves, Tensor, Unrecorded, apply, unrecorded};
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::{division, expressions, power};
use crate::ops::check::{self, Test};
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::movement::parts::{from_parts, imag, real};
use crate::ops::pointwise::select::select;
use crate::ops::promote::{Class, alike, as_tensor, common, converted, promoted, promoted_float};
use crate::shape;
use crate::stored::Stored;

binary_ops! {
    Add add, add_same {torch(Wraps)} bools or_same: table x, y => expressions::ADD;
        [] g => g.clone(); [] g => g.clone();
        "The sum, element by element; of truth values, whether either holds.",
        "fg.add(fg.tensor([1.0, 2.0]), 0.5).tolist()" => "[1.5, 2.5]";
    Sub subtract, subtract_same(sub) {torch(Wraps)}: table x, y => expressions::SUBTRACT;
        [] g => g.clone(); [] g => -g;
        "The difference, element by element; refused for truth values (`^` and `~` are theirs).",
        "fg.subtract(fg.tensor([1.0, 2.0]), 0.5).tolist()" => "[0.5, 1.5]";
    Mul multiply, multiply_same(mul) {torch(Wraps)} bools and_same: table x, y => expressions::MULTIPLY;
        [y] g => g * y; [x] g => g * x;
        "The product, element by element; of truth values, whether both hold.",
        "fg.multiply(fg.tensor([1.0, 2.0]), 3).tolist()" => "[3.0, 6.0]";
    Div divide, divide_same(div, true_divide): float_table x, y => expressions::DIVIDE; both [y, z] a, b => (a - b * z) / y;
        [y] g => g / y; [y, z] g => -(g * z / y);
        "The quotient, element by element.",
        "fg.divide(fg.tensor([1, 3]), 2).tolist()" => "[0.5, 1.5]";
    FloorDivide floor_divide, floor_divide_same {paddle(QuotientOfRemainder), torch(QuotientOfRemainder, Wraps)}: table x, y => division::FLOOR;
        [] _g => zero(); [] _g => zero();
        "The quotient rounded towards minus infinity; where an operand is infinite, `floor(divide(x, y))` (in the other dialects \
        the quotient that goes with `remainder`: NaN of an infinite x, -1 where only y is infinite and the signs differ). An \
        integer divided by 0 is 0, with a RuntimeWarning (in the other dialects an error). Its derivative is zero.",
        "fg.floor_divide(fg.tensor([7, -7]), 2).tolist()" => "[3, -4]";
    Remainder remainder, remainder_same(mod) {torch(Wraps)}: table x, y => division::REST;
        [] g => g.clone(); [x, y] g => -(g * floor_with_rest(x, y)?);
        "What `floor_divide` leaves, x - y * floor(x / y), with the sign of y; of a finite x and an infinite y, x or y, as by Python's `%`; an integer modulo 0 is 0, with a RuntimeWarning (in the other dialects an error).",
        "fg.remainder(fg.tensor([7, -7]), 3).tolist()" => "[1, 2]";
    Atan2 atan2, atan2_same(arctan2): wide32 x, y => x.atan2(y);
        [x, y] g => angle_gradient(g, y, x, y)?; [x, y] g => -angle_gradient(g, x, x, y)?;
        "The angle of the point (y, x): that of x / y in the quadrant that the signs tell, in radians from -pi to pi. \
        Its derivative at (0, 0) is 0.",
        "fg.atan2(fg.tensor([0.0]), fg.tensor([2.0])).tolist()" => "[0.0]";
    Hypot hypot, hypot_same: real x, y => x.hypot(y);
        [x, y, z] g => g * share(x, y, z)?; [x, y, z] g => g * share(y, x, z)?;
        "The length of the vector (x, y), without overflow. Its derivative at (0, 0) is 0.",
        "fg.hypot(fg.tensor([3.0]), fg.tensor([4.0])).tolist()" => "[5.0]";
    XLogY xlogy, xlogy_same: real x, y => if x == T::ZERO && !y.nan() { T::ZERO } else { x.mul(y.ln()) };
        [x, y] g => g * x_log_y_by_x(x, y)?; [x, y] g => g * x_over_y(x, y)?;
        "x log(y), and 0 where x is 0, whatever y is but NaN. Its derivatives at (0, 0) are 0.",
        "fg.xlogy(fg.tensor([0.0, 2.0]), fg.tensor([0.0, 1.0])).tolist()" => "[0.0, 0.0]";
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
    Fmax fmax, fmax_same bools or_same: num x, y => if x >= y || y.nan() { x } else { y };
        [x, y] g => masked(g, &first_is_largest(x, y)?)?; [x, y] g => masked(g, &(1.0 - first_is_largest(x, y)?))?;
        "The larger one of two elements; a NaN is ignored where the other is none. Where they are equal the first gets the \
        gradient.",
        "fg.fmax(fg.tensor([1.0, fg.nan]), 3.0).tolist()" => "[3.0, 3.0]";
    Fmin fmin, fmin_same bools and_same: num x, y => if x <= y || y.nan() { x } else { y };
        [x, y] g => masked(g, &first_is_smallest(x, y)?)?; [x, y] g => masked(g, &(1.0 - first_is_smallest(x, y)?))?;
        "The smaller one of two elements; a NaN is ignored where the other is none. Where they are equal the first gets the \
        gradient.",
        "fg.fmin(fg.tensor([1.0, fg.nan]), 3.0).tolist()" => "[1.0, 3.0]";
    Fmod fmod, fmod_same {torch(Wraps)}: table x, y => division::FMOD;
        [] g => g.clone(); [x, y] g => -(g * trunc(&divide_same(x, y)?)?);
        "What a division rounded towards 0 leaves, x - y * trunc(x / y), with the sign of x; an integer modulo 0 is 0, with a RuntimeWarning (in the other dialects an error).",
        "fg.fmod(fg.tensor([7, -7]), 3).tolist()" => "[1, -1]";
    Nextafter nextafter, nextafter_same: plain x, y => x.next_after(y);
        [] g => g.clone(); [] _g => zero();
        "The number that comes next after x on the way to y, in the dtype; y where they are equal. Its derivative by x is 1.",
        "fg.nextafter(fg.tensor([1.0], dtype=fg.float64), 2.0).item() - 1.0" => "2.220446049250313e-16";
}

binary_rows! {
    /// The rounded quotient that goes with [`remainder`].
    FloorWithRest floor_with_rest "floor_divide", table x, y => division::FLOOR_WITH_REST;
        [] _g => zero(); [] _g => zero();
    /// [`pow`] of two tensors of one dtype.
    Pow pow_same "pow", table x, y => power::POWER;
        [x, y] g => pow_gradient(g, x, y)?; [x, y, z] g => g * z * pow_log(x, y)?;
    /// `y x^(y - 1)`, the derivative of `x^y` by `x`; 0 where `y` is 0.
    PowSlope pow_slope "pow_slope",
        table x, y => power::SLOPE;
        [x, y] g => g * (y * pow_slope(x, &one_less(y)?)?);
        [x, y, z] g => g * (pow_same(x, &(y - 1.0))? + z * log_or_zero(x)?);
    /// `log x`; 0 where `x` is 0 and `y` is not negative, since `x^y log x` tends to 0 there.
    PowLog pow_log "pow_log",
        table x, y => power::LOG;
        [x] g => g * reciprocal_or_zero(x)?; [] _g => zero();
    /// The share of the gradient of `maximum` that goes to `x`. A NaN gets all of it.
    LargerShare larger_share "larger_share",
        plain x, y => if x > y || (x.nan() && !y.nan()) { T::ONE } else if x < y || (y.nan() && !x.nan()) { T::ZERO } else { T::lit(0.5) };
        [] _g => zero(); [] _g => zero();
    /// The share of the gradient of `minimum` that goes to `x`. A NaN gets all of it.
    SmallerShare smaller_share "smaller_share",
        plain x, y => if x < y || (x.nan() && !y.nan()) { T::ONE } else if x > y || (y.nan() && !x.nan()) { T::ZERO } else { T::lit(0.5) };
        [] _g => zero(); [] _g => zero();
    /// 1 where `fmax` is its first operand, else 0.
    FirstIsLargest first_is_largest "fmax", plain x, y => if x >= y || y.nan() { T::ONE } else { T::ZERO };
        [] _g => zero(); [] _g => zero();
    /// 1 where `fmin` is its first operand, else 0.
    FirstIsSmallest first_is_smallest "fmin", plain x, y => if x <= y || y.nan() { T::ONE } else { T::ZERO };
        [] _g => zero(); [] _g => zero();
    /// `x * y` for a piecewise constant `y`, and 0 where `y` is 0, whatever `x` is.
    Masked masked "masked",
        plain x, y => if y == T::ZERO { T::ZERO } else { x.mul(y) };
        [y] g => masked(g, y)?; [] _g => zero();
}

binary_rows! {
    /// The derivative of `x log(y)` by `x`: `log(y)`, and 0 where `x` is 0 and `y` is not positive.
    XLogYByX x_log_y_by_x "xlogy", real x, y => if x == T::ZERO && y <= T::ZERO { T::ZERO } else { y.ln() };
        [] _g => zero(); [y] g => g / y;
    /// `x / y`, and 0 where `x` is 0.
    XOverY x_over_y "xlogy", plain x, y => if x == T::ZERO && !y.nan() { T::ZERO } else { x.div(y) };
        [y] g => g / y; [y, z] g => -(g * z / y);
}

/// x to the power of y. The derivatives are exact at zero: that of `x ** 0` is 0, and by an exponent it is 0 where x is 0
/// and y is not negative. The shapes broadcast and the dtypes promote. Raises ArgumentError for an integer to a negative
/// power.
///
/// ```python
/// >>> fg.pow(fg.tensor([1.0, 2.0, 3.0]), 2).tolist()
/// [1.0, 4.0, 9.0]
/// ```
#[op(in_place, names("pow", "power"))]
pub fn pow(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    if y.dtype().kind() == DTypeKind::Int {
        const REFUSAL: &str = "Integers to negative integer powers are not allowed.";
        check::all("pow", &y, Test::NotNegative, REFUSAL)?;
    }
    pow_same(&x, &y)
}

crate::graph::stored_pass!(Binary "pow" => power::GRADIENT);

/// `g y x^(y - 1)` for a `y` of one element.
#[derive(Stored)]
#[stored(in Unrecorded)]
struct PowGradient;

impl Kernel for PowGradient {
    fn name(&self) -> &'static str {
        "pow"
    }

    fn compute(&self, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        let exponent = ins[2].item().to_f64().unwrap_or(f64::NAN);
        Pass::Binary(power::GRADIENT, [exponent, 0.0, 0.0]).apply("pow", &ins[..2], batch_ndim)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        ins.each::<3>()?;
        let row = Pass::Binary(power::GRADIENT, [0.0; 3]).row(ins.dtypes)?;
        Loops::Pointwise(row).makes(&ins.first(2)?)
    }
}

/// `g y x^(y - 1)`, in one pass if all elements have the same exponent.
fn pow_gradient(g: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if y.array.len() == 1 && y.edge.is_none() && y.levels.is_empty() && x.dtype().is_float() {
        if y.array.is_sealed() {
            // The exponent of a later run of the program may be another one.
            if g.array.len() == x.array.len()
                && let Some(grad) = unrecorded(PowGradient, &[g, x, y])
            {
                return grad;
            }
            return Ok(g * pow_slope(x, y)?);
        }
        let exponent = y.array.item().to_f64().unwrap_or(f64::NAN);
        if let Some(grad) = in_one_pass(("pow", "pow"), power::GRADIENT, g, x, [exponent, 0.0, 0.0])? {
            return Ok(grad);
        }
    }
    Ok(g * pow_slope(x, y)?)
}

/// `g n / (x² + y²)`, and 0 at the origin: the derivative of an angle.
fn angle_gradient(g: &Tensor, n: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let s = reciprocal_or_zero(&hypot_same(x, y)?)?;
    Ok(g * (n * &s) * s)
}

/// Adds `y` to `x` in place if nobody else holds `x`, and returns whether it did. The result has the same
/// bits as that of [`add_same`].
pub fn add_in_place(x: &mut Array, y: &Array) -> bool {
    fn go<T: crate::kernel::num::Field>(x: &mut Array, y: &Array) -> bool {
        if !shape::same(x.dims(), y.dims()) || !x.is_writable() || y.is_sealed() {
            return false;
        }
        let (Some(y), Some(x)) = (y.as_slice::<T>(), x.as_mut_slice::<T>()) else { return false };
        x.iter_mut().zip(y).for_each(|(x, &y)| *x = x.add(y));
        true
    }
    crate::dtype::dispatch!(y.dtype(), inexact T => go::<T>(x, y), else false)
}

/// Whether `add_in_place` would succeed.
pub fn can_add_in_place(x: &mut Array, y: &Array) -> bool {
    y.is_contiguous()
        && x.dtype() == y.dtype()
        && x.dims() == y.dims()
        && x.is_writable()
        && !y.is_sealed()
        && y.dtype().is_differentiable()
        && !y.dtype().is_half()
}
binary_rows! {
    /// The greatest common divisor of two integers of one dtype.
    Gcd gcd_same "gcd", integer x, y => division::gcd(x, y); [] _g => zero(); [] _g => zero();
    /// The least common multiple of two integers of one dtype.
    Lcm lcm_same "lcm", integer x, y => division::lcm(x, y); [] _g => zero(); [] _g => zero();
}

/// The greatest common divisor of two integers, element by element; 0 for two zeros. The shapes broadcast.
///
/// ```python
/// >>> fg.gcd(fg.tensor([12, 0]), 18).tolist()
/// [6, 18]
/// ```
#[op(in_place)]
pub fn gcd(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    gcd_same(&x, &y)
}

/// The least common multiple of two integers, element by element; 0 where either is. The shapes broadcast.
///
/// ```python
/// >>> fg.lcm(fg.tensor([12, 0]), 18).tolist()
/// [36, 0]
/// ```
#[op(in_place)]
pub fn lcm(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    lcm_same(&x, &y)
}

/// 0 where x is negative, 1 where it is positive, and the element of y where it is 0. The shapes broadcast. The derivative
/// by x is zero.
///
/// ```python
/// >>> fg.heaviside(fg.tensor([-1.5, 0.0, 2.0]), 0.5).tolist()
/// [0.0, 0.5, 1.0]
/// ```
#[op(in_place, light)]
pub fn heaviside(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    let (x, zero) = (x.detach(), Tensor::scalar_of(x.dtype(), 0.0));
    // NaN is neither above nor below, and stays.
    let step = select(&less_same(&zero, &x)?, &Tensor::scalar_of(x.dtype(), 1.0), &x)?;
    let step = select(&less_same(&x, &zero)?, &zero, &step)?;
    select(&equal_same(&x, &zero)?, &y, &step)
}

/// x to the power of y in float64, or in complex128 where either is complex. The shapes broadcast.
///
/// ```python
/// >>> fg.float_power(fg.tensor([4]), 0.5).tolist()
/// [2.0]
/// ```
#[op(method, torch(LaidByElements))]
pub fn float_power(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let dtype = if common(x, y).is_complex() { DType::C128 } else { DType::F64 };
    pow_same(&*as_tensor(x, dtype)?, &*as_tensor(y, dtype)?)
}

/// The nearest number with `decimals` decimal places, halves to the even digit; negative ones round to tens,
/// hundreds … Integers stay integers; the parts of a complex number are rounded. The derivative is zero.
///
/// ```python
/// >>> fg.round(fg.tensor([0.5, 1.5, 2.4])).tolist()
/// [0.0, 2.0, 2.0]
/// ```
#[op(in_place, light)]
pub fn round(x: &Tensor, #[default(0)] decimals: i64) -> Result<Tensor> {
    if x.dtype().is_complex() {
        return from_parts(&round(&real(x)?, decimals)?, &round(&imag(x)?, decimals)?);
    }
    if decimals == 0 || (x.dtype().kind() == DTypeKind::Int && decimals > 0) {
        return round_even(x);
    }
    let Some(places) = i32::try_from(decimals.unsigned_abs()).ok().filter(|p| *p <= 300) else {
        bail!(Argument, "round", "{decimals} decimals are beyond the range of a float");
    };
    if x.dtype().kind() == DTypeKind::Int {
        return round_to_tens(x, places);
    }
    let (x, scale) = (promoted_float(x)?, 10f64.powi(places));
    let scale = Tensor::scalar_of(x.dtype(), scale);
    if decimals > 0 {
        divide_same(&round_even(&multiply_same(&x, &scale)?)?, &scale)
    } else {
        multiply_same(&round_even(&divide_same(&x, &scale)?)?, &scale)
    }
}

/// `x - y`; of integers in int64, since the difference of shorter or unsigned ones wraps around.
pub(in crate::ops) fn difference(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    if common(x, y).kind() != DTypeKind::Int {
        return subtract(x, y);
    }
    subtract_same(&*as_tensor(x, DType::I64)?, &*as_tensor(y, DType::I64)?)
}

/// [`floor_divide`] of Python, NumPy, PyTorch and Paddle, which goes with [`remainder`] where an operand is infinite.
///
/// # Errors
/// Those of [`floor_divide`].
pub fn floor_divide_with_rest(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
    let (x, y) = promoted(Class::Num, x, y)?;
    floor_with_rest(&x, &y)
}

/// Integers rounded to multiples of a power of ten, halves to the even multiple.
fn round_to_tens(x: &Tensor, places: i32) -> Result<Tensor> {
    let most = 10f64.powi(places);
    let unit = Tensor::scalar_of(x.dtype(), most);
    if unit.array.item().to_f64() != Some(most) {
        bail!(Argument, "round", "10 to the power of {places} is beyond the range of {}", x.dtype());
    }
    let quotient = floor_divide_same(x, &unit)?;
    let rest = subtract_same(x, &multiply_same(&quotient, &unit)?)?;
    let left = subtract_same(&unit, &rest)?;
    let two = Tensor::scalar_of(x.dtype(), 2.0);
    let odd =
        multiply_same(&remainder_same(&quotient, &two)?, &cast(&equal_same(&left, &rest)?, x.dtype())?)?;
    let up = add_same(&odd, &cast(&less_same(&left, &rest)?, x.dtype())?)?;
    multiply_same(&add_same(&quotient, &up)?, &unit)
}

/// Whether the sign of the element is minus, as truth values; that of -0.0 is.
///
/// ```python
/// >>> fg.signbit(fg.tensor([-0.0, 0.0, -2.0])).tolist()
/// [True, False, True]
/// ```
#[op(method, light, torch(LaidByElements))]
pub fn signbit(x: &Tensor) -> Result<Tensor> {
    if x.dtype().kind() != DTypeKind::Float {
        return less_same(x, &Tensor::scalar_of(x.dtype(), 0.0));
    }
    let x = x.detach();
    less_same(&copysign_same(&Tensor::scalar_of(x.dtype(), 1.0), &x)?, &Tensor::scalar_of(x.dtype(), 0.0))
}
