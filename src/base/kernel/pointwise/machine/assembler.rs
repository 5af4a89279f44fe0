//! Which register has which number, and the walk over the operations of formulas. What an instruction of the processor looks like
//! is written in a file for each kind of processor.

use std::marker::PhantomData;

use smallvec::{SmallVec, smallvec};

use super::fates::{Fate, NEVER};
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::Address;
use crate::kernel::pointwise::terms::{Operation, Source};

/// Where an operand of a processor's instruction is.
#[derive(Clone, Copy, PartialEq)]
pub enum Place {
    Register(u8),
    /// A number in memory: it begins so many bytes after the address of the cells.
    Cell(Address),
    /// The next elements of the array of this address.
    Elements(Address),
    /// The one number at this address.
    One(Address),
    /// Numbers behind the code: these eight bytes, as often as they go into a vector.
    Constant(u64),
}
use Place::Register;

pub const ZERO: Place = Place::Constant(0);

/// No processor has more registers for results.
const MOST: usize = 32;

/// The number that is in a register.
#[derive(Clone, Copy)]
pub struct Held {
    /// Its address in memory.
    pub address: Address,
    pub float: Float,
    /// The next instruction that reads it.
    pub next: u32,
    /// Whether it is in memory too.
    pub is_stored: bool,
}

/// How many numbers an instruction of the processor computes with.
#[derive(Clone, Copy, PartialEq)]
pub enum Width {
    One,
    /// The numbers in a vector that all processors of the kind have.
    Vector,
    /// The numbers in 64 bytes.
    Wide,
    /// Those of the numbers in 64 bytes that a mask chooses.
    Masked,
}

/// How a product is added to a number.
#[derive(Clone, Copy)]
pub enum Contracted {
    /// `x y + z`.
    Add,
    /// `x y - z`.
    Subtract,
    /// `z - x y`.
    SubtractFrom,
}

/// Where a loop over elements ends.
#[derive(Clone, Copy)]
pub enum End {
    OfWholeVectors,
    OfAll,
}

/// A kind of processor.
pub trait Processor: Sized {
    /// How many registers are for results. They have the first numbers.
    const REGISTERS: u8;
    /// Registers for numbers that are no result of an instruction.
    const SCRATCH: [u8; 2];
    /// Whether an operation may read its second operand from memory.
    const READS_MEMORY: bool;
    /// The bytes of the widest vector.
    const VECTOR: usize;
    /// The byte between functions, of an instruction that stops the process.
    const FILLER: u8;

    /// The bytes of the numbers that an instruction computes with.
    fn bytes(width: Width, float: Float) -> u8;
    /// Reads a number, which becomes a whole vector if it is one for all elements.
    fn load(all: &mut Assembler<Self>, register: u8, place: Place);
    fn store(all: &mut Assembler<Self>, register: u8, place: Place);
    /// Which operands an operation reads after it has written to the register of the result.
    fn read_late(operation: Operation, places: &[Place; 3]) -> [bool; 3];
    /// Computes an operation. The first operand is in a register or a constant.
    fn operate(all: &mut Assembler<Self>, operation: Operation, to: u8, places: &[Place; 3]);
    /// Adds a product to the number of a register, rounded once.
    fn fused(all: &mut Assembler<Self>, sum: Contracted, to: u8, x: u8, y: Place);
    /// Writes to a cell whether `x < y`, or whether `x ≤ y`.
    fn compare(all: &mut Assembler<Self>, x: Place, y: u8, or_equal: bool, to: Address);
    /// Chooses the second operand where the truth value, which is the first, holds, else the third. All are in cells.
    fn select(all: &mut Assembler<Self>, from: [Address; 3], next: [u32; 3], to: Address, fate: Fate);
    /// Calls a function with two arguments, the second of which is the address of the cells.
    fn call(all: &mut Assembler<Self>, function: usize, argument: usize);

    /// Begins a function that is given the address of cells and how many times it computes with them.
    fn begin_numbers(all: &mut Assembler<Self>);
    /// The code from `begin` on runs again, with the cells so many bytes further on, as long as times are left. Then the function ends.
    fn end_numbers(all: &mut Assembler<Self>, size: Address, begin: usize);

