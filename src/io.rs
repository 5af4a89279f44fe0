//! Tensors in files of the format [safetensors](https://docs.rs/safetensors), which other libraries read and write too. This
//! module is there with the feature `safetensors`.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::array::Array;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::Tensor;

/// The dtypes that the format knows. It has none for complex numbers of 128 bits.
const DTYPES: [(DType, Dtype); 14] = [
    (DType::Bool, Dtype::BOOL),
    (DType::U8, Dtype::U8),
    (DType::I8, Dtype::I8),
    (DType::U16, Dtype::U16),
    (DType::I16, Dtype::I16),
    (DType::U32, Dtype::U32),
    (DType::I32, Dtype::I32),
    (DType::U64, Dtype::U64),
    (DType::I64, Dtype::I64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::C64, Dtype::C64),
];

/// The tensors of a file, by name.
///
/// ```
/// use ferrograd::{Tensor, io};
/// let path = std::env::temp_dir().join(format!("{}.safetensors", std::process::id()));
/// let x = Tensor::new(&[1.0f32, 2.0], &[2])?;
/// io::save([("x", &x)], &path)?;
/// assert_eq!(io::load(&path)?["x"].to_vec::<f32>()?, [1.0, 2.0]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), Box<ferrograd::Error>>(())
/// ```
///
/// # Errors
/// The file cannot be read, is damaged, or holds a dtype that the library has not; want of memory.
pub fn load(path: impl AsRef<Path>) -> Result<BTreeMap<String, Tensor>> {
    let path = path.as_ref();
    let refused = |why: &dyn Display| refused("io::load", path, why);
    let bytes = std::fs::read(path).map_err(|e| refused(&e))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| refused(&e))?;
    let tensor = |(name, view): (String, TensorView<'_>)| {
        let known = DTYPES.iter().find(|(_, theirs)| *theirs == view.dtype());
        let (dtype, _) = known.ok_or_else(|| refused(&format!("{name} is {:?}", view.dtype())))?;
        Ok((name, Tensor::constant(Array::from_bytes(*dtype, view.shape(), view.data())?)))
    };
    file.tensors().into_iter().map(tensor).collect()
}

/// Writes tensors to a file.
///
/// # Errors
/// The file cannot be written; a tensor is complex128, which the format has not, or inside `vmap`; want of memory.
pub fn save<'a, N: AsRef<str> + Ord + Display>(
    tensors: impl IntoIterator<Item = (N, &'a Tensor)>,
    path: impl AsRef<Path>,
) -> Result<()> {
    let path = path.as_ref();
    let refused = |why: &dyn Display| refused("io::save", path, why);
    let mut packed = vec![];
    for (name, x) in tensors {
        let known = DTYPES.iter().find(|(ours, _)| *ours == x.dtype());
        let (_, dtype) = known.ok_or_else(|| refused(&format!("{name} is {}", x.dtype())))?;
        if !x.levels().is_empty() {
            return Err(refused(&format!("{name} is inside vmap: return it from the function")));
        }
        packed.push((name, *dtype, x.array().contiguous()?));
    }
    let mut views = vec![];
    for (name, dtype, x) in &packed {
        let bytes = x.as_bytes().expect("contiguous");
        let view = TensorView::new(*dtype, x.dims().to_vec(), bytes).map_err(|e| refused(&e))?;
        views.push((name, view));
    }
    let bytes = safetensors::serialize(views, None).map_err(|e| refused(&e))?;
    std::fs::write(path, bytes).map_err(|e| refused(&e))
}

fn refused(op: &'static str, path: &Path, why: &dyn Display) -> Box<Error> {
    Box::new(Error::Argument { op, what: format!("{}: {why}", path.display()) })
}
