//! The graph as text: pictures in the dot language, and where in the program each node was made.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::graph::{Edge, Meta, Node};

/// Nodes beyond this many are left out, with a notice.
const LIMIT: usize = 100_000;

/// One graph, drawn both ways.
pub struct Dump {
    /// From the outputs to the leaves, as gradients flow.
    pub backward: String,
    /// From the leaves to the outputs, as values flow.
    pub forward: String,
    /// By node: where it was made.
    pub calls: String,
}

/// Draws what lies below `roots`.
pub fn dump(roots: &[Edge]) -> Dump {
    let (nodes, left_out) = below(roots);
    let index: FxHashMap<_, _> = nodes.iter().zip(0..).map(|(n, i)| (Arc::as_ptr(n), i)).collect();
    let (mut backward, mut forward, mut calls) = (String::new(), String::new(), String::new());
    for (i, node) in nodes.iter().enumerate() {
        line(&mut backward, format_args!("node_{i}[label=\"{}\"]", escaped(&gradient_name(node))));
        line(&mut forward, format_args!("node_{i}[label=\"{}\"]", escaped(node.name())));
        let place = node.site.describe().unwrap_or_else(|| "unknown place".to_owned());
        line(&mut calls, format_args!("node_{i} {}: {place}", gradient_name(node)));
    }
    for (i, node) in nodes.iter().enumerate() {
        for edge in node.inputs.iter().flatten() {
            let Some(to) = index.get(&Arc::as_ptr(&edge.node)) else { continue };
            let label = value(edge.meta());
            line(&mut backward, format_args!("node_{i}->node_{to}[label=\"{label}\"]"));
            line(&mut forward, format_args!("node_{to}->node_{i}[label=\"{label}\"]"));
        }
    }
    let notice = format!("The graph is larger: only {LIMIT} nodes are shown.");
    if left_out {
        line(&mut backward, format_args!("left_out[label=\"{notice}\"]"));
        line(&mut forward, format_args!("left_out[label=\"{notice}\"]"));
        line(&mut calls, format_args!("{notice}"));
    }
    let graph = |body: String| format!("digraph G {{\n{body}}}\n");
    Dump { backward: graph(backward), forward: graph(forward), calls }
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a string takes any text");
}

/// The nodes in the order of their distance from the roots, and whether some are missing.
fn below(roots: &[Edge]) -> (Vec<&Arc<Node>>, bool) {
    let mut met = FxHashMap::default();
    let mut nodes: Vec<&Arc<Node>> = vec![];
    let mut queue: VecDeque<&Arc<Node>> = VecDeque::new();
    let mut meet = |queue: &mut VecDeque<_>, node| {
        if met.insert(Arc::as_ptr(node), ()).is_none() {
            queue.push_back(node);
        }
    };
    roots.iter().for_each(|e| meet(&mut queue, &e.node));
    while let Some(node) = queue.pop_front() {
        if nodes.len() == LIMIT {
            return (nodes, true);
        }
        nodes.push(node);
        node.inputs.iter().flatten().for_each(|e| meet(&mut queue, &e.node));
    }
    (nodes, false)
}

/// `MatmulGradNode` for `matmul`: the name of a node in pictures of the backward graph.
pub fn gradient_name(node: &Node) -> String {
    if node.is_leaf() {
        return "GradNodeAccumulation".to_owned();
    }
    camel_case(node.name()) + "GradNode"
}

/// `LogSoftmax` for `log_softmax`.
pub fn camel_case(name: &str) -> String {
    let mut joined = String::new();
    for word in name.split(['_', '.']) {
        let mut letters = word.chars();
        joined.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        joined.push_str(letters.as_str());
    }
    joined
}

/// A value as the label of its edge: where it is, its dtype and its shape.
fn value(meta: &Meta) -> String {
    format!("Place(cpu)\\n{}{:?}", meta.dtype, meta.dims.as_slice())
}

fn escaped(name: &str) -> String {
    name.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Tensor;
    use crate::ops::contract::matmul;

    #[test]
    fn a_graph_is_drawn_both_ways_with_leaves_and_values() {
        let x = Tensor::constant(crate::array::Array::full(&[1, 2], 1f32)).leaf();
        let w = Tensor::constant(crate::array::Array::full(&[2, 2], 1f32)).leaf();
        let y = matmul((&x).into(), (&w).into()).unwrap();
        let d = dump(&[y.edge.unwrap()]);
        assert_eq!(
            d.backward,
            "digraph G {\nnode_0[label=\"MatmulGradNode\"]\nnode_1[label=\"GradNodeAccumulation\"]\n\
             node_2[label=\"GradNodeAccumulation\"]\nnode_0->node_1[label=\"Place(cpu)\\nfloat32[1, 2]\"]\n\
             node_0->node_2[label=\"Place(cpu)\\nfloat32[2, 2]\"]\n}\n"
        );
        assert!(d.forward.contains("node_1->node_0[label=\"Place(cpu)\\nfloat32[1, 2]\"]"), "{}", d.forward);
        assert!(d.calls.starts_with("node_0 MatmulGradNode: unknown place\n"), "{}", d.calls);
    }

    #[test]
    fn a_large_graph_is_cut_off_with_a_notice() {
        let mut y = Tensor::scalar(1.0).leaf();
        for _ in 0..LIMIT + 5 {
            y = -y;
        }
        let d = dump(&[y.edge.unwrap()]);
        assert!(d.backward.contains("only 100000 nodes are shown"));
    }
}
