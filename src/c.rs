//! The functions of `include/ferrograd.h`: programs from files, for users of C.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::array::Array;
use crate::error::{Error, Result, bail};
use crate::graph::Tensor;
use crate::program::{SavedProgram, TensorKind};
use crate::shape;

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

fn describe(kinds: &[TensorKind], index: usize) -> Option<CTensor> {
    let kind = kinds.get(index)?;
    Some(CTensor {
        dtype: kind.dtype as c_int,
        rank: kind.dims.len(),
        shape: kind.dims.as_ptr(),
        bytes: bytes(kind),
    })
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
/// `program` is from [`ferrograd_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_arguments(program: *const CProgram) -> usize {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { &*program }.arguments.len()
}

/// # Safety
/// `program` is from [`ferrograd_load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_results(program: *const CProgram) -> usize {
    // SAFETY: as the function's `# Safety` section requires.
    unsafe { &*program }.results.len()
}

/// # Safety
/// `program` is from [`ferrograd_load`], and `tensor` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_argument(
    program: *const CProgram,
    index: usize,
    tensor: *mut CTensor,
) -> c_int {
    // SAFETY: as the function's `# Safety` section requires.
    let Some(found) = describe(unsafe { &(*program).arguments }, index) else { return -1 };
    // SAFETY: as above.
    unsafe { tensor.write(found) };
    0
}

/// # Safety
/// `program` is from [`ferrograd_load`], and `tensor` can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_result(
    program: *const CProgram,
    index: usize,
    tensor: *mut CTensor,
) -> c_int {
    // SAFETY: as the function's `# Safety` section requires.
    let Some(found) = describe(unsafe { &(*program).results }, index) else { return -1 };
    // SAFETY: as above.
    unsafe { tensor.write(found) };
    0
}

/// # Safety
/// `program` is from [`ferrograd_load`]; `arguments` and `results` have as many addresses as it says, each of as many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ferrograd_run(
    program: *mut CProgram,
    arguments: *const *const c_void,
    results: *const *mut c_void,
) -> c_int {
    let ran = checked(|| {
        // SAFETY: as the function's `# Safety` section requires.
        let program = unsafe { &*program };
        let mut given = vec![];
        for (i, kind) in program.arguments.iter().enumerate() {
            let n = bytes(kind);
            // SAFETY: as the function's `# Safety` section requires.
            let at = unsafe { *arguments.add(i) }.cast::<u8>();
            if at.is_null() && n > 0 {
                bail!(Argument, "ferrograd_run", "argument {i} is NULL");
            }
            // SAFETY: as the function's `# Safety` section requires; no bytes need no address.
            let bytes = if n == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(at, n) } };
            given.push(Tensor::constant(Array::from_bytes(kind.dtype, &kind.dims, bytes)?));
        }
        let found = program.program.run(&given.iter().collect::<Vec<_>>())?;
        for (i, (result, kind)) in found.iter().zip(&program.results).enumerate() {
            let array = result.array().contiguous()?;
            let from = array.as_bytes().expect("contiguous");
            // SAFETY: as the function's `# Safety` section requires.
            let to = unsafe { *results.add(i) }.cast::<u8>();
            if from.len() != bytes(kind) || to.is_null() && !from.is_empty() {
                bail!(Argument, "ferrograd_run", "result {i} is NULL, or of another size");
            }
            if !from.is_empty() {
                // SAFETY: the caller's memory has as many bytes, and overlaps nothing.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
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
