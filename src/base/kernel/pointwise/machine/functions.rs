//! Functions of machine code: formulas of single numbers, and formulas of the elements of arrays.

use rustc_hash::FxHashSet;

use super::assembler::*;
use crate::kernel::pointwise::expressions::{ADD, LESS_EQUAL, MULTIPLY, SELECT, SQUARE, SUBTRACT};
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::{Address, Instruction, Loop, Operand};

/// The most numbers that stay in registers from one time to the next, and the most that are the same for all elements of a tile.
const KEPT: usize = 6;

/// endbr64, which is where functions that are called by their address begin.
const BEGIN: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

// The conditions of jumps.
const BELOW: u8 = 0x82;
const NOT_BELOW: u8 = 0x83;
const NOT_ZERO: u8 = 0x85;

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
pub fn of_numbers(
    instructions: &[Instruction],
    size: Address,
    repeats: bool,
    is_needed: &dyn Fn(Address) -> bool,
    call: usize,
) -> Vec<u8> {
    let carried = if repeats { carried(instructions, size) } else { vec![] };
    let at_end: Vec<Address> = carried.iter().map(|c| c.cell + size).collect();
    let fates = fates(instructions, &at_end, &|to, is_last| is_last && is_needed(to));
    let mut all = Assembler::new(false);
    all.free -= carried.len() as u8;
    all.code.extend(BEGIN);
    // push rbx; push r12; sub rsp, 8; mov rbx, rdi; mov r12, rsi
    all.code.extend([0x53, 0x41, 0x54, 0x48, 0x83, 0xec, 0x08, 0x48, 0x89, 0xfb, 0x49, 0x89, 0xf4]);
    let registers = all.free..REGISTERS;
    for (register, c) in registers.clone().zip(&carried) {
        all.float = c.float;
        all.load(register, Place::Cell(c.cell));
        all.held[register as usize] = Some(Held { address: c.cell, next: 0, is_stored: true });
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
            all.select([x, y, z], next, own.to, fate);
        } else {
            all.compare([x, y], [next[0], next[1]], own.to, own.row.formula == LESS_EQUAL.formula);
        }
    }
    for (register, c) in registers.zip(&carried) {
        all.float = c.float;
        let now = all.find(c.cell + size).filter(|&r| r < all.free);
        all.load(register, now.map_or(Place::Cell(c.cell + size), Place::Register));
    }
    // add rbx, size; dec r12; jnz begin
    all.code.extend([0x48, 0x81, 0xc3]);
    all.code.extend(size.to_le_bytes());
    all.code.extend([0x49, 0xff, 0xcc]);
    all.jump_back(NOT_ZERO, begin);
    // add rsp, 8; pop r12; pop rbx; ret
    all.code.extend([0x48, 0x83, 0xc4, 0x08, 0x41, 0x5c, 0x5b, 0xc3]);
    all.finish()
}

