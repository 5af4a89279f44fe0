//! What the crate offers besides ops: reading numbers, models, optimizers, compiled functions and files of tensors.

#![forbid(unsafe_code)]

use ferrograd::nn::{Embedding, LayerNorm, Linear, Model, value_and_grad};
use ferrograd::optim::{Adam, Sgd};
use ferrograd::{DType, Program, Result, Tensor, grad};

fn vector(numbers: &[f64]) -> Tensor {
    Tensor::new(numbers, &[numbers.len()]).unwrap()
}

#[test]
fn numbers_are_read_or_refused() {
    let x = Tensor::new(&[1i64, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    assert_eq!(x.to_vec2::<i64>().unwrap(), [[1, 2, 3], [4, 5, 6]]);
    let turned = x.permute_dims(&[1, 0]).unwrap();
    assert_eq!(turned.to_vec::<i64>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(x.sum_all().unwrap().item().unwrap(), 21.0);
    assert!(x.to_vec::<f64>().unwrap_err().to_string().contains("int64"));
    assert!(x.item().unwrap_err().to_string().contains("6 elements"));
    assert!(vector(&[1.0]).to_vec2::<f64>().is_err());
    assert!(Tensor::new::<f32>(&[], &[0, 2]).unwrap().to_vec2::<f32>().unwrap().is_empty());
    assert_eq!(x.to_string(), "[[1, 2, 3],\n [4, 5, 6]]");
    assert_eq!(x.greater(4.0).unwrap().to_string(), "[[false, false, false],\n [false, true, true]]");
    assert_eq!(Tensor::scalar(0.5).to_string(), "0.5");
}

/// A network of two layers, whose second one also scales.
#[derive(Clone)]
struct Network {
    layers: Vec<Linear>,
    norm: Option<LayerNorm>,
    scale: Tensor,
}

impl Model for Network {
    fn visit(&mut self, f: &mut dyn FnMut(&mut Tensor)) {
        self.layers.visit(f);
        self.norm.visit(f);
        self.scale.visit(f);
    }
}

impl Network {
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let mut y = self.layers[0].apply(x)?.tanh()?;
        if let Some(norm) = &self.norm {
            y = norm.apply(&y)?;
        }
        Ok(self.layers[1].apply(&y)? * &self.scale)
    }
}

#[test]
fn a_network_learns_and_unused_parameters_stay() {
    ferrograd::ops::random::manual_seed(3).unwrap();
    let layers = vec![Linear::new(2, 8, DType::F64).unwrap(), Linear::new(8, 1, DType::F64).unwrap()];
    let norm = Some(LayerNorm::new(8, DType::F64).unwrap());
    let mut model = (Network { layers, norm, scale: Tensor::scalar(1.0) }, Tensor::scalar(5.0));
    let x = Tensor::new(&[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0], &[4, 2]).unwrap();
    let y = Tensor::new(&[0.0, 1.0, 1.0, 0.0], &[4, 1]).unwrap();
    let mut adam = Adam::new(0.02);
    let mut losses = vec![];
    for _ in 0..300 {
        let loss = |(network, _): &(Network, Tensor)| (network.apply(&x)? - &y).square()?.mean_all();
        let (loss, gradients) = value_and_grad(&model, loss).unwrap();
        assert!(!loss.is_tracked());
        adam.step(&mut model, &gradients).unwrap();
        losses.push(loss.item().unwrap());
    }
    assert!(losses[299] < 1e-3 && losses[0] > 0.1, "{losses:?}");
    assert_eq!(model.1.item().unwrap(), 5.0);
    assert!(model.parameters().iter().all(|p| !p.is_tracked()));
}

/// The rules of both optimizers, worked out for one number.
#[test]
fn optimizers_follow_their_formulas() {
    let gradients = [0.3, -0.2, 0.5];
    let mut momentum = Sgd::new(0.1);
    momentum.momentum = 0.9;
    let mut adam = Adam::new(0.1);
    adam.decay = 0.01;
    let (mut by_sgd, mut by_adam) = (Tensor::scalar(1.0), Tensor::scalar(1.0));
    let (mut p, mut b, mut q, mut m, mut v) = (1.0, 0.0, 1.0f64, 0.0, 0.0);
    for (t, g) in gradients.into_iter().enumerate() {
        momentum.step(&mut by_sgd, &[Tensor::scalar(g)]).unwrap();
        adam.step(&mut by_adam, &[Tensor::scalar(g)]).unwrap();
        b = 0.9 * b + g;
        p -= 0.1 * b;
        (m, v) = (0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g);
        let t = t as i32 + 1;
        let (mean, square) = (m / (1.0 - 0.9f64.powi(t)), v / (1.0 - 0.999f64.powi(t)));
        q = q * (1.0 - 0.1 * 0.01) - 0.1 * mean / (square.sqrt() + 1e-8);
        assert!((by_sgd.item().unwrap() - p).abs() < 1e-12);
        assert!((by_adam.item().unwrap() - q).abs() < 1e-12);
    }
}

#[test]
fn a_step_that_is_refused_changes_nothing() {
    let mut model = [vector(&[1.0, 2.0]), vector(&[3.0])];
    let mut sgd = Sgd::new(0.1);
    for wrong in [vec![vector(&[1.0, 2.0])], vec![vector(&[1.0, 2.0]), vector(&[1.0, 2.0])]] {
        assert!(sgd.step(&mut model, &wrong).is_err());
    }
    sgd.step(&mut model, &[vector(&[1.0, 1.0]), vector(&[1.0])]).unwrap();
    assert!(sgd.step(&mut Tensor::scalar(1.0), &[Tensor::scalar(1.0)]).is_err(), "another model");
    assert_eq!(model[0].to_vec::<f64>().unwrap(), [0.9, 1.9]);
}

#[test]
fn rows_of_an_embedding_get_gradients() {
    let table = Embedding { weight: Tensor::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).unwrap() };
    let indices = Tensor::new(&[2i64, 0, 2], &[3]).unwrap();
    let (loss, gradients) = value_and_grad(&table, |table| table.apply(&indices)?.sum_all()).unwrap();
    assert_eq!(loss.item().unwrap(), 25.0);
    assert_eq!(gradients[0].to_vec2::<f64>().unwrap(), [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]);
}

#[test]
fn compiled_functions_have_the_bits_of_the_function() {
    let f = |x: &[Tensor]| {
        let leaf = x[0].leaf();
        let y = leaf.sin()?.matmul(&x[1])?;
        let slope = grad(&[&y.square()?.sum_all()?], &[&leaf], false)?.remove(0).expect("y depends on x");
        // A view, an argument, a constant, and one result twice.
        Ok(vec![y.detach(), slope.permute_dims(&[1, 0])?, x[1].clone(), Tensor::scalar(7.0), y.detach()])
    };
    let arguments = |k: usize| {
        let numbers: Vec<f64> = (0..12).map(|i| ((i * 7 + k) % 5) as f64 - 1.5).collect();
        [Tensor::new(&numbers, &[4, 3]).unwrap(), Tensor::new(&numbers[..6], &[3, 2]).unwrap()]
    };
    let [x, w] = arguments(0);
    let program = Program::compile(f, &[&x, &w]).unwrap();
    let again = Program::from_bytes(&program.to_bytes().unwrap()).unwrap();
    for k in 0..3 {
        let [x, w] = arguments(k);
        let expected = f(&[x.clone(), w.clone()]).unwrap();
        for program in [&program, &again] {
            let found = program.run(&[&x, &w]).unwrap();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.dims(), expected.dims());
                assert_eq!(found.to_vec::<f64>().unwrap(), expected.to_vec::<f64>().unwrap());
            }
        }
    }
    assert!(program.run(&[&w, &x]).is_err());
}

