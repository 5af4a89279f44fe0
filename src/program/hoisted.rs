//! What is the same in each step of a loop.

use rustc_hash::FxHashSet;

use super::Program;
use crate::array::Array;
use crate::graph::trace::Call;

impl Program {
    /// The two programs that a step becomes. The first computes, once before the loop, what does not depend on the first inputs
    /// `varying` of the step; the others are its inputs. The second is the step with the results of the first as further inputs.
    /// None if there is no such work, or if a result of it is not contiguous.
    pub fn hoisted(
        inputs: &[Array],
        varying: usize,
        calls: &[Call],
        outputs: &[Array],
    ) -> Option<[Program; 2]> {
        let buffer = |x: &Array| x.has_place().then(|| x.place().0);
        let mut differs: FxHashSet<usize> = inputs[..varying].iter().filter_map(buffer).collect();
        let constants: FxHashSet<usize> = inputs[varying..].iter().filter_map(buffer).collect();
        let (mut once, mut each) = (vec![], vec![]);
        let mut is_worthwhile = false;
        for call in calls {
            let depends = |x: &Array| buffer(x).is_some_and(|b| differs.contains(&b));
            // What has no inputs or outputs stays in its place.
            if call.may_draw() || call.outs.is_empty() || call.ins.iter().any(depends) {
                differs.extend(call.outs.iter().filter_map(buffer));
                each.push(call.clone());
                continue;
            }
            is_worthwhile |= !call.op.is_view();
            once.push(call.clone());
        }
        if !is_worthwhile {
            return None;
        }
        let mut made = Program::read_by(&inputs[varying..], &once, &each, outputs);
        made.retain(|x| !constants.contains(&x.place().0));
        if made.is_empty() || !made.iter().all(Array::is_contiguous) {
            return None;
        }
        let of_step: Vec<Array> = inputs.iter().chain(&made).cloned().collect();
        let once = Program::new(&inputs[varying..], &once, &made)?;
        Some([once, Program::new(&of_step, &each, outputs)?])
    }
}
