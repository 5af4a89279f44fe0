//! The transform of one length. `rustfft` has a planner for each kind of vectors. Its planner for processors without any
//! would bring 300 kB of transforms of fixed lengths, so theirs are put together here from its general ones.

use std::sync::Arc;

use rustfft::algorithm::{BluesteinsAlgorithm, Dft, MixedRadix, Radix4};
use rustfft::{Fft, FftDirection, FftNum};

/// Prime lengths up to this one are transformed by the definition.
const SHORT: usize = 31;

/// The transform of `n` elements.
pub fn planned<T: FftNum>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    #[cfg(target_arch = "x86_64")]
    if let Ok(mut planner) = rustfft::FftPlannerAvx::new() {
        return planner.plan_fft(n, direction);
    }
    #[cfg(target_arch = "aarch64")]
    if let Ok(mut planner) = rustfft::FftPlannerNeon::new() {
        return planner.plan_fft(n, direction);
    }
    general(n, direction)
}

/// The transform of `n` elements by its factors: powers of two by steps of four, long primes by convolution.
fn general<T: FftNum>(n: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
    if n <= 4 {
        return Arc::new(Dft::new(n, direction));
    }
    if n.is_power_of_two() {
        let twos = n.trailing_zeros();
        let base = general(2 << (1 - twos % 2), direction);
        return Arc::new(Radix4::new_with_base((twos - 1) / 2, base));
    }
    let odd = n >> n.trailing_zeros();
    if odd != n {
        return Arc::new(MixedRadix::new(general(n / odd, direction), general(odd, direction)));
    }
    match (3..).step_by(2).take_while(|p| p * p <= n).find(|p| n.is_multiple_of(*p)) {
        Some(p) => Arc::new(MixedRadix::new(general(n / p, direction), general(p, direction))),
        None if n <= SHORT => Arc::new(Dft::new(n, direction)),
        None => {
            let inner = general((2 * n - 1).next_power_of_two(), direction);
            Arc::new(BluesteinsAlgorithm::new(n, inner))
        }
    }
}

#[cfg(test)]
mod tests {
    use rustfft::num_complex::Complex;

    use super::*;
    use crate::memory::sized;

    #[test]
    fn general_transforms_are_those_of_the_definition() {
        for n in (1..sized(70, 9)).chain(sized(vec![97, 128, 143, 256, 1009, 2048], vec![23, 32])) {
            for direction in [FftDirection::Forward, FftDirection::Inverse] {
                let x: Vec<Complex<f64>> =
                    (0..n).map(|i| Complex::new(((i * i + 1) as f64).sin(), (i as f64).cos())).collect();
                let (mut found, mut wanted) = (x.clone(), x);
                general(n, direction).process(&mut found);
                Dft::new(n, direction).process(&mut wanted);
                let near = |(a, b): (&Complex<f64>, &Complex<f64>)| (a - b).norm() < 1e-12 * n as f64;
                assert!(found.iter().zip(&wanted).all(near), "{n}");
            }
        }
    }
}
