//! The formulas of instructions as instructions of the processor, which have AVX's three operands. Each has its operands in the
//! order of the formula, so that results have the bits of the loops, also those of NaN.
//!
//! Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use crate::kernel::pointwise::formula::{Arithmetic, Float};
use crate::kernel::pointwise::row::{Address, Instruction, Operand};
use crate::kernel::pointwise::terms::{Operation, Source};

/// The bytes of the widest vector.
const VECTOR: usize = 64;

/// Where an operand of a processor's instruction is.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Register(u8),
    /// A number in memory: it begins so many bytes after the address in the register rbx.
    Cell(Address),
    /// The next elements of the array of this address.
    Elements(Address),
    /// The one number at this address.
    One(Address),
    /// Numbers behind the code: these eight bytes, as often as they go into a vector.
    Constant(u64),
}
use Place::Register;

const ZERO: Place = Place::Constant(0);

/// Registers for numbers that are no result of an instruction.
pub const SCRATCH: u8 = 14;
const MASK: u8 = 15;
/// How many registers are for results.
pub const REGISTERS: u8 = SCRATCH;
/// The byte between functions: an instruction that stops the process.
pub const FILLER: u8 = 0xcc;
/// A mask register.
const K2: u8 = 2;
/// No register, where an instruction has fewer operands.
const NONE: u8 = 0;

// General registers.
pub const RAX: u8 = 0;
pub const RCX: u8 = 1;
pub const RDX: u8 = 2;
pub const RBX: u8 = 3;
pub const RBP: u8 = 5;
pub const RSI: u8 = 6;
/// These registers have the addresses of the first arrays. The addresses of others are read from the list each time.
pub const POINTERS: [u8; 10] = [RDX, 8, 9, 10, RBX, RBP, 12, 13, 14, 15];

// Comparisons. None of them holds for NaN.
const IS_EQUAL: u8 = 0;
const IS_AT_MOST: u8 = 0x12;

// The opcodes of operations on floats.
pub const LOAD: u8 = 0x10;
pub const STORE: u8 = 0x11;
const BROADCAST_SINGLE: u8 = 0x18;
const BROADCAST_DOUBLE: u8 = 0x19;
const MOVE: u8 = 0x28;
const COMPARE: u8 = 0x2f;
const SQRT: u8 = 0x51;
const AND: u8 = 0x54;
const XOR: u8 = 0x57;
const ADD: u8 = 0x58;
const MULTIPLY: u8 = 0x59;
const SUBTRACT: u8 = 0x5c;
const DIVIDE: u8 = 0x5e;
const COMPARE_BITS: u8 = 0xc2;
/// `to = to first - second`, rounded once.
const MULTIPLY_SUBTRACT: u8 = 0xaa;
const MASK_TO_VECTOR: u8 = 0x38;

/// The number of an instruction that comes after all others.
pub const NEVER: u32 = u32::MAX;

/// The number that is in a register.
#[derive(Clone, Copy)]
pub struct Held {
    /// Its address in memory.
    pub address: Address,
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it is in memory too.
    pub is_stored: bool,
}

/// What a result is needed for.
#[derive(Clone, Copy)]
pub struct Fate {
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it has to be in memory.
    pub is_stored: bool,
}

/// How many numbers an instruction of the processor computes with.
#[derive(Clone, Copy, PartialEq)]
pub enum Width {
    One,
    /// The numbers in 32 bytes.
    Half,
    /// The numbers in 64 bytes.
    Whole,
    /// Those of the numbers in 64 bytes that the mask register k1 chooses.
    Masked,
}

impl Width {
    /// The bytes of the numbers.
    pub fn bytes(self, float: Float) -> u8 {
        match (self, float) {
            (Width::One, Float::F32) => 4,
            (Width::One, Float::F64) => 8,
            (Width::Half, _) => 32,
            (Width::Whole | Width::Masked, _) => 64,
        }
    }
}

/// Which instruction of the processor it is: the map of opcodes, the prefix (0 to 3 for none, 0x66, 0xf3 and 0xf2), the opcode, and whether
/// the numbers have eight bytes.
type Opcode = (u8, u8, u8, bool);

