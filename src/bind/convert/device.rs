//! The only device is the CPU; others are refused.

use pyo3::prelude::*;

use crate::bind::python::error::raise;

/// Raises for any device but the CPU and None, in the name of a function.
#[pyfunction(name = "check_device")]
pub fn on_cpu(op: &str, device: &Bound<'_, PyAny>) -> PyResult<()> {
    if device.is_none() {
        return Ok(());
    }
    let text = device.str()?;
    let text = text.to_string_lossy();
    let text = text.strip_prefix("Place(").and_then(|t| t.strip_suffix(")")).unwrap_or(&text);
    if matches!(text, "cpu" | "cpu:0") {
        return Ok(());
    }
    if text == "meta" {
        let text = format!("{op}: there are no tensors without numbers ('meta'); make it on the CPU");
        return Err(raise(device.py(), "ArgumentError", text));
    }
    let text = format!(
        "{op}: {text} is neither a dtype nor a device that is here; the only device is 'cpu' \
         (cuda.is_available() is False)"
    );
    Err(raise(device.py(), "ArgumentError", text))
}

pub fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(on_cpu, m)?)
}
