//! Hostile files: every specimen through every reader.

use std::sync::Arc;

use packline_pln::{Error, Reader};
use packline_testkit::Stopwatch;
use packline_testkit::hostile_pln::{self, Specimen};

use crate::support::*;

/// Returns the message of an error, which must be a fault of the file and name the expected value.
fn message(specimen: &Specimen, error: &Error) -> String {
    let name = specimen.name;
    assert!(error.is_of_file() || matches!(error, Error::Unsupported { .. }), "{name}: {error:?}");
    let text = error.to_string();
    assert!(text.contains("expected"), "{name}: {text}");
    text
}

fn check(specimen: &Specimen) {
    let name = specimen.name;
    let bytes = specimen.bytes();
    let content = hostile_pln::content();
    let least = resources(1).memory_limit(24 << 20);
    for resources in [resources(0), resources(2), least] {
        let read = read(&bytes, &resources);
        let piped = read_piped(&bytes, &resources);
        assert!(content.starts_with(&read.0) && content.starts_with(&piped.0), "{name}");
        if specimen.is_sound() {
            assert_eq!(read.1.unwrap_or_else(|error| panic!("{name}: {error}")).bytes, read.0.len() as u64);
            assert_eq!(piped.1.unwrap_or_else(|error| panic!("{name}: {error}")).bytes, read.0.len() as u64);
            continue;
        }
        let outcome = [message(specimen, &read.1.unwrap_err()), message(specimen, &piped.1.unwrap_err())];
        let right = outcome.iter().any(|outcome| outcome.contains(specimen.says));
        assert!(right, "{name}, where {}: {outcome:?}", specimen.wrong);
    }
    match Reader::open(Arc::new(bytes)).and_then(|reader| reader.info()) {
        Ok(_) => assert!(specimen.lists, "{name}: nothing wrong was seen"),
        Err(error) => {
            assert!(!specimen.lists, "{name}: {error}");
            message(specimen, &error);
        }
    }
}

/// Checks that verification finds the fault of every file, except files of another kind or version.
fn check_verified(specimen: &Specimen) {
    if ["bad-version", "bad-flags-that-must"].contains(&specimen.name) {
        return;
    }
    for piped in [false, true] {
        let (found, verified) = verified(&specimen.bytes(), piped);
        assert_eq!(found.is_empty(), specimen.is_sound(), "{}, {piped}: {found:?}", specimen.name);
        assert_eq!(verified.blake3.is_some(), specimen.is_sound());
    }
}

#[test]
fn reads_or_rejects_every_specimen_in_bounded_time() {
    let all = hostile_pln::all();
    assert!(all.len() > 60, "{}", all.len());
    for specimen in &all {
        let watch = Stopwatch::start();
        check(specimen);
        check_verified(specimen);
        let seconds = watch.elapsed().as_secs_f64();
        assert!(seconds < 40.0, "{}: {seconds} s for 11 readings", specimen.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = hostile_pln::all().iter().map(|specimen| specimen.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}
