//! Tests of `packline unpack` in process: every option is asked for, and what contradicts itself is refused.

use super::harness::{Kept, Place, host, io, run, run_on, sample_tar};
use crate::args::Args;
use crate::commands::unpack::APPLET;
use crate::dispatch::with_name;
use crate::table::command::command_of;

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
fn a_name_of_what_is_not_written_is_refused_unless_it_is_a_directory() {
    let place = Place::new();
    let image = packed(&place);
    for name in ["out.tar.lz4", "out.zip", "out.gz", "out.sqfs", "out.lrz"] {
        let ran = run(&["unpack", &image, &place.text(name)]);
        assert!(ran.status == 2 && ran.err.contains("the name is that of a") && ran.err.contains("--to"), "{ran:?}");
        assert_eq!(place.names(), ["image.sqfs"], "{name}");
    }
    let lz4 = run(&["unpack", "--to", "tar", &image, &place.text("out.tar.lz4")]);
    assert!(lz4.status == 2 && lz4.err.contains("--compress"), "{lz4:?}");
    let slash = place.text("a.tar") + "/";
    for arguments in [
        &["--to", "directory", &image, &place.text("out.zip")][..],
        &[&image, &slash],
        &["-f", &image, &place.text("a.tar")],
    ] {
        let ran = run(&[&["unpack", "-q"], arguments].concat());
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
    }
    assert!(place.at("out.zip").is_dir() && place.at("a.tar").is_dir());
    assert_eq!(run(&["unpack", "-q", &image, &place.text("B.TAR")]).status, 0);
    assert!(place.at("B.TAR").is_file());
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
