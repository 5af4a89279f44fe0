//! Memory with machine code, and its functions.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};

#[cfg(target_arch = "aarch64")]
use super::arm::Arm as Own;
use super::assembler::{Assembler, Width};
use super::executable::Executable;
use super::functions;
#[cfg(target_arch = "x86_64")]
use super::x86::X86 as Own;
use crate::fork;
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::{Address, Instruction};
use crate::kernel::simd::{Isa, isa};

/// The most pieces of memory that have code at a time. A system gives a process some ten thousands.
const MOST: usize = 4096;

/// The most bytes of code, within which all jumps reach.
const LONGEST: usize = 1 << 27;

/// How many pieces of memory have code.
static PIECES: AtomicUsize = AtomicUsize::new(0);

/// How many of the last pieces of code are compared with a new one. A program has the same code in many places where its formulas repeat.
const COMPARED: usize = 64;

/// The last pieces of code, oldest first.
static LAST: Mutex<VecDeque<Weak<Code>>> = Mutex::new(VecDeque::new());

/// Holds the list while the process forks: see [`crate::fork`].
#[doc(hidden)]
pub fn hold() -> Option<Box<dyn Any>> {
    fork::hold(&LAST)
}

/// The bytes of a page, and of a cache line.
const PAGE: usize = 4096;
const LINE: usize = 64;

struct Code {
    memory: Executable,
    /// Where the code begins, so that pieces in pages of their own do not all have the same place in the first-level cache.
    begin: usize,
    #[expect(dead_code, reason = "it is counted until it is dropped")]
    counted: Counted,
}

impl Code {
    /// None if the system gives no memory for code.
    fn new(code: &[u8]) -> Option<Arc<Code>> {
        // A thread that cannot have the list now does without.
        let mut last = LAST.try_lock().ok();
        let is_it = |own: &Arc<Code>| own.memory.bytes()[own.begin..].starts_with(code);
        let known = last.iter().flat_map(|last| last.iter()).filter_map(Weak::upgrade).find(is_it);
        if known.is_some() {
            return known;
        }
        if code.len() > LONGEST {
            return None;
        }
        let count = PIECES.fetch_add(1, Relaxed);
        let counted = Counted;
        if count >= MOST {
            return None;
        }
        let begin = count * 5 * LINE % (code.len().next_multiple_of(PAGE) - code.len() + 1) / LINE * LINE;
        let own = Arc::new(Code { memory: Executable::new(begin, code)?, begin, counted });
        if let Some(last) = &mut last {
            if last.len() == COMPARED {
                last.pop_front();
            }
            last.push_back(Arc::downgrade(&own));
        }
        Some(own)
    }

    /// The address of the function that begins there.
    fn function(&self, entry: usize) -> *const u8 {
        self.memory.bytes()[self.begin + entry..].as_ptr()
    }
}

/// One of the pieces that are counted.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        PIECES.fetch_sub(1, Relaxed);
    }
}

/// Whether the processor has the instructions that are used.
fn is_for_this_processor() -> bool {
    isa() > Isa::Baseline
}

/// The functions of machine code, and what they call, in the calling convention that the code is written for.
macro_rules! functions {
    ($convention:literal) => {
        type OfNumbers = unsafe extern $convention fn(cells: *mut u8, times: usize);
        type OfTiles = unsafe extern $convention fn(n: usize, addresses: *const *mut u8);

        /// Runs an instruction as a loop of one element.
        ///
        /// # Safety
        /// As [`Instruction::run`], where the addresses are counted in bytes from the first cell.
        unsafe extern $convention fn call(instruction: *const Instruction, cells: *mut u8) {
            // SAFETY: as the function's `# Safety` section requires.
            unsafe { (*instruction).run(1, |address| cells.wrapping_add(address as usize)) };
        }
    };
}
#[cfg(target_arch = "x86_64")]
functions!("sysv64");
#[cfg(target_arch = "aarch64")]
functions!("C");

/// Code for instructions on single numbers.
pub struct CodeOfNumbers {
    code: Arc<Code>,
}

impl CodeOfNumbers {
    /// The addresses of the instructions are counted in bytes, and a cell has `size` of them. `repeats` says whether the instructions
    /// usually run several times, and `is_needed` whether a number is read from its cell by others. None where there is no machine code.
    ///
    /// # Safety
    /// The instructions stay where they are while the code is used.
    pub unsafe fn new(
        instructions: &[Instruction],
        size: Address,
        repeats: bool,
        is_needed: &dyn Fn(Address) -> bool,
    ) -> Option<CodeOfNumbers> {
        if !is_for_this_processor() {
            return None;
        }
        let call = call as *const () as usize;
        let code = functions::of_numbers::<Own>(instructions, size, repeats, is_needed, call);
        Some(CodeOfNumbers { code: Code::new(&code)? })
    }

    /// Runs the instructions so many times, each time with the cells one further on.
    ///
    /// # Safety
    /// As [`Numbers::run`](crate::kernel::pointwise::numbers::Numbers::run).
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        if times > 0 {
            // SAFETY: `new` put such a function there, which needs what this one needs.
            unsafe { std::mem::transmute::<*const u8, OfNumbers>(self.code.function(0))(cells, times) };
        }
    }
}

/// The type of the numbers of an instruction on the elements of a tile that there is code for.
pub fn of_tile(own: &Instruction) -> Option<Float> {
    if is_for_this_processor() { functions::of_tile(own) } else { None }
}

/// Code for instructions on the elements of tiles.
pub struct CodeOfTiles {
    code: Arc<Code>,
    entries: Vec<usize>,
    used: Vec<Address>,
}

impl CodeOfTiles {
    /// A function for each list of instructions of [one type](of_tile). In a list no result is read as one number for all elements.
    /// `is_needed` says of a list whether its last result at an address is read afterwards. None where there is no machine code.
    pub fn new(lists: &[&[Instruction]], is_needed: &dyn Fn(usize, Address) -> bool) -> Option<CodeOfTiles> {
        CodeOfTiles::of_width(lists, is_needed, isa() == Isa::Avx512)
    }

    /// [`new`](CodeOfTiles::new), for vectors of 64 bytes or those that all processors of the kind have.
    pub(super) fn of_width(
        lists: &[&[Instruction]],
        is_needed: &dyn Fn(usize, Address) -> bool,
        is_wide: bool,
    ) -> Option<CodeOfTiles> {
        let mut all = Assembler::<Own>::new(true);
        let width = if is_wide { Width::Wide } else { Width::Vector };
        let (mut entries, mut used) = (vec![], vec![]);
        for (k, list) in lists.iter().enumerate() {
            let is_needed = |address: Address| is_needed(k, address);
            entries.push(functions::of_tiles(&mut all, list, &is_needed, width));
            used.append(&mut all.arrays);
        }
        Some(CodeOfTiles { code: Code::new(&all.finish())?, entries, used })
    }

    /// The addresses of which the memory is used.
    pub fn used(&self) -> impl Iterator<Item = Address> {
        self.used.iter().copied()
    }

    /// Runs a list of instructions.
    ///
    /// # Safety
    /// `addresses` has the addresses of the instructions, with `n` elements of their type at each, or with one where the step of an operand
    /// is 0. No instruction writes what one before it or the same one reads elsewhere in its list of elements.
    pub unsafe fn run(&self, list: usize, n: usize, addresses: *const *mut u8) {
        let function = self.code.function(self.entries[list]);
        // SAFETY: `new` put such a function there, which needs what this one needs.
        unsafe { std::mem::transmute::<*const u8, OfTiles>(function)(n, addresses) };
    }
}
