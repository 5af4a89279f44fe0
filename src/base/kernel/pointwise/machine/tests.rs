//! Machine code beside the loops.

use super::CodeOfTiles;
use crate::dtype::DType;
use crate::kernel::pointwise::cast;
use crate::kernel::pointwise::expressions::{
    ABSOLUTE, ADD, DIVIDE, LESS, LESS_EQUAL, LOG, MULTIPLY, NEGATE, SQRT, SQRT_GRADIENT, SQUARE,
    SQUARE_GRADIENT, SUBTRACT,
};
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::power::{self, GRADIENT, POWER};
use crate::kernel::pointwise::row::{Address, Instruction, Operand, Row};
use crate::kernel::pointwise::select;
use crate::kernel::simd::{Isa, isa};

/// Numbers in no order, the same ones each time.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    /// A number, often one with rules of its own.
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
        let shift = if float == Float::F32 { 31 } else { 63 };
        bits_of(float, number) | of_nan | sign << shift
    }
}

fn bits_of(float: Float, number: f64) -> u64 {
    match float {
        Float::F32 => (number as f32).to_bits().into(),
        Float::F64 => number.to_bits(),
    }
}

/// The exponents, which are the first numbers of a program.
const EXPONENTS: [f64; 4] =
    [power::EXPONENTS[0].0, power::EXPONENTS[1].0, power::EXPONENTS[2].0, power::EXPONENTS[3].0];

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
            let row = POWER.row(dtype, none).expect("there are loops for floats");
            return (Row { formula: power::EXPONENTS[exponent].1[0], ..row }, Some(exponent));
        }
    };
    (row.expect("there are loops for floats"), None)
}

/// The bits of a number. Of several NaN, the loops of a build without optimisation may give another one, so these are all alike there.
fn bits(float: Float, bytes: &[u8]) -> u64 {
    let single = || bytes.first_chunk().map(|x| f32::from_le_bytes(*x)).expect("it has these bytes");
    let double = || bytes.first_chunk().map(|x| f64::from_le_bytes(*x)).expect("it has these bytes");
    let (bits, is_nan) = match float {
        Float::F32 => (single().to_bits().into(), single().is_nan()),
        Float::F64 => (double().to_bits(), double().is_nan()),
    };
    if is_nan && cfg!(debug_assertions) { f64::NAN.to_bits() } else { bits }
}

const TIMES: usize = 5;
pub const PITCH: usize = TIMES + 2;

/// Instructions on single numbers.
pub struct Program {
    floats: Vec<DType>,
    /// The dtype of each slot, which is as many cells as there are times. The first ones have exponents.
    slots: Vec<DType>,
    /// How many slots have numbers before the first instruction.
    given: usize,
    pub instructions: Vec<Instruction>,
}

/// The numbers of an operand: the exponent, or any slot of its dtype.
fn slot_of(chance: &mut Chance, program: &Program, dtype: DType, exponent: Option<usize>) -> usize {
    let first = program.floats.iter().position(|&float| float == dtype).unwrap_or(0) * EXPONENTS.len();
    let wanted: Vec<usize> = (0..program.slots.len()).filter(|&slot| program.slots[slot] == dtype).collect();
    match exponent {
        Some(exponent) => first + exponent,
        None if wanted.is_empty() => 0,
        None => wanted[chance.below(wanted.len())],
    }
}

