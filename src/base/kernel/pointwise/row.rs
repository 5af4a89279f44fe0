//! What a formula does to runs of elements, apart from the arrays that they lie in.

use std::any::TypeId;

use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::kernel::pointwise::binary::{self, BinaryLoop, BinaryLoops};
use crate::kernel::pointwise::expressions::SELECT;
use crate::kernel::pointwise::formula::{Arithmetic, Float, Formula};
use crate::kernel::pointwise::power;
use crate::kernel::pointwise::ternary::{self, TernaryLoop, TernaryLoops};
use crate::kernel::pointwise::unary::{Scalars, UnaryLoop, UnaryLoops};

/// The loop of a formula, by its number of operands.
#[derive(Clone, Copy)]
pub enum Loop {
    Unary(UnaryLoop),
    Binary(BinaryLoop),
    Ternary(TernaryLoop),
    Pair(PairLoop),
}

/// Computes two formulas for `n` elements `x`, one of `x` alone, and another of `g` and `x`. Each has results of its own.
///
/// # Safety
/// `g` has `n` elements, or one where its stride is 0, `x` has `n`, and there is room for `n` of each result.
pub type PairLoop = unsafe fn(n: usize, g: *const u8, sg: usize, x: *const u8, outs: [*mut u8; 2]);

/// A formula with its numbers and the dtypes that it takes and makes.
pub type RowKey = (TypeId, [u64; 3], [DType; 2]);

/// The loop of a formula for operands of certain dtypes.
#[derive(Clone, Copy)]
pub struct Row {
    pub apply: Loop,
    pub formula: Formula,
    pub scalars: Scalars,
    /// The dtype of the results.
    pub out: DType,
    /// The dtype of the numbers that it computes with.
    pub of: DType,
    /// Whether the loop looks at the second operand first where one number is that of all elements.
    pub has_forms: bool,
    /// Whether its results may be computed together with those of the next formula, rounded once.
    pub contracts: bool,
}

/// The number of an address of a cluster: what it reads comes first, then what it writes, then its registers.
pub type Address = u32;

/// An operand of an instruction.
#[derive(Clone, Copy, Default)]
pub struct Operand {
    pub address: Address,
    /// Whether each element has its own number (1), or the first number is that of all elements (0).
    pub step: u8,
}

/// A formula, its operands, and the address where its results go.
#[derive(Clone)]
pub struct Instruction {
    pub row: Row,
    pub from: [Operand; 3],
    pub to: Address,
    /// Where the results of the second of two formulas go.
    pub also: Address,
}

impl Instruction {
    pub fn operands(&self) -> &[Operand] {
        &self.from[..self.row.operands()]
    }

    /// Computes `n` elements.
    ///
    /// # Safety
    /// `at` leads from the addresses to elements of the dtypes that the formula is for: `n` of each operand, or one where its step
    /// is 0 and the formula has several operands, and room for `n` results.
    #[inline(always)]
    pub unsafe fn run(&self, n: usize, at: impl Fn(Address) -> *mut u8) {
        let x = |k: usize| at(self.from[k].address).cast_const();
        let step = |k: usize| usize::from(self.from[k].step);
        let (to, p) = (at(self.to), &self.row.scalars);
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            match self.row.apply {
                Loop::Unary(f) => f(n, x(0), to, p),
                Loop::Binary(f) => f(n, x(0), step(0), x(1), step(1), to, p),
                Loop::Ternary(f) => f(n, [x(0), x(1), x(2)], [step(0), step(1), step(2)], to, p),
                Loop::Pair(f) => f(n, x(0), step(0), x(1), [to, at(self.also)]),
            }
        }
    }
}

impl Row {
    /// A loop that is called, for operands of a dtype, with results of another one.
    pub fn new(apply: Loop, formula: Formula, scalars: Scalars, of: DType, out: DType) -> Row {
        Row { apply, formula, scalars, out, of, has_forms: false, contracts: false }
    }

    /// How many operands it has.
    pub fn operands(&self) -> usize {
        match self.apply {
            Loop::Unary(_) => 1,
            Loop::Binary(_) | Loop::Pair(_) => 2,
            Loop::Ternary(_) => 3,
        }
    }