    /// Begins a function that is given a number of elements and a list of addresses, of which it uses those in
    /// [`Assembler::arrays`].
    fn begin_tiles(all: &mut Assembler<Self>);
    /// Computes where loops over the elements end, for whole vectors of the width that is set.
    fn count(all: &mut Assembler<Self>);
    /// Jumps to code that follows if no elements are left: what [`Processor::land`] is told.
    fn skip(all: &mut Assembler<Self>, end: End) -> usize;
    /// Goes on to the next elements, and jumps back if there are some.
    fn repeat(all: &mut Assembler<Self>, end: End, begin: usize);
    /// Makes the mask that chooses the elements that are left.
    fn mask(all: &mut Assembler<Self>);
    fn end_tiles(all: &mut Assembler<Self>);
    /// What comes next is where a jump leads to.
    fn land(all: &mut Assembler<Self>, jump: usize);
    /// Writes to the code at `at` how far from there a constant is.
    fn link(code: &mut [u8], at: usize, constant: usize);
}

pub struct Assembler<P> {
    pub code: Vec<u8>,
    pub float: Float,
    pub width: Width,
    /// Whether addresses are those of arrays, or those of cells behind one base.
    has_arrays: bool,
    pub held: [Option<Held>; MOST],
    /// How many of the registers may get other numbers.
    pub free: u8,
    /// The arrays that a function uses, in the order of their first use.
    pub arrays: Vec<Address>,
    /// The numbers behind the code, and where in the code the distance to one of them stands.
    constants: Vec<u64>,
    distances: Vec<(usize, usize)>,
    processor: PhantomData<P>,
}

impl<P: Processor> Assembler<P> {
    pub fn new(has_arrays: bool) -> Assembler<P> {
        Assembler {
            code: vec![],
            float: Float::F64,
            width: Width::One,
            has_arrays,
            held: [None; MOST],
            free: P::REGISTERS,
            arrays: vec![],
            constants: vec![],
            distances: vec![],
            processor: PhantomData,
        }
    }

    /// Takes back what was written from there on.
    pub fn truncate(&mut self, length: usize) {
        self.code.truncate(length);
        self.distances.retain(|&(at, _)| at < length);
    }

    /// The code with its constants.
    pub fn finish(mut self) -> Vec<u8> {
        let begin = self.code.len().next_multiple_of(P::VECTOR);
        self.code.resize(begin, P::FILLER);
        for constant in self.constants {
            self.code.extend(constant.to_le_bytes().repeat(P::VECTOR / size_of::<u64>()));
        }
        for (at, constant) in self.distances {
            P::link(&mut self.code, at, begin + constant * P::VECTOR);
        }
        self.code
    }

    /// The number of an array among those that the function uses.
    pub fn number_of(&mut self, array: Address) -> usize {
        self.arrays.iter().position(|&other| other == array).unwrap_or_else(|| {
            self.arrays.push(array);
            self.arrays.len() - 1
        })
    }

    /// The number of a constant behind the code.
    pub fn constant(&mut self, bits: u64) -> usize {
        self.constants.iter().position(|&other| other == bits).unwrap_or_else(|| {
            self.constants.push(bits);
            self.constants.len() - 1
        })
    }

    /// What comes next in the code is the distance to a constant.
    pub fn distance(&mut self, constant: usize) {
        self.distances.push((self.code.len(), constant));
    }

    /// Bits of each number: those for the type of the numbers.
    pub fn bits(&self, single: u32, double: u64) -> Place {
        Place::Constant(match self.float {
            Float::F32 => u64::from(single) << 32 | u64::from(single),
            Float::F64 => double,
        })
    }

    /// How many bits the index of a number is shifted to be that of its first byte.
    pub fn shift(&self) -> u8 {
        match self.float {
            Float::F32 => 2,
            Float::F64 => 3,
        }
    }

