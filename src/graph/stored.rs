//! Ops in files: by a name, and the bytes of their fields.

use std::any::{Any, TypeId};
use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;

use super::lower::{Loops, Operands};
use super::made::Made;
use super::record::{Cotangents, Grads, Op, Outputs, Saved};
use super::saves::{NeedsGrad, Saves};
use crate::array::Array;
use crate::error::Result;
use crate::kernel::pointwise::binary::BinaryLoops;
use crate::kernel::pointwise::row::Pass;
use crate::kernel::pointwise::ternary::TernaryLoops;
use crate::kernel::pointwise::unary::Scalars;
use crate::stored::{Reader, Stored};

/// A type of ops that files know.
pub struct StoredOp {
    name: &'static str,
    kind: fn() -> TypeId,
    write: fn(&dyn Any, &mut Vec<u8>),
    read: fn(&mut Reader<'_>) -> Option<Arc<dyn Op>>,
}

impl StoredOp {
    pub const fn of<O: Op + Stored>(name: &'static str) -> StoredOp {
        StoredOp {
            name,
            kind: TypeId::of::<O>,
            write: |op, to| op.downcast_ref::<O>().expect("its type is the one of the entry").write(to),
            read: |from| Some(Arc::new(O::read(from)?)),
        }
    }
}

inventory::collect!(StoredOp);

/// Makes a type of ops known to files, under a name that no other type has: `stored_op!("name" => Type)`.
macro_rules! stored_op {
    ($name:expr => $Op:ty) => {
        ::inventory::submit! { $crate::graph::StoredOp::of::<$Op>($name) }
    };
}
pub(crate) use stored_op;

/// Ops without fields that files know, by name: the rows of a table.
pub struct StoredRows(pub &'static [(&'static str, &'static dyn Op)]);

inventory::collect!(StoredRows);

/// Makes ops without fields known to files: `stored_rows!("name" => op, …)`.
macro_rules! stored_rows {
    ($($name:expr => $op:expr),* $(,)?) => {
        ::inventory::submit! { $crate::graph::StoredRows(&[$(($name, &$op)),*]) }
    };
}
pub(crate) use stored_rows;

/// How the op of a name is found.
#[derive(Clone, Copy)]
enum Known {
    Row(&'static dyn Op),
    Op(&'static StoredOp),
}

struct AllKnown {
    by_type: FxHashMap<TypeId, (&'static str, Known)>,
    by_name: FxHashMap<&'static str, Known>,
}

static KNOWN: LazyLock<AllKnown> = LazyLock::new(|| {
    let mut all = AllKnown { by_type: FxHashMap::default(), by_name: FxHashMap::default() };
    for op in inventory::iter::<StoredOp> {
        all.by_type.insert((op.kind)(), (op.name, Known::Op(op)));
        all.by_name.insert(op.name, Known::Op(op));
    }
    for &(name, op) in inventory::iter::<StoredRows>.into_iter().flat_map(|rows| rows.0) {
        all.by_type.insert(op.kind(), (name, Known::Row(op)));
        all.by_name.insert(name, Known::Row(op));
    }
    all
});

/// Makes the table of the ops: see [`crate::fork`].
#[doc(hidden)]
pub fn ready() {
    LazyLock::force(&KNOWN);
}

/// Writes the fields of an op, and returns its name for [`read_op`]. None if files do not know the op.
pub fn write_op(op: &dyn Op, to: &mut Vec<u8>) -> Option<&'static str> {
    let &(name, known) = KNOWN.by_type.get(&op.kind())?;
    if let Known::Op(known) = known {
        (known.write)(op, to);
    }
    Some(name)
}

/// The op of a name with the fields that come next. None if there is none.
pub fn read_op(name: &str, from: &mut Reader<'_>) -> Option<Arc<dyn Op>> {
    match KNOWN.by_name.get(name)? {
        Known::Row(op) => Some(Arc::new(RowOfTable(*op))),
        Known::Op(known) => (known.read)(from),
    }
}

/// An op without fields, as a program from a file has it. Programs have no rules.
struct RowOfTable(&'static dyn Op);

impl Op for RowOfTable {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn kind(&self) -> TypeId {
        self.0.kind()
    }

    fn takes_half(&self) -> bool {
        self.0.takes_half()
    }

    fn forward(&self, ins: &[&Array], batch_ndim: usize) -> Result<Outputs> {
        self.0.forward(ins, batch_ndim)
    }

    fn lower(&self, ins: &Operands<'_>) -> Option<Loops> {
        self.0.lower(ins)
    }

    fn makes(&self, ins: &Operands<'_>) -> Option<Made> {
        self.0.makes(ins)
    }

    fn saves(&self, _: NeedsGrad) -> Saves {
        Saves::NOTHING
    }

    fn vjp(&self, _: &Cotangents, _: &Saved<'_>) -> Result<Grads> {
        unreachable!("it has no node")
    }
}

/// The loops of a formula, and its name in files. No other formula with as many operands has the name.
pub struct StoredPass {
    pub key: &'static str,
    pub loops: StoredLoops,
}

#[derive(Clone, Copy)]
pub enum StoredLoops {
    Binary(&'static BinaryLoops),
    Ternary(&'static TernaryLoops),
}

inventory::collect!(StoredPass);

/// Makes a formula known to files: `stored_pass!(Binary "name" => loops)`.
macro_rules! stored_pass {
    ($Kind:ident $name:expr => $loops:expr) => {
        ::inventory::submit! {
            $crate::graph::StoredPass { key: $name, loops: $crate::graph::StoredLoops::$Kind($loops) }
        }
    };
}
pub(crate) use stored_pass;

/// A formula that computes an op, or its gradient, in one pass.
pub(super) struct Formula {
    pub name: &'static str,
    /// The name of its loops in files.
    pub key: &'static str,
    pub pass: Pass,
}

impl Stored for Formula {
    fn write(&self, to: &mut Vec<u8>) {
        let (is_ternary, numbers) = match self.pass {
            Pass::Binary(_, p) => (false, p),
            Pass::Ternary(_, p) => (true, p),
        };
        self.name.write(to);
        self.key.write(to);
        is_ternary.write(to);
        numbers.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Option<Formula> {
        let name = <&'static str>::read(from)?;
        let key = String::read(from)?;
        let is_ternary = bool::read(from)?;
        let numbers = Scalars::read(from)?;
        inventory::iter::<StoredPass>.into_iter().filter(|known| known.key == key).find_map(|known| {
            let pass = match known.loops {
                StoredLoops::Binary(loops) if !is_ternary => Pass::Binary(loops, numbers),
                StoredLoops::Ternary(loops) if is_ternary => Pass::Ternary(loops, numbers),
                _ => return None,
            };
            Some(Formula { name, key: known.key, pass })
        })
    }
}

/// The names of all ops that files know.
#[cfg(test)]
pub fn names() -> Vec<&'static str> {
    let mut all: Vec<_> = KNOWN.by_name.keys().copied().collect();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_entries_have_one_name() {
        let rows = inventory::iter::<StoredRows>.into_iter().map(|rows| rows.0.len()).sum::<usize>();
        let ops = inventory::iter::<StoredOp>.into_iter().count() + rows;
        assert!(rows > 100);
        assert_eq!((KNOWN.by_type.len(), KNOWN.by_name.len()), (ops, ops));
        let mut passes: Vec<_> = inventory::iter::<StoredPass>
            .into_iter()
            .map(|p| (p.key, matches!(p.loops, StoredLoops::Ternary(_))))
            .collect();
        let all = passes.len();
        passes.sort_unstable();
        passes.dedup();
        assert_eq!(passes.len(), all);
    }
}
