//! Machine code for formulas of single numbers. A list of instructions becomes a function, in which what an instruction writes
//! stays in a register as long as others read it. The code has the instructions of every x86-64 processor, and those have the
//! operands in the order of the formulas, so the results have the bits of the loops.
//!
//! Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

use memmap2::{Mmap, MmapMut};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::pointwise::arithmetic::Arithmetic;
use crate::kernel::pointwise::numbers::{Float, kind};
use crate::kernel::pointwise::row::{Address, Instruction};

/// A function that runs a list of instructions so many times, at least once, each time with the cells one further on.
pub(super) struct Code(Mmap);

type Function = unsafe extern "sysv64" fn(cells: *mut u8, times: usize);

impl Code {
    /// The addresses of the instructions are counted in bytes, and a cell has `size` of them. `repeats` says whether the function
    /// usually runs them several times. The instructions that are called stay where they are while the code is used. None if the system gives
    /// no memory for code.
    pub fn new(instructions: &[Instruction], size: Address, repeats: bool) -> Option<Code> {
        let code = assembled(instructions, size, repeats)?;
        let mut memory = MmapMut::map_anon(code.len()).ok()?;
        memory.copy_from_slice(&code);
        memory.make_exec().ok().map(Code)
    }

    /// # Safety
    /// As [`Numbers::run`](super::numbers::Numbers::run), for at least one time.
    pub unsafe fn run(&self, times: usize, cells: *mut u8) {
        // SAFETY: `new` put a function there, which needs what this one needs.
        unsafe {
            let function: Function = std::mem::transmute(self.0.as_ptr().add(constants().len()));
            function(cells, times);
        }
    }
}

/// Runs an instruction as a loop of one element.
///
/// # Safety
/// As [`Instruction::run`], where the addresses are counted in bytes from the first cell.
unsafe extern "sysv64" fn call(instruction: *const Instruction, cells: *mut u8) {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { (*instruction).run(1, |address| cells.wrapping_add(address as usize)) };
}

/// A number in front of the code, which has it as often as it goes into 16 bytes.
#[derive(Clone, Copy)]
enum Constant {
    Zero,
    OneAndAHalf,
    Three,
    Four,
    Infinity,
    NegativeInfinity,
    /// The bit of the sign.
    Sign,
    /// The other bits.
    Magnitude,
}

const CONSTANTS: usize = 8;