    /// The dtype of operand `k`.
    pub fn operand(&self, k: usize) -> DType {
        if k == 0 && self.formula == SELECT { DType::Bool } else { self.of }
    }

    /// Whether it is for operands of these dtypes.
    pub fn takes(&self, dtypes: impl ExactSizeIterator<Item = DType>) -> bool {
        dtypes.len() == self.operands() && dtypes.enumerate().all(|(k, dtype)| dtype == self.operand(k))
    }

    /// What is known of its formula, if that is one of arithmetic. Gradients of powers are told apart by the exponent.
    pub fn arithmetic(&self) -> Option<(&'static Arithmetic, Float)> {
        let float = match self.of {
            DType::F32 => Float::F32,
            DType::F64 => Float::F64,
            _ => return None,
        };
        if let Some(own) = self.formula.arithmetic {
            return Some((own, float));
        }
        let is_power = self.formula == power::GRADIENT.formula;
        let own = power::EXPONENTS.iter().find(|(exponent, _)| is_power && *exponent == self.scalars[0])?;
        Some((own.1[1].arithmetic?, float))
    }

    /// What tells two formulas apart.
    pub fn key(&self) -> RowKey {
        (self.formula.id(), self.scalars.map(f64::to_bits), [self.of, self.out])
    }
}

impl UnaryLoops {
    /// The loop for this dtype, if there is one.
    pub fn row(&self, dtype: DType, scalars: Scalars) -> Option<Row> {
        let (apply, out) = (Loop::Unary(self.loops[dtype as usize]?), self.out.unwrap_or(dtype));
        Some(Row::new(apply, self.formula, scalars, dtype, out))
    }
}

impl BinaryLoops {
    /// The loop for this dtype, if there is one that needs no look at the numbers first.
    pub fn row(&self, dtype: DType, scalars: Scalars) -> Option<Row> {
        if self.divides && !dtype.is_differentiable() { None } else { self.any_row(dtype, scalars) }
    }

    /// The loop for this dtype, if there is one.
    pub fn any_row(&self, dtype: DType, scalars: Scalars) -> Option<Row> {
        let (apply, out) = (Loop::Binary(self.loops[dtype as usize]?), self.out.unwrap_or(dtype));
        Some(Row { has_forms: self.has_forms, ..Row::new(apply, self.formula, scalars, dtype, out) })
    }
}

impl TernaryLoops {
    /// The loop for this dtype, if there is one.
    pub fn row(&self, dtype: DType, scalars: Scalars) -> Option<Row> {
        let apply = match dtype {
            DType::F32 => self.f32,
            DType::F64 => self.f64,
            _ => return None,
        };
        Some(Row::new(Loop::Ternary(apply), self.formula, scalars, dtype, dtype))
    }
}

/// A formula of several operands, which has no derivative of its own.
#[derive(Clone, Copy)]
pub enum Pass {
    Binary(&'static BinaryLoops, Scalars),
    Ternary(&'static TernaryLoops, Scalars),
}

impl Pass {
    /// Applies the formula. The first `batch_ndim` axes are matched from the left, the others broadcast from the right.
    ///
    /// # Errors
    /// The shapes do not broadcast, there is no loop for the dtype, or memory ends.
    pub fn apply(&self, op: &'static str, ins: &[&Array], batch_ndim: usize) -> Result<Array> {
        match self {
            Pass::Binary(table, p) => binary::apply_with(op, table, ins[0], ins[1], batch_ndim, p),
            Pass::Ternary(table, p) => ternary::apply(op, table, [ins[0], ins[1], ins[2]], batch_ndim, p),
        }
    }

    /// The loop for operands of these dtypes, if there is one.
    pub fn row(&self, ins: &[DType]) -> Option<Row> {
        match self {
            Pass::Binary(table, p) => table.row(*ins.first()?, *p),
            Pass::Ternary(table, p) => table.row(*ins.first()?, *p),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::dtype::DType;
    use crate::kernel::pointwise::binary::{BinaryLoops, binary_loops};
    use crate::kernel::pointwise::expressions::ADD;

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
    }
}
