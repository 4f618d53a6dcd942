//! Tests of `packline unpack` in process: every option is asked for, and what contradicts itself is refused.

use super::harness::{Kept, Place, host, io, run, run_on, sample_tar};
use crate::args::Args;
use crate::command::{command_of, with_name};
use crate::unpack::APPLET;

fn packed(place: &Place) -> String {
    let image = place.text("image.sqfs");
    assert_eq!(run_on(&["pack", "-q", "-f", "-", &image], &sample_tar(), host()).status, 0);
    image
}

/// Options that nothing asked for in an unpacking to `destination`.
fn unasked(place: &Place, destination: &str) -> Vec<&'static str> {
    let arguments = [packed(place).into(), place.text(destination).into()];
    let args = Args::new(&APPLET, command_of(&APPLET).try_get_matches_from(with_name("unpack", &arguments)).unwrap());
    let mut io = io(Vec::new(), Box::new(Kept::default()), Box::new(Kept::default()), host());
    (APPLET.run)(&args, &mut io).unwrap();
    args.unasked()
}

#[test]
fn no_option_is_parsed_and_ignored() {
    let place = Place::new();
    assert_eq!(unasked(&place, "directory"), Vec::<&str>::new());
    assert_eq!(unasked(&place, "file.tar.gz"), Vec::<&str>::new());
    assert_eq!(place.names(), ["directory", "file.tar.gz", "image.sqfs"]);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let place = Place::new();
    let (image, into, tar) = (packed(&place), place.text("into"), place.text("x.tar"));
    let cases: [(&[&str], &str); 8] = [
        (&["--owner", "--no-owner", &image, &into], "--owner"),
        (&["-c", "gzip", &image, &into], "--compress"),
        (&["--subdir", "..", &image, &into], "--subdir"),
        (&["--no-times", &image, &tar], "--no-times"),
        (&["--dedupe", "reflink", &image, &tar], "--dedupe"),
        (&["--json", &image, "-"], "--json"),
        (&["-c", "nope", &image, &tar], "--compress"),
        (&["--subdir", "a", &image, &tar, "b"], "--subdir"),
    ];
    for (arguments, named) in cases {
        let ran = run(&[&["unpack"], arguments].concat());
        assert!(ran.status == 2 && ran.err.contains(named), "{arguments:?}: {ran:?}");
    }
    assert_eq!(place.names(), ["image.sqfs"]);
}

#[test]
fn the_summary_says_what_was_done() {
    let place = Place::new();
    let (image, into) = (packed(&place), place.text("into"));
    let ran = run(&["unpack", "--json", &image, &into]);
    let summary: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let number = |name: &str| summary[name].as_u64();
    assert_eq!(number("files"), Some(5));
    assert_eq!(number("directories"), Some(3));
    assert_eq!((number("symlinks"), number("hard_links"), number("errors")), (Some(1), Some(1), Some(0)));
    assert!(run(&["unpack", "-f", &image, &into]).err.contains("5 files, 3 directories, 1 links, 1 hard links"));
    let quiet = run(&["unpack", "-q", "-f", &image, &into]);
    assert!(quiet.out.is_empty() && quiet.err.is_empty());
    let missing = run(&["unpack", "--subdir", "nowhere", &image, &place.text("x")]);
    assert!(missing.status == 1 && missing.err.contains("nowhere is not there"), "{missing:?}");
}
