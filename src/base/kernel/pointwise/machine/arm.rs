//! Instructions of 64-bit ARM processors, all of which have NEON. Each has its operands in the order of the formula, so that results have
//! the bits of the loops, also those of NaN.
//!
//! Encodings: Arm Architecture Reference Manual for A-profile architecture, chapters C6 and C7.

use super::assembler::Place::{self, Register};
use super::assembler::{Assembler, Contracted, End, Processor, Width, ZERO};
use super::fates::Fate;
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::Address;
use crate::kernel::pointwise::terms::Operation;

pub struct Arm;

/// Registers for constants, which are no result of an instruction either.
const LITERALS: [u8; 3] = [21, 22, 23];

// General registers. A function may write to the first 18, but x18 is the system's on some of them.
const X0: u32 = 0;
/// The list of the addresses of arrays, or the times.
const X1: u32 = 1;
/// How many bytes further on the next elements are.
const INDEX: u32 = 2;
/// Where whole vectors end.
const WHOLE: u32 = 3;
/// These registers have the addresses of the first arrays. The addresses of others are read from the list each time.
const POINTERS: std::ops::Range<u32> = 4..16;
const X16: u32 = 16;
const X17: u32 = 17;
/// The address of the cells.
const CELLS: u32 = 19;
const TIMES: u32 = 20;
/// The address of the constants.
const CONSTANTS: u32 = 21;

// Conditions of jumps and choices. Of floats the last two do not hold for NaN.
const NOT_EQUAL: u32 = 1;
const BELOW: u32 = 3;
const IS_LESS: u32 = 4;
const IS_AT_MOST: u32 = 9;

/// An instruction on floats: that for one number, and that for each of a vector. Bit 22 says whether numbers have eight bytes.
type OnFloats = [u32; 2];
const ADD: OnFloats = [0x1e20_2800, 0x4e20_d400];
const SUBTRACT: OnFloats = [0x1e20_3800, 0x4ea0_d400];
const MULTIPLY: OnFloats = [0x1e20_0800, 0x6e20_dc00];
const DIVIDE: OnFloats = [0x1e20_1800, 0x6e20_fc00];
const NEGATE: OnFloats = [0x1e21_4000, 0x6ea0_f800];
const ABSOLUTE: OnFloats = [0x1e20_c000, 0x4ea0_f800];
const SQRT: OnFloats = [0x1e21_c000, 0x6ea1_f800];
const COMPARE_EQUAL: OnFloats = [0x5e20_e400, 0x4e20_e400];
const COMPARE_NOT_LESS: OnFloats = [0x7e20_e400, 0x6e20_e400];
/// For one number these have a fourth operand, to which the product is added. Of a vector it is the result.
const PRODUCT_ADDED: OnFloats = [0x1f00_0000, 0x4e20_cc00];
const PRODUCT_SUBTRACTED: OnFloats = [0x1f00_8000, 0x4ea0_cc00];
/// `x y - z`, of one number.
const PRODUCT_LESS: u32 = 0x1f20_8000;
/// Sets the conditions.
const COMPARE: u32 = 0x1e20_2000;
const CHOOSE: u32 = 0x1e20_0c00;
/// Reads a number for each place of a vector.
const REPEAT: u32 = 0x4d40_c800;

// Instructions on all bits of a vector.
const AND: u32 = 0x4e20_1c00;
const OR: u32 = 0x4ea0_1c00;
/// Takes the bits of one operand where those of the result are ones, of another where they are zeros.
const SELECT: u32 = 0x6e60_1c00;

// Instructions that read memory. Without bit 22 they write.
const READ: u32 = 1 << 22;
const READ_BYTE: u32 = 0x3900_0000 | READ;
const READ_POINTER: u32 = 0xf900_0000 | READ;
const READ_FLOATS: u32 = 0x3d00_0000 | READ;
/// The bits in which an instruction on the memory at the sum of two registers differs from one at a distance from a register.
const INDEXED: u32 = 0x0120_6800;
/// The largest such distance, in units of what is read.
const FARTHEST: u32 = 0xfff;

// Instructions on general registers.
const AND_NOT_15: u32 = 0x927c_ec00;
const SHIFT_LEFT: u32 = 0xd340_0000;
const ADDRESS_OF_THIS: u32 = 0x1000_0000;
const ADD_NUMBER: u32 = 0x9100_0000;
const ADD_REGISTERS: u32 = 0x8b00_0000;
const COMPARE_REGISTERS: u32 = 0xeb00_001f;
const COMPARE_WITH_ZERO: u32 = 0x7100_001f;
const DECREMENT: u32 = 0xf100_0400;
const MOVE_REGISTER: u32 = 0xaa00_03e0;
const MOVE_NUMBER: u32 = 0xd280_0000;
const CHANGE_NUMBER: u32 = 0xf280_0000;
const ONE_IF_NOT: u32 = 0x1a9f_07e0;
const JUMP: u32 = 0x1400_0000;
const JUMP_IF: u32 = 0x5400_0000;
const CALL: u32 = 0xd63f_0000;
const RETURN: u32 = 0xd65f_03c0;
/// Where functions that are called by their address begin.
const BEGIN: u32 = 0xd503_245f;

