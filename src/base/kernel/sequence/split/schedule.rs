//! The schedule of a loop: in which phase each node runs, and how.

use rustc_hash::{FxHashMap, FxHashSet};

use super::components::Dependences;
use super::nodes::{Element, Node, Nodes, Origin, Slot, Work};
use super::{Copied, Kind, Operand, Phase, Split, Tile};
use crate::kernel::pointwise::cluster::Formulas;
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{Address, Instruction};
use crate::kernel::sequence::run::Sequence;
use crate::kernel::sequence::steps::Steps;

impl Split {
    /// How a loop is split. None if it cannot be.
    pub(super) fn new(sequence: &Sequence, steps: &Steps<'_>) -> Option<Split> {
        let nodes = Nodes::new(sequence, steps)?;
        let width = nodes.numbers.iter().map(|number| number.size).max()?.max(size_of::<u32>());
        let tile = Tile::new(nodes.numbers.len(), width);
        let schedule = Schedule::new(&nodes, tile);
        let (constants, rows) = schedule.reads(steps.carries)?;
        let phases = schedule.phases()?;
        let copied = |elements: &[Element]| elements.iter().map(|own| schedule.copied(own)).collect();
        Some(Split {
            kind: Kind::new(steps),
            tile,
            phases,
            constants: copied(&constants),
            rows: copied(&rows),
            carried: copied(&nodes.carried),
            kept: nodes.kept.clone(),
            results: copied(&nodes.results),
            before: copied(&nodes.before),
        })
    }
}

/// The nodes of a step by phase. In a phase with an even number a node runs for all steps of a tile before the next one does. In a
/// phase with an odd number the steps come in turn.
struct Schedule<'a> {
    nodes: &'a Nodes<'a>,
    dependences: Dependences,
    tile: Tile,
    /// By node: its phase.
    phase_of: Vec<usize>,
    /// By phase: its nodes. Those of another component come after those that they depend on.
    phases: Vec<Vec<usize>>,
}

