//! The functions of `include/ferrograd.h`: programs from files, for users of C.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use ferrograd::array::Array;
use ferrograd::error::{Error, Result, bail};
use ferrograd::graph::Tensor;
use ferrograd::program::{SavedProgram, TensorKind};
use ferrograd::shape;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// A program, and the shapes that its description points to.
pub struct CProgram {
    program: SavedProgram,
    arguments: Vec<TensorKind>,
    results: Vec<TensorKind>,
}

/// `ferrograd_tensor`.
#[repr(C)]
pub struct CTensor {
    dtype: c_int,
    rank: usize,
    shape: *const usize,
    bytes: usize,
}

/// The value of `f`; where it fails, the error's text is kept for this thread.
fn checked<T>(f: impl FnOnce() -> Result<T>) -> Option<T> {
    let error = match Error::catch(f) {
        Ok(value) => return Some(value),
        Err(error) => error.to_string().replace('\0', " "),
    };
    LAST.set(CString::new(error).unwrap_or_default());
    None
}

fn bytes(kind: &TensorKind) -> usize {
    shape::len(&kind.dims) * kind.dtype.size()
}

/// Writes the description of one of these tensors to `to`. 0, or -1 if there is none, or no memory for it.
///
/// # Safety
/// `to` is NULL or can be written.
unsafe fn describe(kinds: Option<&[TensorKind]>, index: usize, to: *mut CTensor) -> c_int {
    let Some(kind) = kinds.and_then(|kinds| kinds.get(index)).filter(|_| !to.is_null()) else { return -1 };
    let (rank, shape) = (kind.dims.len(), kind.dims.as_ptr());
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { to.write(CTensor { dtype: kind.dtype as c_int, rank, shape, bytes: bytes(kind) }) };
    0
}

/// The addresses of a list, none of which is NULL where there are bytes.
///
/// # Safety
/// `list` is NULL or has an address for each tensor.
unsafe fn addresses<T>(list: *const *mut T, kinds: &[TensorKind], what: &str) -> Result<Vec<*mut T>> {
    if list.is_null() && !kinds.is_empty() {
        bail!(Argument, "ferrograd_run", "the list of {what}s is NULL");
    }
    let mut found = vec![];
    for (i, kind) in kinds.iter().enumerate() {
        // SAFETY: as the function's `# Safety` section requires.
        let at = unsafe { *list.add(i) };
        if at.is_null() && bytes(kind) > 0 {
            bail!(Argument, "ferrograd_run", "{what} {i} is NULL");
        }
        found.push(at);
    }
    Ok(found)
}

/// # Safety
/// `path` is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_load(path: *const c_char) -> *mut CProgram {
    let loaded = checked(|| {
        if path.is_null() {
            bail!(Argument, "ferrograd_load", "the path is NULL");
        }
        // SAFETY: as the function's `# Safety` section requires.
        let path = unsafe { CStr::from_ptr(path) };
        let Ok(path) = path.to_str() else { bail!(Argument, "ferrograd_load", "the path is not UTF-8") };
        let program = SavedProgram::load(path)?;
        let (arguments, results) = (program.arguments(), program.results());
        Ok(Box::new(CProgram { program, arguments, results }))
    });
    loaded.map_or(std::ptr::null_mut(), Box::into_raw)
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`], and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_free(program: *mut CProgram) {
    if !program.is_null() {
        // SAFETY: as the function's `# Safety` section requires.
        drop(unsafe { Box::from_raw(program) });
    }
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_arguments(program: *const CProgram) -> usize {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { program.as_ref() }.map_or(0, |program| program.arguments.len())
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_results(program: *const CProgram) -> usize {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { program.as_ref() }.map_or(0, |program| program.results.len())
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`], and `tensor` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_argument(
    program: *const CProgram,
    index: usize,
    tensor: *mut CTensor,
) -> c_int {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { describe(program.as_ref().map(|program| &program.arguments[..]), index, tensor) }
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`], and `tensor` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_result(
    program: *const CProgram,
    index: usize,
    tensor: *mut CTensor,
) -> c_int {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { describe(program.as_ref().map(|program| &program.results[..]), index, tensor) }
}

/// # Safety
/// `program` is NULL or from [`ferrograd_load`]; `arguments` and `results` have as many addresses as it says, each of as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_run(
    program: *mut CProgram,
    arguments: *const *const c_void,
    results: *const *mut c_void,
) -> c_int {
    let ran = checked(|| {
        // SAFETY: as the function's `# Safety` section requires.
        let Some(program) = (unsafe { program.as_ref() }) else {
            bail!(Argument, "ferrograd_run", "the program is NULL");
        };
        // SAFETY: as above.
        let from = unsafe { addresses(arguments.cast::<*mut c_void>(), &program.arguments, "argument")? };
        // SAFETY: as above.
        let to = unsafe { addresses(results, &program.results, "result")? };
        let mut given = vec![];
        for (at, kind) in from.into_iter().zip(&program.arguments) {
            let n = bytes(kind);
            // SAFETY: as above; no bytes need no address.
            let bytes = if n == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(at.cast(), n) } };
            given.push(Tensor::constant(Array::from_bytes(kind.dtype, &kind.dims, bytes)?));
        }
        let found = program.program.run(&given.iter().collect::<Vec<_>>())?;
        for (i, (result, kind)) in found.iter().zip(&program.results).enumerate() {
            let array = result.array().contiguous()?;
            let from = array.as_bytes().expect("contiguous");
            if from.len() != bytes(kind) {
                bail!(Argument, "ferrograd_run", "result {i} is of another size");
            }
            if !from.is_empty() {
                // SAFETY: the caller's memory has as many bytes, and overlaps nothing.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to[i].cast(), from.len()) };
            }
        }
        Ok(())
    });
    if ran.is_some() { 0 } else { -1 }
}

#[unsafe(no_mangle)]
pub extern "C" fn ferrograd_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ptr::{null, null_mut};

    use super::*;

    #[test]
    fn null_is_no_program() {
        // SAFETY: NULL may stand for each of these.
        unsafe {
            assert!(ferrograd_load(null()).is_null());
            ferrograd_free(null_mut());
            assert_eq!((ferrograd_arguments(null()), ferrograd_results(null())), (0, 0));
            assert_eq!(ferrograd_argument(null(), 0, null_mut()), -1);
            assert_eq!(ferrograd_result(null(), 0, null_mut()), -1);
            assert_eq!(ferrograd_run(null_mut(), null(), null()), -1);
            let text = CStr::from_ptr(ferrograd_error()).to_string_lossy();
            assert_eq!(text, "ferrograd_run: the program is NULL");
        }
    }
}
