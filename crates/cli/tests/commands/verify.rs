//! `packline verify`: what it prints and how it exits.

use packline_testkit::packer::Packer;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn image(directory: &Path) -> PathBuf {
    let source = directory.join("source");
    std::fs::create_dir(&source).unwrap();
    for number in 0..30usize {
        let content: Vec<u8> = (0..20_000 + number).map(|at| (at / 3 * (number + 7)) as u8).collect();
        std::fs::write(source.join(format!("file {number}")), content).unwrap();
    }
    let path = directory.join("image.sqfs");
    Packer::new(env!("CARGO_BIN_EXE_packline")).pack(&source, &path, &["-c", "gzip", "-b", "4K", "--quiet"]);
    path
}

fn verify(image: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_packline"));
    command.arg("verify").args(options).arg(image).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap()
}

#[test]
fn a_sound_image_says_so_and_exits_with_0() {
    let directory = tempfile::tempdir().unwrap();
    let path = image(directory.path());
    for options in [&[][..], &["--notes"], &["-j", "0"], &["-j", "3", "--mem", "64M"], &["--offset", "0"]] {
        let output = verify(&path, options);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains(": sound, 0 notes\n31 inodes (30 files, 1 directory)"), "{}", said(&output));
    }
    let quiet = verify(&path, &["--quiet"]);
    assert_eq!((quiet.status.code(), said(&quiet)), (Some(0), String::new()));
}

#[test]
fn damage_is_named_with_file_and_offset() {
    let directory = tempfile::tempdir().unwrap();
    let path = image(directory.path());
    let mut bytes = std::fs::read(&path).unwrap();
    // The first data block stands behind the superblock.
    bytes[96 + 30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let output = verify(&path, &[]);
    let line = format!("{}: file 0: gzip: bad compressed data of ", path.display());
    assert!(said(&output).starts_with(&line) && said(&output).contains(" at byte 96 (expected "), "{}", said(&output));
    assert!(said(&output).contains(": 1 fault, 0 notes\n"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1));

    let output = verify(&path, &["--json"]);
    let lines: Vec<serde_json::Value> = said(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        (&lines[0]["path"], &lines[0]["offset"], &lines[0]["finding"]),
        (&"file 0".into(), &96.into(), &"fault".into())
    );
    assert_eq!((&lines[1]["faults"], &lines[1]["files"]), (&1.into(), &30.into()));
    assert_eq!(output.status.code(), Some(1));

    let quiet = verify(&path, &["--quiet"]);
    assert_eq!((quiet.status.code(), said(&quiet).lines().count()), (Some(1), 1));
}

#[test]
fn notes_are_printed_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = image(directory.path());
    let bytes = [std::fs::read(&path).unwrap(), b"more".to_vec()].concat();
    std::fs::write(&path, &bytes).unwrap();
    let silent = verify(&path, &[]);
    assert!(said(&silent).starts_with(&format!("{}: sound, 1 note\n", path.display())), "{}", said(&silent));
    let output = verify(&path, &["--notes"]);
    assert!(said(&output).contains("note: ") && said(&output).contains("bytes behind the image"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_is_not_an_image_is_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("no image");
    std::fs::write(&path, vec![7; 5000]).unwrap();
    let output = verify(&path, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let short = verify(&image(directory.path()), &["--mem", "1M"]);
    assert_eq!(short.status.code(), Some(1), "{}", said(&short));
}
