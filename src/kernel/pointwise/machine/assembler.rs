//! The formulas of instructions as instructions of the processor, which have AVX's three operands. Each has its operands in the
//! order of the formula, so that results have the bits of the loops, also those of NaN.
//!
//! Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::pointwise::arithmetic::Arithmetic;
use crate::kernel::pointwise::numbers::{Float, kind};
use crate::kernel::pointwise::row::{Address, Instruction};

/// A number in front of the code, which has it as often as it goes into a vector.
#[derive(Clone, Copy, PartialEq)]
pub enum Constant {
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
/// The bytes of a vector.
pub const VECTOR: usize = 32;

/// The bytes of all constants: those of float32, and then those of float64.
pub fn constants() -> [u8; 2 * CONSTANTS * VECTOR] {
    let singles = [0.0, 1.5, 3.0, 4.0, f32::INFINITY, f32::NEG_INFINITY].map(f32::to_bits);
    let doubles = [0.0, 1.5, 3.0, 4.0, f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
    let mut bytes = [0; 2 * CONSTANTS * VECTOR];
    let (of_singles, of_doubles) = bytes.split_at_mut(CONSTANTS * VECTOR);
    for (to, bits) in of_singles.chunks_mut(VECTOR).zip(singles.into_iter().chain([1 << 31, !(1 << 31)])) {
        to.chunks_mut(4).for_each(|to| to.copy_from_slice(&u32::to_le_bytes(bits)));
    }
    for (to, bits) in of_doubles.chunks_mut(VECTOR).zip(doubles.into_iter().chain([1 << 63, !(1 << 63)])) {
        to.chunks_mut(8).for_each(|to| to.copy_from_slice(&u64::to_le_bytes(bits)));
    }
    bytes
}

/// Where an operand of a processor's instruction is.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Register(u8),
    /// In memory, so many bytes behind the address in the base register.
    Cell(Address),
    /// The next elements of the array of this address.
    Elements(Address),
    /// The one number at this address.
    One(Address),
    Constant(Float, Constant),
}
use Place::Register;

/// Registers for numbers that are no result of an instruction.
pub const SCRATCH: u8 = 14;
const MASK: u8 = 15;
/// How many registers are for results.
pub const REGISTERS: u8 = SCRATCH;
/// No register, where an instruction has fewer operands.
const NONE: u8 = 0;

// General registers.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
/// Those that have the addresses of arrays. The others are read from the list of addresses each time.
pub const POINTERS: [u8; 10] = [RDX, 8, 9, 10, RBX, RBP, 12, 13, 14, 15];

// The opcodes of operations on floats.
pub const LOAD: u8 = 0x10;
pub const STORE: u8 = 0x11;
const BROADCAST_SINGLE: u8 = 0x18;
const BROADCAST_DOUBLE: u8 = 0x19;
const MOVE: u8 = 0x28;
const COMPARE: u8 = 0x2f;
const SQRT: u8 = 0x51;
const AND: u8 = 0x54;
const AND_NOT: u8 = 0x55;
const OR: u8 = 0x56;
const XOR: u8 = 0x57;
const ADD: u8 = 0x58;
const MULTIPLY: u8 = 0x59;
const SUBTRACT: u8 = 0x5c;
const DIVIDE: u8 = 0x5e;
const IS_EQUAL: u8 = 0xc2;

/// The number of an instruction that comes after all others.
pub const NEVER: u32 = u32::MAX;

/// What is in a register.
#[derive(Clone, Copy)]
pub struct Held {
    /// The number that lies at this address.
    pub address: Address,
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it is in memory too.
    pub is_stored: bool,
}

/// What becomes of a result.
#[derive(Clone, Copy)]
pub struct Fate {
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it has to be in memory.
    pub is_stored: bool,
}

pub struct Assembler {
    pub code: Vec<u8>,
    pub float: Float,
    /// Whether it computes with vectors, or with one number at a time.
    pub is_vector: bool,
    /// Whether addresses are those of arrays, or those of cells behind one base.
    pub has_arrays: bool,
    pub held: [Option<Held>; REGISTERS as usize],
    /// How many of the registers may get other numbers.
    pub free: u8,
    /// The arrays, in the order of [`POINTERS`].
    pub arrays: Vec<Address>,
}

/// The formula of an instruction that takes no call.
pub fn formula(own: &Instruction) -> Option<(Arithmetic, Float)> {
    let (arithmetic, float) = kind(&own.row)?;
    let is_called = match (arithmetic, float) {
        // These are computed with twice the digits.
        (Arithmetic::Fourth, _) => true,
        (Arithmetic::Cube | Arithmetic::FourthGradient | Arithmetic::ThreeHalves, Float::F32) => true,
        _ => false,
    };
    (!is_called).then_some((arithmetic, float))
}

impl Assembler {
    pub fn new(has_arrays: bool) -> Assembler {
        Assembler {
            code: constants().to_vec(),
            float: Float::F64,
            is_vector: false,
            has_arrays,
            held: [None; REGISTERS as usize],
            free: REGISTERS,
            arrays: vec![],
        }
    }

