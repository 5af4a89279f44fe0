//! Derivatives of `sin(x) * x` of three orders: `cargo run --example gradient`.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use ferrograd::{Result, Tensor, grad};

/// The gradient of the sum of `y`, which can be differentiated again.
fn derivative(y: &Tensor, x: &Tensor) -> Result<Tensor> {
    let total = y.sum(None, false, None)?;
    Ok(grad(&[&total], &[x], true)?.remove(0).expect("y depends on x"))
}

fn main() -> Result<()> {
    let points = [0.0f64, 1.0, 2.0];
    let x = Tensor::new(&points, &[3])?.leaf();

    let y = x.sin()? * &x;
    let first = derivative(&y, &x)?;
    let second = derivative(&first, &x)?;
    let third = derivative(&second, &x)?;

    for (order, d) in [&y, &first, &second, &third].into_iter().enumerate() {
        println!("order {order}: {:?}", d.array().to_vec::<f64>());
    }
    for (d, x) in second.array().to_vec::<f64>().into_iter().zip(points) {
        assert!((d - (2.0 * x.cos() - x * x.sin())).abs() < 1e-12);
    }
    Ok(())
}
