//! The dialects, and every place where they differ below Python.

use pyo3::prelude::*;

use super::error::raise;
use crate::error::{Error, Result};
use crate::graph::{Node, NodeKind, Tensor};
use crate::ops::entry::{Conventions, Entry, Operand};
use crate::ops::pointwise::arithmetic;
use crate::ops::{half, registry};

/// The op of a binary operator: for two tensors, and for any operands. Two operands in memory cost as much as a call.
#[derive(Clone, Copy)]
pub struct Operator {
    pub of_tensors: fn(&Tensor, &Tensor) -> Result<Tensor>,
    pub of_any: fn(Operand<'_>, Operand<'_>) -> Result<Tensor>,
}

/// An [`Operator`] from a function of two operands.
macro_rules! operator {
    ($f:expr) => {
        $crate::bind::python::dialect::Operator {
            of_tensors: |x, y| {
                ($f)($crate::ops::entry::Operand::Tensor(x), $crate::ops::entry::Operand::Tensor(y))
            },
            of_any: $f,
        }
    };
}
pub(in crate::bind) use operator;

/// The library whose conventions a tensor follows. The namespace that makes a tensor sets it, and results inherit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Dialect {
    Native,
    Paddle,
    Torch,
}

/// Python names a dialect by its number.
impl<'py> FromPyObject<'_, 'py> for Dialect {
    type Error = PyErr;

    fn extract(o: Borrowed<'_, 'py, PyAny>) -> PyResult<Dialect> {
        let number: Option<usize> = o.extract().ok();
        number.and_then(|n| Dialect::ALL.get(n).copied()).ok_or_else(|| {
            raise(
                o.py(),
                "ArgumentError",
                format!("a dialect is a number from 0 to {}", Dialect::ALL.len() - 1),
            )
        })
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

    /// Where the dialect's function of this name differs from the native one.
    pub fn conventions(self, entry: &Entry, name: &str) -> Conventions {
        let own = match self {
            Dialect::Native => &[][..],
            Dialect::Paddle => entry.paddle,
            Dialect::Torch => entry.torch,
        };
        Conventions::of(own, name)
    }

    /// The function `floor_divide`.
    pub fn floor_divide(self) -> Operator {
        let with_rest = operator!(|x, y| half::operator(x, y, arithmetic::floor_divide_with_rest));
        let floor = operator!(|x, y| half::operator(x, y, arithmetic::floor_divide));
        if self == Dialect::Native { floor } else { with_rest }
    }

    /// `backward()` without a gradient, from more than one element: ones are taken (Paddle), or it is an error.
    pub fn ones_for_any_shape(self) -> bool {
        self == Dialect::Paddle
    }

    /// How a tensor is made that gradients flow to.
    pub fn tracking_argument(self) -> &'static str {
        if self == Dialect::Paddle { "stop_gradient=False" } else { "requires_grad=True" }
    }

    /// `backward()` of an untracked tensor: nothing happens but a warning (Paddle), or it is an error.
    pub fn ignores_untracked_root(self) -> bool {
        self == Dialect::Paddle
    }

    /// The gradient for an untracked input: the input counts as unused, or (torch) it is an error.
    pub fn refuses_untracked_input(self) -> bool {
        self == Dialect::Torch
    }

    /// `numpy()` of a tracked tensor: allowed, or (torch, while ops are recorded) an error.
    pub fn numpy_of_tracked(self) -> bool {
        self != Dialect::Torch
    }

    /// Whether NumPy's arrays of tensors can be written to, and tensors of arrays lie in their memory (torch).
    pub fn shares_with_numpy(self) -> bool {
        self == Dialect::Torch
    }

    /// Whether `numpy()` and `gradient()` copy, so that the arrays can be written to (Paddle).
    pub fn copies_for_numpy(self) -> bool {
        self == Dialect::Paddle
    }

    /// Whether a retained gradient is zeros where gradients arrive at other results of the same call only (Paddle).
    pub fn retains_zeros(self) -> bool {
        self == Dialect::Paddle
    }

    /// Whether a hook on the gradient of one result of a call is called with None where gradients arrive at other results
    /// only (torch).
    pub fn calls_hooks_with_none(self) -> bool {
        self == Dialect::Torch
    }

    /// Whether a fresh `.grad` is itself tracked (Paddle).
    pub fn tracks_fresh_grad(self) -> bool {
        self == Dialect::Paddle
    }

    /// An integer divided by 0: an error with this text, or (native) a warning as NumPy's.
    pub fn error_of_zero_division(self) -> Option<&'static str> {
        match self {
            Dialect::Native => None,
            Dialect::Paddle => Some(
                "Integer division by zero encountered in (floor/trunc) divide. Please check the input value.",
            ),
            Dialect::Torch => Some("ZeroDivisionError: an integer is divided by 0"),
        }
    }

    /// Whether integers and truth values can have gradients, which are of their dtype (Paddle). Elsewhere tracking them is an
    /// error.
    pub fn tracks_integers(self) -> bool {
        self == Dialect::Paddle
    }

    /// `backward(create_graph=True)`: warns once that the graph and `.grad` hold each other (torch).
    pub fn warns_of_create_graph(self) -> bool {
        self == Dialect::Torch
    }

    /// A hook that writes to the tensor which it shall pack: an error (torch), or the tensor is its own copy.
    pub fn refuses_writes_of_pack_hooks(self) -> bool {
        self == Dialect::Torch
    }

    /// Zeros for an edge that no gradient reaches: an error (torch), or
    /// they have the shape of its value.
    pub fn refuses_zeros_for_edges(self) -> bool {
        self == Dialect::Torch
    }

    /// `detach_()` of a view: an error (torch), or the view is an untracked tensor from now on.
    pub fn refuses_to_detach_views(self) -> bool {
        self == Dialect::Torch
    }

    /// `imag` of real numbers: an error (torch), or zeros.
    pub fn refuses_imag_of_reals(self) -> bool {
        self == Dialect::Torch
    }

    /// `retain_grad()` of an untracked tensor: nothing happens (Paddle), or it is an error.
    pub fn retains_untracked(self) -> bool {
        self == Dialect::Paddle
    }

    /// A leaf that is no longer tracked: graphs that hold it still add to its `.grad`, or (torch) they do not.
    pub fn forgets_untracked_leaf(self) -> bool {
        self == Dialect::Torch
    }

    /// `x += y`: writes into `x`, or (Paddle) binds the name to a new tensor.
    pub fn augments_in_place(self) -> bool {
        self != Dialect::Paddle
    }

    /// A write, while ops are recorded, to a view that was made while they were not: recorded like any other, or
    /// (torch) an error.
    pub fn refuses_writes_to_unrecorded_views(self) -> bool {
        self == Dialect::Torch
    }

    /// `out` of another shape than the result: takes that shape, with a warning if it has elements (torch), or is refused.
    pub fn resizes_out(self) -> bool {
        self == Dialect::Torch
    }

    /// An input whose gradient every function that uses it gave as None: its gradient is None (Paddle), or it counts as
    /// unused.
    pub fn gives_none_for_none(self) -> bool {
        self == Dialect::Paddle
    }

    /// A result whose gradient is stopped and then wanted again: has its former history (Paddle), or is a new leaf.
    pub fn remembers_what_it_stopped(self) -> bool {
        self == Dialect::Paddle
    }

    /// The error for a write to a leaf whose gradient is wanted, or to a view of such a leaf.
    pub fn refused_write(self, to_view: bool) -> &'static str {
        match (self, to_view) {
            (Dialect::Native, false) => "a leaf tensor with requires_grad=True is not written in place.",
            (Dialect::Native, true) => {
                "a view of a leaf tensor with requires_grad=True is not written in place."
            }
            (Dialect::Paddle, _) => "Leaf Var that doesn't stop gradient can't use inplace strategy.",
            (Dialect::Torch, false) => {
                "a leaf Variable that requires grad is being used in an in-place operation."
            }
            (Dialect::Torch, true) => {
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            }
        }
    }

    /// A write to a view of a leaf whose gradient is wanted, while ops are recorded: an error, or (Paddle) the view goes
    /// its own way from there and the leaf stays a leaf, with other numbers.
    pub fn parts_views_from_leaves(self) -> bool {
        self == Dialect::Paddle
    }

    /// A shape as the library writes it.
    pub fn shape(self, dims: &[usize]) -> String {
        match self {
            Dialect::Torch => format!("torch.Size({dims:?})"),
            _ => format!("{dims:?}"),
        }
    }

    /// The error for a gradient whose shape is not that of its output.
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

    /// The error for input `i`, on which the outputs do not depend.
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

    /// The error for a gradient that is no tensor.
    pub fn seed_type(self, got: &str) -> String {
        match self {
            Dialect::Paddle => format!("The type of grad_tensor must be paddle.Tensor, not {got}"),
            _ => format!("gradients can be either Tensors or None, but got {got}"),
        }
    }

    /// `.grad` of a result whose gradient is not retained: None with a warning, or (Paddle) without one.
    pub fn warns_of_missing_grad(self) -> bool {
        self != Dialect::Paddle
    }

    /// The hooks of a leaf in a call of `grad`: they are called, or (Paddle) only `backward` calls them.
    pub fn grad_calls_hooks_of_leaves(self) -> bool {
        self != Dialect::Paddle
    }

    /// An integer beside integers whose dtype does not hold it: taken modulo 2 to the power of their bits (torch), or refused.
    pub fn wraps_integers(self) -> bool {
        self == Dialect::Torch
    }

    /// A tensor made of a list of tracked tensors: it is computed of them, or (torch) a copy of their numbers.
    pub fn copies_lists(self) -> bool {
        self == Dialect::Torch
    }

    /// `2 + x` and `2 * x`: recorded in this order, or (torch) with the tensor as the first operand.
    pub fn puts_tensor_first(self) -> bool {
        self == Dialect::Torch
    }

    /// `remove()` of a hook: says whether it was there, or (torch) returns None.
    pub fn says_what_was_removed(self) -> bool {
        self != Dialect::Torch
    }

    /// Removing a hook a second time: a warning, or (torch) nothing.
    pub fn warns_of_second_removal(self) -> bool {
        self != Dialect::Torch
    }

    /// `grad_fn` of a leaf: None, or (Paddle) the node that adds up its gradient.
    pub fn leaves_have_a_node(self) -> bool {
        self == Dialect::Paddle
    }

    /// A folder for the files of a graph is made where it is missing.
    pub fn makes_folders(self) -> bool {
        self == Dialect::Paddle
    }

    /// `next_functions`: pairs of a node and an output, or (Paddle) a list of nodes.
    pub fn next_nodes_are_a_list(self) -> bool {
        self == Dialect::Paddle
    }

    /// The name of a node and the name of its class: `MulBackward0` (torch), `MultiplyGradNode` (Paddle), or the op's
    /// name and `Node`.
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
                NodeKind::Op(op) => both(rule_name(op.name())),
            },
        }
    }

    /// NumPy's arrays in the place of tensors: taken by functions and methods, or (Paddle) refused. Operators take them.
    pub fn takes_arrays_for_tensors(self) -> bool {
        self != Dialect::Paddle
    }

    /// Whether a text, or None, that follows all arguments of a function is a name for its result (Paddle), which is not used.
    pub fn names_results(self) -> bool {
        self == Dialect::Paddle
    }

    /// Complex numbers that are written into a real tensor: their real part with a warning (Paddle), or an error.
    pub fn writes_real_parts(self) -> bool {
        self == Dialect::Paddle
    }

    /// Random numbers are those that PyTorch draws from the same seed, or those of the library's own stream.
    pub fn draws_as_pytorch(self) -> bool {
        self == Dialect::Torch
    }

    /// An index of dtype uint8: truth values (torch), or positions.
    pub fn bytes_are_masks(self) -> bool {
        self == Dialect::Torch
    }

    /// An integer as an index, also a 0-d tensor: is applied before index arrays, and alone makes a view (torch, Paddle);
    /// or a Python integer counts as an index array beside others, and a tensor always does.
    pub fn numbers_select(self) -> bool {
        self != Dialect::Native
    }

    /// A list as an index that holds more than numbers: one index for each axis (torch), or an array.
    pub fn lists_are_tuples(self) -> bool {
        self == Dialect::Torch
    }

    /// An error in the words of the library: torch says dimension where NumPy says axis, and has methods of its own for
    /// casts.
    pub fn in_its_words(self, mut error: Box<Error>) -> Box<Error> {
        if self != Dialect::Torch {
            return error;
        }
        match &mut *error {
            Error::Index { what, .. } => *what = what.replace(" for axis ", " for dimension "),
            &mut Error::Axis { op, axis, rank } => {
                let n = rank.max(1);
                let what = format!(
                    "Dimension out of range (expected to be in range of [-{n}, {}], but got {axis})",
                    n - 1
                );
                *error = Error::Index { op, what };
            }
            Error::Dtype { what, .. } | Error::Argument { what, .. } | Error::Shape { what, .. } => {
                for (native, own) in CASTS {
                    *what = what.replace(native, own);
                }
                if what.contains(" appears multiple times in the list of axes ") {
                    *what = what.replacen("axis ", "dim ", 1).replacen("list of axes ", "list of dims ", 1);
                }
            }
            _ => {}
        }
        error
    }

    /// Whether a word that names one dtype in torch and another one in NumPy means NumPy's: "float" and "int" have 64 bits
    /// there.
    pub fn words_are_numpys(self, word: &str) -> bool {
        self != Dialect::Torch && matches!(word, "float" | "int")
    }

    /// The function of the dialect that makes tensors, under the name that a user imports.
    fn maker(self) -> &'static str {
        match self {
            Dialect::Native => "ferrograd.tensor",
            Dialect::Paddle => "ferrograd.paddle.to_tensor",
            Dialect::Torch => "ferrograd.torch.tensor",
        }
    }

    /// The dialect of a package's programs.
    pub fn of_package(package: &str) -> Dialect {
        match package {
            "torch" => Dialect::Torch,
            "paddle" => Dialect::Paddle,
            _ => Dialect::Native,
        }
    }

    /// What is said of a tensor of another package: the beginning says what it was given as.
    pub fn foreign_tensor(self, given_as: &str, package: &str) -> String {
        let make = self.maker();
        format!(
            "{given_as} must be a Tensor of ferrograd, not one of the package '{package}': make one of its numbers \
             with {make}(x)"
        )
    }

    /// A 0-d float tensor beside one with axes: acts like a number, which has no width (torch), or promotes like any
    /// other.
    pub fn scalars_are_weak(self) -> bool {
        self == Dialect::Torch
    }

    /// `size`: the number of elements, or (torch) a method that returns the shape.
    pub fn size_is_a_method(self) -> bool {
        self == Dialect::Torch
    }

    /// `numel()` and `rank()`: integers, or (Paddle) 0-d tensors.
    pub fn counts_are_tensors(self) -> bool {
        self == Dialect::Paddle
    }

    /// A 0-d tensor where an axis is given: treated as a vector of one element, or (native) an error.
    pub fn numbers_have_an_axis(self) -> bool {
        self != Dialect::Native
    }

    /// `name` of a tensor that was given none: a generated one (Paddle), or None.
    pub fn names_itself(self) -> bool {
        self == Dialect::Paddle
    }
}

/// Casts as the native namespace and torch write them.
const CASTS: [(&str, &str); 2] = [(".astype('int64')", ".long()"), (".astype('float32')", ".float()")];

/// An op's name in camel case: `LogSoftmax` for `log_softmax`.
fn camel_case(name: &str) -> String {
    let mut joined = String::new();
    for word in name.split(['_', '.']) {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

/// The name of an op as torch's profilers write it, and that of its rule: `aten::mul` and `MulBackward0`. What no function
/// of the library is called, such as the class of a custom function, stays as it is.
pub fn event_names(op: &str) -> (String, String) {
    match registry().flat_map(|e| e.names).find(|name| **name == op) {
        Some(known) => (format!("aten::{}", shortest(known)), rule_name(known)),
        None => (op.to_owned(), format!("{op}Backward")),
    }
}

/// What torch calls the rule of an op: `MulBackward0` for `multiply`.
fn rule_name(op: &'static str) -> String {
    camel_case(shortest(op)) + "Backward0"
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
