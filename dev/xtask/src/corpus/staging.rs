//! The staging directory in which a corpus is made: a corpus gets its final name when it is complete.

use super::catalogue::Corpus;
use super::manifest::{Manifest, Part, Sum};
use crate::shell;
use packline_testkit::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modification time of all entries, seconds since 1970.
const TIME: &str = "1700000000";

pub struct Staging<'c> {
    pub corpus: &'c Corpus,
    /// The final directory.
    pub target: PathBuf,
    pub pinned: Manifest,
    scratch: tempfile::TempDir,
}

impl<'c> Staging<'c> {
    /// An error if a program that the recipe needs is missing.
    pub fn new(corpus: &'c Corpus, target: &Path) -> Result<Staging<'c>, String> {
        missing(corpus.tools).map_or(Ok(()), Err)?;
        fs::create_dir_all(target).map_err(|cause| with_path(target, &cause))?;
        let scratch = tempfile::Builder::new().prefix(&format!(".{}-", corpus.name)).tempdir_in(target);
        let scratch = scratch.map_err(|cause| with_path(target, &cause))?;
        Ok(Staging { corpus, target: target.to_path_buf(), pinned: corpus.pinned()?, scratch })
    }

    /// A path in the staging directory.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Creates a directory in the staging directory.
    pub fn create_directory(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.scratch(name);
        fs::create_dir_all(&path).map_err(|cause| with_path(&path, &cause))?;
        Ok(path)
    }

    /// A command that runs in the staging directory.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.scratch.path()).env("LC_ALL", "C");
        command
    }

    /// Makes the corpus's tar from a tree, with owners, modes and times that are the same on every machine.
    pub fn tar_of(&self, tree: &Path) -> Result<(), String> {
        let mut tar = self.command("tar");
        tar.args(["--format=gnu", "--sort=name", "--numeric-owner", "--owner=0", "--group=0", "--mode=u=rwX,go=rX"]);
        tar.arg(format!("--mtime=@{TIME}")).arg("-cf").arg(self.scratch(&self.corpus.tar()));
        shell::run_here(tar.arg("-C").arg(tree).arg("."))
    }

    /// Unpacks the corpus's tar into the corpus's directory.
    pub fn tree_of_tar(&self) -> Result<(), String> {
        let tree = self.create_directory(self.corpus.name)?;
        let mut tar = self.command("tar");
        tar.args(["--numeric-owner", "--xattrs", "--xattrs-include=*", "-xpf"]).arg(self.scratch(&self.corpus.tar()));
        shell::run_here(tar.arg("-C").arg(tree))
    }

    /// The manifest of the file in the staging directory.
    pub fn manifest(&self, mut parts: Vec<Part>) -> Result<Manifest, String> {
        parts.sort();
        Ok(Manifest { parts, sums: vec![sum(&self.scratch(self.corpus.file))?] })
    }

    /// Renames everything to its final name, the manifest last: it marks the corpus as complete.
    pub fn publish(self, manifest: &Manifest) -> Result<(), String> {
        let record = self.target.join(self.corpus.manifest());
        remove(&record)?;
        self.rename(self.corpus.file)?;
        if self.corpus.tree {
            self.rename(self.corpus.name)?;
        }
        let draft = self.scratch(&self.corpus.manifest());
        shell::write(&draft, &manifest.to_string())?;
        fs::rename(&draft, &record).map_err(|cause| with_path(&record, &cause))
    }

    fn rename(&self, name: &str) -> Result<(), String> {
        let target = self.target.join(name);
        remove(&target)?;
        fs::rename(self.scratch(name), &target).map_err(|cause| with_path(&target, &cause))
    }
}

/// A message about the first of these programs (`PROGRAM` or `PROGRAM:PACKAGE`) that is not installed.
fn missing(programs: &[&str]) -> Option<String> {
    let mut pairs = programs.iter().map(|pair| pair.split_once(':').unwrap_or((pair, pair)));
    let (program, package) = pairs.find(|(program, _)| tools::find(program).is_none())?;
    Some(format!("{program} is not installed (apt-get install {package})"))
}

pub fn with_path(path: &Path, cause: &std::io::Error) -> String {
    format!("{}: {cause}", path.display())
}

/// Removes a file or a tree if it exists.
fn remove(path: &Path) -> Result<(), String> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.map_err(|cause| with_path(path, &cause))
}

pub fn sum(path: &Path) -> Result<Sum, String> {
    let mut hasher = blake3::Hasher::new();
    let file = fs::File::open(path).map_err(|cause| with_path(path, &cause))?;
    hasher.update_reader(&file).map_err(|cause| with_path(path, &cause))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Sum { name, bytes: hasher.count(), digest: format!("blake3:{}", hasher.finalize().to_hex()) })
}

/// Returns the digest of a downloaded package as `ALGORITHM:HEX`, with an algorithm that registries publish.
pub fn digest(algorithm: &str, path: &Path) -> Result<String, String> {
    let line = shell::output(Command::new(format!("{algorithm}sum")).arg("--").arg(path))?;
    let hex = line.trim_start_matches('\\').split_whitespace().next().unwrap_or_default();
    Ok(format!("{algorithm}:{hex}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        assert_eq!(missing(&["sh", "tar"]), None);
        let cause = missing(&["sh:dash", "no-such-program:some-package"]);
        assert_eq!(cause.as_deref(), Some("no-such-program is not installed (apt-get install some-package)"));
    }

    #[test]
    fn digests_are_the_published_ones() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abc");
        fs::write(&path, "abc").unwrap();
        // The example of FIPS 180-4, and the BLAKE3 hash of the same three bytes.
        let found = digest("sha256", &path).unwrap();
        assert_eq!(found, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let found = sum(&path).unwrap();
        assert_eq!((found.name.as_str(), found.bytes), ("abc", 3));
        assert_eq!(found.digest, "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
    }
}
