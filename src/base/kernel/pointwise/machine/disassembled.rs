//! The code for ARM, as a disassembler reads it. So processors of other kinds test it too.

use yaxpeax_arch::{Arch, Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::ARMv8;

use super::arm::Arm;
use super::assembler::{Assembler, Contracted, End, Place, Processor, Width, ZERO};
use super::functions;
use super::tests::{Chance, PITCH, program};
use crate::dtype::DType;
use crate::kernel::pointwise::formula::Float;
use crate::kernel::pointwise::row::{Address, Instruction};
use crate::kernel::pointwise::terms::Operation;

/// The instructions of the processor.
fn texts(code: &[u8]) -> impl Iterator<Item = String> {
    let decoder = <ARMv8 as Arch>::Decoder::default();
    let text = move |word: &[u8]| {
        let own = decoder.decode(&mut U8Reader::new(word));
        own.unwrap_or_else(|e| panic!("{word:x?} is no instruction: {e}")).to_string()
    };
    code.chunks(4).map(text)
}

fn joined(code: &[u8]) -> String {
    texts(code).collect::<Vec<String>>().join("; ")
}

/// What is written for numbers of a type.
fn written(float: Float, width: Width, write: impl FnOnce(&mut Assembler<Arm>)) -> String {
    let mut all = Assembler::new(true);
    (all.float, all.width) = (float, width);
    write(&mut all);
    joined(&all.code)
}

const REGISTERS: [Place; 3] = [Place::Register(1), Place::Register(8), Place::Register(3)];

#[test]
fn operations_are_instructions_on_numbers_and_vectors() {
    let rows = [
        (Operation::Add, "fadd s7, s1, s16", "fadd v7.2d, v1.2d, v16.2d"),
        (Operation::Subtract, "fsub s7, s1, s16", "fsub v7.2d, v1.2d, v16.2d"),
        (Operation::Multiply, "fmul s7, s1, s16", "fmul v7.2d, v1.2d, v16.2d"),
        (Operation::Divide, "fdiv s7, s1, s16", "fdiv v7.2d, v1.2d, v16.2d"),
        (Operation::Negate, "fneg s7, s1", "fneg v7.2d, v1.2d"),
        (Operation::Absolute, "fabs s7, s1", "fabs v7.2d, v1.2d"),
        (Operation::Sqrt, "fsqrt s7, s1", "fsqrt v7.2d, v1.2d"),
        (Operation::IsEqual, "fcmeq s7, s1, s16", "fcmeq v7.2d, v1.2d, v16.2d"),
        (Operation::IsAtMost, "fcmge s7, s16, s1", "fcmge v7.2d, v16.2d, v1.2d"),
        (
            Operation::MultiplySubtract,
            "fnmsub s7, s1, s16, s3",
            "fneg v7.2d, v3.2d; fmla v7.2d, v1.2d, v16.2d",
        ),
        (
            Operation::Select,
            "mov v7.16b, v1.16b; bsl v7.16b, v16.16b, v3.16b",
            "mov v7.16b, v1.16b; bsl v7.16b, v16.16b, v3.16b",
        ),
    ];
    for (operation, one, vector) in rows {
        let write = |all: &mut Assembler<Arm>| Arm::operate(all, operation, 7, &REGISTERS);
        let (double, single) = (vector.to_owned(), vector.replace(".2d", ".4s"));
        assert_eq!(written(Float::F32, Width::One, write), one);
        assert_eq!(written(Float::F64, Width::Vector, write), double);
        assert_eq!(written(Float::F32, Width::Vector, write), single);
        let of_double = written(Float::F64, Width::One, write);
        assert_eq!(of_double, one.replace(" s", " d"));
    }
    let places = [REGISTERS[0], REGISTERS[1], ZERO];
    let and = written(Float::F32, Width::One, |all| Arm::operate(all, Operation::Select, 7, &places));
    assert_eq!(and, "and v7.16b, v1.16b, v16.16b");
    let literal = [REGISTERS[0], Place::Constant(1), ZERO];
    let literal = written(Float::F64, Width::Vector, |all| Arm::operate(all, Operation::Add, 7, &literal));
    assert_eq!(literal, "ldr q30, [x21]; fadd v7.2d, v1.2d, v30.2d");
}

#[test]
fn products_and_sums_are_rounded_once() {
    let rows = [
        (Contracted::Add, "fmadd s7, s1, s16, s7", "fmla v7.4s, v1.4s, v16.4s"),
        (Contracted::SubtractFrom, "fmsub s7, s1, s16, s7", "fmls v7.4s, v1.4s, v16.4s"),
        (
            Contracted::Subtract,
            "fnmsub s29, s1, s16, s7; mov v7.16b, v29.16b",
            "fneg v29.4s, v7.4s; fmla v29.4s, v1.4s, v16.4s; mov v7.16b, v29.16b",
        ),
    ];
    for (sum, one, vector) in rows {
        let write = |all: &mut Assembler<Arm>| Arm::fused(all, sum, 7, 1, REGISTERS[1]);
        assert_eq!(written(Float::F32, Width::One, write), one);
        assert_eq!(written(Float::F32, Width::Vector, write), vector);
    }
}

#[test]
fn numbers_are_read_and_written_near_and_far() {
    let far = "mov x16, #0x3458; movk x16, #0x12, lsl #16; ";
    let rows = [
        (Width::One, Place::Cell(16), "ldr d17, [x19, #0x10]".to_owned()),
        (Width::One, Place::Cell(0x12_3458), format!("{far}ldr d17, [x19, x16]")),
        (Width::One, Place::Elements(2), "ldr d17, [x4, x2]".to_owned()),
        (Width::Vector, Place::Elements(2), "ldr q17, [x4, x2]".to_owned()),
        (Width::One, Place::One(2), "ldr x17, [x1, #0x10]; ldr d17, [x17]".to_owned()),
        (Width::Vector, Place::One(2), "ldr x17, [x1, #0x10]; ld1r {v17.2d}, [x17]".to_owned()),
    ];
    for (width, place, text) in rows {
        assert_eq!(written(Float::F64, width, |all| Arm::load(all, 9, place)), text);
        if !matches!(place, Place::One(_)) {
            let text = text.replace("ldr", "str");
            assert_eq!(written(Float::F64, width, |all| Arm::store(all, 9, place)), text);
        }
    }
    let many = |all: &mut Assembler<Arm>| (0..13).for_each(|k| Arm::load(all, 9, Place::Elements(k)));
    let many = written(Float::F32, Width::One, many);
    assert!(many.ends_with("ldr s17, [x15, x2]; ldr x17, [x1, #0x60]; ldr s17, [x17, x2]"), "{many}");
}

#[test]
fn choices_and_jumps() {
    let less = written(Float::F32, Width::One, |all| Arm::compare(all, REGISTERS[0], 8, false, 5));
    assert_eq!(less, "fcmp s1, s16; cset w17, mi; strb w17, [x19, #0x5]");
    let at_most = written(Float::F64, Width::One, |all| Arm::compare(all, REGISTERS[0], 8, true, 5));
    assert_eq!(at_most, "fcmp d1, d16; cset w17, ls; strb w17, [x19, #0x5]");
    let jumps = written(Float::F32, Width::Vector, |all| {
        let jump = Arm::skip(all, End::OfWholeVectors);
        Arm::repeat(all, End::OfAll, 0);
        Arm::land(all, jump);
    });
    assert_eq!(jumps, "cmp x2, x3; b.lo $+0x8; b $+0x10; add x2, x2, #0x10; cmp x2, x0; b.lo $-0x14");
    let mut all = Assembler::new(false);
    all.code.resize(1 << 21, 0);
    Arm::repeat(&mut all, End::OfAll, 0);
    let far = joined(&all.code[1 << 21..]);
    assert_eq!(far, "add x2, x2, #0x8; cmp x2, x0; b.hs $+0x8; b $-0x20000c");
}

/// Whether a text names a register that belongs to the caller or the system.
fn is_of_others(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut numbers =
        words.filter_map(|word| Some((word.chars().next()?, word.get(1..)?.parse::<u8>().ok()?)));
    numbers.any(|(kind, number)| match kind {
        'v' | 'q' | 'd' | 's' => (8..16).contains(&number),
        'x' | 'w' => number == 18 || (22..29).contains(&number),
        _ => false,
    })
}

#[test]
fn functions_use_no_register_of_others() {
    for seed in 0..200 {
        let mut chance = Chance(seed);
        let floats = [vec![DType::F32], vec![DType::F64], vec![DType::F32, DType::F64]];
        let instructions = program(&mut chance, floats[seed as usize % 3].clone()).instructions;
        let numbers = functions::of_numbers::<Arm>(&instructions, 8, seed % 2 == 0, &|_| seed % 5 == 0, 0);
        let mut tiles = Assembler::<Arm>::new(true);
        let dtype = floats[seed as usize % 2][0];
        let float = if dtype == DType::F32 { Float::F32 } else { Float::F64 };
        let is_like = |own: &&Instruction| functions::of_tile(own) == Some(float);
        let mut elements: Vec<Instruction> = instructions.iter().filter(is_like).cloned().collect();
        for own in &mut elements {
            own.to /= PITCH as Address;
            for operand in &mut own.from {
                operand.address /= PITCH as Address;
                operand.step = u8::from(operand.address > 5);
            }
        }
        if !elements.is_empty() {
            functions::of_tiles(&mut tiles, &elements, &|_| seed % 5 == 0, Width::Vector);
        }
        // Behind the end of a function there may be constants.
        for text in
            [&numbers, &tiles.code].into_iter().flat_map(|code| texts(code).take_while(|text| text != "ret"))
        {
            assert!(!is_of_others(&text), "seed {seed}: {text}");
        }
    }
}