pub struct Assembler {
    pub code: Vec<u8>,
    pub float: Float,
    pub width: Width,
    /// Whether addresses are those of arrays, or those of cells behind one base.
    pub has_arrays: bool,
    pub held: [Option<Held>; REGISTERS as usize],
    /// How many of the registers may get other numbers.
    pub free: u8,
    /// The arrays, in the order of [`POINTERS`].
    pub arrays: Vec<Address>,
    /// The numbers behind the code, and where in the code the distance to one of them stands.
    constants: Vec<u64>,
    distances: Vec<(usize, usize)>,
}

/// How a product is added to a number: the opcodes for vectors.
#[derive(Clone, Copy)]
pub enum Contracted {
    /// `x y + z`.
    Add = 0xb8,
    /// `x y - z`.
    Subtract = 0xba,
    /// `z - x y`.
    SubtractFrom = 0xbc,
}

/// The formula of an instruction that takes no call. One with twice the digits of float32 does.
pub fn formula(own: &Instruction) -> Option<(&'static Arithmetic, Float)> {
    own.row.arithmetic().filter(|(formula, float)| !(formula.is_wide && *float == Float::F32))
}

/// The operands that a formula reads.
pub fn operands(own: &Instruction) -> &[Operand] {
    formula(own).map_or_else(|| own.operands(), |(formula, _)| &own.from[..formula.operands])
}

/// Whether an operation takes several instructions, and one of them writes the result before another one reads an operand.
fn is_in_steps(operation: Operation, places: &[Place; 3]) -> bool {
    match operation {
        Operation::Select => places[2] != ZERO,
        Operation::MultiplySubtract | Operation::IsEqual | Operation::IsAtMost => true,
        _ => !matches!(places[0], Register(_)),
    }
}

impl Assembler {
    pub fn new(has_arrays: bool) -> Assembler {
        Assembler {
            code: vec![],
            float: Float::F64,
            width: Width::One,
            has_arrays,
            held: [None; REGISTERS as usize],
            free: REGISTERS,
            arrays: vec![],
            constants: vec![],
            distances: vec![],
        }
    }

    /// Takes back what was written from there on.
    pub fn truncate(&mut self, length: usize) {
        self.code.truncate(length);
        self.distances.retain(|&(at, _)| at < length);
    }

