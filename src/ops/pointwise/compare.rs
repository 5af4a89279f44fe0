//! Comparisons, logic and bits: functions of two tensors, element by element, that have no derivative.

use std::borrow::Cow;

use super::binary::binary_rows;
use super::elementary::bitwise_invert;
use super::unary::zero;
use crate::array::Item;
use crate::dtype::{DType, DTypeKind};
use crate::error::Result;
use crate::graph::{Saved, Saves, Tensor, apply};
use crate::kernel::pointwise::expressions;
use crate::ops::entry::{Operand, op};
use crate::ops::movement::cast;
use crate::ops::promote::{Class, as_tensor, holds, promoted};

/// Rows of [`binary_rows!`] without derivatives.
macro_rules! plain_rows {
    ($($Row:ident $same:ident $name:expr, $class:ident $x:ident, $y:ident => $e:expr;)*) => {
        binary_rows! { $(
            #[doc = concat!("`", $name, "` of two tensors of one dtype.")]
            $Row $same $name, $class $x, $y => $e; [] _g => zero(); [] _g => zero();
        )* }
    };
}

plain_rows! {
    Equal equal_same "equal", equality x, y => truth(x == y);
    NotEqual not_equal_same "not_equal", equality x, y => truth(x != y);
    Less less_same "less", table x, y => expressions::LESS;
    LessEqual less_equal_same "less_equal", table x, y => expressions::LESS_EQUAL;
    And and_same "bitwise_and", bits x, y => x.and(y);
    Or or_same "bitwise_or", bits x, y => x.or(y);
    Xor xor_same "bitwise_xor", bits x, y => x.xor(y);
    Left left_same "bitwise_left_shift", int x, y => x.shl(y);
    Right right_same "bitwise_right_shift", int x, y => x.shr(y);
}

/// Both operands in a dtype in which they can be compared. A number is compared exactly: if an integer tensor
/// meets a float, or an integer that its dtype cannot hold, both become
/// float64, or complex128 for a complex number.
fn comparable<'a>(x: Operand<'a>, y: Operand<'a>) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    let beside = |t: &Tensor, n: Item| match n {
        Item::Int(i) if t.dtype().kind() == DTypeKind::Int && !holds(t.dtype(), i) => {
            Some(Item::Float(if i < 0 { f64::NEG_INFINITY } else { f64::INFINITY }))
        }
        Item::Float(_) | Item::Complex(_) if t.dtype().kind() < DTypeKind::Float => Some(n),
        _ => None,
    };
    let wide = |x, n| as_tensor(x, if matches!(n, Item::Complex(_)) { DType::C128 } else { DType::F64 });
    match (x, y) {
        (Operand::Tensor(t), Operand::Number(n)) => {
            if let Some(n) = beside(t, n) {
                return Ok((wide(x, n)?, wide(Operand::Number(n), n)?));
            }
        }
        (Operand::Number(n), Operand::Tensor(t)) => {
            if let Some(n) = beside(t, n) {
                return Ok((wide(Operand::Number(n), n)?, wide(y, n)?));
            }
        }
        _ => {}
    }
    promoted(Class::Num, x, y)
}

/// Public functions of two operands, which `prepare` turns into tensors of one dtype:
/// `name | aliases (x, y) => result, "documentation", "example" => "what it prints";`.
macro_rules! pairs {
    ($prepare:expr; $($f:ident $(| $alias:ident)* $({$($how:tt)*})? ($x:ident, $y:ident) => $result:expr,
        $doc:literal, $example:literal => $printed:literal;)*) => { $(
        #[doc = concat!($doc, " The shapes broadcast.")]
        #[doc = ""]
        #[doc = "```python"]
        #[doc = concat!(">>> ", $example)]
        #[doc = $printed]
        #[doc = "```"]
        #[op(in_place, names(stringify!($f) $(, stringify!($alias))*), half, light $(, $($how)*)?)]
        pub fn $f(x: Operand<'_>, y: Operand<'_>) -> Result<Tensor> {
            let ($x, $y) = $prepare(x, y)?;
            $result
        }
    )* };
}