/// A program of any formulas, where each time reads what the last one wrote.
pub fn program(chance: &mut Chance, floats: Vec<DType>) -> Program {
    let exponents = floats.iter().flat_map(|&float| [float; EXPONENTS.len()]);
    let mut slots: Vec<DType> = exponents.chain(floats.iter().copied()).collect();
    let own = EXPONENTS.len() * floats.len();
    slots.extend((0..chance.below(12)).map(|_| floats[chance.below(floats.len())]));
    let given = slots.len();
    let mut program = Program { floats, slots, given, instructions: vec![] };
    let mut free: Vec<usize> = (own..given).collect();
    for _ in 0..1 + chance.below(40) {
        let dtype = program.floats[chance.below(program.floats.len())];
        let other = program.floats[chance.below(program.floats.len())];
        let (row, exponent) = if other != dtype && chance.below(4) == 0 {
            (cast::row(other, dtype).expect("there are loops for floats"), None)
        } else {
            formula_of(chance, dtype)
        };
        let mut from = [Operand::default(); 3];
        for (k, operand) in from[..row.operands()].iter_mut().enumerate() {
            let exponent = exponent.filter(|_| k == 1);
            operand.address = (slot_of(chance, &program, row.operand(k), exponent) * PITCH) as Address;
        }
        let slots = &mut program.slots;
        let is_like = |slot: &usize| slots[*slot] == row.out;
        let carried = (0..free.len()).find(|&k| is_like(&free[k])).filter(|_| chance.below(4) == 0);
        let again: Vec<usize> = (given..slots.len()).filter(is_like).collect();
        let to = if let Some(k) = carried {
            free.swap_remove(k) * PITCH + 1
        } else if !again.is_empty() && chance.below(3) == 0 {
            again[chance.below(again.len())] * PITCH
        } else {
            slots.push(row.out);
            (slots.len() - 1) * PITCH
        };
        program.instructions.push(Instruction { row, from, to: to as Address, also: 0 });
    }
    program
}

/// The number in a cell, as [`bits`], or the truth value.
fn number(dtype: DType, cell: &[u8]) -> u64 {
    match dtype {
        DType::F32 => bits(Float::F32, cell),
        DType::F64 => bits(Float::F64, cell),
        _ => cell[0].into(),
    }
}

