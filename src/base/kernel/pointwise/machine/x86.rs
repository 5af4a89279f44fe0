//! Instructions of x86-64 processors with AVX2 or AVX-512, which have AVX's three operands. Each has its operands in the order of
//! the formula, so that results have the bits of the loops, also those of NaN.
//!
//! Encodings: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

use super::assembler::Place::Register;
use super::assembler::{Assembler, Contracted, End, Held, Place, Processor, Width, ZERO};
use super::fates::{Fate, NEVER};
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::Address;
use crate::kernel::pointwise::terms::Operation;

pub struct X86;

const SCRATCH: u8 = 14;
const MASK: u8 = 15;
/// A mask register.
const K2: u8 = 2;
/// No register, where an instruction has fewer operands.
const NONE: u8 = 0;

// General registers.
const RAX: u8 = 0;
const RCX: u8 = 1;
const RDX: u8 = 2;
const RBX: u8 = 3;
const RBP: u8 = 5;
const RSI: u8 = 6;
/// These registers have the addresses of the first arrays. The addresses of others are read from the list each time.
const POINTERS: [u8; 10] = [RDX, 8, 9, 10, RBX, RBP, 12, 13, 14, 15];

// Comparisons. None of them holds for NaN.
const IS_EQUAL: u8 = 0;
const IS_AT_MOST: u8 = 0x12;

// The conditions of jumps.
const BELOW: u8 = 0x82;
const NOT_BELOW: u8 = 0x83;
const NOT_ZERO: u8 = 0x85;

// The opcodes of operations on floats.
const LOAD: u8 = 0x10;
const STORE: u8 = 0x11;
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

/// endbr64, which is where functions that are called by their address begin.
const BEGIN: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// Which instruction of the processor it is: the map of opcodes, the prefix (0 to 3 for none, 0x66, 0xf3 and 0xf2), the opcode, and whether
/// the numbers have eight bytes.
type Opcode = (u8, u8, u8, bool);

impl Assembler<X86> {
    /// The register with the address of an array.
    fn pointer(&mut self, array: Address) -> u8 {
        POINTERS.get(self.number_of(array)).copied().unwrap_or_else(|| {
            self.load_pointer(RCX, array);
            RCX
        })
    }

    /// Reads the address of an array from the list.
    fn load_pointer(&mut self, register: u8, array: Address) {
        // mov register, [rsi + 8 * array]
        self.code.extend([0x48 | register >> 3 << 2, 0x8b, 0x80 | (register & 7) << 3 | RSI]);
        self.code.extend((8 * array).to_le_bytes());
    }