pairs! {
    comparable;
    equal | eq (x, y) => equal_same(&x, &y),
        "Whether the elements are equal, as truth values; NaN equals nothing.",
        "fg.equal(fg.tensor([1, 2]), 2).tolist()" => "[False, True]";
    not_equal | ne (x, y) => not_equal_same(&x, &y),
        "Whether the elements differ, as truth values.",
        "fg.not_equal(fg.tensor([1, 2]), 2).tolist()" => "[True, False]";
    less | lt | less_than (x, y) => less_same(&x, &y),
        "Whether x is smaller than y, as truth values.",
        "fg.less(fg.tensor([1, 2]), 2).tolist()" => "[True, False]";
    less_equal | le (x, y) => less_equal_same(&x, &y),
        "Whether x is not larger than y, as truth values.",
        "fg.less_equal(fg.tensor([1, 2]), 1.5).tolist()" => "[True, False]";
    greater | gt | greater_than (x, y) => less_same(&y, &x),
        "Whether x is larger than y, as truth values.",
        "fg.greater(fg.tensor([1, 2]), 1).tolist()" => "[False, True]";
    greater_equal | ge (x, y) => less_equal_same(&y, &x),
        "Whether x is not smaller than y, as truth values.",
        "fg.greater_equal(fg.tensor([1, 2]), 2).tolist()" => "[False, True]";
}

/// Both operands as truth values: whether their elements are not 0.
fn truths<'a>(x: Operand<'a>, y: Operand<'a>) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    Ok((as_tensor(x, DType::Bool)?, as_tensor(y, DType::Bool)?))
}

pairs! {
    truths;
    logical_and {paddle(TakesOut)} (x, y) => and_same(&x, &y), "Whether both elements are not 0.",
        "fg.logical_and(fg.tensor([0, 2]), True).tolist()" => "[False, True]";
    logical_or {paddle(TakesOut)} (x, y) => or_same(&x, &y), "Whether either element is not 0.",
        "fg.logical_or(fg.tensor([0, 2]), False).tolist()" => "[False, True]";
    logical_xor {paddle(TakesOut)} (x, y) => xor_same(&x, &y), "Whether exactly one of two elements is not 0.",
        "fg.logical_xor(fg.tensor([0, 2]), True).tolist()" => "[True, False]";
}

/// Whether the element is 0.
///
/// ```python
/// >>> fg.logical_not(fg.tensor([0, 2])).tolist()
/// [True, False]
/// ```
#[op(in_place, light, paddle(TakesOut))]
pub fn logical_not(x: &Tensor) -> Result<Tensor> {
    bitwise_invert(&cast(x, DType::Bool)?)
}

fn numbers<'a>(x: Operand<'a>, y: Operand<'a>) -> Result<(Cow<'a, Tensor>, Cow<'a, Tensor>)> {
    promoted(Class::Num, x, y)
}

pairs! {
    numbers;
    bitwise_and {paddle(TakesOut), torch(Wraps)} (x, y) => and_same(&x, &y),
        "The bits that both integers have; of truth values, whether both hold.",
        "fg.bitwise_and(fg.tensor([6]), 3).tolist()" => "[2]";
    bitwise_or {paddle(TakesOut), torch(Wraps)} (x, y) => or_same(&x, &y),
        "The bits that either integer has; of truth values, whether either holds.",
        "fg.bitwise_or(fg.tensor([6]), 3).tolist()" => "[7]";
    bitwise_xor {paddle(TakesOut), torch(Wraps)} (x, y) => xor_same(&x, &y),
        "The bits that exactly one integer has; of truth values, whether they differ.",
        "fg.bitwise_xor(fg.tensor([6]), 3).tolist()" => "[5]";
    bitwise_left_shift {torch(Wraps)} (x, y) => left_same(&x, &y),
        "The bits of each integer moved up by y places; what leaves the dtype is lost.",
        "fg.bitwise_left_shift(fg.tensor([3]), 2).tolist()" => "[12]";
    bitwise_right_shift {torch(Wraps)} (x, y) => right_same(&x, &y),
        "The bits of each integer moved down by y places, its sign kept.",
        "fg.bitwise_right_shift(fg.tensor([-8]), 2).tolist()" => "[-2]";
}
