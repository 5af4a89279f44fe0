//! Fits a line to points by gradient descent: `cargo run --example regression`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use ferrograd::ops::reduce::mean;
use ferrograd::{Array, Result, Tensor, grad};

fn main() -> Result<()> {
    // Points on y = 3 x - 1.
    let inputs: Vec<f64> = (0..50).map(|i| f64::from(i) / 50.0).collect();
    let targets: Vec<f64> = inputs.iter().map(|x| 3.0 * x - 1.0).collect();
    let x = Tensor::constant(Array::from_slice(&inputs, &[50])?);
    let y = Tensor::constant(Array::from_slice(&targets, &[50])?);

    let mut slope = Tensor::scalar(0.0);
    let mut offset = Tensor::scalar(0.0);
    for step in 0..=400 {
        let (w, b) = (slope.leaf(), offset.leaf());
        let error = &w * &x + &b - &y;
        let loss = mean(&(&error * &error), None, false, None)?;
        let mut gradients = grad(&[&loss], &[&w, &b], false)?;
        let db = gradients.pop().flatten().expect("the loss depends on b");
        let dw = gradients.pop().flatten().expect("the loss depends on w");
        slope = &slope - dw * 0.5;
        offset = &offset - db * 0.5;
        if step % 100 == 0 {
            println!("step {step}: loss {:.2e}", loss.array.item().to_f64());
        }
    }
    println!("y = {:.4} x + {:.4}", slope.array.item().to_f64(), offset.array.item().to_f64());
    assert!((slope.array.item().to_f64() - 3.0).abs() < 1e-2);
    assert!((offset.array.item().to_f64() + 1.0).abs() < 1e-2);
    Ok(())
}
