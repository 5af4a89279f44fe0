//! Programs of single numbers, as machine code where that is to be had and pays. Otherwise each formula is called as a loop of one
//! element.

use crate::kernel::pointwise::machine::CodeOfNumbers;
use crate::kernel::pointwise::row::{Address, Instruction};

/// Instructions on single numbers of at most 8 bytes, each of which lies in a cell of its own.
pub struct Numbers {
    /// Their addresses are counted in bytes.
    pub(super) instructions: Box<[Instruction]>,
    pub(super) code: Option<CodeOfNumbers>,
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
        // An instruction takes some nanoseconds less as machine code.
        let is_worthwhile = repeats || instructions.len() > 1;
        let is_needed = |cell: Address| is_needed(cell / size);
        // SAFETY: the instructions stay in their box.
        let code = || unsafe { CodeOfNumbers::new(&instructions, size, repeats, &is_needed) };
        let code = if is_worthwhile { code() } else { None };
        Numbers { instructions, code, size: size as usize }
    }

    /// Runs the instructions so many times, each time with the cells one further on.
    ///
    /// # Safety
    /// Each time, `cells` are as many as the instructions have addresses, and each number that an instruction reads is in its cell
    /// or is written by one before it.
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        // SAFETY: as the function's `# Safety` section requires.
        unsafe {
            if let Some(code) = &self.code {
                return code.run(times, cells);
            }
            for t in 0..times {
                let cells = cells.wrapping_add(t * self.size);
                self.instructions
                    .iter()
                    .for_each(|own| own.run(1, |address| cells.wrapping_add(address as usize)));
            }
        }
    }
}