    /// The register with the address of an array.
    fn pointer(&mut self, array: Address) -> u8 {
        let k = self.arrays.iter().position(|&other| other == array).unwrap_or_else(|| {
            self.arrays.push(array);
            self.arrays.len() - 1
        });
        POINTERS.get(k).copied().unwrap_or_else(|| {
            self.load_pointer(RCX, array);
            RCX
        })
    }

    /// Reads the address of an array from the list.
    pub fn load_pointer(&mut self, register: u8, array: Address) {
        // mov register, [rsi + 8 * array]
        self.code.extend([0x48 | register >> 3 << 2, 0x8b, 0x80 | (register & 7) << 3 | RSI]);
        self.code.extend((8 * array).to_le_bytes());
    }

    /// Writes an instruction of the processor with the prefix VEX: of opcodes in this map, and `mode` 0 to 3 for those that are
    /// told apart by no prefix, 0x66, 0xf3 or 0xf2.
    fn encode(
        &mut self,
        (map, mode, opcode): (u8, u8, u8),
        to: u8,
        first: u8,
        place: Place,
        is_vector: bool,
    ) {
        let (base, has_index) = match place {
            Place::Elements(array) => (self.pointer(array), true),
            Place::One(array) => {
                self.load_pointer(RCX, array);
                (RCX, false)
            }
            Register(r) => (r, false),
            Place::Cell(_) => (RBX, false),
            Place::Constant(..) => (0, false),
        };
        let not = |bit: u8| !bit & 1;
        self.code.extend([
            0xc4,
            not(to >> 3) << 7 | 1 << 6 | not(base >> 3) << 5 | map,
            (!first & 15) << 3 | u8::from(is_vector) << 2 | mode,
            opcode,
        ]);
        let to = (to & 7) << 3;
        match place {
            Register(r) => self.code.push(0xc0 | to | r & 7),
            Place::Cell(at @ 0..128) => self.code.extend([0x40 | to | RBX, at as u8]),
            Place::Cell(at) => {
                self.code.push(0x80 | to | RBX);
                self.code.extend(at.to_le_bytes());
            }
            // Behind the base comes the index, which is rax, or none.
            Place::Elements(_) | Place::One(_) => {
                let index = if has_index { RAX } else { 4 };
                self.code.extend([0x44 | to, index << 3 | base & 7, 0]);
            }
            Place::Constant(float, c) => {
                self.code.push(0x05 | to);
                // The distance from the end of the instruction.
                let from = self.code.len() + 4;
                let at = (float as usize * CONSTANTS + c as usize) * VECTOR;
                self.code.extend((at as i32 - from as i32).to_le_bytes());
            }
        }
    }

    /// An operation on one number, or on each of a vector.
    pub fn op(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        let mode = match (self.is_vector, self.float) {
            (true, Float::F32) => 0,
            (true, Float::F64) => 1,
            (false, Float::F32) => 2,
            (false, Float::F64) => 3,
        };
        self.encode((1, mode, opcode), to, first, place, self.is_vector);
    }

    /// An operation on all bits.
    fn bits(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        self.encode((1, 0, opcode), to, first, place, self.is_vector);
    }

    fn constant(&self, c: Constant) -> Place {
        Place::Constant(self.float, c)
    }