/// Saves x19 to x21 and the address to which the function returns, and the reverse.
const SAVE: [u32; 4] = [0xa9bd_7bfd, 0x9100_03fd, 0xa901_53f3, 0xf900_13f5];
const RESTORE: [u32; 3] = [0xf940_13f5, 0xa941_53f3, 0xa8c3_7bfd];
/// Saves x21 alone, and the reverse.
const SAVE_ONE: u32 = 0xf81f_0ff5;
const RESTORE_ONE: u32 = 0xf841_07f5;

/// The register of this number. What is in v8 to v15 belongs to the caller.
fn vector(register: u8) -> u32 {
    let register = u32::from(register);
    if register < 8 { register } else { register + 8 }
}

impl Assembler<Arm> {
    fn word(&mut self, word: u32) {
        self.code.extend(word.to_le_bytes());
    }

    /// The bytes of what is read or written, as a shift.
    fn size(&self) -> u32 {
        if self.width == Width::One { self.shift().into() } else { 4 }
    }

    /// An operation on one number, or on each of a vector.
    fn op(&mut self, [one, all]: OnFloats, to: u8, x: u8, y: u8) {
        let own = if self.width == Width::One { one } else { all };
        self.word(own | u32::from(self.is_double()) << 22 | vector(y) << 16 | vector(x) << 5 | vector(to));
    }

    /// An operation of one operand, whose bits of a second one are part of what it is.
    fn op_of_one(&mut self, own: OnFloats, to: u8, x: u8) {
        self.op(own, to, x, 0);
    }

    /// An operation on all bits.
    fn logic(&mut self, own: u32, to: u8, x: u8, y: u8) {
        self.word(own | vector(y) << 16 | vector(x) << 5 | vector(to));
    }

    /// Writes a number of so many bits, in steps of 16, to a general register.
    fn number(&mut self, register: u32, number: u64, bits: u32) {
        self.word(MOVE_NUMBER | (number as u32 & 0xffff) << 5 | register);
        for half in 1..bits / 16 {
            self.word(CHANGE_NUMBER | half << 21 | ((number >> (16 * half)) as u32 & 0xffff) << 5 | register);
        }
    }

    /// Reads or writes what begins so many bytes after an address.
    fn memory(&mut self, own: u32, size: u32, register: u32, base: u32, at: u32) {
        if at.is_multiple_of(1 << size) && at >> size <= FARTHEST {
            self.word(own | (at >> size) << 10 | base << 5 | register);
        } else {
            self.number(X16, at.into(), 32);
            self.word((own ^ INDEXED) | X16 << 16 | base << 5 | register);
        }
    }

    /// Reads numbers, or writes them, as `own` says.
    fn floats(&mut self, own: u32, register: u8, place: Place) {
        let size = self.size();
        // Two bits of the size are in one place, the third in another.
        let own = own | (size & 3) << 30 | (size >> 2) << 23;
        let register = vector(register);
        match place {
            Place::Cell(at) => self.memory(own, size, register, CELLS, at),
            Place::Constant(bits) => {
                let at = self.constant(bits) * Arm::VECTOR;
                self.memory(own, size, register, CONSTANTS, at as u32);
            }
            Place::Elements(array) => {
                let pointer = self.pointer(array);
                self.word((own ^ INDEXED) | INDEX << 16 | pointer << 5 | register);
            }
            Place::One(array) => {
                self.load_pointer(X17, array);
                self.memory(own, size, register, X17, 0);
            }
            Register(_) => unreachable!("it is in memory"),
        }
    }

    /// The register with the address of an array.
    fn pointer(&mut self, array: Address) -> u32 {
        let pointer = POINTERS.start + self.number_of(array) as u32;
        if POINTERS.contains(&pointer) {
            return pointer;
        }
        self.load_pointer(X17, array);
        X17
    }

    /// Reads the address of an array from the list.
    fn load_pointer(&mut self, register: u32, array: Address) {
        self.memory(READ_POINTER, 3, register, X1, 8 * array);
    }

    /// The register of a place, into which a constant is read first.
    fn in_register(&mut self, place: Place, k: usize) -> u8 {
        let Register(register) = place else {
            Arm::load(self, LITERALS[k], place);
            return LITERALS[k];
        };
        register
    }

