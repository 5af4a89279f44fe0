//! The dialects: the tensor class of each, and every place where they differ below Python.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use super::var::{State, Value, Var};
use crate::dtype::DType;
use crate::error::Error;
use crate::graph::{DetachReason, Node, NodeKind};
use crate::ops::registry;

/// Which library's manners a tensor has: set by the namespace that made it, inherited by results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Dialect {
    Native,
    Paddle,
    Torch,
}

/// The class of Paddle's tensors. The methods that mean something else there than natively are put on it in Python.
#[pyclass(frozen, extends = Var, subclass, name = "Tensor", module = "ferrograd.paddle")]
pub struct PaddleTensor;

/// The class of torch's tensors. The methods that mean something else there than natively are put on it in Python.
#[pyclass(frozen, extends = Var, subclass, name = "Tensor", module = "ferrograd.torch")]
pub struct TorchTensor;

#[pymethods]
impl TorchTensor {
    /// What calling the class makes: a tensor of that shape (`Tensor(2, 3)`), of these numbers (`Tensor([1, 2])`), or of
    /// the memory of another tensor. Its dtype is the default float.
    #[new]
    #[pyo3(signature = (*args, device=None))]
    fn new<'py>(
        args: &Bound<'py, PyTuple>,
        device: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<PyClassInitializer<TorchTensor>> {
        static MADE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let made = MADE.import(args.py(), "ferrograd.torch._classes", "made")?.call1((args, device))?;
        let made = made.cast::<Var>()?;
        let given = args.get_item(0).is_ok_and(|first| first.is(made));
        let value = match &mut *made.get().lock() {
            state if given => Value::Part(Box::new(state.part().detached(None, DetachReason::default()))),
            State { value: Value::Own(t), .. } => Value::Own(t.detach()),
            state => Value::Part(Box::new(state.part().detached(None, DetachReason::default()))),
        };
        Ok(PyClassInitializer::from(Var::new(value, Dialect::Torch)).add_subclass(TorchTensor))
    }
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::Native, Dialect::Paddle, Dialect::Torch];

    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::Paddle => "paddle",
            Dialect::Torch => "torch",
        }
    }

    pub fn from_index(i: usize) -> Dialect {
        Dialect::ALL[i]
    }

    /// A tensor of the dialect's class.
    #[inline]
    pub fn object(self, py: Python<'_>, var: Var) -> PyResult<Bound<'_, Var>> {
        let start = PyClassInitializer::from(var);
        Ok(match self {
            Dialect::Native => Bound::new(py, start)?,
            Dialect::Paddle => Bound::new(py, start.add_subclass(PaddleTensor))?.into_super(),
            Dialect::Torch => Bound::new(py, start.add_subclass(TorchTensor))?.into_super(),
        })
    }

    /// Whether an object's class is the dialect's own, not one that was made of it.
    pub fn is_class_of(self, o: &Bound<'_, Var>) -> bool {
        let py = o.py();
        o.get_type().is(match self {
            Dialect::Native => py.get_type::<Var>(),
            Dialect::Paddle => py.get_type::<PaddleTensor>(),
            Dialect::Torch => py.get_type::<TorchTensor>(),
        })
    }

    /// `backward()` without a cotangent on more than one element: ones (Paddle), or an error.
    pub fn ones_for_any_shape(self) -> bool {
        self == Dialect::Paddle
    }

    /// `backward()` on an untracked tensor: nothing happens (Paddle), or an error.
    pub fn ignores_untracked_root(self) -> bool {
        self == Dialect::Paddle
    }

    /// Asking for the gradient of an untracked tensor: an input like any other that is not used, or (torch) an error.
    pub fn refuses_untracked_input(self) -> bool {
        self == Dialect::Torch
    }

    /// `numpy()` of a tracked tensor: allowed, or (torch, while recording) an error.
    pub fn numpy_of_tracked(self) -> bool {
        self != Dialect::Torch
    }

    /// Whether a fresh `.grad` says that it is tracked (Paddle).
    pub fn tracks_fresh_grad(self) -> bool {
        self == Dialect::Paddle
    }

    /// Tracking integers, which have no derivatives: a warning (Paddle), or an error.
    pub fn warns_of_tracked_integers(self) -> bool {
        self == Dialect::Paddle
    }

    /// Keeping the gradient of an untracked tensor, which has none: nothing happens (Paddle), or an error.
    pub fn retains_untracked(self) -> bool {
        self == Dialect::Paddle
    }

    /// A leaf that stops being tracked: graphs that hold it go on to add to its `.grad`, or (torch) no longer.
    pub fn forgets_untracked_leaf(self) -> bool {
        self == Dialect::Torch
    }

    /// `x += y`: writes into `x`, or (Paddle) makes a new tensor and gives it the name.
    pub fn augments_in_place(self) -> bool {
        self != Dialect::Paddle
    }

    /// A write, while recording, to a view made while not: recorded like any other, or (torch) an error.
    pub fn refuses_writes_to_unrecorded_views(self) -> bool {
        self == Dialect::Torch
    }

    /// `out` without elements: takes the shape of the result (torch), or it has the wrong shape.
    pub fn empty_out_takes_shape(self) -> bool {
        self == Dialect::Torch
    }

    /// The gradient of an input that is used, by functions whose backward gives None for it: None (Paddle), or it counts
    /// as not used.
    pub fn gives_none_for_none(self) -> bool {
        self == Dialect::Paddle
    }

    /// A result whose gradient is stopped and wanted again: goes on where it came from (Paddle), or begins anew.
    pub fn remembers_what_it_stopped(self) -> bool {
        self == Dialect::Paddle
    }

    /// A shape as the library writes it.
    pub fn shape(self, dims: &[usize]) -> String {
        match self {
            Dialect::Torch => format!("torch.Size({dims:?})"),
            _ => format!("{dims:?}"),
        }
    }

    /// That a cotangent has another shape than the value it belongs to.
    pub fn seed_mismatch(self, i: usize, seed: &[usize], output: &[usize]) -> String {
        let (seed, output) = (self.shape(seed), self.shape(output));
        match self {
            Dialect::Paddle => format!(
                "Tensor shape not match: the gradient at index {i} has shape {seed}, its output has shape {output}"
            ),
            _ => format!(
                "Mismatch in shape: grad_output[{i}] has a shape of {seed} and output[{i}] has a shape of {output}."
            ),
        }
    }

    /// That the outputs do not depend on input `i`.
    pub fn unused(self, i: usize, why: &str) -> String {
        match self {
            Dialect::Paddle => format!(
                "The {i}-th input does not appear in the backward graph: {why}. Please check the input tensor or \
                 set allow_unused=True to get None result."
            ),
            _ => format!(
                "The differentiated Tensor at index {i} appears to not have been used in the graph: {why}. \
                 Set allow_unused=True if this is the desired behavior."
            ),
        }
    }

    /// That a cotangent is no tensor.
    pub fn seed_type(self, got: &str) -> String {
        match self {
            Dialect::Paddle => format!("The type of grad_tensor must be paddle.Tensor, not {got}"),
            _ => format!("gradients can be either Tensors or None, but got {got}"),
        }
    }

    /// `.grad` of a tensor that keeps none: None with a warning, or (Paddle) without.
    pub fn warns_of_missing_grad(self) -> bool {
        self != Dialect::Paddle
    }

    /// Taking a hook down a second time: a warning, or (torch) nothing.
    pub fn warns_of_second_removal(self) -> bool {
        self != Dialect::Torch
    }

    /// `grad_fn` of a leaf: None, or (Paddle) the node where its gradient is added up.
    pub fn leaves_have_a_node(self) -> bool {
        self == Dialect::Paddle
    }

    /// `next_functions`: pairs of node and output, or (Paddle) a list of nodes.
    pub fn next_nodes_are_a_list(self) -> bool {
        self == Dialect::Paddle
    }

    /// What a node is called, and its class: `MulBackward0` (torch), `MultiplyGradNode` (Paddle), or the op's name.
    pub fn node_name(self, node: &Node) -> (String, String) {
        let both = |name: String| (name.clone(), name);
        match self {
            Dialect::Native => (node.name().to_owned(), "Node".to_owned()),
            Dialect::Paddle => both(match &node.kind {
                NodeKind::Leaf(_) => "GradNodeAccumulation".to_owned(),
                NodeKind::Op(op) if op.calls_host() => format!("GradNodePyLayer_{}", op.name()),
                NodeKind::Op(op) => camel_case(op.name()) + "GradNode",
            }),
            Dialect::Torch => match &node.kind {
                NodeKind::Leaf(_) => {
                    ("torch::autograd::AccumulateGrad".to_owned(), "AccumulateGrad".to_owned())
                }
                NodeKind::Op(op) if op.calls_host() => both(format!("{}Backward", op.name())),
                NodeKind::Op(op) => both(camel_case(shortest(op.name())) + "Backward0"),
            },
        }
    }

    /// An array of uint8 as an index: truth values (torch), or positions.
    pub fn bytes_are_masks(self) -> bool {
        self == Dialect::Torch
    }

    /// A 0-d tensor of integers as an index: a number, and the result a view (torch, Paddle), or an array.
    pub fn numbers_select(self) -> bool {
        self != Dialect::Native
    }

    /// A list with more than numbers as an index: an index for each axis (torch), or one array.
    pub fn lists_are_tuples(self) -> bool {
        self == Dialect::Torch
    }

    /// A refusal of an index: NumPy says axis, torch dimension.
    pub fn index_error(self, mut error: Box<Error>) -> Box<Error> {
        if let (Dialect::Torch, Error::Index { what, .. }) = (self, &mut *error) {
            *what = what.replace(" for axis ", " for dimension ");
        }
        error
    }

    /// Python's `float` as a dtype: the default float, or (torch) float64.
    pub fn python_float(self) -> Option<DType> {
        (self == Dialect::Torch).then_some(DType::F64)
    }

    /// `size`: the number of elements, or (torch) a method that gives the shape.
    pub fn size_is_a_method(self) -> bool {
        self == Dialect::Torch
    }

    /// `numel()` and `rank()`: integers, or (Paddle) 0-d tensors.
    pub fn counts_are_tensors(self) -> bool {
        self == Dialect::Paddle
    }

    /// A 0-d tensor where an axis is named: it counts as a vector of one element, or (native) it has no axis.
    pub fn numbers_have_an_axis(self) -> bool {
        self != Dialect::Native
    }

    /// `name` of a tensor that was given none: made up (Paddle), or None.
    pub fn names_itself(self) -> bool {
        self == Dialect::Paddle
    }
}

/// `LogSoftmax` for `log_softmax`.
fn camel_case(name: &str) -> String {
    let mut joined = String::new();
    for word in name.split(['_', '.']) {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

/// The shortest of an op's names that abbreviates it: `mul` for `multiply`, `acos` for `arccos`.
fn shortest(op: &'static str) -> &'static str {
    let abbreviates = |short: &&'static str| {
        let mut letters = op.chars();
        short.chars().all(|c| letters.any(|l| l == c))
    };
    let names = registry().find(|e| e.names.contains(&op)).map_or(&[][..], |e| e.names);
    names.iter().copied().filter(abbreviates).min_by_key(|name| name.len()).unwrap_or(op)
}