    /// Reads a number, which becomes a whole vector if it is one for all elements.
    pub fn load(&mut self, register: u8, place: Place) {
        match place {
            Place::One(_) if self.is_vector => {
                let opcode = match self.float {
                    Float::F32 => BROADCAST_SINGLE,
                    Float::F64 => BROADCAST_DOUBLE,
                };
                self.encode((2, 1, opcode), register, NONE, place, true);
            }
            Register(from) if from == register => {}
            Register(_) => self.bits(MOVE, register, NONE, place),
            _ => self.op(LOAD, register, NONE, place),
        }
    }

    /// The register that has the number of an address.
    pub fn find(&self, address: Address) -> Option<u8> {
        let is_it = |held: &Option<Held>| held.is_some_and(|held| held.address == address);
        self.held.iter().position(is_it).map(|r| r as u8)
    }

    /// The memory of a result.
    fn home(&self, address: Address) -> Place {
        if self.has_arrays { Place::Elements(address) } else { Place::Cell(address) }
    }

    /// A register for another number, which is none of these: one whose number is read by no one, or last.
    pub fn take(&mut self, others: [Place; 2]) -> u8 {
        let is_other = |r: u8| others.iter().any(|place| matches!(place, Register(other) if r == *other));
        let next = |r: &u8| self.held[*r as usize].map_or(NEVER, |held| held.next);
        let free = (0..self.free).filter(|&r| !is_other(r));
        let register = free.max_by_key(next).expect("there are several registers");
        if let Some(held) = self.held[register as usize].take()
            && !held.is_stored
        {
            self.op(STORE, register, NONE, self.home(held.address));
        }
        register
    }

    /// An operand of an instruction. If it is read again, or has to be in a register, it is in one from now on.
    fn operand(&mut self, place: Place, next: u32, is_in_register: bool, other: Place) -> Place {
        let (Place::Cell(address) | Place::Elements(address) | Place::One(address)) = place else {
            return place;
        };
        let is_repeated = self.is_vector && matches!(place, Place::One(_));
        let (register, is_stored) = match self.find(address) {
            Some(register) => (register, self.held[register as usize].is_none_or(|held| held.is_stored)),
            None if next == NEVER && !is_in_register && !is_repeated => return place,
            None => {
                let register = self.take([other, other]);
                self.load(register, place);
                (register, true)
            }
        };
        if register < self.free {
            self.held[register as usize] = (next != NEVER).then_some(Held { address, next, is_stored });
        }
        Register(register)
    }

    /// A register for the result of an instruction with these operands.
    fn result(&mut self, others: [Place; 2]) -> u8 {
        let is_free = |r: u8| r < self.free && self.held[r as usize].is_none();
        for place in others {
            if let Register(r) = place
                && is_free(r)
            {
                return r;
            }
        }
        self.take(others)
    }

    /// Writes the number of a register to an address, if it has to be in memory.
    fn write(&mut self, register: u8, address: Address, fate: Fate) {
        self.forget(address);
        if fate.is_stored {
            self.op(STORE, register, NONE, self.home(address));
        }
        let held = Held { address, next: fate.next, is_stored: fate.is_stored };
        self.held[register as usize] = (fate.next != NEVER).then_some(held);
    }

    /// No register has the number of this address any more.
    fn forget(&mut self, address: Address) {
        if let Some(register) = self.find(address) {
            self.held[register as usize] = None;
        }
    }

