//! The strongly connected components of a dependence graph.

/// Which nodes depend on which, in the same step, or from one step to the next.
pub(super) struct Dependences {
    /// By node: those that read its result.
    pub readers: Vec<Vec<usize>>,
    /// By node: those whose results it reads.
    pub makers: Vec<Vec<usize>>,
}

impl Dependences {
    /// The graph of so many nodes, where each reader follows its maker in a pair.
    pub fn new(nodes: usize, pairs: impl Iterator<Item = [usize; 2]>) -> Dependences {
        let mut all = Dependences { readers: vec![vec![]; nodes], makers: vec![vec![]; nodes] };
        for [maker, reader] in pairs {
            all.readers[maker].push(reader);
            all.makers[reader].push(maker);
        }
        all
    }

    /// The strongly connected components, each after those that it depends on, by Kosaraju's algorithm.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let nodes = self.readers.len();
        let (mut order, mut seen) = (vec![], vec![false; nodes]);
        for node in 0..nodes {
            walk(node, &self.readers, &mut seen, &mut order);
        }
        let (mut components, mut seen) = (vec![], vec![false; nodes]);
        for node in order.into_iter().rev() {
            let mut component = vec![];
            walk(node, &self.makers, &mut seen, &mut component);
            if !component.is_empty() {
                components.push(component);
            }
        }
        components
    }
}

/// Goes depth first from a node to all that it leads to and that were not seen before, and lists them in post-order.
fn walk(root: usize, next: &[Vec<usize>], seen: &mut [bool], out: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    let mut stack = vec![(root, 0)];
    while let Some((node, i)) = stack.pop() {
        match next[node].get(i) {
            Some(&other) => {
                stack.push((node, i + 1));
                if !std::mem::replace(&mut seen[other], true) {
                    stack.push((other, 0));
                }
            }
            None => out.push(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_wait_for_each_other_are_one_component_after_those_it_depends_on() {
        let pairs = [[3, 0], [0, 1], [1, 2], [2, 0], [2, 4], [4, 4], [5, 4]];
        let mut components = Dependences::new(6, pairs.into_iter()).components();
        components.iter_mut().for_each(|component| component.sort_unstable());
        let place = |node: usize| components.iter().position(|own| own.contains(&node)).unwrap();
        assert_eq!(components.len(), 4);
        assert_eq!(components[place(1)], [0, 1, 2]);
        assert!(place(3) < place(1) && place(1) < place(4) && place(5) < place(4));
    }
}
