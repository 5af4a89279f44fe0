//! Fits a line to points by gradient descent: `cargo run --example regression`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use ferrograd::nn::value_and_grad;
use ferrograd::optim::Sgd;
use ferrograd::{Result, Tensor, ndarray};

fn main() -> Result<()> {
    // Points on y = 3 x - 1.
    let x = Tensor::from(ndarray::Array1::linspace(0.0, 1.0, 50));
    let y = &x * 3.0 - 1.0;

    let mut line = [Tensor::scalar(0.0), Tensor::scalar(0.0)];
    let mut sgd = Sgd::new(0.5);
    for step in 0..=400 {
        let (loss, gradients) =
            value_and_grad(&line, |[slope, offset]| (slope * &x + offset - &y).square()?.mean_all())?;
        sgd.step(&mut line, &gradients)?;
        if step % 100 == 0 {
            println!("step {step}: loss {:.2e}", loss.item()?);
        }
    }
    let [slope, offset] = line;
    println!("y = {:.4} x + {:.4}", slope.item()?, offset.item()?);
    assert!((slope.item()? - 3.0).abs() < 1e-2);
    assert!((offset.item()? + 1.0).abs() < 1e-2);
    Ok(())
}