    /// The code with its constants.
    pub fn finish(mut self) -> Vec<u8> {
        let begin = self.code.len().next_multiple_of(VECTOR);
        self.code.resize(begin, FILLER);
        for constant in self.constants {
            self.code.extend(constant.to_le_bytes().repeat(VECTOR / size_of::<u64>()));
        }
        for (at, constant) in self.distances {
            // The distance stands at the end of its instruction.
            let distance = (begin + constant * VECTOR - (at + 4)) as u32;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.code
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

    /// Writes an instruction of the processor: with the prefix EVEX if it computes with 64 bytes, else with VEX.
    fn encode(&mut self, (map, prefix, opcode, is_double): Opcode, to: u8, first: u8, place: Place) {
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
        let registers = not(to >> 3) << 7 | 1 << 6 | not(base >> 3) << 5;
        let first = (!first & 15) << 3;
        match self.width {
            Width::One | Width::Half => {
                let is_vector = u8::from(self.width == Width::Half) << 2;
                let is_double = u8::from(is_double) << 7;
                self.code.extend([0xc4, registers | map, is_double | first | is_vector | prefix, opcode]);
            }
            Width::Whole | Width::Masked => {
                // Elements that are not chosen are neither read nor written, and are zeros in a register.
                let mask = match place {
                    Place::Elements(_) if self.width == Width::Masked => {
                        0x01 | u8::from(opcode != STORE) << 7
                    }
                    _ => 0,
                };
                let is_double = u8::from(is_double) << 7;
                let (registers, first) = (registers | 0x10 | map, is_double | first | 0x04 | prefix);
                self.code.extend([0x62, registers, first, 0x48 | mask, opcode]);
            }
        }
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
            Place::Constant(bits) => {
                self.code.push(0x05 | to);
                let known = self.constants.iter().position(|&other| other == bits);
                let constant = known.unwrap_or(self.constants.len());
                if known.is_none() {
                    self.constants.push(bits);
                }
                self.distances.push((self.code.len(), constant));
                self.code.extend([0; 4]);
            }
        }
    }

    /// An operation on one number, or on each of a vector.
    pub fn op(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        let of_one = if self.width == Width::One { 2 } else { 0 };
        let is_double = self.is_double();
        self.encode((1, of_one | u8::from(is_double), opcode, is_double), to, first, place);
    }

    /// An operation on all bits.
    fn bits(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        self.encode((1, 0, opcode, false), to, first, place);
    }

    /// Bits of each number: those for the type of the numbers.
    fn mask(&self, single: u32, double: u64) -> Place {
        Place::Constant(match self.float {
            Float::F32 => u64::from(single) << 32 | u64::from(single),
            Float::F64 => double,
        })
    }

    /// Reads a number, which becomes a whole vector if it is one for all elements.
    pub fn load(&mut self, register: u8, place: Place) {
        match place {
            Place::One(_) if self.width != Width::One => {
                let opcode = match self.float {
                    Float::F32 => (2, 1, BROADCAST_SINGLE, false),
                    Float::F64 => (2, 1, BROADCAST_DOUBLE, self.is_wide()),
                };
                self.encode(opcode, register, NONE, place);
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
    pub fn take(&mut self, others: &[Place]) -> u8 {
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
    fn operand(&mut self, place: Place, next: u32, is_in_register: bool, others: &[Place]) -> Place {
        let (Place::Cell(address) | Place::Elements(address) | Place::One(address)) = place else {
            return place;
        };
        let is_repeated = self.width != Width::One && matches!(place, Place::One(_));
        let (register, is_stored) = match self.find(address) {
            Some(register) => (register, self.held[register as usize].is_none_or(|held| held.is_stored)),
            None if next == NEVER && !is_in_register && !is_repeated => return place,
            None => {
                let register = self.take(others);
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
        self.take(&others)
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
        nodes: &[(Operation, [Source; 3])],
        from: [Place; 2],
        next: [u32; 2],
        to: Address,
        fate: Fate,
    ) {
        let x = self.operand(from[0], next[0], true, &[]);
        // A register that is read last may have the only copy of both operands. One operation may read the second from memory.
        let y = if from[1] == from[0] { x } else { self.operand(from[1], next[1], nodes.len() > 1, &[x]) };
        let result = self.result([x, y]);
        let mut registers: SmallVec<[u8; 4]> = smallvec![result, SCRATCH, MASK];
        let mut made: SmallVec<[Place; 16]> = smallvec![];
        for (i, (operation, from)) in nodes.iter().enumerate() {
            let place = |source: Source| match source {
                // A later result is in no register yet.
                Source::Made(k) => made.get(k).copied().unwrap_or(ZERO),
                Source::Operand(k) => [x, y][k],
                Source::Literal(v) => self.mask((v as f32).to_bits(), v.to_bits()),
            };
            let places = from.map(place);
            let later = nodes[i + 1..].iter().flat_map(|(_, from)| from.map(place));
            let is_in_steps = is_in_steps(*operation, &places);
            let is_changed = |x: &Place| *operation == Operation::MultiplySubtract && *x == places[0];
            let again = places.into_iter().filter(|x| is_in_steps && !is_changed(x));
            let kept: SmallVec<[Place; 16]> = later.chain(again).collect();
            // The result comes last, so that the register of an operand is not written before.
            let first = usize::from(i + 1 < nodes.len());
            let mut known = registers[first..].iter().chain(&registers[..first]);
            let to = known.find(|&&r| !kept.contains(&Register(r))).copied().unwrap_or_else(|| {
                let others = registers.iter().map(|&r| Register(r)).chain([x, y]);
                let another = self.take(&others.collect::<SmallVec<[Place; 8]>>());
                registers.push(another);
                another
            });
            self.operate(*operation, to, &places);
            made.push(Register(to));
        }
        self.load(result, made[nodes.len() - 1]);
        self.write(result, to, fate);
    }

    /// Computes an operation.
    fn operate(&mut self, operation: Operation, to: u8, places: &[Place; 3]) {
        let first = self.in_register(places[0], to);
        match operation {
            Operation::Add => self.op(ADD, to, first, places[1]),
            Operation::Subtract => self.op(SUBTRACT, to, first, places[1]),
            Operation::Multiply => self.op(MULTIPLY, to, first, places[1]),
            Operation::Divide => self.op(DIVIDE, to, first, places[1]),
            Operation::Negate => self.bits(XOR, to, first, self.mask(1 << 31, 1 << 63)),
            Operation::Absolute => self.bits(AND, to, first, self.mask(!(1 << 31), !(1 << 63))),
            Operation::Sqrt => self.sqrt(to, first),
            Operation::MultiplySubtract => {
                self.load(to, places[0]);
                let Register(second) = places[1] else { unreachable!("it is in a register") };
                self.fused(MULTIPLY_SUBTRACT, to, second, places[2]);
            }
            Operation::IsEqual | Operation::IsAtMost => {
                let second = self.in_register(places[1], to);
                let comparison = if operation == Operation::IsEqual { IS_EQUAL } else { IS_AT_MOST };
                self.compare_bits(comparison, to, first, second);
            }
            Operation::Select if places[2] == ZERO => self.bits(AND, to, first, places[1]),
            // The bits in which both differ are taken where it holds.
            Operation::Select => {
                let Register(y) = places[2] else { unreachable!("it is in a register") };
                self.bits(XOR, to, y, places[1]);
                self.bits(AND, to, to, Register(first));
                self.bits(XOR, to, to, Register(y));
            }
        }
    }

    /// The register of a place, which is `to` if it was in none.
    fn in_register(&mut self, place: Place, to: u8) -> u8 {
        let Register(register) = place else {
            self.load(to, place);
            return to;
        };
        register
    }

    /// Computes a product, and the sum or difference with it, which is rounded once. Of three operands the last is the one that the
    /// product is added to. `sum` says how.
    pub fn contracted(&mut self, sum: Contracted, from: [Place; 3], next: [u32; 3], to: Address, fate: Fate) {
        let x = self.operand(from[0], next[0], true, &[]);
        let Register(first) = x else { unreachable!("it is in a register") };
        let y = if from[1] == from[0] { x } else { self.operand(from[1], next[1], false, &[x]) };
        let z = self.operand(from[2], next[2], false, &[x, y]);
        let register = match z {
            Register(r) if r < self.free && self.held[r as usize].is_none() => r,
            _ => self.take(&[x, y, z]),
        };
        self.load(register, z);
        self.fused(sum as u8, register, first, y);
        self.write(register, to, fate);
    }

    fn sqrt(&mut self, to: u8, from: u8) {
        // The instruction for one number copies the rest of the register from a further operand.
        self.op(SQRT, to, if self.width == Width::One { from } else { NONE }, Register(from));
    }

    fn is_double(&self) -> bool {
        self.float == Float::F64
    }

    fn is_wide(&self) -> bool {
        matches!(self.width, Width::Whole | Width::Masked)
    }

    /// Makes all bits of a number ones where the comparison holds for those of two registers, else zeros.
    fn compare_bits(&mut self, comparison: u8, to: u8, first: u8, second: u8) {
        // With 64 bytes the result is in a register of its own kind first.
        self.op(COMPARE_BITS, if self.is_wide() { K2 } else { to }, first, Register(second));
        self.code.push(comparison);
        if self.is_wide() {
            self.encode((2, 2, MASK_TO_VECTOR, self.is_double()), to, NONE, Register(K2));
        }
    }

    /// A product and a sum or difference in one instruction, which rounds once. `opcode` is the one for vectors, before that for one number.
    fn fused(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        let opcode = opcode + u8::from(self.width == Width::One);
        self.encode((2, 1, opcode, self.is_double()), to, first, place);
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
        let y = self.operand(Place::Cell(y), next[1], true, &[]);
        let x = if is_same { y } else { self.operand(Place::Cell(x), next[0], false, &[y]) };
        let Register(register) = y else { unreachable!("it is in a register") };
        let is_double = self.is_double();
        self.encode((1, u8::from(is_double), COMPARE, is_double), register, NONE, x);
        // seta al, or setae al; mov [to], al
        self.code.extend([0x0f, if or_equal { 0x93 } else { 0x97 }, 0xc0]);
        self.general(false, &[0x88], RAX, to);
        self.forget(to);
    }

    /// Chooses the second operand where the truth value, which is the first, holds, else the third. All are in cells.
    pub fn select(&mut self, [x, y, z]: [Address; 3], next: [u32; 3], to: Address, fate: Fate) {
        let is_wide = self.is_double();
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
            let register = self.take(&[]);
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
        let operands = operands(own);
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
