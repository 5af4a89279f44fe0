//! Saved programs as users of Rust and C run them.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ferrograd::array::Array;
use ferrograd::graph::{Modes, Trace};
use ferrograd::program::file::{Input, Output, ProgramFile, Source};
use ferrograd::{DType, Program, Tensor, grad};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// `sin(x) * w` and its gradient by `x`, and a state that counts the runs.
fn compute(x: &Tensor, w: &Tensor, count: &Tensor) -> Outcome<[Tensor; 3]> {
    let x = x.leaf();
    let y = x.sin()? * w;
    let total = y.sum(None, false, None)?;
    let slope = grad(&[&total], &[&x], false)?.remove(0).ok_or("y depends on x")?;
    Ok([y.detach(), slope, count + 1.0])
}

fn array(numbers: &[f32], dims: &[usize]) -> Outcome<Array> {
    // A sealed array has memory of its own.
    Ok(Tensor::new(numbers, dims)?.array().packed()?)
}

/// The bytes of a file with the program of [`compute`] for `x` of shape `[2, 3]`.
fn saved() -> Outcome<Vec<u8>> {
    let trace = Trace::new(Box::new(()));
    let arrays = [array(&[0.0; 6], &[2, 3])?, array(&[1.0, 2.0, 3.0], &[3])?, array(&[0.0; 5], &[5])?];
    let [x, w, count] = arrays.map(|x| Tensor::constant(trace.seal(x)));
    let results = {
        let _traced = Modes::enter(|m| m.trace = Some(trace.clone()));
        compute(&x, &w, &count)?
    };
    let calls = trace.end().ok_or("the trace was given up")?;
    let plain = |t: &Tensor| t.array().unsealed().clone();
    let inputs = [&x, &w, &count].map(plain);
    let forward = ferrograd::program::Program::new(&inputs, &calls, &results.each_ref().map(plain));
    let input = |source, written| Input { source, tracked: false, written };
    let file = ProgramFile {
        forward: Arc::new(forward.ok_or("no program")?),
        backward: None,
        inputs: vec![
            input(Source::Argument(0), None),
            input(Source::State(0), None),
            input(Source::State(1), Some(2)),
        ],
        state: inputs[1..].to_vec(),
        outputs: vec![Output::New(0, 0), Output::New(1, 0), Output::State(1, 0)],
        saved_from: 3,
        grads: vec![],
        leaves: vec![],
        tracked: vec![],
        arguments: 1,
        host: String::new(),
    };
    Ok(file.write()?)
}

fn numbers(t: &Tensor) -> Vec<f32> {
    t.array().to_vec::<f32>()
}

#[test]
fn a_program_from_a_file_has_the_bits_of_the_function() -> Outcome {
    let program = Program::from_bytes(&saved()?)?;
    let kinds = |kinds: Vec<ferrograd::program::TensorKind>| {
        kinds.into_iter().map(|kind| (kind.dtype, kind.dims)).collect::<Vec<_>>()
    };
    assert_eq!(kinds(program.arguments()), [(DType::F32, vec![2, 3])]);
    assert_eq!(
        kinds(program.results()),
        [(DType::F32, vec![2, 3]), (DType::F32, vec![2, 3]), (DType::F32, vec![5])]
    );
    let w = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?;
    for run in 1..4 {
        let x = Tensor::new(&[0.5f32, -1.0, 2.0, 0.25, 3.0, run as f32], &[2, 3])?;
        let wanted = compute(&x, &w, &Tensor::new(&[run as f32 - 1.0; 5], &[5])?)?;
        let found = program.run(&[&x])?;
        assert_eq!(wanted.each_ref().map(numbers).to_vec(), found.iter().map(numbers).collect::<Vec<_>>());
        // An argument may lie in another order.
        let n = numbers(&x);
        let moved = Tensor::new(&[n[0], n[3], n[1], n[4], n[2], n[5]], &[3, 2])?.transpose(None)?;
        assert_eq!(numbers(&Program::from_bytes(&saved()?)?.run(&[&moved])?[0]), numbers(&found[0]));
    }
    Ok(())
}

#[test]
fn wrong_arguments_and_files_are_errors() -> Outcome {
    let bytes = saved()?;
    let program = Program::from_bytes(&bytes)?;
    let text =
        |arguments: &[&Tensor]| program.run(arguments).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(text(&[]).contains("1 tensors are wanted, not 0"));
    assert!(
        text(&[&Tensor::new(&[1.0f32; 6], &[3, 2])?])
            .contains("argument 0 is float32 [2, 3], not float32 [3, 2]")
    );
    assert!(text(&[&Tensor::new(&[1.0f64; 6], &[2, 3])?]).contains("not float64"));
    for end in 0..bytes.len() {
        assert!(Program::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(Program::from_bytes(&changed).is_err(), "{at}");
    }
    assert!(Program::load("no such file").is_err_and(|e| e.to_string().contains("no such file")));
    Ok(())
}

/// The folder that the library is built in.
fn library() -> Outcome<PathBuf> {
    let mut folder = std::env::current_exe()?;
    while folder.pop() {
        if folder.join("libferrograd_c.so").exists() || folder.join("libferrograd_c.dylib").exists() {
            return Ok(folder);
        }
    }
    Err("the library is not built beside its tests".into())
}

#[test]
fn a_program_in_c_prints_the_same_numbers() -> Outcome {
    if Command::new("cc").arg("--version").output().is_err() {
        // Where no compiler of C is, the functions are tested by nobody.
        return Ok(());
    }
    let (root, folder) = (Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), library()?);
    let box_ = std::env::temp_dir().join(format!("ferrograd-c-{}", std::process::id()));
    std::fs::create_dir_all(&box_)?;
    let (program, executable) = (box_.join("program"), box_.join("run"));
    std::fs::write(&program, saved()?)?;
    let built = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(root.join("include"))
        .arg(root.join("examples/program.c"))
        .arg("-L")
        .arg(&folder)
        .args(["-lferrograd_c", "-o"])
        .arg(&executable)
        .output()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = |path: &Path| {
        let library = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };
        Command::new(&executable).arg(path).env(library, &folder).output()
    };
    let ran = run(&program)?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let x = Tensor::new(&[0.5f32; 6], &[2, 3])?;
    let w = Tensor::new(&[1.0f32, 2.0, 3.0], &[3])?;
    let wanted = compute(&x, &w, &Tensor::new(&[0.0f32; 5], &[5])?)?;
    let output = String::from_utf8(ran.stdout)?;
    for (line, wanted) in output.lines().zip(&wanted) {
        let found: Result<Vec<f32>, _> = line.split(' ').skip(2).map(str::parse).collect();
        assert_eq!(found?, numbers(wanted));
    }
    assert_eq!(output.lines().count(), 3);
    let failed = run(&box_.join("nothing"))?;
    assert!(!failed.status.success() && String::from_utf8_lossy(&failed.stderr).contains("load_compiled"));
    std::fs::remove_dir_all(&box_)?;
    Ok(())
}
