//! Runs a saved program on arguments that are all 0.5, and prints its results: `cargo run --example program -- FILE`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::error::Error;

use ferrograd::{DType, Program, Tensor};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let path = std::env::args().nth(1).ok_or("the file of a program is wanted")?;
    let program = Program::load(path)?;
    let mut arguments = vec![];
    for kind in program.arguments() {
        if kind.dtype != DType::F32 {
            return Err(format!("an argument is {}, not float32", kind.dtype).into());
        }
        arguments.push(Tensor::new(&vec![0.5f32; kind.dims.iter().product()], &kind.dims)?);
    }
    let results = program.run(&arguments.iter().collect::<Vec<_>>())?;
    for (i, result) in results.iter().enumerate() {
        println!("result {i}: {:?} {}", result.array().dims(), result.dtype());
    }
    Ok(())
}
