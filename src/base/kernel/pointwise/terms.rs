//! What a formula does, recorded by computing it with terms in the place of numbers.

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::kernel::pointwise::lanes::Lanes;

/// What an operation computes with.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub enum Source {
    /// The result of the operation of this number.
    Made(usize),
    /// An operand of the formula.
    Operand(usize),
    Literal(f64),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Absolute,
    Sqrt,
    /// `x y - z`, rounded once.
    MultiplySubtract,
    /// All bits of the result are ones where the comparison holds, else zeros.
    IsEqual,
    IsAtMost,
    /// `y` where all bits of `x` are ones, `z` where they are zeros.
    Select,
}

/// Operations, each with what it computes with. Of one or two operands, the others are the literal 0.
pub type Nodes = SmallVec<[(Operation, [Source; 3]); 4]>;

/// The operations of a formula of two operands, each after those that it reads. The last one makes the result.
pub fn recorded(formula: impl for<'a> FnOnce(Term<'a>, Term<'a>)) -> Nodes {
    let nodes = RefCell::default();
    let operand = |k| Term { source: Source::Operand(k), nodes: Some(&nodes) };
    formula(operand(0), operand(1));
    nodes.take()
}

/// A number of a formula that is being recorded. Literals belong to no list.
#[derive(Clone, Copy)]
pub struct Term<'a> {
    source: Source,
    nodes: Option<&'a RefCell<Nodes>>,
}

#[inline(never)]
fn made<'a>(operation: Operation, x: Term<'a>, y: Term<'a>, z: Term<'a>) -> Term<'a> {
    let nodes = x.nodes.or(y.nodes).expect("an operation reads more than literals");
    let mut list = nodes.borrow_mut();
    list.push((operation, [x.source, y.source, z.source]));
    Term { source: Source::Made(list.len() - 1), nodes: Some(nodes) }
}

const ZERO: Term<'static> = Term { source: Source::Literal(0.0), nodes: None };

macro_rules! operations {
    ($($f:ident $Operation:ident $($o:ident)?;)+) => { $(
        fn $f(self $(, $o: Self)?) -> Self {
            made(Operation::$Operation, self, operations!($($o)?), ZERO)
        }
    )* };
    () => { ZERO };
    ($o:ident) => { $o };
}

impl<'a> Lanes for Term<'a> {
    const IS_NARROW: bool = false;
    type Wide = Term<'a>;
    type Truth = Term<'a>;
    operations! {
        add Add o;
        sub Subtract o;
        div Divide o;
        neg Negate;
        abs Absolute;
        sqrt Sqrt;
        equals IsEqual o;
        at_most IsAtMost o;
    }

    fn mul_sub(self, o: Self, less: Self) -> Self {
        made(Operation::MultiplySubtract, self, o, less)
    }

    fn lit(x: f64) -> Self {
        Term { source: Source::Literal(x), nodes: None }
    }

    /// Twice a number is its sum with itself, which has the same bits and needs no literal.
    fn mul(self, o: Self) -> Self {
        if o.source == Source::Literal(2.0) {
            self.add(self)
        } else {
            made(Operation::Multiply, self, o, ZERO)
        }
    }

    fn select(holds: Self, x: Self, y: Self) -> Self {
        made(Operation::Select, holds, x, y)
    }

    // A formula that computes with twice the digits is recorded for float64 alone.
    fn widened(self) -> Self {
        self
    }

    fn narrowed(wide: Self) -> Self {
        wide
    }
}