impl<'a> Schedule<'a> {
    /// Puts each component into the earliest phase of its kind in which all that it depends on is there.
    fn new(nodes: &'a Nodes<'a>, tile: Tile) -> Schedule<'a> {
        let dependences = nodes.dependences();
        let components = dependences.components();
        let phase_of = vec![0; nodes.nodes.len()];
        let mut all = Schedule { nodes, dependences, tile, phase_of, phases: vec![] };
        for component in components {
            let is_alone = all.is_alone(&component);
            let makers = component.iter().flat_map(|&i| &all.dependences.makers[i]);
            let earliest = makers.map(|&m| all.phase_of[m]).max().unwrap_or(0);
            let phase = earliest + usize::from(earliest % 2 == usize::from(is_alone));
            all.phases.resize(all.phases.len().max(phase + 1), vec![]);
            for i in component {
                all.phase_of[i] = phase;
                all.phases[phase].push(i);
            }
        }
        all
    }

    /// Whether a component is one node that can run for all steps at once: one without a dependence that the loop carries.
    fn is_alone(&self, component: &[usize]) -> bool {
        let &[i] = component else { return false };
        if self.dependences.readers[i].contains(&i) {
            return false;
        }
        let Node { work: Work::Formula(own), operands, .. } = &self.nodes.nodes[i] else { return true };
        let width = self.tile.width;
        let chooses = own.row.has_forms && own.from[1].step == 0 && !self.nodes.is_constant(operands[1]);
        let are_dense = operands.iter().all(|&x| self.nodes.numbers[x].size == width);
        own.row.out.size() == width && are_dense && !chooses
    }

    /// The address of a number in the first step.
    #[inline(never)]
    fn at(&self, slot: Slot) -> Address {
        let carry = match self.nodes.numbers[slot].origin {
            Origin::Made(node) => self.nodes.nodes[node].carry,
            Origin::Given(..) => None,
        };
        // The next carry is one place behind the carry.
        carry.map_or(slot * self.tile.pitch, |carry| carry * self.tile.pitch + 1) as Address
    }

    /// The phases. None if a kernel would run step by step.
    fn phases(&self) -> Option<Vec<Phase>> {
        // The numbers that are results of the loop.
        let results: FxHashSet<Slot> = self.nodes.results.iter().map(|own| own.slot).collect();
        let mut phases = vec![];
        for (p, list) in self.phases.iter().enumerate() {
            match p % 2 {
                0 => self.together(list, &mut phases),
                _ => phases.push(self.in_turn(list, &results)?),
            }
        }
        Some(phases)
    }

    /// Makes the phases of nodes that each run for all steps: formulas that follow each other are one.
    fn together(&self, list: &[usize], phases: &mut Vec<Phase>) {
        let mut formulas = vec![];
        for &i in list {
            let node = &self.nodes.nodes[i];
            match &node.work {
                Work::Formula(own) => formulas.push(self.instruction(own, node, false)),
                Work::Kernel(item, operands) => {
                    phases.extend(self.formulas(std::mem::take(&mut formulas)));
                    let operands = operands.iter().map(|operand| self.operand(operand)).collect();
                    phases.push(Phase::Call(*item, operands, self.at(node.result)));
                }
            }
        }
        phases.extend(self.formulas(formulas));
    }

    /// The phase of formulas, which know their addresses by number. None if there are none.
    fn formulas(&self, mut list: Vec<Instruction>) -> Option<Phase> {
        let mut numbers: FxHashMap<Address, Address> = FxHashMap::default();
        let mut places = vec![];
        let mut number = |at: &mut Address| {
            *at = *numbers.entry(*at).or_insert_with(|| {
                places.push(*at);
                places.len() as Address - 1
            });
        };
        for own in &mut list {
            own.from[..own.row.operands()].iter_mut().for_each(|operand| number(&mut operand.address));
            number(&mut own.to);
            own.also = own.to;
        }
        // All results are numbers of the tile.
        let registers = places.len();
        let formulas = || Formulas::new(self.tile.steps, list, &[], registers, &mut FxHashSet::default());
        (registers > 0).then(formulas).map(|formulas| Phase::Together(formulas, places))
    }

    /// The phase of nodes of which a step computes all before the next step does. None if one of them calls a kernel.
    fn in_turn(&self, list: &[usize], results: &FxHashSet<Slot>) -> Option<Phase> {
        let mut list = list.to_vec();
        // Nodes were added in the order in which a step computes them.
        list.sort_unstable();
        let mut formulas = vec![];
        // The addresses of what others read.
        let mut needed: FxHashSet<Address> = FxHashSet::default();
        for i in list {
            let node = &self.nodes.nodes[i];
            let Work::Formula(own) = &node.work else { return None };
            formulas.push(self.instruction(own, node, true));
            let mut readers = self.dependences.readers[i].iter();
            if node.carry.is_some()
                || results.contains(&node.result)
                || readers.any(|&reader| self.phase_of[reader] != self.phase_of[i])
            {
                needed.insert(self.at(node.result));
            }
        }
        let is_needed = |address: Address| needed.contains(&address);
        Some(Phase::InTurn(Numbers::new(&formulas, self.tile.width as Address, true, &is_needed)))
    }

    /// The instruction of a node, with addresses in a tile.
    fn instruction(&self, own: &Instruction, node: &Node<'_>, is_in_turn: bool) -> Instruction {
        let mut own = own.clone();
        own.to = self.at(node.result);
        for (k, (operand, &slot)) in own.from.iter_mut().zip(&node.operands).enumerate() {
            operand.address = self.at(slot);
            let is_one = k == 1 && operand.step == 0 && (is_in_turn || self.nodes.is_constant(slot));
            operand.step = u8::from(!is_one);
        }
        own
    }

    fn operand(&self, operand: &Operand<Slot>) -> Operand<Address> {
        match operand {
            Operand::Number(slot) => Operand::Number(self.at(*slot)),
            Operand::Given(array, start, reach) => Operand::Given(*array, *start, reach.clone()),
        }
    }

    /// The numbers that are the same in all steps, and those of rows. None if the loop reads more of a carry than it makes.
    fn reads(&self, carries: usize) -> Option<(Vec<Element>, Vec<Element>)> {
        let (mut constants, mut rows) = (vec![], vec![]);
        for (slot, number) in self.nodes.numbers.iter().enumerate() {
            let Origin::Given(array, start) = number.origin else { continue };
            let element = Element { array, start, slot };
            if self.nodes.is_constant(slot) {
                constants.push(element);
            } else if array >= carries {
                rows.push(element);
            } else if number.next.is_none() {
                return None;
            }
        }
        Some((constants, rows))
    }

    fn copied(&self, &Element { array, start, slot }: &Element) -> Copied {
        Copied { array, start, size: self.nodes.numbers[slot].size, at: self.at(slot) }
    }
}
