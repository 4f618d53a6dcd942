//! Hostile files: every specimen through every reader.

use packline_lrz::Error;
use packline_testkit::Stopwatch;
use packline_testkit::hostile_lrz::{self, Specimen};

use crate::support::{list, read, read_piped, resource_sets, verify};

/// The password of encrypted specimens; the others ignore it.
const PASSWORD: Option<&[u8]> = Some(b"password");

/// Returns the message of an error, which must be a fault of the file and name the expected value.
fn message(specimen: &Specimen, error: &Error) -> String {
    let name = specimen.name;
    let kind =
        matches!(error, Error::Corrupt { .. } | Error::Unsupported { .. } | Error::Password(_) | Error::Memory { .. });
    assert!(kind, "{name}: {error:?}");
    let text = error.to_string();
    let way_out = if matches!(error, Error::Memory { .. }) { "or more is needed" } else { "expected" };
    assert!(text.contains(way_out), "{name}: {text}");
    text
}

fn check(specimen: &Specimen) {
    let name = specimen.name;
    let bytes = specimen.bytes();
    for resources in resource_sets() {
        let outcome = read(&bytes, PASSWORD, &resources);
        let piped = read_piped(&bytes, PASSWORD, &resources);
        if specimen.is_sound() {
            let (plain, unpacked) = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(unpacked.plain, plain.len() as u64, "{name}");
            assert_eq!(piped.unwrap(), plain, "{name}");
            assert_eq!(verify(&bytes, PASSWORD, &resources).unwrap(), unpacked, "{name}");
            continue;
        }
        let message_text = message(specimen, &outcome.map(|(plain, _)| plain.len()).unwrap_err());
        let lacks_memory = resources.memory.is_some() && message_text.contains(" of memory is too little for ");
        assert!(
            lacks_memory || message_text.contains(specimen.says),
            "{name}, where {}: {message_text}",
            specimen.wrong
        );
        message(specimen, &piped.map(|plain| plain.len()).unwrap_err());
        message(specimen, &verify(&bytes, PASSWORD, &resources).unwrap_err());
    }
    match list(&bytes, PASSWORD) {
        Ok(_) => assert!(specimen.lists, "{name}: nothing wrong was seen"),
        Err(error) => {
            assert!(!specimen.lists, "{name}: {error}");
            message(specimen, &error);
        }
    }
}

#[test]
fn reads_or_rejects_every_specimen_in_bounded_time() {
    let all = hostile_lrz::all();
    assert!(all.len() > 70, "{}", all.len());
    for specimen in &all {
        let watch = Stopwatch::start();
        check(specimen);
        let seconds = watch.elapsed().as_secs_f64();
        assert!(seconds < 40.0, "{}: {seconds} s for 13 readings", specimen.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = hostile_lrz::all().iter().map(|specimen| specimen.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

/// A file that is truncated anywhere, or has any changed byte, is an error, or, if the byte does not matter, has the same data.
#[test]
fn detects_any_cut_and_any_changed_byte() {
    let sound = hostile_lrz::sound();
    let resources = &resource_sets()[3];
    let (plain, _) = read(&sound, None, resources).unwrap();
    for length in 0..sound.len() {
        assert!(read(&sound[..length], None, resources).is_err(), "cut to {length}");
    }
    for at in 0..sound.len() {
        let mut changed = sound.clone();
        changed[at] ^= 0x55;
        if let Ok((found, _)) = read(&changed, None, resources) {
            assert_eq!(found, plain, "byte {at}");
        }
    }
}
