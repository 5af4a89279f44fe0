//! The formulas that take less time than a call.

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Negate,
    Divide,
    Sqrt,
    Square,
    Absolute,
    Less,
    LessEqual,
    Select,
}
