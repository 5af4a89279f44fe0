//! A program as a graph.

use rustc_hash::FxHashMap;

use super::Program;
use super::parts::Id;
use crate::dtype::DType;
use crate::graph::site::Site;
use crate::shape::Dims;

/// The nodes of a program, inputs before their consumers, and the values that it returns. A value is the number of a node
/// and which of its outputs it is; a view stands for the value that it lies in.
pub struct Drawn {
    pub nodes: Vec<DrawnNode>,
    pub roots: Vec<(usize, usize)>,
}

pub struct DrawnNode {
    pub source: Source,
    pub op: &'static str,
    pub site: Site,
    pub ins: Vec<(usize, usize)>,
    pub outs: Vec<(DType, Dims)>,
}

/// Where a node's values come from.
#[derive(Clone, Copy)]
pub enum Source {
    Input(usize),
    Constant,
    Op,
}

impl Program {
    /// The program as a graph, with the first outputs as its roots.
    pub fn drawn(&self, outputs: usize) -> Drawn {
        let mut nodes = vec![];
        let mut places: FxHashMap<Id, (usize, usize)> = FxHashMap::default();
        let value = |id: Id| (self.values[id as usize].dtype, self.values[id as usize].dims.clone());
        let whole = |id: Id| self.values[id as usize].whole(id);
        let mut leaf = |nodes: &mut Vec<DrawnNode>, id: Id| {
            *places.entry(id).or_insert_with(|| {
                let is_input = (id as usize) < self.inputs;
                let source = if is_input { Source::Input(id as usize) } else { Source::Constant };
                let (ins, outs) = (vec![], vec![value(id)]);
                nodes.push(DrawnNode { source, op: "leaf", site: Site(0), ins, outs });
                (nodes.len() - 1, 0)
            })
        };
        let mut made: FxHashMap<Id, (usize, usize)> = FxHashMap::default();
        for step in &self.steps {
            let mut ins = vec![];
            for &id in &step.ins {
                let id = whole(id);
                ins.push(made.get(&id).copied().unwrap_or_else(|| leaf(&mut nodes, id)));
            }
            step.outs.iter().enumerate().for_each(|(out, &id)| _ = made.insert(id, (nodes.len(), out)));
            let outs = step.outs.iter().map(|&id| value(id)).collect();
            nodes.push(DrawnNode { source: Source::Op, op: step.op.name(), site: step.site, ins, outs });
        }
        let mut roots = vec![];
        for &id in self.outputs.iter().take(outputs) {
            let id = whole(id);
            roots.push(made.get(&id).copied().unwrap_or_else(|| leaf(&mut nodes, id)));
        }
        Drawn { nodes, roots }
    }
}
