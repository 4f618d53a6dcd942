//! Real input: a Debian root file system, made by mmdebstrap from a fixed list of packages.

use crate::arguments::Arguments;
use crate::{environment, shell};
use packline_testkit::tools;
use std::path::{Path, PathBuf};
use std::process::Command;

const SUITE: &str = "bookworm";
/// Programs, libraries, scripts, documents, fonts, byte code: more than 1 GB of what root file systems hold.
const PACKAGES: [&str; 14] = [
    "build-essential",
    "clang",
    "emacs-nox",
    "fonts-noto-core",
    "gdb",
    "git",
    "golang-go",
    "locales-all",
    "nodejs",
    "openjdk-17-jdk-headless",
    "perl-doc",
    "python3-full",
    "vim",
    "xz-utils",
];
const LEAST_BYTES: u64 = 1 << 30;

/// `corpus debian-root`: makes `debian-root.tar` and the directory `debian-root` from it. Needs root for the directory.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["out"])?;
    if arguments.operands != ["debian-root"] {
        return Err(format!("{:?} is no corpus (expected debian-root)", arguments.operands));
    }
    if tools::find("mmdebstrap").is_none() {
        return Err("mmdebstrap is not installed (apt-get install mmdebstrap)".into());
    }
    let place = arguments.path("out").unwrap_or_else(directory);
    std::fs::create_dir_all(&place).map_err(|cause| format!("{}: {cause}", place.display()))?;
    let archive = place.join("debian-root.tar");
    make_archive(&archive)?;
    let directory = place.join("debian-root");
    std::fs::create_dir(&directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["--numeric-owner", "--xattrs", "--xattrs-include=*", "-xpf"]).arg(&archive).arg("-C").arg(&directory);
    shell::run(&mut tar)
}

/// Where the corpus is unless another place is said.
fn directory() -> PathBuf {
    environment::target_directory().join("corpus")
}

/// The tar that benchmarks take unless another is named.
pub fn archive() -> PathBuf {
    directory().join("debian-root.tar")
}

fn make_archive(archive: &Path) -> Result<(), String> {
    let include = format!("--include={}", PACKAGES.join(","));
    let mut command = Command::new("mmdebstrap");
    command.args(["--variant=standard", &include, SUITE]).arg(archive).env("SOURCE_DATE_EPOCH", "1700000000");
    shell::run(&mut command)?;
    let size = std::fs::metadata(archive).map_err(|cause| cause.to_string())?.len();
    if size < LEAST_BYTES {
        return Err(format!("{} has {size} bytes (expected at least {LEAST_BYTES})", archive.display()));
    }
    Ok(())
}
