//! Whether the parts of a cluster go together.

use super::parts::{End, Read, Write};
use super::room::has_room;
use crate::dtype::DType;
use crate::kernel::pointwise::row::{Address, Instruction, Loop};
use crate::kernel::reduce::tiles::Lengths;

/// The lengths that the tiles can have, and the bytes of the largest element that is read or made.
///
/// # Panics
/// As [`Cluster::new`](super::Cluster::new).
pub(super) fn checked(
    n: usize,
    instructions: &[Instruction],
    (reads, writes, ends): (&[Read], &[Write], &[End]),
    registers: usize,
) -> (Lengths, usize) {
    let sizes =
        reads.iter().map(|read| read.dtype.size()).chain(instructions.iter().map(|own| own.row.out.size()));
    let widest = sizes.max().unwrap_or(1);
    let lengths = ends.iter().try_fold(Lengths::ANY, |lengths, end| lengths.with(&end.fold));
    let lengths = lengths.expect("a tile suits all folds");
    assert!(ends.iter().all(|end| end.of < instructions.len() && end.fold.elements() == n && n > 1));
    let first = reads.len() + writes.len();
    let addresses = first + registers;
    assert!(has_room(n, widest, registers, addresses, lengths), "a cluster is too large");
    let is_there = |&address: &Address| (address as usize) < addresses;
    for own in instructions {
        assert!(own.from.iter().all(|operand| is_there(&operand.address)));
        assert!(is_there(&own.to) && is_there(&own.also));
    }
    assert!(ends.iter().all(|end| is_there(&end.address)));
    let is_register = |address: Address| (first..addresses).contains(&(address as usize));
    assert!(reads.iter().filter_map(Read::register).all(is_register));
    for from in writes.iter().filter_map(|write| write.from.as_deref()) {
        assert!(from.iter().all(is_there));
    }
    let are_fit = are_of_their_dtypes(instructions, reads, writes, ends, registers);
    assert!(are_fit, "a loop gets elements that it is not for");
    (lengths, widest)
}

/// Whether each instruction, and each fold, finds elements of the dtype that its loop is for where it reads, and each result has
/// the dtype of what is written there.
fn are_of_their_dtypes(
    instructions: &[Instruction],
    reads: &[Read],
    writes: &[Write],
    ends: &[End],
    registers: usize,
) -> bool {
    // By address: the dtype of the elements that lie there.
    let mut now: Vec<Option<DType>> = reads.iter().map(|read| Some(read.dtype)).collect();
    now.resize(reads.len() + writes.len() + registers, None);
    for read in reads {
        if let Some(register) = read.register() {
            now[register as usize] = Some(read.dtype);
        }
    }
    let mut ends = ends.iter().peekable();
    for (i, own) in instructions.iter().enumerate() {
        let row = &own.row;
        let takes =
            own.operands().iter().enumerate().all(|(k, x)| now[x.address as usize] == Some(row.operand(k)));
        let results = [Some(own.to), matches!(row.apply, Loop::Pair(_)).then_some(own.also)];
        for to in results.into_iter().flatten().map(|to| to as usize) {
            // What is read is not written, and what is written has its dtype.
            let write = to.checked_sub(reads.len()).map(|w| writes.get(w));
            if !write
                .is_some_and(|write| write.is_none_or(|write| write.from.is_none() && write.dtype == row.out))
            {
                return false;
            }
            now[to] = Some(row.out);
        }
        let mut folds = true;
        while let Some(end) = ends.next_if(|end| end.of == i) {
            folds &= now[end.address as usize] == Some(end.fold.dtype());
        }
        if !takes || !folds {
            return false;
        }
    }
    writes.iter().enumerate().all(|(w, write)| {
        let own = [(reads.len() + w) as Address];
        write.from.as_deref().unwrap_or(&own).iter().all(|&at| now[at as usize] == Some(write.dtype))
    })
}
