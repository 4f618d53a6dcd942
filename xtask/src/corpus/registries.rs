//! Corpora from the registries of languages, where a version never changes: digests are pinned, and another one is an error.

use super::debian::only_file;
use super::manifest::Part;
use super::site::{Site, digest, named};
use crate::shell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheels that are taken, whatever the machine.
const WHEELS: [&str; 6] = [
    "--disable-pip-version-check",
    "--no-deps",
    "--only-binary=:all:",
    "--platform=manylinux_2_17_x86_64",
    "--quiet",
    "-d",
];

/// Each pinned npm package, unpacked into a directory called by its version.
pub fn versions_text(site: &Site) -> Result<Vec<Part>, String> {
    versions(site, packed_by_npm, |archive, tree| {
        let mut tar = Command::new("tar");
        tar.args(["--no-same-owner", "--strip-components=1", "-xzf"]).arg(archive).arg("-C").arg(tree);
        tar
    })
}

/// Each pinned wheel, unpacked into a directory called by its version.
pub fn versions_binary(site: &Site) -> Result<Vec<Part>, String> {
    versions(site, downloaded_by_pip, |wheel, tree| {
        let mut python = Command::new("python3");
        python.args(["-m", "zipfile", "-e"]).arg(wheel).arg(tree);
        python
    })
}

/// Gets, checks and unpacks every pinned part, and makes a tar of all trees.
fn versions(
    site: &Site,
    get: fn(&Site, &Part, &Path) -> Result<(), String>,
    unpack: fn(&Path, &Path) -> Command,
) -> Result<Vec<Part>, String> {
    let trees = site.directory("unpacked")?;
    for part in &site.pinned.parts {
        let archive = fetched(site, part, get)?;
        let tree = trees.join(format!("{}-{}", part.name, part.version));
        fs::create_dir(&tree).map_err(|cause| named(&tree, &cause))?;
        shell::started(&mut unpack(&archive, &tree))?;
        fs::remove_file(&archive).map_err(|cause| named(&archive, &cause))?;
    }
    site.tar_of(&trees)?;
    site.tree_of_tar()?;
    Ok(site.pinned.parts.clone())
}

fn fetched(site: &Site, part: &Part, get: fn(&Site, &Part, &Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let place = site.directory(&format!("package-{}-{}", part.name, part.version))?;
    get(site, part, &place).map_err(|cause| format!("{} {}: {cause}", part.name, part.version))?;
    let archive = only_file(&place)?;
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

fn packed_by_npm(site: &Site, part: &Part, place: &Path) -> Result<(), String> {
    let package = format!("{}@{}", part.name, part.version);
    let mut npm = site.command("npm");
    shell::started(npm.args(["pack", "--silent", "--pack-destination"]).arg(place).arg(package))
}

/// pip checks the digest too, before it looks into the wheel.
fn downloaded_by_pip(site: &Site, part: &Part, place: &Path) -> Result<(), String> {
    let list = site.scratch("requirements.txt");
    shell::write(&list, &format!("{}=={} --hash={}\n", part.name, part.version, part.digest))?;
    let mut pip = site.command("python3");
    shell::started(
        pip.args(["-m", "pip", "download"]).args(WHEELS).arg(place).args(["--require-hashes", "-r"]).arg(list),
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