/// Programs of any formulas give what loops give, also where each time reads what the last one wrote, and where numbers of two
/// types are in registers.
#[test]
fn code_of_numbers_gives_what_loops_give() {
    for seed in 0..3000 {
        let mut chance = Chance(seed);
        let (floats, size) = match seed % 3 {
            0 => (vec![DType::F32], 4 + 4 * chance.below(2)),
            1 => (vec![DType::F64], 8),
            _ => (vec![DType::F32, DType::F64], 8),
        };
        let Program { slots, given, instructions, .. } = program(&mut chance, floats);
        let mut cells = vec![0u8; slots.len() * PITCH * size];
        for (i, cell) in cells[..given * PITCH * size].chunks_mut(size).enumerate() {
            let (slot, dtype) = (i / PITCH, slots[i / PITCH]);
            let float = if dtype == DType::F32 { Float::F32 } else { Float::F64 };
            let is_exponent = slot < EXPONENTS.len() || slot < 2 * EXPONENTS.len() && seed % 3 == 2;
            let exponent = bits_of(float, EXPONENTS[slot % EXPONENTS.len()]);
            let bits = if is_exponent { exponent } else { chance.bits(float) };
            let bytes = dtype.size();
            cell[..bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
        }
        let mut by_loops = cells.clone();
        // The cells of what is given have what the next time reads.
        let is_needed: Vec<bool> =
            (0..slots.len()).map(|slot| slot < given || chance.below(2) == 0).collect();
        let numbers = || {
            let is_needed = |cell: Address| is_needed[cell as usize / PITCH];
            Numbers::new(&instructions, size as Address, true, &is_needed)
        };
        let code = numbers();
        let loops = Numbers { code: None, ..numbers() };
        assert!(code.code.is_some());
        // SAFETY: there are as many cells, and all of them have numbers.
        unsafe {
            code.run(TIMES, cells.as_mut_ptr());
            loops.run(TIMES, by_loops.as_mut_ptr());
        }
        for slot in (0..slots.len()).filter(|&slot| is_needed[slot]) {
            let own = slot * PITCH * size..(slot + 1) * PITCH * size;
            let numbers = |cells: &[u8]| -> Vec<u64> {
                cells[own.clone()].chunks(size).map(|cell| number(slots[slot], cell)).collect()
            };
            assert!(numbers(&cells) == numbers(&by_loops), "seed {seed}, slot {slot}");
        }
    }
}

/// Formulas on arrays of any length give what loops give: a result at an address that is needed.
#[test]
fn code_of_tiles_gives_what_loops_give() {
    for seed in 0..3000 {
        let mut chance = Chance(seed);
        let (float, dtype) = if seed % 2 == 0 { (Float::F32, DType::F32) } else { (Float::F64, DType::F64) };
        let n = 1 + chance.below(40);
        let given = EXPONENTS.len() + 1 + chance.below(12);
        let arrays = given + 1 + chance.below(20);
        // By array: whether it has one number for all elements.
        let is_one: Vec<bool> =
            (0..arrays).map(|i| i < EXPONENTS.len() || i < given && chance.below(3) == 0).collect();
        let mut made = given;
        let mut instructions = vec![];
        for _ in 0..2 + chance.below(40) {
            let (row, exponent) = formula_of(&mut chance, dtype);
            let own = Instruction { row, from: [Operand::default(); 3], to: 0, also: 0 };
            if super::of_tile(&own) != Some(float) {
                continue;
            }
            let mut from = [Operand::default(); 3];
            for (k, operand) in from[..row.operands()].iter_mut().enumerate() {
                let array = exponent.filter(|_| k == 1).unwrap_or_else(|| chance.below(made));
                // A loop of one operand reads all elements.
                let array = if row.operands() == 1 && is_one[array] { given } else { array };
                *operand = Operand { address: array as Address, step: u8::from(!is_one[array]) };
            }
            // The loop of powers has these formulas for many bases alone.
            let is_other = exponent.is_some() && n > 1 && from[0].step == 0;
            if is_other || from[..row.operands()].iter().any(|operand| operand.address as usize >= made) {
                continue;
            }
            let to = given + chance.below((made + 1).min(arrays) - given);
            made = made.max(to + 1);
            instructions.push(Instruction { row, from, to: to as Address, also: 0 });
        }
        if instructions.is_empty() {
            continue;
        }
        let size = dtype.size();
        let given_bits = |i: usize, chance: &mut Chance| match EXPONENTS.get(i) {
            // The loops for ARM have either of two NaN in a product with a number that is the same for all elements, by where the
            // element is.
            None if cfg!(target_arch = "aarch64") && is_one[i] => {
                bits_of(float, chance.below(1 << 20) as f64 / 1e5)
            }
            None => chance.bits(float),
            Some(&x) => bits_of(float, x),
        };
        let memory: Vec<Vec<u8>> = (0..arrays)
            .map(|i| (0..n).flat_map(|_| given_bits(i, &mut chance).to_le_bytes()[..size].to_vec()).collect())
            .collect();
        let is_needed: Vec<bool> = (0..arrays).map(|_| chance.below(2) == 0).collect();
        // By loops, or by code with vectors of 64 bytes or not.
        let run = |is_wide: Option<bool>| {
            let mut memory = memory.clone();
            let addresses: Vec<*mut u8> = memory.iter_mut().map(|x| x.as_mut_ptr()).collect();
            // SAFETY: each address has `n` elements.
            unsafe {
                if let Some(is_wide) = is_wide {
                    let is_needed = |_: usize, address: Address| is_needed[address as usize];
                    let code = CodeOfTiles::of_width(&[&instructions], &is_needed, is_wide)
                        .expect("there is memory for code");
                    code.run(0, n, addresses.as_ptr());
                } else {
                    instructions.iter().for_each(|own| own.run(n, |address| addresses[address as usize]));
                }
            }
            let needed = memory.iter().zip(&is_needed).filter(|(_, is_needed)| **is_needed);
            needed.map(|(x, _)| x.chunks(size).map(|x| bits(float, x)).collect()).collect::<Vec<Vec<u64>>>()
        };
        let wanted = run(None);
        for is_wide in [false, true] {
            if !is_wide || isa() == Isa::Avx512 {
                assert!(run(Some(is_wide)) == wanted, "seed {seed}, wide: {is_wide}");
            }
        }
    }
}
