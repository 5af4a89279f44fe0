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
    /// `x^y`, which is called as a loop unless a program knows that `y` is 2, 3, 4 or 1.5.
    Power,
    Cube,
    Fourth,
    ThreeHalves,
    /// The gradient of `x^p`, which is called as a loop unless `p` is one of these numbers.
    PowerGradient,
    CubeGradient,
    FourthGradient,
    ThreeHalvesGradient,
    /// `x (2 y)`.
    SquareGradient,
    /// `x / (2 y)`.
    SqrtGradient,
}

/// The type of the numbers of a formula of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Float {
    F32,
    F64,
}

/// A formula of arithmetic and the type of its numbers. None: the formula is called as a loop.
pub type Kind = Option<(Arithmetic, Float)>;
