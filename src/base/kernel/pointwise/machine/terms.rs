//! What a formula does, recorded by computing it with terms in the place of numbers.

use std::cell::RefCell;

use smallvec::SmallVec;

use crate::kernel::pointwise::arithmetic::Visitor;
use crate::kernel::pointwise::expressions::Expression;
use crate::kernel::pointwise::formula::Arithmetic;
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

/// Operations, each with what it computes with.
type Nodes = SmallVec<[(Operation, SmallVec<[Source; 3]>); 12]>;

/// The operations of a formula, each after those that it reads. The last one makes the result. None if it has no expression.
pub fn recorded(arithmetic: Arithmetic) -> Option<Nodes> {
    struct Record;
    impl Visitor for Record {
        type Out = Nodes;
        fn visit<E: Expression>(self) -> Nodes {
            let nodes = RefCell::default();
            let operand = |k| Term { source: Source::Operand(k), nodes: Some(&nodes) };
            E::of(operand(0), operand(1));
            nodes.take()
        }
    }
    arithmetic.visit(Record)
}

/// A number of a formula that is being recorded. Literals belong to no list.
#[derive(Clone, Copy)]
struct Term<'a> {
    source: Source,
    nodes: Option<&'a RefCell<Nodes>>,
}

fn made<'a, const N: usize>(operation: Operation, terms: [Term<'a>; N]) -> Term<'a> {
    let nodes = terms.iter().find_map(|term| term.nodes).expect("an operation reads more than literals");
    let mut list = nodes.borrow_mut();
    list.push((operation, terms.iter().map(|term| term.source).collect()));
    Term { source: Source::Made(list.len() - 1), nodes: Some(nodes) }
}

/// A sum or product. The loops have what they compute first and what they read second, which matters where both are NaN.
fn commuted<'a>(operation: Operation, x: Term<'a>, y: Term<'a>) -> Term<'a> {
    let is_made = |term: Term<'_>| matches!(term.source, Source::Made(_));
    let is_literal = |term: Term<'_>| matches!(term.source, Source::Literal(_));
    let terms = if is_literal(x) || is_made(y) && !is_made(x) { [y, x] } else { [x, y] };
    made(operation, terms)
}

macro_rules! operations {
    ($($f:ident $Operation:ident $($o:ident)*;)*) => { $(
        fn $f(self $(, $o: Self)*) -> Self {
            made(Operation::$Operation, [self $(, $o)*])
        }
    )* };
}

impl<'a> Lanes for Term<'a> {
    const IS_NARROW: bool = false;
    type Wide = Term<'a>;
    type Truth = Term<'a>;
    operations! {
        sub Subtract o;
        div Divide o;
        neg Negate;
        abs Absolute;
        sqrt Sqrt;
        mul_sub MultiplySubtract o less;
        equals IsEqual o;
        at_most IsAtMost o;
    }

    fn lit(x: f64) -> Self {
        Term { source: Source::Literal(x), nodes: None }
    }

    fn add(self, o: Self) -> Self {
        commuted(Operation::Add, self, o)
    }

    /// Twice a number is its sum with itself, which has the same bits and needs no literal.
    fn mul(self, o: Self) -> Self {
        if o.source == Source::Literal(2.0) { self.add(self) } else { commuted(Operation::Multiply, self, o) }
    }

    fn select(holds: Self, x: Self, y: Self) -> Self {
        made(Operation::Select, [holds, x, y])
    }

    // A formula that computes with twice the digits is recorded for float64 alone.
    fn widened(self) -> Self {
        self
    }

    fn narrowed(wide: Self) -> Self {
        wide
    }
}