    /// Computes a formula of one or two operands whose result is a float.
    pub fn compute(
        &mut self,
        arithmetic: Arithmetic,
        from: [Place; 2],
        next: [u32; 2],
        to: Address,
        fate: Fate,
    ) {
        let x = self.operand(from[0], next[0], true, from[1]);
        let Register(first) = x else { unreachable!("it is in a register") };
        // A register that is read last may have the only copy of both operands.
        let y = if from[1] == from[0] { x } else { self.operand(from[1], next[1], false, x) };
        // What the first operand is multiplied with or divided by, if that is not the second operand itself.
        let of_second = match arithmetic {
            Arithmetic::SquareGradient | Arithmetic::SqrtGradient => {
                self.load(SCRATCH, y);
                self.op(ADD, SCRATCH, SCRATCH, Register(SCRATCH));
                Register(SCRATCH)
            }
            Arithmetic::CubeGradient | Arithmetic::FourthGradient => {
                self.load(SCRATCH, y);
                self.op(MULTIPLY, SCRATCH, SCRATCH, y);
                let factor = if arithmetic == Arithmetic::FourthGradient {
                    self.op(MULTIPLY, SCRATCH, SCRATCH, y);
                    Constant::Four
                } else {
                    Constant::Three
                };
                self.op(MULTIPLY, SCRATCH, SCRATCH, self.constant(factor));
                Register(SCRATCH)
            }
            Arithmetic::ThreeHalvesGradient => {
                self.load(SCRATCH, y);
                self.op(ADD, SCRATCH, SCRATCH, self.constant(Constant::Zero));
                self.root(SCRATCH, Constant::Infinity);
                self.op(MULTIPLY, SCRATCH, SCRATCH, self.constant(Constant::OneAndAHalf));
                Register(SCRATCH)
            }
            _ => y,
        };
        let register = self.result([x, y]);
        match arithmetic {
            Arithmetic::Add => self.op(ADD, register, first, y),
            Arithmetic::Subtract => self.op(SUBTRACT, register, first, y),
            Arithmetic::Divide | Arithmetic::SqrtGradient => self.op(DIVIDE, register, first, of_second),
            Arithmetic::Negate => self.bits(XOR, register, first, self.constant(Constant::Sign)),
            Arithmetic::Absolute => self.bits(AND, register, first, self.constant(Constant::Magnitude)),
            Arithmetic::Sqrt => self.sqrt(register, first),
            Arithmetic::Square => self.op(MULTIPLY, register, first, x),
            Arithmetic::Cube => {
                self.op(MULTIPLY, SCRATCH, first, x);
                self.op(MULTIPLY, register, SCRATCH, x);
            }
            Arithmetic::ThreeHalves => {
                self.op(ADD, SCRATCH, first, self.constant(Constant::Zero));
                self.load(register, Register(SCRATCH));
                self.root(register, Constant::NegativeInfinity);
                self.op(MULTIPLY, register, SCRATCH, Register(register));
            }
            _ => self.op(MULTIPLY, register, first, of_second),
        }
        self.write(register, to, fate);
    }

    fn sqrt(&mut self, to: u8, from: u8) {
        // That of one number leaves the rest of the register as it is in the first operand.
        self.op(SQRT, to, if self.is_vector { NONE } else { from }, Register(from));
    }

    /// The root of the numbers in a register, and of -∞ this number.
    fn root(&mut self, register: u8, of_negative_infinity: Constant) {
        self.load(MASK, self.constant(Constant::NegativeInfinity));
        self.op(IS_EQUAL, MASK, MASK, Register(register));
        self.code.push(0);
        self.sqrt(register, register);
        self.bits(AND_NOT, register, MASK, Register(register));
        self.bits(AND, MASK, MASK, self.constant(of_negative_infinity));
        self.bits(OR, register, register, Register(MASK));
    }

    /// An instruction of the processor on a general register and a cell.
    fn general(&mut self, is_wide: bool, opcode: &[u8], register: u8, cell: Address) {
        if is_wide {
            self.code.push(0x48);
        }
        self.code.extend(opcode);
        self.code.push(0x80 | register << 3 | RBX);
        self.code.extend(cell.to_le_bytes());
    }

    /// Writes to a cell whether `x < y`, or whether `x ≤ y`.
    pub fn compare(&mut self, [x, y]: [Address; 2], next: [u32; 2], to: Address, or_equal: bool) {
        let is_same = x == y;
        let y = self.operand(Place::Cell(y), next[1], true, Place::Cell(x));
        let x = if is_same { y } else { self.operand(Place::Cell(x), next[0], false, y) };
        let Register(register) = y else { unreachable!("it is in a register") };
        self.encode((1, u8::from(self.float == Float::F64), COMPARE), register, NONE, x, false);
        // seta al, or setae al; mov [to], al
        self.code.extend([0x0f, if or_equal { 0x93 } else { 0x97 }, 0xc0]);
        self.general(false, &[0x88], RAX, to);
        self.forget(to);
    }

