//! Data sets for benchmarks, made from the packages of Debian and of the registries of languages, or generated: pinned, with sums.

mod catalogue;
mod debian;
mod manifest;
mod registries;
mod site;
mod synthetic;

use crate::arguments::Arguments;
use crate::{environment, shell};
use catalogue::{CORPORA, Corpus};
use manifest::Manifest;
use site::{Site, sum};
use std::path::{Path, PathBuf};

/// `corpus NAME`: makes `NAME.tar` (`vm.img`), for most `NAME/` too, and `NAME.manifest`, unless they are there already.
/// `corpus list`: what there is.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["out", "strict", "pin"])?;
    let [name] = arguments.operands.as_slice() else {
        return Err("name one corpus (or list)".into());
    };
    if name == "list" {
        CORPORA.iter().try_for_each(|corpus| line(corpus).map(|line| shell::say(&line)))?;
        return Ok(());
    }
    let corpus = catalogue::find(name)?;
    let place = arguments.path("out").unwrap_or_else(directory);
    let place = std::path::absolute(&place).map_err(|cause| site::named(&place, &cause))?;
    let pin = arguments.text("pin") == Some("yes");
    let manifest = make(corpus, &place, pin)?;
    if pin {
        return pin_down(corpus, &manifest);
    }
    told(corpus, &manifest.drift(&corpus.pinned()?), arguments.text("strict") == Some("yes"))
}

/// Where the corpora are unless another place is said.
fn directory() -> PathBuf {
    environment::target_directory().join("corpus")
}

/// The tar that benchmarks take unless another is named.
pub fn archive() -> PathBuf {
    directory().join("debian-root.tar")
}

fn line(corpus: &Corpus) -> Result<String, String> {
    let megabytes = corpus.pinned()?.bytes() / 1_000_000;
    Ok(format!("{:<16} {megabytes:>5} MB  {}\n{:28}{}", corpus.name, corpus.source, "", corpus.purpose))
}

/// Makes a corpus unless it is there, and says what it was made from. `pin`: whatever comes is right.
fn make(corpus: &Corpus, place: &Path, pin: bool) -> Result<Manifest, String> {
    if let Some(manifest) = present(corpus, place) {
        shell::say(&format!("{}: is there, nothing to do", corpus.name));
        return Ok(manifest);
    }
    let site = Site::new(corpus, place)?;
    let parts = (corpus.recipe)(&site)?;
    let manifest = site.manifest(parts)?;
    if !pin && !corpus.moves {
        unmoved(corpus, &manifest)?;
    }
    site.settle(&manifest)?;
    shell::say(&format!("{}: made, {} bytes", corpus.name, manifest.bytes()));
    Ok(manifest)
}

/// The manifest of a corpus that is there and whole.
fn present(corpus: &Corpus, place: &Path) -> Option<Manifest> {
    let text = std::fs::read_to_string(place.join(corpus.manifest())).ok()?;
    let manifest = Manifest::parse(&text).ok()?;
    let right = |pin: &manifest::Sum| sum(&place.join(&pin.name)).is_ok_and(|found| found == *pin);
    let tree = !corpus.tree || place.join(corpus.name).is_dir();
    (tree && !manifest.sums.is_empty() && manifest.sums.iter().all(right)).then_some(manifest)
}

/// What never moves must be what was pinned.
fn unmoved(corpus: &Corpus, manifest: &Manifest) -> Result<(), String> {
    let drift = manifest.drift(&corpus.pinned()?);
    if drift.is_empty() { Ok(()) } else { Err(drift.join("\n")) }
}

/// Says in what a corpus differs from the pinned one.
fn told(corpus: &Corpus, drift: &[String], strict: bool) -> Result<(), String> {
    if drift.is_empty() {
        shell::say(&format!("{}: as pinned in bench/corpora/{0}.txt", corpus.name));
        return Ok(());
    }
    let line = format!("{}: not as pinned in bench/corpora/{0}.txt, {} differences", corpus.name, drift.len());
    if strict {
        return Err(format!("{line}:\n{}", drift.join("\n")));
    }
    drift.iter().for_each(|line| shell::say(line));
    shell::say(&format!("{line}: figures are not to be compared with those on the pinned one"));
    Ok(())
}

/// Commits to what was made.
fn pin_down(corpus: &Corpus, manifest: &Manifest) -> Result<(), String> {
    let path = shell::root().join(format!("bench/corpora/{}.txt", corpus.name));
    shell::write(&path, &format!("# {}: {}\n{manifest}", corpus.name, corpus.source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::Part;
    use std::fs;

    fn small(moves: bool, recipe: catalogue::Recipe) -> Corpus {
        Corpus {
            name: "small",
            file: "small.tar",
            tree: true,
            tools: &[],
            source: "a test",
            purpose: "testing",
            moves,
            recipe,
            pins: "sum small.tar 3 blake3:00\npart p 1\n",
        }
    }

    fn recipe(site: &Site) -> Result<Vec<Part>, String> {
        shell::write(&site.scratch("small.tar"), "new")?;
        shell::write(&site.directory("small")?.join("file"), "new")?;
        Ok(site.pinned.parts.clone())
    }

    fn failing(site: &Site) -> Result<Vec<Part>, String> {
        recipe(site)?;
        Err("the registry is away".into())
    }

    fn names(place: &Path) -> Vec<String> {
        let entries = fs::read_dir(place).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn corpus_is_made_once_and_again_when_it_is_damaged() {
        let place = tempfile::tempdir().unwrap();
        let (good, bad) = (small(true, recipe), small(true, failing));
        let made = make(&good, place.path(), false).unwrap();
        assert_eq!(names(place.path()), ["small", "small.manifest", "small.tar"]);
        // It is there: the recipe that fails is not asked.
        assert_eq!(make(&bad, place.path(), false).unwrap(), made);
        fs::write(place.path().join("small.tar"), "old").unwrap();
        assert!(make(&bad, place.path(), false).is_err());
        assert_eq!(fs::read(place.path().join("small.tar")).unwrap(), b"old");
        assert_eq!(make(&good, place.path(), false).unwrap(), made);
        assert_eq!(fs::read(place.path().join("small.tar")).unwrap(), b"new");
        fs::remove_dir_all(place.path().join("small")).unwrap();
        assert!(make(&bad, place.path(), false).is_err());
    }

    #[test]
    fn content_that_cannot_move_must_be_the_pinned_one() {
        let place = tempfile::tempdir().unwrap();
        let corpus = small(false, recipe);
        let cause = make(&corpus, place.path(), false).unwrap_err();
        assert!(cause.starts_with("small.tar: 3 bytes, blake3:"), "{cause}");
        assert!(names(place.path()).is_empty());
        make(&corpus, place.path(), true).unwrap();
    }

    #[test]
    fn drift_is_an_error_only_if_strict() {
        let drift = ["p: 2 (pinned 1)".to_owned()];
        let corpus = small(true, recipe);
        assert!(told(&corpus, &drift, false).is_ok());
        assert!(told(&corpus, &drift, true).unwrap_err().ends_with("p: 2 (pinned 1)"));
        assert!(told(&corpus, &[], true).is_ok());
    }
}
