//! Packages: a binary without shared libraries, and a Debian package.

use crate::{environment, fuzz, shell};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package to build.
#[derive(Debug, Clone, Copy, clap::Subcommand)]
pub enum Package {
    /// Build a release binary that needs no shared library, in target/static
    Static,
    /// Build a Debian package (needs cargo-deb): program, manual pages, completions, links for drop-ins
    Deb,
}

impl Package {
    pub fn run(self) -> Result<(), String> {
        let built = match self {
            Package::Static => static_binary()?,
            Package::Deb => deb()?,
        };
        shell::print(&built.display().to_string());
        Ok(())
    }
}

/// glibc's static libraries come with its development files, which a C compiler needs anyway.
fn static_binary() -> Result<PathBuf, String> {
    let host = fuzz::host()?;
    let target = environment::target_directory().join("static");
    let mut command = shell::cargo();
    // With --target the flags do not apply to build scripts.
    command.args(["build", "--release", "--package", "packline-cli", "--target", &host]);
    shell::run(command.env("RUSTFLAGS", "-Ctarget-feature=+crt-static").env("CARGO_TARGET_DIR", &target))?;
    let binary = target.join(host).join("release/packline");
    let libraries = shell::output(Command::new("ldd").arg(&binary))?;
    if libraries.contains("statically linked") {
        Ok(binary)
    } else {
        Err(format!("{} needs shared libraries: {libraries}", binary.display()))
    }
}

fn deb() -> Result<PathBuf, String> {
    let program = shell::release_binary()?;
    let assets = environment::target_directory().join("release/package");
    make_assets(&program, &assets)?;
    let output = shell::output(shell::cargo().args(["deb", "--package", "packline-cli", "--no-build"]))?;
    output.lines().last().map(PathBuf::from).ok_or_else(|| "cargo deb prints no path".to_string())
}

/// Writes what `package.metadata.deb` of crates/cli/Cargo.toml names besides the program, with a packline that runs here. Drop-ins, whose names other packages have,
/// are in a directory of their own, which a user puts first in PATH; man(1) finds the manual pages next to it.
pub fn make_assets(program: &Path, assets: &Path) -> Result<(), String> {
    if assets.exists() {
        fs::remove_dir_all(assets).map_err(|cause| format!("{}: {cause}", assets.display()))?;
    }
    let [man, drop_in_man, links] = ["man", "drop-ins/man/man1", "drop-ins/bin"].map(|name| assets.join(name));
    for directory in [&man, &drop_in_man, &links] {
        fs::create_dir_all(directory).map_err(|cause| format!("{}: {cause}", directory.display()))?;
    }
    let run = |words: &[&str]| shell::run(Command::new(program).args(words));
    run(&["links", "--quiet", "--target", "../../../bin/packline", shell::text(&links)?])?;
    run(&["man", "--all", shell::text(&man)?])?;
    for shell_name in ["bash", "zsh", "fish"] {
        let completions = shell::output(Command::new(program).args(["completions", shell_name]))?;
        shell::write(&assets.join(shell_name), &completions)?;
    }
    for page in shell::files(&man)?.iter().filter(|page| !page.ends_with("packline.1")) {
        let name = page.file_name().unwrap_or_default();
        if !name.to_string_lossy().starts_with("packline-") {
            let moved = fs::rename(page, drop_in_man.join(name));
            moved.map_err(|cause| format!("{}: {cause}", page.display()))?;
        }
    }
    Ok(())
}
