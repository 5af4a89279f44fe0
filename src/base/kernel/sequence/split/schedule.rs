//! The schedule of a loop: in which phase each part of a step runs, and how.

use rustc_hash::FxHashSet;

use super::components::Dependences;
use super::inlined::{Inlined, Work};
use super::{Cell, Copied, Kind, Phase, Split, Tile};
use crate::kernel::pointwise::cluster::Formulas;
use crate::kernel::pointwise::numbers::Numbers;
use crate::kernel::pointwise::row::{Address, Instruction};
use crate::kernel::sequence::run::Sequence;
use crate::kernel::sequence::steps::Steps;

impl Split {
    /// How a loop is split. None if it cannot be.
    pub(super) fn new(sequence: &Sequence, steps: &Steps<'_>) -> Option<Split> {
        let step = Inlined::new(sequence, steps)?;
        let width = step.numbers.iter().map(|number| number.size).max()?.max(size_of::<u32>());
        let schedule = Schedule::new(&step, Tile::new(step.numbers.len(), width));
        let (constants, rows) = schedule.reads(steps.carries)?;
        let phases = schedule.phases()?;
        let (kind, tile) = (Kind::new(steps), schedule.tile);
        let places = (0..).take(step.numbers.len()).map(|cell| schedule.at(cell)).collect();
        let Inlined { carried, kept, results, before, .. } = step;
        Some(Split { kind, tile, places, phases, constants, rows, carried, kept, results, before })
    }
}

/// The work of a step by phase. In a phase with an even number, work runs for all steps of a tile before the next work does. In a
/// phase with an odd number the steps come in turn.
struct Schedule<'a> {
    step: &'a Inlined,
    dependences: Dependences,
    tile: Tile,
    /// By work: its phase.
    phase_of: Vec<usize>,
    /// By phase: its work. That of another component comes after what it depends on.
    phases: Vec<Vec<usize>>,
}

impl<'a> Schedule<'a> {
    /// Puts each component into the earliest phase of its kind in which all that it depends on is there.
    fn new(step: &'a Inlined, tile: Tile) -> Schedule<'a> {
        let dependences = step.dependences();
        let components = dependences.components();
        let phase_of = vec![0; step.works.len()];
        let mut all = Schedule { step, dependences, tile, phase_of, phases: vec![] };
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

    /// Whether a component is work that can run for all steps at once: without a dependence that the loop carries.
    fn is_alone(&self, component: &[usize]) -> bool {
        let &[i] = component else { return false };
        if self.dependences.readers[i].contains(&i) {
            return false;
        }
        let Work::Formula(own) = &self.step.works[i] else { return true };
        let (width, second) = (self.tile.width, own.from[1]);
        let chooses = own.row.has_forms && second.step == 0 && !self.step.is_constant(second.address);
        let are_dense = own.operands().iter().all(|x| self.step.number(x.address).size == width);
        own.row.out.size() == width && are_dense && !chooses
    }

    /// The address of a number in the first step.
    #[inline(never)]
    fn at(&self, cell: Cell) -> Address {
        let pitch = self.tile.pitch as Address;
        // The next carry is one place behind the carry.
        self.step.number(cell).carry.map_or(cell * pitch, |carry| carry * pitch + 1)
    }

    /// The phases. None if a kernel would run step by step.
    fn phases(&self) -> Option<Vec<Phase>> {
        // The numbers that are results of the loop.
        let results: FxHashSet<Cell> = self.step.results.iter().map(|own| own.cell).collect();
        let mut phases = vec![];
        for (p, list) in self.phases.iter().enumerate() {
            match p % 2 {
                0 => self.together(list, &mut phases),
                _ => phases.push(self.in_turn(list, &results)?),
            }
        }
        Some(phases)
    }

    /// Makes the phases of work that runs for all steps at once: formulas that follow each other are one.
    fn together(&self, list: &[usize], phases: &mut Vec<Phase>) {
        let mut formulas = vec![];
        for &i in list {
            match &self.step.works[i] {
                Work::Formula(own) => formulas.push(self.instruction(own, false)),
                Work::Call { item, operands, to } => {
                    phases.extend(self.formulas(std::mem::take(&mut formulas)));
                    phases.push(Phase::Call(*item, operands.clone(), *to));
                }
            }
        }
        phases.extend(self.formulas(formulas));
    }

    /// The phase of formulas. None if there are none.
    fn formulas(&self, list: Vec<Instruction>) -> Option<Phase> {
        if list.is_empty() {
            return None;
        }
        // All cells are numbers of the tile, none is a register.
        let (cells, mut used) = (self.step.numbers.len(), FxHashSet::default());
        Some(Phase::Together(Formulas::new(self.tile.steps, list, &[], cells, &mut used)))
    }

    /// The phase in which a step does all of this work before the next step begins. None if the work calls a kernel.
    fn in_turn(&self, list: &[usize], results: &FxHashSet<Cell>) -> Option<Phase> {
        let mut list = list.to_vec();
        // Work was added in the order in which a step computes it.
        list.sort_unstable();
        let mut formulas = vec![];
        // The addresses of what others read.
        let mut needed: FxHashSet<Address> = FxHashSet::default();
        for i in list {
            let Work::Formula(own) = &self.step.works[i] else { return None };
            let mut readers = self.dependences.readers[i].iter();
            if self.step.number(own.to).carry.is_some()
                || results.contains(&own.to)
                || readers.any(|&reader| self.phase_of[reader] != self.phase_of[i])
            {
                needed.insert(self.at(own.to));
            }
            let mut own = self.instruction(own, true);
            let n = own.row.operands();
            own.from[..n].iter_mut().for_each(|operand| operand.address = self.at(operand.address));
            own.to = self.at(own.to);
            formulas.push(own);
        }
        let is_needed = |address: Address| needed.contains(&address);
        Some(Phase::InTurn(Numbers::new(&formulas, self.tile.width as Address, true, &is_needed)))
    }

    /// The instruction, which reads a second operand as one number for all steps where that is one.
    fn instruction(&self, own: &Instruction, is_in_turn: bool) -> Instruction {
        let mut own = own.clone();
        let n = own.row.operands();
        for (k, operand) in own.from[..n].iter_mut().enumerate() {
            let is_one = k == 1 && operand.step == 0;
            operand.step = u8::from(!(is_one && (is_in_turn || self.step.is_constant(operand.address))));
        }
        own
    }

    /// The numbers that are the same in all steps, and those of rows. None if the loop reads more of a carry than it makes.
    fn reads(&self, carries: usize) -> Option<(Vec<Copied>, Vec<Copied>)> {
        let (mut constants, mut rows) = (vec![], vec![]);
        for (cell, number) in (0..).zip(&self.step.numbers) {
            let Some((array, start)) = number.given else { continue };
            let copied = Copied { array, start, size: number.size, cell };
            if self.step.is_constant(cell) {
                constants.push(copied);
            } else if array >= carries {
                rows.push(copied);
            } else if number.maker.is_none() {
                return None;
            }
        }
        Some((constants, rows))
    }
}
