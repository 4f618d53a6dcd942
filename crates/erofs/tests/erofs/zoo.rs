//! Hostile images of the test kit: each is read or rejected in bounded time, and verification finds its fault.

use std::time::Duration;

use packline_erofs::read::{Image, ReadError};
use packline_testkit::Stopwatch;
use packline_testkit::hostile_erofs::{self, Part, Specimen};
use packline_volume::{Files, RandomSettings, Walk};

use super::support::{file_of, in_order, open};
use super::verification::{line, verified};

/// Maximum time for reading and verifying one image without optimisation.
const MOST: Duration = Duration::from_secs(20);

fn sound(name: &str, error: &ReadError) -> String {
    assert!(!matches!(error, ReadError::Work(_)), "{name}: {error}");
    let text = error.to_string();
    assert!(error.is_cut_off() || text.contains("expected"), "{name}: {text}");
    text
}

/// Reads the tree and the contents; returns the faults.
fn read(specimen: &Specimen, image: &Image) -> Vec<String> {
    let name = specimen.name;
    let mut faults = Vec::new();
    let mut files = Vec::new();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        match visit {
            Ok(visit) => files.extend(file_of(&visit)),
            Err((_, error)) => faults.push(sound(name, &error)),
        }
    }
    assert!(faults.is_empty() || !specimen.lists, "{name}: {faults:?}");
    let random = Files::new(image, RandomSettings { workers: 0, cache: 1 << 20, ahead: 0 }).unwrap();
    let mut out = Vec::new();
    for (_, file) in &files {
        for at in [0, file.size / 2, file.size.saturating_sub(1)] {
            faults.extend(random.read(&random.open(file), at, 100, &mut out).err().map(|error| sound(name, &error)));
        }
    }
    let contents = in_order(image, &files, 0);
    faults.extend(contents.into_values().flat_map(|(_, faults)| faults));
    faults
}

fn check(specimen: &Specimen) {
    let Specimen { name, wrong, says, .. } = *specimen;
    let image = match open(specimen.bytes()) {
        Ok(image) => image,
        Err(error) => {
            let text = sound(name, &error);
            // The superblock of some specimens states a larger image, which is the first thing to say.
            let is_named = text.contains(says) || error.is_cut_off();
            assert!(!specimen.is_sound() && is_named, "{name}, {wrong}: {text}");
            return;
        }
    };
    let faults = read(specimen, &image);
    assert!(faults.is_empty() || !specimen.is_sound(), "{name}: {faults:?}");
    let (totals, findings) = verified(&image, 0).unwrap();
    let lines: Vec<String> = findings.iter().map(line).collect();
    assert_eq!(totals.faults == 0, specimen.is_sound(), "{name}, {wrong}: {lines:#?}");
    let is_named = lines.iter().any(|line| line.starts_with("Fault") && line.contains(says));
    assert!(is_named || specimen.is_sound(), "{name}, {wrong}: {lines:#?}");
    assert_eq!(verified(&image, 2).unwrap(), (totals, findings), "{name}");
}

#[test]
fn reads_or_rejects_every_specimen_in_bounded_time() {
    let mut failed = Vec::new();
    for specimen in hostile_erofs::all() {
        let time = Stopwatch::start();
        if std::panic::catch_unwind(|| check(&specimen)).is_err() {
            failed.push(specimen.name);
        }
        assert!(time.elapsed() < MOST, "{}: {:?}", specimen.name, time.elapsed());
    }
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn the_builder_makes_a_sound_image() {
    let image = open(hostile_erofs::sound()).unwrap();
    let (totals, findings) = verified(&image, 0).unwrap();
    let lines: Vec<String> = findings.iter().map(line).collect();
    assert_eq!((totals.faults, totals.inodes, totals.content), (0, 6, 25_005), "{lines:#?}");
}

#[test]
fn planted_parts_that_are_sound_make_sound_images() {
    for part in [Part::Index, Part::Xattrs] {
        for bytes in hostile_erofs::sound_parts(part) {
            let image = open(hostile_erofs::planted(part, &bytes)).unwrap();
            let (totals, findings) = verified(&image, 0).unwrap();
            let lines: Vec<String> = findings.iter().map(line).collect();
            assert_eq!(totals.faults, 0, "{part:?} {bytes:?}: {lines:#?}");
        }
    }
}

#[test]
fn names_are_unique_and_say_whether_a_rule_is_broken() {
    let all = hostile_erofs::all();
    assert!(all.len() > 100, "{}", all.len());
    let mut names: Vec<_> = all.iter().map(|specimen| specimen.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
    for specimen in all {
        assert_eq!(specimen.name.starts_with("odd-"), specimen.is_sound(), "{}", specimen.name);
        assert!(specimen.name.starts_with("odd-") || specimen.name.starts_with("bad-"), "{}", specimen.name);
        assert!(specimen.bytes().len() < 4 << 20, "{}", specimen.name);
    }
}
