//! Fits a line to points by gradient descent: `cargo run --example regression`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use ferrograd::{Result, Tensor, backward, ndarray};

fn main() -> Result<()> {
    // Points on y = 3 x - 1.
    let inputs = ndarray::Array1::linspace(0.0, 1.0, 50);
    let targets = inputs.mapv(|x| 3.0 * x - 1.0);
    let (x, y) = (Tensor::from(inputs), Tensor::from(targets));

    let mut slope = Tensor::scalar(0.0);
    let mut offset = Tensor::scalar(0.0);
    for step in 0..=400 {
        let (w, b) = (slope.leaf(), offset.leaf());
        let error = &w * &x + &b - &y;
        let loss = error.square()?.mean(None, false, None)?;
        let gradients = backward(&[&loss])?;
        slope = &slope - gradients.get(&w).expect("the loss depends on w") * 0.5;
        offset = &offset - gradients.get(&b).expect("the loss depends on b") * 0.5;
        if step % 100 == 0 {
            println!("step {step}: loss {:.2e}", loss.array().item().to_f64().unwrap_or(f64::NAN));
        }
    }
    println!(
        "y = {:.4} x + {:.4}",
        slope.array().item().to_f64().unwrap_or(f64::NAN),
        offset.array().item().to_f64().unwrap_or(f64::NAN)
    );
    assert!((slope.array().item().to_f64().unwrap_or(f64::NAN) - 3.0).abs() < 1e-2);
    assert!((offset.array().item().to_f64().unwrap_or(f64::NAN) + 1.0).abs() < 1e-2);
    Ok(())
}
