//! Corpora from language registries. A version never changes there, so a digest other than the pinned one is an error.

use super::debian::only_file;
use super::manifest::Part;
use super::staging::{Staging, digest, with_path};
use crate::shell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `pip download` that select the same wheel on every machine.
const WHEELS: [&str; 6] = [
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary=:all:",
    "--platform=manylinux_2_17_x86_64",
    "--quiet",
    "-d",
];

/// The pinned npm packages, each unpacked into a directory with its version in the name.
pub fn versions_text(staging: &Staging) -> Result<Vec<Part>, String> {
    versions(staging, packed_by_npm, |archive, tree| {
        let mut tar = Command::new("tar");
        tar.args(["--no-same-owner", "--strip-components=1", "-xzf"]).arg(archive).arg("-C").arg(tree);
        tar
    })
}

/// The pinned wheels, each unpacked into a directory with its version in the name.
pub fn versions_binary(staging: &Staging) -> Result<Vec<Part>, String> {
    versions(staging, downloaded_by_pip, |wheel, tree| {
        let mut python = Command::new("python3");
        python.args(["-m", "zipfile", "-e"]).arg(wheel).arg(tree);
        python
    })
}

/// Downloads, verifies and unpacks every pinned part, and makes a tar of all trees.
fn versions(
    staging: &Staging,
    get: fn(&Staging, &Part, &Path) -> Result<(), String>,
    unpack: fn(&Path, &Path) -> Command,
) -> Result<Vec<Part>, String> {
    let trees = staging.create_directory("unpacked")?;
    for part in &staging.pinned.parts {
        let archive = fetched(staging, part, get)?;
        let tree = trees.join(format!("{}-{}", part.name, part.version));
        fs::create_dir(&tree).map_err(|cause| with_path(&tree, &cause))?;
        shell::run_here(&mut unpack(&archive, &tree))?;
        fs::remove_file(&archive).map_err(|cause| with_path(&archive, &cause))?;
    }
    staging.tar_of(&trees)?;
    staging.tree_of_tar()?;
    Ok(staging.pinned.parts.clone())
}

fn fetched(
    staging: &Staging,
    part: &Part,
    get: fn(&Staging, &Part, &Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let directory = staging.create_directory(&format!("package-{}-{}", part.name, part.version))?;
    get(staging, part, &directory).map_err(|cause| format!("{} {}: {cause}", part.name, part.version))?;
    let archive = only_file(&directory)?;
    checked(part, &digest(algorithm(part)?, &archive)?)?;
    Ok(archive)
}

fn algorithm(part: &Part) -> Result<&str, String> {
    let known = part.digest.split_once(':').map(|(algorithm, _)| algorithm);
    known.ok_or_else(|| format!("{} {} has no digest to check", part.name, part.version))
}

fn checked(part: &Part, found: &str) -> Result<(), String> {
    let Part { name, version, digest } = part;
    if found == digest { Ok(()) } else { Err(format!("{name} {version} has {found} (pinned {digest})")) }
}

fn packed_by_npm(staging: &Staging, part: &Part, directory: &Path) -> Result<(), String> {
    let package = format!("{}@{}", part.name, part.version);
    let mut npm = staging.command("npm");
    shell::run_here(npm.args(["pack", "--silent", "--pack-destination"]).arg(directory).arg(package))
}

/// pip also verifies the digest, before it reads the wheel.
fn downloaded_by_pip(staging: &Staging, part: &Part, directory: &Path) -> Result<(), String> {
    let list = staging.scratch("requirements.txt");
    shell::write(&list, &format!("{}=={} --hash={}\n", part.name, part.version, part.digest))?;
    let mut pip = staging.command("python3");
    shell::run_here(
        pip.args(["-m", "pip", "download"]).args(WHEELS).arg(directory).args(["--require-hashes", "-r"]).arg(list),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_digest_is_refused() {
        let part = Part { name: "a".into(), version: "1".into(), digest: "sha256:00".into() };
        assert_eq!(algorithm(&part), Ok("sha256"));
        assert_eq!(checked(&part, "sha256:00"), Ok(()));
        assert_eq!(checked(&part, "sha256:01"), Err("a 1 has sha256:01 (pinned sha256:00)".into()));
        assert!(algorithm(&Part { digest: String::new(), ..part }).is_err());
    }
}