    /// `x y - z`, rounded once. Of a vector, the result is in the register of none of the factors.
    fn product_less(&mut self, to: u8, [x, y, z]: [u8; 3]) {
        if self.width == Width::One {
            self.op([PRODUCT_LESS | vector(z) << 10; 2], to, x, y);
        } else {
            self.op_of_one(NEGATE, to, z);
            self.op(PRODUCT_ADDED, to, x, y);
        }
    }

    /// The address of the constants is in its register from here on.
    fn find_constants(&mut self) {
        self.distance(0);
        self.word(ADDRESS_OF_THIS | CONSTANTS);
        self.number(X17, 0, 32);
        self.word(ADD_REGISTERS | X17 << 16 | CONSTANTS << 5 | CONSTANTS);
    }

    /// A jump to code that is there if a condition holds.
    fn jump_back(&mut self, condition: u32, to: usize) {
        let distance = |code: &[u8]| (to as i64 - code.len() as i64) / 4;
        if distance(&self.code) > -(1 << 18) {
            let distance = distance(&self.code) as u32 & 0x7_ffff;
            self.word(JUMP_IF | distance << 5 | condition);
        } else {
            // The opposite condition differs in the last bit.
            self.word(JUMP_IF | 2 << 5 | condition ^ 1);
            let distance = distance(&self.code) as u32 & 0x3ff_ffff;
            self.word(JUMP | distance);
        }
    }

    /// Compares the index with where a loop ends.
    fn compare_index(&mut self, end: End) {
        let end = match end {
            End::OfWholeVectors => WHOLE,
            End::OfAll => X0,
        };
        self.word(COMPARE_REGISTERS | end << 16 | INDEX << 5);
    }
}

impl Processor for Arm {
    const REGISTERS: u8 = 19;
    const SCRATCH: [u8; 2] = [19, 20];
    const READS_MEMORY: bool = false;
    const VECTOR: usize = 16;
    const FILLER: u8 = 0;

    fn bytes(width: Width, float: Float) -> u8 {
        match (width, float) {
            (Width::One, Float::F32) => 4,
            (Width::One, Float::F64) => 8,
            _ => 16,
        }
    }

    fn load(all: &mut Assembler<Arm>, register: u8, place: Place) {
        match place {
            Place::One(array) if all.width != Width::One => {
                all.load_pointer(X17, array);
                all.word(REPEAT | u32::from(all.is_double()) << 10 | X17 << 5 | vector(register));
            }
            Register(from) if from == register => {}
            Register(from) => all.logic(OR, register, from, from),
            _ => all.floats(READ_FLOATS, register, place),
        }
    }

    fn store(all: &mut Assembler<Arm>, register: u8, place: Place) {
        all.floats(READ_FLOATS ^ READ, register, place);
    }

    fn read_late(operation: Operation, places: &[Place; 3]) -> [bool; 3] {
        match operation {
            Operation::Select => [false, places[2] != ZERO, places[2] != ZERO],
            Operation::MultiplySubtract => [true, true, false],
            _ => [false; 3],
        }
    }

    fn operate(all: &mut Assembler<Arm>, operation: Operation, to: u8, places: &[Place; 3]) {
        let reads = match operation {
            Operation::Negate | Operation::Absolute | Operation::Sqrt => 1,
            Operation::MultiplySubtract => 3,
            Operation::Select if places[2] != ZERO => 3,
            _ => 2,
        };
        let mut from = [0; 3];
        for (k, own) in from[..reads].iter_mut().enumerate() {
            *own = all.in_register(places[k], k);
        }
        let [x, y, z] = from;
        match operation {
            Operation::Add => all.op(ADD, to, x, y),
            Operation::Subtract => all.op(SUBTRACT, to, x, y),
            Operation::Multiply => all.op(MULTIPLY, to, x, y),
            Operation::Divide => all.op(DIVIDE, to, x, y),
            Operation::Negate => all.op_of_one(NEGATE, to, x),
            Operation::Absolute => all.op_of_one(ABSOLUTE, to, x),
            Operation::Sqrt => all.op_of_one(SQRT, to, x),
            Operation::MultiplySubtract => all.product_less(to, from),
            Operation::IsEqual => all.op(COMPARE_EQUAL, to, x, y),
            Operation::IsAtMost => all.op(COMPARE_NOT_LESS, to, y, x),
            Operation::Select if places[2] == ZERO => all.logic(AND, to, x, y),
            Operation::Select => {
                Arm::load(all, to, Register(x));
                all.logic(SELECT, to, y, z);
            }
        }
    }

