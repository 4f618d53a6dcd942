//! Checks that the crates can be published, and that they keep the interfaces of the last version.

use std::process::Command;

use crate::metadata::Metadata;
use crate::shell;

/// Packages each crate for the registry of crates. CI does this, without compiling what was packaged.
pub fn package() -> Result<(), String> {
    shell::run(packaging()?.arg("--no-verify"))
}

/// Packages each crate, compiles what was packaged, and compares all interfaces with those of the last version before this commit.
pub fn run() -> Result<(), String> {
    shell::run(&mut packaging()?)?;
    let mut list = Command::new("git");
    list.args(["tag", "--list", "v*", "--no-contains", "HEAD", "--sort=-version:refname"]);
    let tags = shell::output(&mut list)?;
    let Some(last) = tags.lines().next() else {
        shell::print_error("no earlier version has a tag: there are no interfaces to compare with");
        return Ok(());
    };
    if shell::output(shell::cargo().args(["semver-checks", "--version"])).is_err() {
        return Err("cargo-semver-checks is not installed; cargo install cargo-semver-checks".into());
    }
    shell::run(shell::cargo().args(["semver-checks", "--workspace", "--baseline-rev", last]))
}

fn packaging() -> Result<Command, String> {
    let mut command = shell::cargo();
    // The sources may have changes that are not committed.
    command.args(["package", "--workspace", "--quiet", "--allow-dirty"]);
    let metadata = Metadata::read()?;
    for name in metadata.unpublished() {
        command.args(["--exclude", name]);
    }
    Ok(command)
}