/// The bytes of all constants: those of float32, and then those of float64.
fn constants() -> [u8; 2 * 16 * CONSTANTS] {
    let singles = [0.0, 1.5, 3.0, 4.0, f32::INFINITY, f32::NEG_INFINITY].map(f32::to_bits);
    let doubles = [0.0, 1.5, 3.0, 4.0, f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
    let mut bytes = [0; 2 * 16 * CONSTANTS];
    let (of_singles, of_doubles) = bytes.split_at_mut(16 * CONSTANTS);
    for (to, bits) in of_singles.chunks_mut(16).zip(singles.into_iter().chain([1 << 31, !(1 << 31)])) {
        to.chunks_mut(4).for_each(|to| to.copy_from_slice(&u32::to_le_bytes(bits)));
    }
    for (to, bits) in of_doubles.chunks_mut(16).zip(doubles.into_iter().chain([1 << 63, !(1 << 63)])) {
        to.chunks_mut(8).for_each(|to| to.copy_from_slice(&u64::to_le_bytes(bits)));
    }
    bytes
}

/// Where an operand of a processor's instruction is.
#[derive(Clone, Copy)]
enum Place {
    Register(u8),
    Cell(Address),
    Constant(Float, Constant),
}
use Place::{Cell, Register};

/// The register that has the address of the cells, and the one that counts the times.
const CELLS: u8 = 3;
/// A register that no number stays in.
const SCRATCH: u8 = 15;
/// The most numbers that stay in registers from one time to the next.
const CARRIED: usize = 7;

// The opcodes of operations on floats, after the byte 0x0f.
const LOAD: u8 = 0x10;
const STORE: u8 = 0x11;
const MOVE: u8 = 0x28;
const COMPARE: u8 = 0x2f;
const SQRT: u8 = 0x51;
const AND: u8 = 0x54;
const XOR: u8 = 0x57;
const ADD: u8 = 0x58;
const MULTIPLY: u8 = 0x59;
const SUBTRACT: u8 = 0x5c;
const DIVIDE: u8 = 0x5e;

/// The number of an instruction that comes after all others.
const NEVER: u32 = u32::MAX;

/// What is in a register: the number of a cell, and the next instruction that reads it.
type Held = Option<(Address, u32)>;

struct Assembler {
    code: Vec<u8>,
    held: [Held; SCRATCH as usize],
    /// How many of the registers may get other numbers.
    free: u8,
}

/// A number that an instruction reads, and of which one writes the next one in the cell behind it.
struct Carried {
    cell: Address,
    float: Float,
}

/// The formula of an instruction that takes no call.
fn formula(own: &Instruction) -> Option<(Arithmetic, Float)> {
    let (arithmetic, float) = kind(&own.row)?;
    let is_called = match (arithmetic, float) {
        // These are computed with twice the digits.
        (Arithmetic::Fourth, _) => true,
        (Arithmetic::Cube | Arithmetic::FourthGradient | Arithmetic::ThreeHalves, Float::F32) => true,
        _ => false,
    };
    (!is_called).then_some((arithmetic, float))
}

/// The numbers that stay in registers from one time to the next.
fn carried(instructions: &[Instruction], size: Address) -> Vec<Carried> {
    let written: FxHashSet<Address> = instructions.iter().map(|own| own.to).collect();
    let (mut done, mut all) = (FxHashSet::default(), vec![]);
    for own in instructions {
        if let Some((_, float)) = formula(own).filter(|(arithmetic, _)| *arithmetic != Arithmetic::Select) {
            for operand in &own.from[..own.row.operands()] {
                let cell = operand.address;
                if all.len() < CARRIED && written.contains(&(cell + size)) && done.insert(cell) {
                    all.push(Carried { cell, float });
                }
            }
        }
        done.insert(own.to);
    }
    all
}

/// The constants, and behind them the function.
fn assembled(instructions: &[Instruction], size: Address, repeats: bool) -> Option<Vec<u8>> {
    let carried = if repeats { carried(instructions, size) } else { vec![] };
    // By instruction: the next one that reads each operand and the result.
    let mut nexts = vec![([NEVER; 3], NEVER); instructions.len()];
    let end = instructions.len() as u32;
    let mut next: FxHashMap<Address, u32> = carried.iter().map(|c| (c.cell + size, end)).collect();
    for (i, (own, (of_operands, of_result))) in instructions.iter().zip(&mut nexts).enumerate().rev() {
        *of_result = next.remove(&own.to).unwrap_or(NEVER);
        let operands = &own.from[..own.row.operands()];
        for (operand, of_operand) in operands.iter().zip(of_operands) {
            *of_operand = next.get(&operand.address).copied().unwrap_or(NEVER);
        }
        next.extend(operands.iter().map(|operand| (operand.address, i as u32)));
    }
    let mut all = Assembler {
        code: constants().to_vec(),
        held: [None; SCRATCH as usize],
        free: SCRATCH - carried.len() as u8,
    };
    // endbr64; push rbx; push r12; sub rsp, 8; mov rbx, rdi; mov r12, rsi
    all.code.extend([0xf3, 0x0f, 0x1e, 0xfa, 0x53, 0x41, 0x54, 0x48, 0x83, 0xec, 0x08]);
    all.code.extend([0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4]);
    for (register, c) in (all.free..).zip(&carried) {
        all.scalar(c.float, LOAD, register, Cell(c.cell));
        all.held[register as usize] = Some((c.cell, 0));
    }
    let begin = all.code.len();
    for (own, &nexts) in instructions.iter().zip(&nexts) {
        match formula(own) {
            Some(formula) => all.compute(formula, own, nexts),
            None => all.call(own),
        }
    }
    for (register, c) in (all.free..).zip(&carried) {
        match all.find(c.cell + size).filter(|&r| r < all.free) {
            Some(from) => all.packed(MOVE, register, Register(from)),
            None => all.scalar(c.float, LOAD, register, Cell(c.cell + size)),
        }
    }
    // add rbx, size; dec r12; jnz begin
    all.code.extend([0x48, 0x81, 0xc3]);
    all.code.extend(size.to_le_bytes());
    all.code.extend([0x49, 0xff, 0xcc, 0x0f, 0x85]);
    let back = begin as i64 - (all.code.len() as i64 + 4);
    all.code.extend(i32::try_from(back).ok()?.to_le_bytes());
    // add rsp, 8; pop r12; pop rbx; ret
    all.code.extend([0x48, 0x83, 0xc4, 0x08, 0x41, 0x5c, 0x5b, 0xc3]);
    Some(all.code)
}

impl Assembler {
    /// Writes an instruction of the processor.
    fn encode(&mut self, prefix: Option<u8>, is_wide: bool, opcode: &[u8], register: u8, place: Place) {
        self.code.extend(prefix);
        let second = if let Register(r) = place { r } else { 0 };
        let extension = u8::from(is_wide) << 3 | register >> 3 << 2 | second >> 3;
        if extension != 0 {
            self.code.push(0x40 | extension);
        }
        self.code.extend(opcode);
        let register = (register & 7) << 3;
        match place {
            Register(r) => self.code.push(0xc0 | register | r & 7),
            Cell(at @ 0..128) => self.code.extend([0x40 | register | CELLS, at as u8]),
            Cell(at) => {
                self.code.push(0x80 | register | CELLS);
                self.code.extend(at.to_le_bytes());
            }
            Place::Constant(float, c) => {
                self.code.push(0x05 | register);
                // The distance from the end of the instruction.
                let from = self.code.len() + 4;
                let to = (float as usize * CONSTANTS + c as usize) * 16;
                self.code.extend((to as i32 - from as i32).to_le_bytes());
            }
        }
    }

    /// An operation on one number.
    fn scalar(&mut self, float: Float, opcode: u8, register: u8, place: Place) {
        let prefix = match float {
            Float::F32 => 0xf3,
            Float::F64 => 0xf2,
        };
        self.encode(Some(prefix), false, &[0x0f, opcode], register, place);
    }

    /// An operation on all bits of a register.
    fn packed(&mut self, opcode: u8, register: u8, place: Place) {
        self.encode(None, false, &[0x0f, opcode], register, place);
    }

    /// The register that has the number of a cell.
    fn find(&self, cell: Address) -> Option<u8> {
        let is_it = |held: &Held| held.is_some_and(|(of, _)| of == cell);
        self.held.iter().position(is_it).map(|r| r as u8)
    }

    /// A register for another number: one whose number no one reads, or reads last. It is not the one of `place`.
    fn take(&mut self, place: Place) -> u8 {
        let is_other = |r: &u8| !matches!(place, Register(other) if *r == other);
        let next = |r: &u8| self.held[*r as usize].map_or(NEVER, |(_, next)| next);
        let register = (0..self.free).filter(is_other).max_by_key(next).expect("there are several registers");
        self.held[register as usize] = None;
        register
    }

    /// An operand of an instruction, which is read `next`. If it is read again, it is in a register from now on.
    fn operand(&mut self, float: Float, cell: Address, next: u32, other: Place) -> Place {
        let register = match self.find(cell) {
            Some(register) => register,
            None if next == NEVER => return Cell(cell),
            None => {
                let register = self.take(other);
                self.scalar(float, LOAD, register, Cell(cell));
                register
            }
        };
        self.held[register as usize] = (next != NEVER).then_some((cell, next));
        Register(register)
    }

    /// Copies an operand to a register.
    fn copy(&mut self, float: Float, register: u8, place: Place) {
        match place {
            Register(from) if from == register => {}
            Register(from) => self.packed(MOVE, register, Register(from)),
            place => self.scalar(float, LOAD, register, place),
        }
    }

    /// A register with a copy of an operand, in which the result is computed. It is not the one of `other`.
    fn result(&mut self, float: Float, from: Place, other: Place) -> u8 {
        let register = match from {
            Register(r) if r < self.free && self.held[r as usize].is_none() => r,
            _ => self.take(other),
        };
        self.copy(float, register, from);
        register
    }

    /// Writes the number of a register to a cell.
    fn write(&mut self, float: Float, register: u8, to: Address, next: u32) {
        self.scalar(float, STORE, register, Cell(to));
        self.forget(to);
        self.held[register as usize] = (next != NEVER).then_some((to, next));
    }

    /// No register has the number of the cell any more.
    fn forget(&mut self, cell: Address) {
        if let Some(register) = self.find(cell) {
            self.held[register as usize] = None;
        }
    }

    fn compute(
        &mut self,
        (arithmetic, float): (Arithmetic, Float),
        own: &Instruction,
        (next, next_of_result): ([u32; 3], u32),
    ) {
        let [x, y, z] = own.from.map(|operand| operand.address);
        if arithmetic == Arithmetic::Select {
            return self.select(float, ([x, y, z], next), (own.to, next_of_result));
        }
        let constant = |c: Constant| Place::Constant(float, c);
        let x = self.operand(float, x, next[0], constant(Constant::Zero));
        let y = if own.row.operands() == 1 { x } else { self.operand(float, y, next[1], x) };
        if let Arithmetic::Less | Arithmetic::LessEqual = arithmetic {
            return self.compare(float, [x, y], own.to, arithmetic == Arithmetic::LessEqual);
        }
        // The first operand and this one make the result.
        let other = match arithmetic {
            Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Multiply | Arithmetic::Divide => y,
            Arithmetic::Negate | Arithmetic::Absolute | Arithmetic::Sqrt | Arithmetic::Square => x,
            Arithmetic::Cube | Arithmetic::ThreeHalves => {
                self.copy(float, SCRATCH, x);
                Register(SCRATCH)
            }
            _ => {
                self.copy(float, SCRATCH, y);
                Register(SCRATCH)
            }
        };
        match arithmetic {
            Arithmetic::SquareGradient | Arithmetic::SqrtGradient => {
                self.scalar(float, ADD, SCRATCH, Register(SCRATCH))
            }
            Arithmetic::CubeGradient => {
                self.scalar(float, MULTIPLY, SCRATCH, y);
                self.scalar(float, MULTIPLY, SCRATCH, constant(Constant::Three));
            }
            Arithmetic::FourthGradient => {
                self.scalar(float, MULTIPLY, SCRATCH, y);
                self.scalar(float, MULTIPLY, SCRATCH, y);
                self.scalar(float, MULTIPLY, SCRATCH, constant(Constant::Four));
            }
            Arithmetic::ThreeHalvesGradient => {
                self.root(float, Constant::Infinity);
                self.scalar(float, MULTIPLY, SCRATCH, constant(Constant::OneAndAHalf));
            }
            Arithmetic::ThreeHalves => self.root(float, Constant::NegativeInfinity),
            _ => {}
        }
        let to = self.result(float, x, other);
        match arithmetic {
            Arithmetic::Add => self.scalar(float, ADD, to, other),
            Arithmetic::Subtract => self.scalar(float, SUBTRACT, to, other),
            Arithmetic::Divide | Arithmetic::SqrtGradient => self.scalar(float, DIVIDE, to, other),
            Arithmetic::Negate => self.packed(XOR, to, constant(Constant::Sign)),
            Arithmetic::Absolute => self.packed(AND, to, constant(Constant::Magnitude)),
            Arithmetic::Sqrt => self.scalar(float, SQRT, to, Register(to)),
            Arithmetic::Square => self.scalar(float, MULTIPLY, to, Register(to)),
            Arithmetic::Cube => {
                self.scalar(float, MULTIPLY, to, other);
                self.scalar(float, MULTIPLY, to, other);
            }
            Arithmetic::ThreeHalves => {
                self.scalar(float, ADD, to, constant(Constant::Zero));
                self.scalar(float, MULTIPLY, to, other);
            }
            _ => self.scalar(float, MULTIPLY, to, other),
        }
        self.write(float, to, own.to, next_of_result);
    }

    /// The root of the number in the scratch register plus 0, and of -∞ this number.
    fn root(&mut self, float: Float, of_negative_infinity: Constant) {
        self.scalar(float, ADD, SCRATCH, Place::Constant(float, Constant::Zero));
        self.test(float, SCRATCH, Place::Constant(float, Constant::NegativeInfinity));
        self.scalar(float, SQRT, SCRATCH, Register(SCRATCH));
        // jp over; jne over
        let jumps = self.code.len();
        self.code.extend([0x7a, 0, 0x75, 0]);
        self.scalar(float, LOAD, SCRATCH, Place::Constant(float, of_negative_infinity));
        let over = self.code.len() - jumps;
        self.code[jumps + 1] = over as u8 - 2;
        self.code[jumps + 3] = over as u8 - 4;
    }

    /// Sets the flags by a comparison.
    fn test(&mut self, float: Float, register: u8, place: Place) {
        let prefix = (float == Float::F64).then_some(0x66);
        self.encode(prefix, false, &[0x0f, COMPARE], register, place);
    }

    /// Writes whether `x < y`, or whether `x ≤ y`.
    fn compare(&mut self, float: Float, [x, y]: [Place; 2], to: Address, or_equal: bool) {
        let y = match y {
            Register(y) => y,
            _ => {
                self.copy(float, SCRATCH, y);
                SCRATCH
            }
        };
        self.test(float, y, x);
        // seta al, or setae al; mov [to], al
        self.code.extend([0x0f, if or_equal { 0x93 } else { 0x97 }, 0xc0]);
        self.encode(None, false, &[0x88], 0, Cell(to));
        self.forget(to);
    }

    /// Chooses the second operand where the truth value, which is the first, holds, else the third.
    fn select(
        &mut self,
        float: Float,
        ([x, y, z], next): ([Address; 3], [u32; 3]),
        (to, next_of_result): (Address, u32),
    ) {
        let is_wide = float == Float::F64;
        // mov eax, [z]; cmp byte [x], 0; cmovne eax, [y]; mov [to], eax
        self.encode(None, is_wide, &[0x8b], 0, Cell(z));
        self.encode(None, false, &[0x80], 7, Cell(x));
        self.code.push(0);
        self.encode(None, is_wide, &[0x0f, 0x45], 0, Cell(y));
        self.encode(None, is_wide, &[0x89], 0, Cell(to));
        for (cell, next) in [(y, next[1]), (z, next[2])] {
            if let Some(register) = self.find(cell) {
                self.held[register as usize] = (next != NEVER).then_some((cell, next));
            }
        }
        self.forget(to);
        if next_of_result != NEVER {
            // movd register, eax
            let register = self.take(Cell(to));
            self.encode(Some(0x66), is_wide, &[0x0f, 0x6e], register, Register(0));
            self.held[register as usize] = Some((to, next_of_result));
        }
    }

    /// Calls the loop of an instruction, after which the registers have other numbers.
    fn call(&mut self, own: &Instruction) {
        // mov rdi, own; mov rsi, rbx; mov rax, call; call rax
        self.code.extend([0x48, 0xbf]);
        self.code.extend((&raw const *own as u64).to_le_bytes());
        self.code.extend([0x48, 0x89, 0xde, 0x48, 0xb8]);
        self.code.extend((call as *const () as u64).to_le_bytes());
        self.code.extend([0xff, 0xd0]);
        self.held = [None; SCRATCH as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::super::numbers::{
        ABSOLUTE, ADD, DIVIDE, LESS, LESS_EQUAL, LOG, MULTIPLY, NEGATE, Numbers, SQRT, SQRT_GRADIENT, SQUARE,
        SQUARE_GRADIENT, SUBTRACT, Way,
    };
    use super::*;
    use crate::dtype::DType;
    use crate::kernel::pointwise::power::{GRADIENT, POWER};
    use crate::kernel::pointwise::row::{Operand, Row};
    use crate::kernel::pointwise::select;

    /// Numbers in no order, the same ones each time.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, n: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % n
        }

        /// A number, often one with rules of its own. No two NaN have the same bits.
        fn bits(&mut self, float: Float) -> u64 {
            let next = self.below(1 << 20) as u64;
            let number = match self.below(8) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => 0.0,
                3 => 1e200,
                _ => next as f64 / 1e5,
            };
            let sign = self.below(2) as u64;
            let of_nan = if number.is_nan() { next } else { 0 };
            match float {
                Float::F32 => u64::from((number as f32).to_bits()) | of_nan | sign << 31,
                Float::F64 => number.to_bits() | of_nan | sign << 63,
            }
        }
    }

    /// The exponents, which are the first numbers of a program.
    const EXPONENTS: [f64; 4] = [2.0, 3.0, 4.0, 1.5];

    /// A formula, and its second operand if that is an exponent.
    fn formula_of(chance: &mut Chance, dtype: DType) -> (Row, Option<usize>) {
        let none = [0.0; 3];
        let binary = [ADD, SUBTRACT, MULTIPLY, DIVIDE, SQUARE_GRADIENT, SQRT_GRADIENT, LESS, LESS_EQUAL];
        let unary = [NEGATE, SQRT, SQUARE, ABSOLUTE, LOG];
        let exponent = chance.below(EXPONENTS.len());
        let row = match chance.below(24) {
            k @ 0..12 => binary[k % binary.len()].row(dtype, none),
            k @ 12..18 => unary[k % unary.len()].row(dtype, none),
            18..20 => Some(select::row(dtype)),
            20..22 => GRADIENT.row(dtype, [EXPONENTS[exponent], 0.0, 0.0]),
            _ => {
                use Arithmetic::*;
                let row = POWER.row(dtype, none).expect("there are loops for floats");
                return (
                    Row { arithmetic: Some([Square, Cube, Fourth, ThreeHalves][exponent]), ..row },
                    Some(exponent),
                );
            }
        };
        (row.expect("there are loops for floats"), None)
    }

    /// Programs of any formulas give the bits that loops give, also where each time reads what the last one wrote.
    #[test]
    fn code_gives_the_bits_of_loops() {
        const TIMES: usize = 5;
        const PITCH: usize = TIMES + 2;
        for seed in 0..3000 {
            let mut chance = Chance(seed);
            let (float, dtype, size) = match seed % 2 {
                0 => (Float::F32, DType::F32, 4 + 4 * chance.below(2)),
                _ => (Float::F64, DType::F64, 8),
            };
            // By slot: whether it has truth values.
            let mut slots = vec![false; EXPONENTS.len() + 1 + chance.below(12)];
            let given = slots.len();
            let mut free: Vec<usize> = (EXPONENTS.len()..given).collect();
            let mut instructions = vec![];
            for _ in 0..1 + chance.below(40) {
                let (row, exponent) = formula_of(&mut chance, dtype);
                let is_select = row.operands() == 3;
                let mut from = [Operand::default(); 3];
                for (k, operand) in from[..row.operands()].iter_mut().enumerate() {
                    let wanted: Vec<usize> =
                        (0..slots.len()).filter(|&slot| slots[slot] == (is_select && k == 0)).collect();
                    let slot = match exponent.filter(|_| k == 1) {
                        Some(exponent) => exponent,
                        None if wanted.is_empty() => 0,
                        None => wanted[chance.below(wanted.len())],
                    };
                    operand.address = (slot * PITCH) as Address;
                }
                let is_carry = row.out == dtype && !free.is_empty() && chance.below(4) == 0;
                let to = if is_carry {
                    free.swap_remove(chance.below(free.len())) * PITCH + 1
                } else {
                    slots.push(row.out != dtype);
                    (slots.len() - 1) * PITCH
                };
                instructions.push(Instruction { row, from, to: to as Address, also: 0 });
            }
            let mut cells = vec![0u8; slots.len() * PITCH * size];
            for (i, cell) in cells[..given * PITCH * size].chunks_mut(size).enumerate() {
                let bits = match (EXPONENTS.get(i / PITCH), float) {
                    (None, _) => chance.bits(float),
                    (Some(&x), Float::F32) => u64::from((x as f32).to_bits()),
                    (Some(x), Float::F64) => x.to_bits(),
                };
                let bytes = dtype.size();
                cell[..bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
            }
            let mut by_loops = cells.clone();
            let code = Numbers::new(&instructions, size as Address, true);
            let loops = Numbers {
                way: Way::runs(&code.instructions),
                ..Numbers::new(&instructions, size as Address, true)
            };
            assert!(matches!(code.way, Way::Code(_)) && matches!(loops.way, Way::Runs(..)));
            // SAFETY: there are as many cells, and all of them have numbers.
            unsafe {
                code.run(TIMES, cells.as_mut_ptr());
                loops.run(TIMES, by_loops.as_mut_ptr());
            }
            assert!(cells == by_loops, "seed {seed}");
        }
    }
}
