//! What tells formulas apart.

use std::any::TypeId;
use std::hash::{Hash, Hasher};

/// A formula, whatever the dtype of its numbers. Two are equal if they were written in one place.
#[derive(Clone, Copy)]
pub enum Formula {
    Arithmetic(Arithmetic),
    /// Another one: the type that was made where its loops were written.
    Other(fn() -> TypeId),
}

impl Formula {
    pub const fn of<T: 'static>() -> Formula {
        Formula::Other(TypeId::of::<T>)
    }

    /// Which formula of arithmetic it is, if it is one.
    pub fn arithmetic(self) -> Option<Arithmetic> {
        match self {
            Formula::Arithmetic(arithmetic) => Some(arithmetic),
            Formula::Other(_) => None,
        }
    }

    fn key(self) -> Result<Arithmetic, TypeId> {
        match self {
            Formula::Arithmetic(arithmetic) => Ok(arithmetic),
            Formula::Other(id) => Err(id()),
        }
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Formula) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Formula {}

impl Hash for Formula {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.key().hash(to);
    }
}

/// The formulas that take less time than a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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

#[cfg(test)]
mod tests {
    use crate::dtype::DType;
    use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
    use crate::kernel::pointwise::cast;
    use crate::kernel::pointwise::expressions::ADD;
    use crate::kernel::pointwise::formula::{Arithmetic, Formula};

    /// Formulas of one place are equal, and others are not, even if a linker gives their loops one address.
    #[test]
    fn formulas_are_told_apart_by_where_they_were_written() {
        const FIRST: &BinaryLoops = binary_loops!(plain x, y => x.add(y));
        const SECOND: &BinaryLoops = binary_loops!(plain x, y => x.add(y));
        let key = |table: &BinaryLoops, dtype, p| table.row(dtype, [p, 0.0, 0.0]).map(|row| row.key());
        let first = key(FIRST, DType::F32, 0.0);
        assert!(first.is_some() && first == key(FIRST, DType::F32, 0.0));
        for other in [
            key(SECOND, DType::F32, 0.0),
            key(ADD, DType::F32, 0.0),
            key(FIRST, DType::F64, 0.0),
            key(FIRST, DType::F32, -0.0),
        ] {
            assert!(other.is_some() && first != other);
        }
        assert!(ADD.formula == Formula::Arithmetic(Arithmetic::Add));
        let cast = |from, to| cast::row(from, to).map(|row| row.key());
        let (single, double) = (cast(DType::F32, DType::I64), cast(DType::F64, DType::I64));
        assert!(single == cast(DType::F32, DType::I64) && single != double);
    }
}
