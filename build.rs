//! Lets the linker store functions of the same code once, which makes the library smaller. Not every linker can.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

const ARGUMENT: &str = "-Wl,--icf=all";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if links().unwrap_or(false) {
        println!("cargo::rustc-cdylib-link-arg={ARGUMENT}");
    }
}

/// Whether a library without code can be linked with the argument for the target, which is Linux.
fn links() -> Option<bool> {
    if env::var("CARGO_CFG_TARGET_OS").ok()? != "linux" {
        return Some(false);
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let (source, library) = (folder.join("nothing.rs"), folder.join("nothing.so"));
    fs::write(&source, "").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.args(["--crate-type", "cdylib", "--target"]).arg(env::var_os("TARGET")?);
    rustc.arg("-C").arg(format!("link-arg={ARGUMENT}")).arg("-o").arg(library).arg(source);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    Some(rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?.success())
}
