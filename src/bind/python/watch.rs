//! What a thread watches while it computes: not-a-number values, anomalies, times.

use std::collections::HashMap;

use pyo3::prelude::*;

use super::dialect;
use super::error::raise;
use crate::graph::watch::{self, OpCost};
use crate::graph::{Modes, Watch};

/// Sets whether this thread watches one thing: `nans`, `infs`, `anomalies`, `safe`, `times`, `sites` or `nodes`. Returns
/// whether it did before.
#[pyfunction(name = "watch")]
fn set(py: Python<'_>, what: &str, on: bool) -> PyResult<bool> {
    let before = Modes::update(|m| field(py, &mut m.watch, what).map(|f| std::mem::replace(f, on)))?;
    if matches!(what, "nans" | "anomalies") && on && !before {
        watch::reset_first_non_finite();
    }
    Ok(before)
}

/// Whether this thread watches one thing.
#[pyfunction]
fn watching(py: Python<'_>, what: &str) -> PyResult<bool> {
    field(py, &mut Modes::current().watch, what).copied()
}

fn field<'a>(py: Python<'_>, watch: &'a mut Watch, what: &str) -> PyResult<&'a mut bool> {
    Ok(match what {
        "nans" => &mut watch.debug_nans,
        "infs" => &mut watch.debug_infs,
        "anomalies" => &mut watch.detect_anomaly,
        "safe" => &mut watch.safe_gradients,
        "times" => &mut watch.profile,
        "sites" => &mut watch.profile_sites,
        "nodes" => &mut watch.node_times,
        _ => return Err(raise(py, "ArgumentError", format!("watch: {what:?} is nothing that is watched"))),
    })
}

/// The name of an op, its call site, and the calls, seconds and bytes of the op and of its rule.
type Row = (&'static str, Option<String>, [(u64, f64, u64); 2]);

/// What this thread has measured since the last call of this function. The op that was called first comes first.
#[pyfunction]
fn take_profile() -> Vec<Row> {
    let plain = |c: OpCost| (c.calls, c.time.as_secs_f64(), c.bytes);
    let mut taken: Vec<_> = watch::take_profile().into_iter().collect();
    taken.sort_by_key(|(_, costs)| costs.iter().filter_map(|c| c.first).min());
    taken.into_iter().map(|((name, site), costs)| (name, site.describe(), costs.map(plain))).collect()
}

/// The names of the events of an op in torch's profilers: that of its calls, and that of its rule.
#[pyfunction]
fn event_names(op: &str) -> (String, String) {
    dialect::event_names(op)
}

/// The seconds that rules have run since this thread last called this, by the key of their node.
#[pyfunction]
fn take_seconds() -> HashMap<usize, f64> {
    watch::take_node_times().into_iter().map(|(node, time)| (node, time.as_secs_f64())).collect()
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(set, m)?)?;
    m.add_function(wrap_pyfunction!(watching, m)?)?;
    m.add_function(wrap_pyfunction!(take_profile, m)?)?;
    m.add_function(wrap_pyfunction!(event_names, m)?)?;
    m.add_function(wrap_pyfunction!(take_seconds, m)?)
}