    fn fused(all: &mut Assembler<Arm>, sum: Contracted, to: u8, x: u8, y: Place) {
        let y = all.in_register(y, 1);
        let [one, vectors] = match sum {
            Contracted::Add => PRODUCT_ADDED,
            Contracted::SubtractFrom => PRODUCT_SUBTRACTED,
            Contracted::Subtract => {
                let [result, ..] = LITERALS;
                all.product_less(result, [x, y, to]);
                return Arm::load(all, to, Register(result));
            }
        };
        all.op([one | vector(to) << 10, vectors], to, x, y);
    }

    fn compare(all: &mut Assembler<Arm>, x: Place, y: u8, or_equal: bool, to: Address) {
        let x = all.in_register(x, 0);
        all.op([COMPARE; 2], 0, x, y);
        let condition = if or_equal { IS_AT_MOST } else { IS_LESS };
        all.word(ONE_IF_NOT | (condition ^ 1) << 12 | X17);
        all.memory(READ_BYTE ^ READ, 0, X17, CELLS, to);
    }

    fn select(all: &mut Assembler<Arm>, [x, y, z]: [Address; 3], next: [u32; 3], to: Address, fate: Fate) {
        let second = all.operand(Place::Cell(y), next[1], true, &[]);
        let third = if z == y { second } else { all.operand(Place::Cell(z), next[2], true, &[second]) };
        let result = all.result([second, third]);
        let (y, z) = (all.in_register(second, 1), all.in_register(third, 2));
        all.memory(READ_BYTE, 0, X17, CELLS, x);
        all.word(COMPARE_WITH_ZERO | X17 << 5);
        all.op([CHOOSE | NOT_EQUAL << 12; 2], result, y, z);
        all.write(result, to, fate);
    }

    fn call(all: &mut Assembler<Arm>, function: usize, argument: usize) {
        all.number(X0, argument as u64, 64);
        all.word(MOVE_REGISTER | CELLS << 16 | X1);
        all.number(X16, function as u64, 64);
        all.word(CALL | X16 << 5);
    }

    fn begin_numbers(all: &mut Assembler<Arm>) {
        all.word(BEGIN);
        SAVE.into_iter().for_each(|word| all.word(word));
        all.word(MOVE_REGISTER | X0 << 16 | CELLS);
        all.word(MOVE_REGISTER | X1 << 16 | TIMES);
        all.find_constants();
    }

    fn end_numbers(all: &mut Assembler<Arm>, size: Address, begin: usize) {
        all.word(ADD_NUMBER | size << 10 | CELLS << 5 | CELLS);
        all.word(DECREMENT | TIMES << 5 | TIMES);
        all.jump_back(NOT_EQUAL, begin);
        RESTORE.into_iter().for_each(|word| all.word(word));
        all.word(RETURN);
    }

    fn begin_tiles(all: &mut Assembler<Arm>) {
        all.word(BEGIN);
        all.word(SAVE_ONE);
        for (register, array) in POINTERS.zip(all.arrays.clone()) {
            all.load_pointer(register, array);
        }
        all.find_constants();
    }

    fn count(all: &mut Assembler<Arm>) {
        let shift = u32::from(all.shift());
        all.word(SHIFT_LEFT | (64 - shift) << 16 | (63 - shift) << 10 | X0 << 5 | X0);
        all.word(AND_NOT_15 | X0 << 5 | WHOLE);
        all.number(INDEX, 0, 16);
    }

    fn skip(all: &mut Assembler<Arm>, end: End) -> usize {
        all.compare_index(end);
        all.word(JUMP_IF | 2 << 5 | BELOW);
        all.word(JUMP);
        all.code.len() - 4
    }

    fn repeat(all: &mut Assembler<Arm>, end: End, begin: usize) {
        let bytes = u32::from(Arm::bytes(all.width, all.float));
        all.word(ADD_NUMBER | bytes << 10 | INDEX << 5 | INDEX);
        all.compare_index(end);
        all.jump_back(BELOW, begin);
    }

    fn mask(_: &mut Assembler<Arm>) {
        unreachable!("no vectors have masks");
    }

    fn end_tiles(all: &mut Assembler<Arm>) {
        all.word(RESTORE_ONE);
        all.word(RETURN);
    }

    fn land(all: &mut Assembler<Arm>, jump: usize) {
        let distance = ((all.code.len() - jump) / 4) as u32;
        all.code[jump..jump + 4].copy_from_slice(&(JUMP | distance).to_le_bytes());
    }

    fn link(code: &mut [u8], at: usize, constant: usize) {
        // The two halves of the distance are in the instructions that come next.
        let distance = (constant - at) as u32;
        for (half, word) in [distance & 0xffff, distance >> 16].into_iter().zip(code[at + 4..].chunks_mut(4))
        {
            let own = u32::from_le_bytes(word.try_into().expect("an instruction has four bytes"));
            word.copy_from_slice(&(own | half << 5).to_le_bytes());
        }
    }
}