    /// The registers with addresses of arrays that a function has to leave as they were.
    fn saved(&self) -> impl DoubleEndedIterator<Item = u8> + use<> {
        let used = POINTERS.into_iter().take(self.arrays.len()).collect::<Vec<u8>>();
        used.into_iter().filter(|r| [RBX, RBP, 12, 13, 14, 15].contains(r))
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
            Width::One | Width::Vector => {
                let is_vector = u8::from(self.width == Width::Vector) << 2;
                // In the first map this bit says nothing, and valgrind knows it as zero only.
                let is_double = u8::from(is_double && map > 1) << 7;
                self.code.extend([0xc4, registers | map, is_double | first | is_vector | prefix, opcode]);
            }
            Width::Wide | Width::Masked => {
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
                let constant = self.constant(bits);
                self.distance(constant);
                self.code.extend([0; 4]);
            }
        }
    }

    /// An operation on one number, or on each of a vector.
    fn op(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        let of_one = if self.width == Width::One { 2 } else { 0 };
        let is_double = self.is_double();
        self.encode((1, of_one | u8::from(is_double), opcode, is_double), to, first, place);
    }

    /// An operation on all bits.
    fn logic(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
        self.encode((1, 0, opcode, false), to, first, place);
    }

    fn sqrt(&mut self, to: u8, from: u8) {
        // The instruction for one number copies the rest of the register from a further operand.
        self.op(SQRT, to, if self.width == Width::One { from } else { NONE }, Register(from));
    }

    fn is_wide(&self) -> bool {
        matches!(self.width, Width::Wide | Width::Masked)
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
    fn contracted_as(&mut self, opcode: u8, to: u8, first: u8, place: Place) {
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

    /// The register of a place, which is `to` if it was in none.
    fn in_register(&mut self, place: Place, to: u8) -> u8 {
        let Register(register) = place else {
            X86::load(self, to, place);
            return to;
        };
        register
    }

    /// Compares the index, which is how many bytes further on the next elements are, with the last one.
    fn compare_index(&mut self, end: End) {
        self.code.extend(match end {
            // cmp rax, r11
            End::OfWholeVectors => [0x4c, 0x39, 0xd8],
            // cmp rax, rdi
            End::OfAll => [0x48, 0x39, 0xf8],
        });
    }

    /// A jump to code that is there if a condition holds: the last byte of the opcode.
    fn jump_back(&mut self, condition: u8, to: usize) {
        self.code.extend([0x0f, condition]);
        let distance = to as i64 - (self.code.len() as i64 + 4);
        self.code.extend((distance as i32).to_le_bytes());
    }

    /// A jump if a condition holds, to code that follows: where its distance is.
    fn jump(&mut self, condition: u8) -> usize {
        self.code.extend([0x0f, condition, 0, 0, 0, 0]);
        self.code.len() - 4
    }
}

impl Processor for X86 {
    const REGISTERS: u8 = SCRATCH;
    const SCRATCH: [u8; 2] = [SCRATCH, MASK];
    const READS_MEMORY: bool = true;
    const VECTOR: usize = 64;
    const FILLER: u8 = 0xcc;

    fn bytes(width: Width, float: Float) -> u8 {
        match (width, float) {
            (Width::One, Float::F32) => 4,
            (Width::One, Float::F64) => 8,
            (Width::Vector, _) => 32,
            (Width::Wide | Width::Masked, _) => 64,
        }
    }

    fn load(all: &mut Assembler<X86>, register: u8, place: Place) {
        match place {
            Place::One(_) if all.width != Width::One => {
                let opcode = match all.float {
                    Float::F32 => (2, 1, BROADCAST_SINGLE, false),
                    Float::F64 => (2, 1, BROADCAST_DOUBLE, all.is_wide()),
                };
                all.encode(opcode, register, NONE, place);
            }
            Register(from) if from == register => {}
            Register(_) => all.logic(MOVE, register, NONE, place),
            _ => all.op(LOAD, register, NONE, place),
        }
    }

    fn store(all: &mut Assembler<X86>, register: u8, place: Place) {
        all.op(STORE, register, NONE, place);
    }

    fn read_late(operation: Operation, places: &[Place; 3]) -> [bool; 3] {
        match operation {
            Operation::Select => [places[2] != ZERO; 3],
            Operation::MultiplySubtract => places.map(|place| place != places[0]),
            Operation::IsEqual | Operation::IsAtMost => [true; 3],
            _ => [!matches!(places[0], Register(_)); 3],
        }
    }

    fn operate(all: &mut Assembler<X86>, operation: Operation, to: u8, places: &[Place; 3]) {
        let first = all.in_register(places[0], to);
        match operation {
            Operation::Add => all.op(ADD, to, first, places[1]),
            Operation::Subtract => all.op(SUBTRACT, to, first, places[1]),
            Operation::Multiply => all.op(MULTIPLY, to, first, places[1]),
            Operation::Divide => all.op(DIVIDE, to, first, places[1]),
            Operation::Negate => all.logic(XOR, to, first, all.bits(1 << 31, 1 << 63)),
            Operation::Absolute => all.logic(AND, to, first, all.bits(!(1 << 31), !(1 << 63))),
            Operation::Sqrt => all.sqrt(to, first),
            Operation::MultiplySubtract => {
                X86::load(all, to, places[0]);
                let Register(second) = places[1] else { unreachable!("it is in a register") };
                all.contracted_as(MULTIPLY_SUBTRACT, to, second, places[2]);
            }
            Operation::IsEqual | Operation::IsAtMost => {
                let second = all.in_register(places[1], to);
                let comparison = if operation == Operation::IsEqual { IS_EQUAL } else { IS_AT_MOST };
                all.compare_bits(comparison, to, first, second);
            }
            Operation::Select if places[2] == ZERO => all.logic(AND, to, first, places[1]),
            // The bits in which both differ are taken where it holds.
            Operation::Select => {
                let Register(y) = places[2] else { unreachable!("it is in a register") };
                all.logic(XOR, to, y, places[1]);
                all.logic(AND, to, to, Register(first));
                all.logic(XOR, to, to, Register(y));
            }
        }
    }

    fn fused(all: &mut Assembler<X86>, sum: Contracted, to: u8, x: u8, y: Place) {
        let opcode = match sum {
            Contracted::Add => 0xb8,
            Contracted::Subtract => 0xba,
            Contracted::SubtractFrom => 0xbc,
        };
        all.contracted_as(opcode, to, x, y);
    }

    fn compare(all: &mut Assembler<X86>, x: Place, y: u8, or_equal: bool, to: Address) {
        let is_double = all.is_double();
        all.encode((1, u8::from(is_double), COMPARE, is_double), y, NONE, x);
        // seta al, or setae al; mov [to], al
        all.code.extend([0x0f, if or_equal { 0x93 } else { 0x97 }, 0xc0]);
        all.general(false, &[0x88], RAX, to);
    }

    fn select(all: &mut Assembler<X86>, [x, y, z]: [Address; 3], next: [u32; 3], to: Address, fate: Fate) {
        let is_double = all.is_double();
        all.store([y, z]);
        // mov eax, [z]; cmp byte [x], 0; cmovne eax, [y]; mov [to], eax
        all.general(is_double, &[0x8b], RAX, z);
        all.general(false, &[0x80], 7, x);
        all.code.push(0);
        all.general(is_double, &[0x0f, 0x45], RAX, y);
        all.general(is_double, &[0x89], RAX, to);
        for (cell, next) in [(y, next[1]), (z, next[2])] {
            if let Some(register) = all.find(cell).filter(|&r| r < all.free) {
                let held = Held { address: cell, float: all.float, next, is_stored: true };
                all.held[register as usize] = (next != NEVER).then_some(held);
            }
        }
        all.forget(to);
        if fate.next != NEVER {
            // movd register, eax
            let register = all.take(&[]);
            let extension = 0x40 | u8::from(is_double) << 3 | register >> 3 << 2;
            all.code.extend([0x66, extension, 0x0f, 0x6e, 0xc0 | (register & 7) << 3]);
            all.held[register as usize] =
                Some(Held { address: to, float: all.float, next: fate.next, is_stored: true });
        }
    }

    fn call(all: &mut Assembler<X86>, function: usize, argument: usize) {
        // mov rdi, argument; mov rsi, rbx; mov rax, function; call rax
        all.code.extend([0x48, 0xbf]);
        all.code.extend((argument as u64).to_le_bytes());
        all.code.extend([0x48, 0x89, 0xde, 0x48, 0xb8]);
        all.code.extend((function as u64).to_le_bytes());
        all.code.extend([0xff, 0xd0]);
    }

    fn begin_numbers(all: &mut Assembler<X86>) {
        all.code.extend(BEGIN);
        // push rbx; push r12; sub rsp, 8; mov rbx, rdi; mov r12, rsi
        all.code.extend([0x53, 0x41, 0x54, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4]);
    }

    fn end_numbers(all: &mut Assembler<X86>, size: Address, begin: usize) {
        // add rbx, size; dec r12; jnz begin
        all.code.extend([0x48, 0x81, 0xc3]);
        all.code.extend(size.to_le_bytes());
        all.code.extend([0x49, 0xff, 0xcc]);
        all.jump_back(NOT_ZERO, begin);
        // add rsp, 8; pop r12; pop rbx; ret
        all.code.extend([0x48, 0x83, 0xc4, 0x08, 0x41, 0x5c, 0x5b, 0xc3]);
    }

    fn begin_tiles(all: &mut Assembler<X86>) {
        all.code.extend(BEGIN);
        for r in all.saved() {
            // push
            all.code.extend([0x40 | r >> 3, 0x50 | r & 7]);
        }
        for (register, array) in POINTERS.into_iter().zip(all.arrays.clone()) {
            all.load_pointer(register, array);
        }
    }

    fn count(all: &mut Assembler<X86>) {
        // shl rdi, shift; mov r11, rdi; and r11, -bytes; xor eax, eax
        let bytes = X86::bytes(all.width, all.float).wrapping_neg();
        all.code.extend([0x48, 0xc1, 0xe7, all.shift()]);
        all.code.extend([0x49, 0x89, 0xfb, 0x49, 0x83, 0xe3, bytes, 0x31, 0xc0]);
    }

    fn skip(all: &mut Assembler<X86>, end: End) -> usize {
        all.compare_index(end);
        all.jump(NOT_BELOW)
    }

    fn repeat(all: &mut Assembler<X86>, end: End, begin: usize) {
        // add rax, bytes
        all.code.extend([0x48, 0x83, 0xc0, X86::bytes(all.width, all.float)]);
        all.compare_index(end);
        all.jump_back(BELOW, begin);
    }

    fn mask(all: &mut Assembler<X86>) {
        // mov rcx, rdi; sub rcx, rax; shr rcx, shift; mov r11d, -1; bzhi r11d, r11d, ecx; kmovw k1, r11d
        all.code.extend([0x48, 0x89, 0xf9, 0x48, 0x29, 0xc1, 0x48, 0xc1, 0xe9, all.shift()]);
        all.code.extend([0x41, 0xbb, 0xff, 0xff, 0xff, 0xff, 0xc4, 0x42, 0x70, 0xf5, 0xdb]);
        all.code.extend([0xc4, 0xc1, 0x78, 0x92, 0xcb]);
    }

    fn end_tiles(all: &mut Assembler<X86>) {
        // vzeroupper
        all.code.extend([0xc5, 0xf8, 0x77]);
        for r in all.saved().rev() {
            // pop
            all.code.extend([0x40 | r >> 3, 0x58 | r & 7]);
        }
        all.code.push(0xc3);
    }

    fn land(all: &mut Assembler<X86>, jump: usize) {
        let distance = (all.code.len() - (jump + 4)) as u32;
        all.code[jump..jump + 4].copy_from_slice(&distance.to_le_bytes());
    }

    fn link(code: &mut [u8], at: usize, constant: usize) {
        // The distance stands at the end of its instruction.
        let distance = (constant - (at + 4)) as u32;
        code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
    }
}
