//! Data sets for benchmarks, made from packages of Debian and of language registries, or generated, with pinned digests.

mod catalogue;
mod debian;
mod manifest;
mod registries;
mod staging;
mod synthetic;

use crate::{environment, shell};
use catalogue::{CORPORA, Corpus};
use clap::Args;
use manifest::Manifest;
use staging::{Staging, sum};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Options {
    /// Name of the data set, or list for all names, sizes and sources
    name: String,
    /// Directory for the data set [default: corpus in cargo's target directory]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Fail if packages are newer than the pinned ones
    #[arg(long)]
    strict: bool,
    /// Pin the new content in bench/corpora
    #[arg(long)]
    pin: bool,
}

/// Makes `NAME.tar` (`vm.img`), `NAME.manifest` and for most corpora the directory `NAME`, unless they exist.
pub fn run(options: &Options) -> Result<(), String> {
    if options.name == "list" {
        CORPORA.iter().try_for_each(|corpus| line(corpus).map(|line| shell::print(&line)))?;
        return Ok(());
    }
    let corpus = catalogue::find(&options.name)?;
    let directory = options.out.clone().unwrap_or_else(directory);
    let directory = std::path::absolute(&directory).map_err(|cause| staging::with_path(&directory, &cause))?;
    let manifest = make(corpus, &directory, options.pin)?;
    if options.pin {
        return write_pins(corpus, &manifest);
    }
    report_drift(corpus, &manifest.drift(&corpus.pinned()?), options.strict)
}

/// The default directory of all corpora.
pub fn directory() -> PathBuf {
    environment::target_directory().join("corpus")
}

/// The default input of benchmarks.
pub fn archive() -> PathBuf {
    directory().join("debian-root.tar")
}

fn line(corpus: &Corpus) -> Result<String, String> {
    let megabytes = corpus.pinned()?.bytes() / 1_000_000;
    Ok(format!("{:<16} {megabytes:>5} MB  {}\n{:28}{}", corpus.name, corpus.source, "", corpus.purpose))
}

/// Makes a corpus unless it exists. With `pin` its content may differ from the pinned one.
fn make(corpus: &Corpus, directory: &Path, pin: bool) -> Result<Manifest, String> {
    if let Some(manifest) = present(corpus, directory) {
        shell::print(&format!("{}: exists, nothing to do", corpus.name));
        return Ok(manifest);
    }
    let staging = Staging::new(corpus, directory)?;
    let parts = (corpus.recipe)(&staging)?;
    let manifest = staging.manifest(parts)?;
    if !pin && !corpus.follows_suite {
        check_pinned(corpus, &manifest)?;
    }
    staging.publish(&manifest)?;
    shell::print(&format!("{}: made, {} bytes", corpus.name, manifest.bytes()));
    Ok(manifest)
}

/// The manifest of a corpus that exists and is complete.
fn present(corpus: &Corpus, directory: &Path) -> Option<Manifest> {
    let text = std::fs::read_to_string(directory.join(corpus.manifest())).ok()?;
    let manifest = Manifest::parse(&text).ok()?;
    let equal = |pin: &manifest::Sum| sum(&directory.join(&pin.name)).is_ok_and(|found| found == *pin);
    let tree = !corpus.tree || directory.join(corpus.name).is_dir();
    (tree && !manifest.sums.is_empty() && manifest.sums.iter().all(equal)).then_some(manifest)
}

/// Returns an error if the content differs from the pinned content.
fn check_pinned(corpus: &Corpus, manifest: &Manifest) -> Result<(), String> {
    let drift = manifest.drift(&corpus.pinned()?);
    if drift.is_empty() { Ok(()) } else { Err(drift.join("\n")) }
}

/// Prints the differences from the pinned corpus.
fn report_drift(corpus: &Corpus, drift: &[String], strict: bool) -> Result<(), String> {
    if drift.is_empty() {
        shell::print(&format!("{}: as pinned in bench/corpora/{0}.txt", corpus.name));
        return Ok(());
    }
    let line = format!("{}: not as pinned in bench/corpora/{0}.txt, {} differences", corpus.name, drift.len());
    if strict {
        return Err(format!("{line}:\n{}", drift.join("\n")));
    }
    drift.iter().for_each(|line| shell::print(line));
    shell::print(&format!("{line}: results cannot be compared with those for the pinned content"));
    Ok(())
}

fn write_pins(corpus: &Corpus, manifest: &Manifest) -> Result<(), String> {
    let path = shell::root().join(format!("bench/corpora/{}.txt", corpus.name));
    shell::write(&path, &format!("# {}: {}\n{manifest}", corpus.name, corpus.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::Part;
    use std::fs;

    fn small(follows_suite: bool, recipe: catalogue::Recipe) -> Corpus {
        Corpus {
            name: "small",
            file: "small.tar",
            tree: true,
            tools: &[],
            source: "a test",
            purpose: "testing",
            follows_suite,
            recipe,
            pins: "sum small.tar 3 blake3:00\npart p 1\n",
        }
    }

    fn recipe(staging: &Staging) -> Result<Vec<Part>, String> {
        shell::write(&staging.scratch("small.tar"), "new")?;
        shell::write(&staging.create_directory("small")?.join("file"), "new")?;
        Ok(staging.pinned.parts.clone())
    }

    fn failing(staging: &Staging) -> Result<Vec<Part>, String> {
        recipe(staging)?;
        Err("the registry is unreachable".into())
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn corpus_is_made_once_and_again_when_it_is_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let good = small(true, recipe);
        let bad = small(true, failing);
        let made = make(&good, directory.path(), false).unwrap();
        assert_eq!(names(directory.path()), ["small", "small.manifest", "small.tar"]);
        // The corpus exists, so the failing recipe is not run.
        assert_eq!(make(&bad, directory.path(), false).unwrap(), made);
        fs::write(directory.path().join("small.tar"), "old").unwrap();
        assert!(make(&bad, directory.path(), false).is_err());
        assert_eq!(fs::read(directory.path().join("small.tar")).unwrap(), b"old");
        assert_eq!(make(&good, directory.path(), false).unwrap(), made);
        assert_eq!(fs::read(directory.path().join("small.tar")).unwrap(), b"new");
        fs::remove_dir_all(directory.path().join("small")).unwrap();
        assert!(make(&bad, directory.path(), false).is_err());
    }

    #[test]
    fn generated_content_must_equal_the_pinned_one() {
        let directory = tempfile::tempdir().unwrap();
        let corpus = small(false, recipe);
        let cause = make(&corpus, directory.path(), false).unwrap_err();
        assert!(cause.starts_with("small.tar: 3 bytes, blake3:"), "{cause}");
        assert!(names(directory.path()).is_empty());
        make(&corpus, directory.path(), true).unwrap();
    }

    #[test]
    fn drift_is_an_error_only_if_strict() {
        let drift = ["p: 2 (pinned 1)".to_owned()];
        let corpus = small(true, recipe);
        assert!(report_drift(&corpus, &drift, false).is_ok());
        assert!(report_drift(&corpus, &drift, true).unwrap_err().ends_with("p: 2 (pinned 1)"));
        assert!(report_drift(&corpus, &[], true).is_ok());
    }
}