    pub fn is_double(&self) -> bool {
        self.float == Float::F64
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
            self.write_back(register, held);
        }
        register
    }

    /// An operand of an instruction. If it is read again, or has to be in a register, it is in one from now on.
    pub fn operand(&mut self, place: Place, next: u32, is_in_register: bool, others: &[Place]) -> Place {
        let (Place::Cell(address) | Place::Elements(address) | Place::One(address)) = place else {
            return place;
        };
        let is_repeated = self.width != Width::One && matches!(place, Place::One(_));
        let (register, is_stored) = match self.find(address) {
            Some(register) => (register, self.held[register as usize].is_none_or(|held| held.is_stored)),
            None if P::READS_MEMORY && next == NEVER && !is_in_register && !is_repeated => return place,
            None => {
                let register = self.take(others);
                P::load(self, register, place);
                (register, true)
            }
        };
        if register < self.free {
            self.held[register as usize] =
                (next != NEVER).then_some(Held { address, float: self.float, next, is_stored });
        }
        Register(register)
    }

    /// A register for the result of an instruction with these operands.
    pub fn result(&mut self, others: [Place; 2]) -> u8 {
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

    /// Writes a number that is in a register alone to memory. It may have another type than those that are computed now.
    fn write_back(&mut self, register: u8, held: Held) {
        let float = std::mem::replace(&mut self.float, held.float);
        P::store(self, register, self.home(held.address));
        self.float = float;
    }

    /// Writes the number of a register to an address, if it has to be in memory.
    pub fn write(&mut self, register: u8, address: Address, fate: Fate) {
        self.forget(address);
        if fate.is_stored {
            P::store(self, register, self.home(address));
        }
        let held = Held { address, float: self.float, next: fate.next, is_stored: fate.is_stored };
        self.held[register as usize] = (fate.next != NEVER).then_some(held);
    }

    /// No register has the number of this address any more.
    pub fn forget(&mut self, address: Address) {
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
        let mut registers: SmallVec<[u8; 4]> = smallvec![result, P::SCRATCH[0], P::SCRATCH[1]];
        let mut made: SmallVec<[Place; 16]> = smallvec![];
        for (i, (operation, from)) in nodes.iter().enumerate() {
            let place = |source: Source| match source {
                // A later result is in no register yet.
                Source::Made(k) => made.get(k).copied().unwrap_or(ZERO),
                Source::Operand(k) => [x, y][k],
                Source::Literal(v) => self.bits((v as f32).to_bits(), v.to_bits()),
            };
            let places =
                if P::READS_MEMORY { in_register_first(*operation, *from) } else { *from }.map(place);
            let later = nodes[i + 1..].iter().flat_map(|(_, from)| from.map(place));
            let late = places.into_iter().zip(P::read_late(*operation, &places));
            let late = late.filter_map(|(place, is_late)| is_late.then_some(place));
            let kept: SmallVec<[Place; 16]> = later.chain(late).collect();
            // The result comes last, so that the register of an operand is not written before.
            let first = usize::from(i + 1 < nodes.len());
            let mut known = registers[first..].iter().chain(&registers[..first]);
            let to = known.find(|&&r| !kept.contains(&Register(r))).copied().unwrap_or_else(|| {
                let others = registers.iter().map(|&r| Register(r)).chain([x, y]);
                let another = self.take(&others.collect::<SmallVec<[Place; 8]>>());
                registers.push(another);
                another
            });
            P::operate(self, *operation, to, &places);
            made.push(Register(to));
        }
        P::load(self, result, made[nodes.len() - 1]);
        self.write(result, to, fate);
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
        P::load(self, register, z);
        P::fused(self, sum, register, first, y);
        self.write(register, to, fate);
    }

    /// Writes to a cell whether `x < y`, or whether `x ≤ y`.
    pub fn compare(&mut self, [x, y]: [Address; 2], next: [u32; 2], to: Address, or_equal: bool) {
        let is_same = x == y;
        let y = self.operand(Place::Cell(y), next[1], true, &[]);
        let x = if is_same { y } else { self.operand(Place::Cell(x), next[0], false, &[y]) };
        let Register(register) = y else { unreachable!("it is in a register") };
        P::compare(self, x, register, or_equal, to);
        self.forget(to);
    }

    /// Writes the numbers of these addresses to memory if they are in registers alone.
    pub fn store(&mut self, addresses: impl IntoIterator<Item = Address>) {
        for address in addresses {
            if let Some(register) = self.find(address)
                && let Some(held) = self.held[register as usize].filter(|held| !held.is_stored)
            {
                self.write_back(register, held);
                self.held[register as usize] = Some(Held { is_stored: true, ..held });
            }
        }
    }

    /// Calls a function with two arguments, the second of which is the address of the cells. Registers have other numbers then.
    pub fn call(&mut self, function: usize, argument: usize) {
        self.store(self.held.into_iter().flatten().map(|held| held.address));
        P::call(self, function, argument);
        self.held = [None; MOST];
    }
}

/// The operands of an operation. Where it may read one from memory, the loops have in a register what they have computed before, which
/// is the first operand of a sum or product then. It matters where both are NaN.
fn in_register_first(operation: Operation, [x, y, z]: [Source; 3]) -> [Source; 3] {
    let is_made = |source: Source| matches!(source, Source::Made(_));
    let is_other = matches!(x, Source::Literal(_)) || is_made(y) && !is_made(x);
    let commutes = matches!(operation, Operation::Add | Operation::Multiply);
    if commutes && is_other { [y, x, z] } else { [x, y, z] }
}