#[test]
fn a_function_that_reads_numbers_is_refused() {
    let f = |x: &[Tensor]| Ok(vec![if x[0].item()? > 0.0 { x[0].sin()? } else { x[0].cos()? }]);
    let error = Program::compile(f, &[&Tensor::scalar(1.0)]).err().unwrap();
    assert!(error.to_string().contains("numbers are read"), "{error}");
}

#[cfg(feature = "safetensors")]
#[test]
fn tensors_go_to_files_and_come_back() {
    use ferrograd::io;
    let path = std::env::temp_dir().join(format!("front-{}.safetensors", std::process::id()));
    let x = Tensor::new(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    let turned = x.permute_dims(&[1, 0]).unwrap();
    let empty = Tensor::new::<i32>(&[], &[0, 3]).unwrap();
    io::save([("x", &x), ("turned", &turned), ("empty", &empty)], &path).unwrap();
    let found = io::load(&path).unwrap();
    assert_eq!(found["turned"].to_vec2::<f32>().unwrap(), [[1.0, 3.0], [2.0, 4.0]]);
    assert_eq!((found["empty"].dims(), found["empty"].dtype()), (&[0, 3][..], DType::I32));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&path, bytes).unwrap();
    assert!(io::load(&path).unwrap_err().to_string().contains("safetensors"));
    std::fs::remove_file(&path).unwrap();
}
