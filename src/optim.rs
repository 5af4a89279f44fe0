//! Optimizers: rules by which the parameters of a model follow its gradients. See [`crate::nn`] for an example.

use crate::error::{Error, Result, bail};
use crate::graph::{Tensor, no_grad};
use crate::nn::Model;

/// Gradient descent with momentum: `b = momentum b + g`, then `p -= rate b`, where `b` is zero at first.
#[derive(Clone, Debug)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f64,
    /// How much of the last `b` is part of the next one.
    pub momentum: f64,
    buffers: Vec<Tensor>,
}

impl Sgd {
    /// Gradient descent without momentum.
    pub fn new(rate: f64) -> Sgd {
        Sgd { rate, momentum: 0.0, buffers: vec![] }
    }

    /// Changes the parameters of a model. `gradients` are in the order of [`Model::visit`], as
    /// [`value_and_grad`](crate::nn::value_and_grad) gives them.
    ///
    /// # Errors
    /// A gradient is missing, or has another shape or dtype than its parameter; the model has other parameters than at the first
    /// step; want of memory. Then nothing has changed.
    pub fn step(&mut self, model: &mut (impl Model + Clone), gradients: &[Tensor]) -> Result<()> {
        let (rate, momentum) = (self.rate, self.momentum);
        self.buffers = step("Sgd::step", model, gradients, &self.buffers, |p, g, b| {
            let b =
                b.map_or_else(|| g.clone(), |b| if momentum == 0.0 { g.clone() } else { b * momentum + g });
            (p - &b * rate, b)
        })?;
        Ok(())
    }
}

/// Adam (D. P. Kingma, J. Ba, 2015), and AdamW (I. Loshchilov, F. Hutter, 2019) where `decay` is not zero:
///
/// ```text
/// m = β1 m + (1 - β1) g        v = β2 v + (1 - β2) g²
/// p = (1 - rate decay) p - rate m / (1 - β1^t) / (sqrt(v / (1 - β2^t)) + epsilon)        at step t
/// ```
#[derive(Clone, Debug)]
pub struct Adam {
    /// The learning rate.
    pub rate: f64,
    /// β1 and β2: how slowly the means of the gradient and of its square follow.
    pub betas: (f64, f64),
    /// What keeps the divisor from zero.
    pub epsilon: f64,
    /// By how much parameters shrink, as a factor of the rate.
    pub decay: f64,
    steps: i32,
    /// m and v of each parameter.
    means: Vec<(Tensor, Tensor)>,
}

impl Adam {
    /// Adam with the constants of its authors: β1 = 0.9, β2 = 0.999, epsilon = 1e-8, no decay.
    pub fn new(rate: f64) -> Adam {
        Adam { rate, betas: (0.9, 0.999), epsilon: 1e-8, decay: 0.0, steps: 0, means: vec![] }
    }

    /// Changes the parameters of a model, as [`Sgd::step`] does.
    ///
    /// # Errors
    /// Those of [`Sgd::step`].
    pub fn step(&mut self, model: &mut (impl Model + Clone), gradients: &[Tensor]) -> Result<()> {
        let (rate, (beta1, beta2), epsilon) = (self.rate, self.betas, self.epsilon);
        let shrink = 1.0 - rate * self.decay;
        let steps = self.steps.saturating_add(1);
        let (bias1, bias2) = (1.0 - beta1.powi(steps), 1.0 - beta2.powi(steps));
        self.means = step("Adam::step", model, gradients, &self.means, |p, g, means| {
            let (mut m, mut v) = (g * (1.0 - beta1), g * g * (1.0 - beta2));
            if let Some((old_m, old_v)) = means {
                (m, v) = (old_m * beta1 + m, old_v * beta2 + v);
            }
            let divisor = (&v / bias2).sqrt().unwrap_or_else(|error| error.throw()) + epsilon;
            (p * shrink - &m * (rate / bias1) / divisor, (m, v))
        })?;
        self.steps = steps;
        Ok(())
    }
}

/// Replaces each parameter by what `rule` makes of it, its gradient and its state. Returns the new states.
fn step<S>(
    name: &'static str,
    model: &mut (impl Model + Clone),
    gradients: &[Tensor],
    states: &[S],
    rule: impl Fn(&Tensor, &Tensor, Option<&S>) -> (Tensor, S),
) -> Result<Vec<S>> {
    let parameters = model.parameters();
    let states_fit = states.is_empty() || states.len() == parameters.len();
    if gradients.len() != parameters.len() || !states_fit {
        let (parameters, gradients) = (parameters.len(), gradients.len());
        bail!(
            Argument,
            name,
            "{gradients} gradients and {} states for {parameters} parameters",
            states.len()
        );
    }
    for (i, (p, g)) in parameters.iter().zip(gradients).enumerate() {
        if p.dims() != g.dims() || p.dtype() != g.dtype() {
            let ((p, g), (of, to)) = ((p.dims(), g.dims()), (p.dtype(), g.dtype()));
            bail!(Shape, name, "parameter {i} is {of} {p:?}, its gradient is {to} {g:?}");
        }
    }
    let rows = parameters.iter().zip(gradients).enumerate();
    let made = |(i, (p, g)): (usize, (&Tensor, &Tensor))| rule(p, &g.detach(), states.get(i));
    let (new, states): (Vec<Tensor>, Vec<S>) = no_grad(|| Error::catch(|| Ok(rows.map(made).unzip())))?;
    let mut new = new.into_iter();
    model.visit(&mut |parameter| *parameter = new.next().expect("as many as before"));
    Ok(states)
}
