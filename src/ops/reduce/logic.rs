//! `any`, `all` and `count_nonzero`. An element counts as true if it is not zero.

use smallvec::smallvec;

use super::fold::Folded;
use crate::array::Array;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{
    Cotangents, Grads, Made, NeedsGrad, Op, Operands, Outputs, Saved, Saves, Tangents, Tensor, apply,
};
use crate::kernel::pointwise::cast::cast;
use crate::kernel::reduce::{self, ReduceLoops, reduce_loops};
use crate::ops::entry::{Axes, op};
use crate::stored::Stored;

const ANY: &ReduceLoops =
    reduce_loops!(truth Bool8 Bool8(0); a, x => Bool8(a.0 | x.0); of v => Bool8::from(v != T::default()));
const ALL: &ReduceLoops =
    reduce_loops!(truth Bool8 Bool8(1); a, x => Bool8(a.0 & x.0); of v => Bool8::from(v != T::default()));
const COUNT: &ReduceLoops = reduce_loops!(truth i64 0; a, x => a + x; of v => i64::from(v != T::default()));

#[derive(Clone, Copy, Stored)]
enum Question {
    Any,
    All,
    Count,
}

impl Question {
    fn parts(self) -> (&'static str, &'static ReduceLoops) {
        match self {
            Question::Any => ("any", ANY),
            Question::All => ("all", ALL),
            Question::Count => ("count_nonzero", COUNT),
        }
    }
}

/// A reduction without a derivative.
#[derive(Stored)]
#[stored(op)]
struct Ask {
    question: Question,
    folded: Folded,
}

impl Op for Ask {
    fn name(&self) -> &'static str {
        self.question.parts().0
    }

    fn forward(&self, ins: &[&Array], _: usize) -> Result<Outputs> {
        let (op, table) = self.question.parts();
        let x = cast(ins[0], DType::Bool)?;
        Ok([self.folded.fold(&x, |axes| reduce::apply(op, table, &x, axes))?].into())
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.folded.makes(ins, self.question.parts().1.makes(DType::Bool))
    }

    fn is_flat(&self) -> bool {
        true
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }

    fn jvp(&self, _: &Tangents, _: &Saved<'_>) -> Result<Grads> {
        Ok(smallvec![None])
    }
}

fn ask(question: Question, x: &Tensor, axis: Axes<'_>, keepdims: bool) -> Result<Tensor> {
    let folded = Folded::new(question.parts().0, axis, keepdims, x.rank())?;
    apply(Ask { question, folded }, &[x])
}

/// Whether any element over axes (all by default) is not zero; False of none.
///
/// ```python
/// >>> fg.any(fg.tensor([0., 2.])).item()
/// True
/// ```
#[op(rust)]
pub fn any(x: &Tensor, axis: Axes<'_>, keepdims: bool) -> Result<Tensor> {
    ask(Question::Any, x, axis, keepdims)
}

/// Whether every element over axes (all by default) is not zero; True of none.
///
/// ```python
/// >>> fg.all(fg.tensor([0., 2.])).item()
/// False
/// ```
#[op(rust)]
pub fn all(x: &Tensor, axis: Axes<'_>, keepdims: bool) -> Result<Tensor> {
    ask(Question::All, x, axis, keepdims)
}

/// How many elements over axes (all by default) are not zero (int64).
///
/// ```python
/// >>> fg.count_nonzero(fg.tensor([0., 2.])).item()
/// 1
/// ```
#[op(method, torch(AllAxes))]
pub fn count_nonzero(
    x: &Tensor,
    #[default(None)] axis: Axes<'_>,
    #[default(false)] keepdims: bool,
) -> Result<Tensor> {
    ask(Question::Count, x, axis, keepdims)
}