/// Computes a product together with the sum or difference that comes next, if they may be rounded once and nothing else reads the
/// product. Whether it did.
fn contract(
    all: &mut Assembler,
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

/// Adds a function that runs instructions on the elements of a tile: where it begins. It is given the number of elements and the
/// addresses. The results at addresses that are needed are in memory afterwards. `is_wide` says whether it computes with 64 bytes at a
/// time.
pub fn of_tiles(
    all: &mut Assembler,
    instructions: &[Instruction],
    is_needed: &dyn Fn(Address) -> bool,
    is_wide: bool,
) -> usize {
    let fates = fates(instructions, &[], &|to, is_last| is_last && is_needed(to));
    all.float = of_tile(&instructions[0]).expect("all are formulas of floats");
    let mut same: Vec<Address> = vec![];
    for operand in instructions.iter().flat_map(operands) {
        if operand.step == 0 && !same.contains(&operand.address) && same.len() < KEPT {
            same.push(operand.address);
        }
    }
    all.free = REGISTERS - same.len() as u8;
    let body = |all: &mut Assembler, width: Width| {
        all.width = width;
        all.held = [None; REGISTERS as usize];
        for (register, &address) in (all.free..).zip(&same) {
            all.held[register as usize] = Some(Held { address, next: 0, is_stored: true });
        }
        let place = |operand: &Operand| {
            if operand.step == 0 { Place::One(operand.address) } else { Place::Elements(operand.address) }
        };
        let mut numbers = 0..instructions.len();
        while let Some(i) = numbers.next() {
            if contract(all, instructions, &fates, i, place) {
                numbers.next();
                continue;
            }
            let (own, (next, fate)) = (&instructions[i], fates[i]);
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
    };
    // What the function needs to know of itself: the arrays that it reads and writes.
    let length = all.code.len();
    all.arrays.clear();
    let (whole, rest) = if is_wide { (Width::Whole, Width::Masked) } else { (Width::Half, Width::One) };
    body(all, whole);
    body(all, rest);
    all.truncate(length);

    all.code.resize(length.next_multiple_of(16), FILLER);
    let entry = all.code.len();
    all.code.extend(BEGIN);
    let saved: Vec<u8> = POINTERS
        .into_iter()
        .take(all.arrays.len())
        .filter(|r| [RBX, RBP, 12, 13, 14, 15].contains(r))
        .collect();
    for r in &saved {
        // push
        all.code.extend([0x40 | r >> 3, 0x50 | r & 7]);
    }
    for (register, array) in POINTERS.into_iter().zip(all.arrays.clone()) {
        all.load_pointer(register, array);
    }
    let shift = match all.float {
        Float::F32 => 2,
        Float::F64 => 3,
    };
    all.width = whole;
    for (register, &address) in (all.free..).zip(&same) {
        all.load(register, Place::One(address));
    }
    // shl rdi, shift
    all.code.extend([0x48, 0xc1, 0xe7, shift]);
    // mov r11, rdi; and r11, -bytes; xor eax, eax
    let bytes = whole.bytes(all.float);
    all.code.extend([0x49, 0x89, 0xfb, 0x49, 0x83, 0xe3, bytes.wrapping_neg(), 0x31, 0xc0]);
    // cmp rax, r11; jae end; begin: ...; add rax, bytes; cmp rax, r11; jb begin
    let of_whole = [0x4c, 0x39, 0xd8];
    all.code.extend(of_whole);
    let none = all.jump(NOT_BELOW);
    let begin = all.code.len();
    body(all, whole);
    all.code.extend([0x48, 0x83, 0xc0, bytes]);
    all.code.extend(of_whole);
    all.jump_back(BELOW, begin);
    all.land(none);
    // cmp rax, rdi; jae end
    let of_all = [0x48, 0x39, 0xf8];
    all.code.extend(of_all);
    let none = all.jump(NOT_BELOW);
    if rest == Width::Masked {
        // mov rcx, rdi; sub rcx, rax; shr rcx, shift; mov r11d, -1; bzhi r11d, r11d, ecx; kmovw k1, r11d
        all.code.extend([0x48, 0x89, 0xf9, 0x48, 0x29, 0xc1, 0x48, 0xc1, 0xe9, shift]);
        all.code.extend([0x41, 0xbb, 0xff, 0xff, 0xff, 0xff, 0xc4, 0x42, 0x70, 0xf5, 0xdb]);
        all.code.extend([0xc4, 0xc1, 0x78, 0x92, 0xcb]);
        body(all, rest);
    } else {
        // begin: ...; add rax, size; cmp rax, rdi; jb begin
        let begin = all.code.len();
        body(all, rest);
        all.code.extend([0x48, 0x83, 0xc0, rest.bytes(all.float)]);
        all.code.extend(of_all);
        all.jump_back(BELOW, begin);
    }
    all.land(none);
    // vzeroupper
    all.code.extend([0xc5, 0xf8, 0x77]);
    for r in saved.iter().rev() {
        // pop
        all.code.extend([0x40 | r >> 3, 0x58 | r & 7]);
    }
    all.code.push(0xc3);
    entry
}
