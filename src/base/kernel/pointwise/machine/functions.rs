//! Functions of machine code: formulas of single numbers, and formulas of the elements of arrays.

use rustc_hash::FxHashSet;

use super::assembler::{Assembler, Contracted, End, Held, Place, Processor, Width};
use super::fates::{Fate, NEVER, fates, formula, operands};
use crate::kernel::pointwise::expressions::{ADD, LESS_EQUAL, MULTIPLY, SELECT, SQUARE, SUBTRACT};
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand};

/// The most numbers that stay in registers from one time to the next, and the most that are the same for all elements of a tile.
const KEPT: usize = 6;

/// A number that an instruction reads, and of which one writes the next one in the cell behind it.
struct Carried {
    cell: Address,
    float: Float,
}

/// The numbers that stay in registers from one time to the next.
fn carried(instructions: &[Instruction], size: Address) -> Vec<Carried> {
    let written: FxHashSet<Address> = instructions.iter().map(|own| own.to).collect();
    let (mut done, mut all) = (FxHashSet::default(), vec![]);
    for own in instructions {
        if let Some((_, float)) = formula(own).filter(|_| own.row.formula != SELECT) {
            for operand in operands(own) {
                let cell = operand.address;
                if all.len() < KEPT && written.contains(&(cell + size)) && done.insert(cell) {
                    all.push(Carried { cell, float });
                }
            }
        }
        done.insert(own.to);
    }
    all
}

/// A function that runs instructions on single numbers some times, at least once. It is given the address of the cells and the times.
/// The last results in cells that are needed are there afterwards. `call` is a function that runs one of the instructions.
pub fn of_numbers<P: Processor>(
    instructions: &[Instruction],
    size: Address,
    repeats: bool,
    is_needed: &dyn Fn(Address) -> bool,
    call: usize,
) -> Vec<u8> {
    let carried = if repeats { carried(instructions, size) } else { vec![] };
    let at_end: Vec<Address> = carried.iter().map(|c| c.cell + size).collect();
    let fates = fates(instructions, &at_end, &|to, is_last| is_last && is_needed(to));
    let mut all = Assembler::<P>::new(false);
    all.free -= carried.len() as u8;
    P::begin_numbers(&mut all);
    let registers = all.free..P::REGISTERS;
    for (register, c) in registers.clone().zip(&carried) {
        all.float = c.float;
        P::load(&mut all, register, Place::Cell(c.cell));
        all.held[register as usize] =
            Some(Held { address: c.cell, float: c.float, next: 0, is_stored: true });
    }
    let begin = all.code.len();
    let mut numbers = 0..instructions.len();
    while let Some(i) = numbers.next() {
        let (own, (next, fate)) = (&instructions[i], fates[i]);
        let Some((known, float)) = formula(own) else {
            all.call(call, &raw const *own as usize);
            continue;
        };
        all.float = float;
        if contract(&mut all, instructions, &fates, i, |operand| Place::Cell(operand.address)) {
            numbers.next();
            continue;
        }
        let [x, y, z] = own.from.map(|operand| operand.address);
        if let Some(nodes) = known.nodes {
            let (from, next) = places(own, next, |operand| Place::Cell(operand.address));
            all.compute(&nodes(), from, next, own.to, fate);
        } else if own.row.formula == SELECT {
            P::select(&mut all, [x, y, z], next, own.to, fate);
        } else {
            all.compare([x, y], [next[0], next[1]], own.to, own.row.formula == LESS_EQUAL.formula);
        }
    }
    for (register, c) in registers.zip(&carried) {
        all.float = c.float;
        let now = all.find(c.cell + size).filter(|&r| r < all.free);
        P::load(&mut all, register, now.map_or(Place::Cell(c.cell + size), Place::Register));
    }
    P::end_numbers(&mut all, size, begin);
    all.finish()
}

/// Computes a product together with the sum or difference that comes next, if they may be rounded once and nothing else reads the
/// product. Whether it did.
fn contract<P: Processor>(
    all: &mut Assembler<P>,
    instructions: &[Instruction],
    fates: &[([u32; 3], Fate)],
    i: usize,
    place: impl Fn(&Operand) -> Place,
) -> bool {
    let [own, sum, ..] = &instructions[i..] else { return false };
    let (&(next, fate), &(next_of_sum, fate_of_sum)) = (&fates[i], &fates[i + 1]);
    if !own.row.contracts || formula(own).map(|(_, float)| float) != formula(sum).map(|(_, float)| float) {
        return false;
    }
    let is_product = [MULTIPLY.formula, SQUARE.formula].contains(&own.row.formula);
    let (is_sum, is_difference) = (sum.row.formula == ADD.formula, sum.row.formula == SUBTRACT.formula);
    let reads = [0, 1].map(|k| sum.from[k].address == own.to);
    let how = match reads {
        [true, false] | [false, true] if is_sum => Contracted::Add,
        [true, false] if is_difference => Contracted::Subtract,
        [false, true] if is_difference => Contracted::SubtractFrom,
        _ => return false,
    };
    let (k, other) = if reads[0] { (0, 1) } else { (1, 0) };
    let is_last = fate.next == i as u32 + 1 && !fate.is_stored && next_of_sum[k] == NEVER;
    if !(is_product && is_last) {
        return false;
    }
    let ([x, y], [next_x, next_y]) = places(own, next, &place);
    let from = [x, y, place(&sum.from[other])];
    all.contracted(how, from, [next_x, next_y, next_of_sum[other]], sum.to, fate_of_sum);
    true
}

