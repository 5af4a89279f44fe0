//! Programs of single numbers. Those whose formulas are short are not called as loops of one element. They become machine
//! code where that is to be had; elsewhere a function computes each of them.

use crate::kernel::pointwise::formula::Cell;
use crate::kernel::pointwise::machine::CodeOfNumbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// How instructions are run.
pub(super) enum Way {
    Code(CodeOfNumbers),
    /// What computes each. None for one that is called as a loop.
    Cells(Box<[Option<Cell>]>),
}

/// The fewest instructions that become machine code if they run once at a time. Memory for code takes some microseconds, and an
/// instruction a nanosecond less.
const FEWEST: usize = 32;

/// Instructions on single numbers of at most 8 bytes, each of which lies in a cell of its own.
pub struct Numbers {
    /// Their addresses are counted in bytes.
    pub(super) instructions: Box<[Instruction]>,
    pub(super) way: Way,
    /// The bytes of a cell.
    pub(super) size: usize,
}

impl Numbers {
    /// The instructions, of which each address is that of a cell of so many bytes. `repeats` says whether they usually run several
    /// times at once, and `is_needed` whether others read what is written to a cell. The cells of other results may be empty
    /// afterwards.
    pub fn new(
        instructions: &[Instruction],
        size: Address,
        repeats: bool,
        is_needed: &dyn Fn(Address) -> bool,
    ) -> Numbers {
        let in_bytes = |own: &Instruction| {
            let mut own = own.clone();
            own.to *= size;
            for (k, operand) in own.from.iter_mut().enumerate() {
                operand.address *= size;
                // Of one element the step matters only to a loop that looks at it.
                operand.step = if k == 1 && own.row.has_forms { operand.step } else { 1 };
            }
            own
        };
        let instructions: Box<[Instruction]> = instructions.iter().map(in_bytes).collect();
        let is_worthwhile = repeats || instructions.len() >= FEWEST;
        let is_needed = |cell: Address| is_needed(cell / size);
        // SAFETY: the instructions stay in their box.
        let code = || unsafe { CodeOfNumbers::new(&instructions, size, repeats, &is_needed) };
        let code = if is_worthwhile { code() } else { None };
        let way = code.map_or_else(|| Way::cells(&instructions), Way::Code);
        Numbers { instructions, way, size: size as usize }
    }

    /// Runs the instructions so many times, each time with the cells one further on.
    ///
    /// # Safety
    /// Each time, `cells` are as many as the instructions have addresses, and each number that an instruction reads is in its cell
    /// or is written by one before it.
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        match &self.way {
            // SAFETY: as the function's `# Safety` section requires.
            Way::Code(code) => unsafe { code.run(times, cells) },
            Way::Cells(list) => {
                for t in 0..times {
                    let cells = cells.wrapping_add(t * self.size);
                    for (own, compute) in self.instructions.iter().zip(list) {
                        let at = |address: Address| cells.wrapping_add(address as usize);
                        // SAFETY: as the function's `# Safety` section requires; the list is that of the instructions.
                        unsafe {
                            match compute {
                                Some(f) => f(own.from.map(|x| at(x.address).cast_const()), at(own.to)),
                                None => own.run(1, at),
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Way {
    pub(super) fn cells(instructions: &[Instruction]) -> Way {
        let cell =
            |own: &Instruction| own.row.arithmetic().map(|(formula, float)| formula.cells[float as usize]);
        Way::Cells(instructions.iter().map(cell).collect())
    }
}
