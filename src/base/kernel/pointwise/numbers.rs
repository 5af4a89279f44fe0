//! Programs of single numbers. Those whose formulas are short are not called as loops of one element. They become machine
//! code where that is to be had; elsewhere a run of instructions of one kind is one loop over them.

use crate::kernel::pointwise::formula::{Cells, Run};
use crate::kernel::pointwise::machine::CodeOfNumbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// How instructions are run.
pub(super) enum Way {
    Code(CodeOfNumbers),
    /// By run of instructions of one kind, how many they are and what computes them, if they are not called as loops; and the cells of
    /// each instruction.
    Runs(Box<[(usize, Option<Run>)]>, Box<[Cells]>),
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
        let way = code.map_or_else(|| Way::runs(&instructions), Way::Code);
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
            Way::Runs(runs, list) => {
                for t in 0..times {
                    let cells = cells.wrapping_add(t * self.size);
                    let mut next = 0;
                    for &(count, run) in runs {
                        let own = next..next + count;
                        next = own.end;
                        // SAFETY: as the function's `# Safety` section requires; the runs are those of the instructions.
                        unsafe {
                            match run {
                                Some(run) => run(&list[own], cells),
                                None => self.instructions[own].iter().for_each(|own| {
                                    own.run(1, |address| cells.wrapping_add(address as usize));
                                }),
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Way {
    pub(super) fn runs(instructions: &[Instruction]) -> Way {
        let of =
            |own: &Instruction| own.row.arithmetic().map(|(formula, float)| formula.runs[float as usize]);
        let alike = instructions.chunk_by(|a, b| a.row.kind() == b.row.kind());
        let runs = alike.map(|run| (run.len(), of(&run[0]))).collect();
        let cells = |own: &Instruction| Cells { from: own.from.map(|operand| operand.address), to: own.to };
        Way::Runs(runs, instructions.iter().map(cells).collect())
    }
}
