//! Asks the linker for what makes the library smaller: functions of the same code are stored once, and the places where
//! addresses are filled in take a bit each. Not every linker and system can.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

const SAME_CODE_ONCE: &str = "-Wl,--icf=all";
const PACKED_ADDRESSES: &str = "-Wl,-z,pack-relative-relocs";

/// The first glibc that reads packed addresses. A library that has them does not load with an older one.
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let may_pack = glibc().is_some_and(|version| version >= GLIBC);
    for (argument, may) in [(SAME_CODE_ONCE, true), (PACKED_ADDRESSES, may_pack)] {
        if may && links(argument).unwrap_or(false) {
            println!("cargo::rustc-cdylib-link-arg={argument}");
        }
    }
}

/// The version of this system's glibc, if the library is built for this system.
fn glibc() -> Option<(u32, u32)> {
    if env::var("HOST").ok()? != env::var("TARGET").ok()? || env::var("CARGO_CFG_TARGET_ENV").ok()? != "gnu" {
        return None;
    }
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let said = String::from_utf8(said).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a library without code can be linked with an argument for the target, which is Linux.
fn links(argument: &str) -> Option<bool> {
    if env::var("CARGO_CFG_TARGET_OS").ok()? != "linux" {
        return Some(false);
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR")?);
    let (source, library) = (folder.join("nothing.rs"), folder.join("nothing.so"));
    fs::write(&source, "").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.args(["--crate-type", "cdylib", "--target"]).arg(env::var_os("TARGET")?);
    rustc.arg("-C").arg(format!("link-arg={argument}")).arg("-o").arg(&library).arg(source);
    // Without the flags of the build a target of musl has no libraries, and nothing would be linked.
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut option = std::ffi::OsString::from("linker=");
        option.push(linker);
        rustc.arg("-C").arg(option);
    }
    _ = fs::remove_file(&library);
    let made = rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?.success();
    Some(made && library.exists())
}
