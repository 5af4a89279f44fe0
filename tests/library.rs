//! The crate as its users see it: methods, operators, gradients by tensor, ndarray, errors.

use std::error::Error;

use ferrograd::{Tensor, backward, grad, ndarray, no_grad, push};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[test]
fn methods_compute_what_the_functions_compute() -> Outcome {
    let x = Tensor::new(&[0.5, -2.0, 3.0], &[3])?;
    let same = |a: Tensor, b: Tensor| assert_eq!(a.array().to_vec::<f64>(), b.array().to_vec::<f64>());
    same(x.sin()?, ferrograd::ops::pointwise::sin(&x)?);
    same(x.maximum(0.0)?, x.relu()?);
    same(x.add(&x)?, &x + &x);
    same(x.sum(Some(&[0]), true, None)?.reshape(&[-1], None)?, Tensor::new(&[1.5], &[1])?);
    Ok(())
}

#[test]
fn gradients_are_found_by_tensor() -> Outcome {
    let (x, unused) = (Tensor::new(&[1.0, 2.0], &[2])?.leaf(), Tensor::scalar(1.0).leaf());
    let y = x.square()?;
    let gradients = backward(&[&y])?;
    assert_eq!(gradients.get(&x).expect("y depends on x").array().to_vec::<f64>(), [2.0, 4.0]);
    assert!([&unused, &y, &Tensor::scalar(1.0)].iter().all(|t| gradients.get(t).is_none()));
    Ok(())
}

#[test]
fn nothing_is_recorded_without_grad() {
    let x = Tensor::scalar(2.0).leaf();
    assert!((&x * &x).is_tracked());
    assert!(!no_grad(|| &x * &x).is_tracked());
    assert!((&x * &x).is_tracked());
}

#[test]
fn arrays_of_ndarray_come_in_and_go_out() -> Outcome {
    let given = ndarray::arr2(&[[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let x = Tensor::from(given.t());
    assert_eq!(x.dims(), [3, 2]);
    assert_eq!(x.array().to_ndarray::<f32>()?, given.t().into_dyn());
    assert!(x.array().to_ndarray::<f64>().unwrap_err().to_string().contains("float32"));
    let empty = ndarray::Array2::<f64>::zeros((0, 3));
    assert_eq!(Tensor::from(empty.clone()).array().to_ndarray::<f64>()?, empty.into_dyn());
    Ok(())
}

#[test]
fn errors_say_what_was_refused() -> Outcome {
    assert!(Tensor::new(&[1.0, 2.0], &[3]).unwrap_err().to_string().contains("2 elements"));
    let (x, y) = (Tensor::new(&[1.0, 2.0], &[2])?, Tensor::new(&[1.0, 2.0, 3.0], &[3])?);
    let text = x.add(&y).unwrap_err().to_string();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| &x + &y)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&text));
    assert!(text.contains("add") && text.contains("[2]") && text.contains("[3]"), "{text}");
    Ok(())
}

/// The determinant has no rule for tangents, so the engine makes it from the rule for gradients.
#[test]
fn tangents_follow_from_gradients() -> Outcome {
    let x = Tensor::new(&[2.0, 1.0, 0.5, 3.0], &[2, 2])?.leaf();
    let direction = Tensor::new(&[1.0, -1.0, 2.0, 0.25], &[2, 2])?;
    let y = x.det()?;
    let edges = |t: &Tensor| t.edge().expect("tracked").clone();
    let tangent =
        push(&[edges(&y)], &[(edges(&x), direction.clone())], false)?.remove(0).expect("y depends on x");
    let gradient = grad(&[&y], &[&x], false)?.remove(0).expect("y depends on x");
    let expected = (gradient * direction).sum(None, false, None)?;
    let number = |t: &Tensor| t.array().to_vec::<f64>()[0];
    assert!((number(&tangent) - number(&expected)).abs() < 1e-12);
    // d det = x11 d00 + x00 d11 - x10 d01 - x01 d10
    assert!((number(&tangent) - (3.0 + 0.5 + 0.5 - 2.0)).abs() < 1e-12);
    Ok(())
}

/// An input of `push` is independent of the others, even where it was computed from one.
#[test]
fn a_tangent_of_an_inner_value_takes_the_place_of_one_from_below() -> Outcome {
    let edges = |t: &Tensor| t.edge().expect("tracked").clone();
    let number = |t: &Option<Tensor>| t.as_ref().expect("it moves").array().to_vec::<f64>()[0];
    let x = Tensor::scalar(2.0).leaf();
    let y = &x * &x;
    let z = &y * 3.0 + &x;
    let moves = [(edges(&x), Tensor::scalar(1.0)), (edges(&y), Tensor::scalar(10.0))];
    assert_eq!(number(&push(&[edges(&z)], &moves, false)?[0]), 31.0);
    // One result of a node moves, and another one follows from below.
    let pair = Tensor::new(&[2.0, 1.0, 1.0, 3.0], &[2, 2])?.leaf();
    let (q, r) = ferrograd::ops::linalg::qr::qr(&pair, "reduced")?;
    let (zero, direction) = (Tensor::new(&[0.0; 4], &[2, 2])?, Tensor::new(&[1.0, 0.0, 0.0, 0.0], &[2, 2])?);
    let from_below = [(edges(&pair), direction.clone())];
    let whole = push(&[edges(&r)], &from_below, false)?;
    let [below, other] = [from_below[0].clone(), (edges(&q), zero)];
    let part = push(&[edges(&r), edges(&q)], &[below, other], false)?;
    let numbers = |t: &Option<Tensor>| t.as_ref().expect("it moves").array().to_vec::<f64>();
    assert_eq!(numbers(&part[0]), numbers(&whole[0]));
    assert_eq!(numbers(&part[1]), [0.0; 4]);
    Ok(())
}