    /// Chooses the second operand where the truth value, which is the first, holds, else the third. All are in cells.
    pub fn select(&mut self, [x, y, z]: [Address; 3], next: [u32; 3], to: Address, fate: Fate) {
        let is_wide = self.float == Float::F64;
        self.store([y, z]);
        // mov eax, [z]; cmp byte [x], 0; cmovne eax, [y]; mov [to], eax
        self.general(is_wide, &[0x8b], RAX, z);
        self.general(false, &[0x80], 7, x);
        self.code.push(0);
        self.general(is_wide, &[0x0f, 0x45], RAX, y);
        self.general(is_wide, &[0x89], RAX, to);
        for (cell, next) in [(y, next[1]), (z, next[2])] {
            if let Some(register) = self.find(cell).filter(|&r| r < self.free) {
                let held = Held { address: cell, next, is_stored: true };
                self.held[register as usize] = (next != NEVER).then_some(held);
            }
        }
        self.forget(to);
        if fate.next != NEVER {
            // movd register, eax
            let register = self.take([Place::Cell(to); 2]);
            let extension = 0x40 | u8::from(is_wide) << 3 | register >> 3 << 2;
            self.code.extend([0x66, extension, 0x0f, 0x6e, 0xc0 | (register & 7) << 3]);
            self.held[register as usize] = Some(Held { address: to, next: fate.next, is_stored: true });
        }
    }

    /// Writes the numbers of these addresses to memory if they are in registers alone.
    fn store(&mut self, addresses: impl IntoIterator<Item = Address>) {
        for address in addresses {
            if let Some(register) = self.find(address)
                && let Some(held) = &mut self.held[register as usize]
                && !std::mem::replace(&mut held.is_stored, true)
            {
                self.op(STORE, register, NONE, self.home(address));
            }
        }
    }

    /// Calls a function with two arguments, the second of which is the address of the cells. Registers have other numbers then.
    pub fn call(&mut self, function: usize, argument: usize) {
        self.store(self.held.into_iter().flatten().map(|held| held.address));
        // mov rdi, argument; mov rsi, rbx; mov rax, function; call rax
        self.code.extend([0x48, 0xbf]);
        self.code.extend((argument as u64).to_le_bytes());
        self.code.extend([0x48, 0x89, 0xde, 0x48, 0xb8]);
        self.code.extend((function as u64).to_le_bytes());
        self.code.extend([0xff, 0xd0]);
        self.held = [None; REGISTERS as usize];
    }

    /// A jump to code that is there if a condition holds: the last byte of the opcode.
    pub fn jump_back(&mut self, condition: u8, to: usize) {
        self.code.extend([0x0f, condition]);
        let distance = to as i64 - (self.code.len() as i64 + 4);
        self.code.extend((distance as i32).to_le_bytes());
    }

    /// A jump if a condition holds, to code that follows: where its distance is.
    pub fn jump(&mut self, condition: u8) -> usize {
        self.code.extend([0x0f, condition, 0, 0, 0, 0]);
        self.code.len() - 4
    }

    /// The code that a jump leads to is what comes next.
    pub fn land(&mut self, jump: usize) {
        let distance = (self.code.len() - (jump + 4)) as u32;
        self.code[jump..jump + 4].copy_from_slice(&distance.to_le_bytes());
    }
}

/// By instruction: the next one that reads each operand, and what becomes of the result. `at_end` has the addresses that are
/// read after all instructions. `is_stored` says whether a result has to be in memory, of an address and of whether no other
/// instruction writes there afterwards.
pub fn fates(
    instructions: &[Instruction],
    at_end: &[Address],
    is_stored: &dyn Fn(Address, bool) -> bool,
) -> Vec<([u32; 3], Fate)> {
    let end = instructions.len() as u32;
    let mut next: FxHashMap<Address, u32> = at_end.iter().map(|&address| (address, end)).collect();
    let mut written = FxHashSet::default();
    let mut all = vec![];
    for (i, own) in instructions.iter().enumerate().rev() {
        let is_last = written.insert(own.to);
        let next_of_result = next.remove(&own.to).unwrap_or(NEVER);
        let fate = Fate { next: next_of_result, is_stored: is_stored(own.to, is_last) };
        let operands = &own.from[..own.row.operands()];
        let mut of_operands = [NEVER; 3];
        for (operand, of_operand) in operands.iter().zip(&mut of_operands) {
            *of_operand = next.get(&operand.address).copied().unwrap_or(NEVER);
        }
        next.extend(operands.iter().map(|operand| (operand.address, i as u32)));
        all.push((of_operands, fate));
    }
    all.reverse();
    all
}