/// The places of the operands of a formula of one or two, and the instructions that read them next.
fn places(own: &Instruction, next: [u32; 3], place: impl Fn(&Operand) -> Place) -> ([Place; 2], [u32; 2]) {
    match operands(own) {
        [x] => ([place(x); 2], [next[0]; 2]),
        [x, y, ..] => ([place(x), place(y)], [next[0], next[1]]),
        [] => unreachable!("a formula has operands"),
    }
}

/// The type of the numbers of an instruction that may be part of a function on the elements of a tile.
pub fn of_tile(own: &Instruction) -> Option<Float> {
    let (formula, float) = formula(own)?;
    (formula.nodes.is_some() && !matches!(own.row.apply, Loop::Pair(_))).then_some(float)
}

/// Instructions on the elements of a tile.
struct Tile<'a> {
    instructions: &'a [Instruction],
    fates: Vec<([u32; 3], Fate)>,
    /// The numbers that are the same for all elements and stay in registers.
    same: Vec<Address>,
}

impl Tile<'_> {
    /// Computes as many elements as go into a vector.
    fn body<P: Processor>(&self, all: &mut Assembler<P>, width: Width) {
        all.width = width;
        all.held.fill(None);
        for (register, &address) in (all.free..).zip(&self.same) {
            all.held[register as usize] = Some(Held { address, float: all.float, next: 0, is_stored: true });
        }
        let place = |operand: &Operand| {
            if operand.step == 0 { Place::One(operand.address) } else { Place::Elements(operand.address) }
        };
        let mut numbers = 0..self.instructions.len();
        while let Some(i) = numbers.next() {
            if contract(all, self.instructions, &self.fates, i, place) {
                numbers.next();
                continue;
            }
            let (own, (next, fate)) = (&self.instructions[i], self.fates[i]);
            let nodes =
                formula(own).and_then(|(formula, _)| formula.nodes).expect("all are formulas of floats");
            let (mut from, mut next) = places(own, next, place);
            // The loops have a number that is the same for all elements in a register, and the others in memory, so that one
            // comes first.
            let commutes = [ADD.formula, MULTIPLY.formula].contains(&own.row.formula);
            if commutes && own.from[1].step == 0 && own.from[0].step > 0 {
                from.swap(0, 1);
                next.swap(0, 1);
            }
            all.compute(&nodes(), from, next, own.to, fate);
        }
    }
}

/// Adds a function that runs instructions on the elements of a tile: where it begins. It is given the number of elements and the
/// addresses. The results at addresses that are needed are in memory afterwards. `whole` is the width of its vectors.
pub fn of_tiles<P: Processor>(
    all: &mut Assembler<P>,
    instructions: &[Instruction],
    is_needed: &dyn Fn(Address) -> bool,
    whole: Width,
) -> usize {
    let fates = fates(instructions, &[], &|to, is_last| is_last && is_needed(to));
    all.float = of_tile(&instructions[0]).expect("all are formulas of floats");
    let mut same: Vec<Address> = vec![];
    for operand in instructions.iter().flat_map(operands) {
        if operand.step == 0 && !same.contains(&operand.address) && same.len() < KEPT {
            same.push(operand.address);
        }
    }
    all.free = P::REGISTERS - same.len() as u8;
    let tile = Tile { instructions, fates, same };
    // What the function needs to know of itself: the arrays that it reads and writes.
    let length = all.code.len();
    all.arrays.clear();
    let rest = if whole == Width::Wide { Width::Masked } else { Width::One };
    tile.body(all, whole);
    tile.body(all, rest);
    all.truncate(length);

    all.code.resize(length.next_multiple_of(16), P::FILLER);
    let entry = all.code.len();
    P::begin_tiles(all);
    all.width = whole;
    for (register, &address) in (all.free..).zip(&tile.same) {
        P::load(all, register, Place::One(address));
    }
    P::count(all);
    let none = P::skip(all, End::OfWholeVectors);
    let begin = all.code.len();
    tile.body(all, whole);
    P::repeat(all, End::OfWholeVectors, begin);
    P::land(all, none);
    let none = P::skip(all, End::OfAll);
    if rest == Width::Masked {
        P::mask(all);
        tile.body(all, rest);
    } else {
        let begin = all.code.len();
        tile.body(all, rest);
        P::repeat(all, End::OfAll, begin);
    }
    P::land(all, none);
    P::end_tiles(all);
    entry
}
