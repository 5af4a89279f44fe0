//! Settings of the process: how many threads work, and how much memory is kept for new arrays.

use std::any::Any;

use pyo3::prelude::*;

use super::error::raise;
use super::{scope, site};
use crate::bind::transform::tracer;
use crate::kernel::pointwise::machine;
use crate::kernel::simd::{Isa, isa};
use crate::kernel::{by_shape, fft, par, remainder};
use crate::ops::random;
use crate::{engine, fork, graph, memory};

/// Sets how many threads work, the calling one among them. No result depends on it.
///
///     >>> before = fg.get_num_threads()
///     >>> fg.set_num_threads(1)
///     >>> fg.get_num_threads()
///     1
///     >>> fg.set_num_threads(before)
#[pyfunction]
fn set_num_threads(py: Python<'_>, n: i64) -> PyResult<()> {
    match usize::try_from(n) {
        Ok(n @ 1..=par::MAX_THREADS) => par::set_threads(n),
        _ => {
            let text = format!("set_num_threads: {n} is not between 1 and {}", par::MAX_THREADS);
            return Err(raise(py, "ArgumentError", text));
        }
    }
    Ok(())
}

/// How many threads work, the calling one among them.
///
///     >>> fg.get_num_threads() >= 1
///     True
#[pyfunction]
fn num_threads() -> usize {
    par::threads()
}

/// The vectors of the processor that the kernels use.
#[pyfunction]
fn vectors() -> &'static str {
    match isa() {
        Isa::Avx512 => "AVX-512",
        Isa::Avx2 => "AVX2",
        Isa::Neon => "NEON",
        Isa::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
        Isa::Baseline => "none",
    }
}

/// Gives the memory that is kept for new arrays back to the system. Returns how many bytes that were.
///
///     >>> fg.empty_cache() >= 0
///     True
#[pyfunction]
fn empty_cache() -> usize {
    crate::array::empty_cache()
}

/// Sets how many bytes of memory may be kept for new arrays (256 MiB unless set). Returns how many it were before.
///
///     >>> before = fg.set_cache_limit(1 << 20)
///     >>> fg.set_cache_limit(before)
///     1048576
#[pyfunction]
fn set_cache_limit(py: Python<'_>, bytes: i64) -> PyResult<usize> {
    match usize::try_from(bytes) {
        Ok(bytes) => Ok(crate::array::set_cache_limit(bytes)),
        Err(_) => {
            Err(raise(py, "ArgumentError", format!("set_cache_limit: {bytes} is not a number of bytes")))
        }
    }
}

/// How many nodes of graphs exist in this process.
#[pyfunction]
fn live_nodes() -> usize {
    crate::graph::live_nodes()
}

/// What the process holds while it forks.
static HOLDS: &[fork::Hold] = &[
    crate::array::hold,
    crate::error::hold,
    machine::hold,
    fft::hold,
    random::hold,
    engine::hold,
    site::hold,
    scope::hold,
    made,
];

/// Makes what is made at its first use, so that no thread of the parent is in the middle of that.
fn made() -> Option<Box<dyn Any>> {
    remainder::ready();
    by_shape::ready();
    graph::ready();
    Some(Box::new(()))
}

/// To be called before this process forks.
#[pyfunction]
fn before_fork() {
    random::before_fork();
}

/// To be called in the child after a fork.
#[pyfunction]
fn after_fork_in_child(py: Python<'_>) {
    random::after_fork_in_child();
    tracer::after_fork_in_child(py);
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    fork::guard(HOLDS, &[memory::after_fork_in_child, par::after_fork_in_child]);
    m.add_function(wrap_pyfunction!(set_num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(num_threads, m)?)?;
    m.add_function(wrap_pyfunction!(vectors, m)?)?;
    m.add_function(wrap_pyfunction!(empty_cache, m)?)?;
    m.add_function(wrap_pyfunction!(set_cache_limit, m)?)?;
    m.add_function(wrap_pyfunction!(before_fork, m)?)?;
    m.add_function(wrap_pyfunction!(after_fork_in_child, m)?)?;
    m.add_function(wrap_pyfunction!(live_nodes, m)?)
}
