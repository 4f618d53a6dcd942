//! `sqfs2tar`: what its options leave out, write otherwise, refuse, or go on after.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::packer::Packer;
use packline_testkit::{hostile, plant, tools};
use packline_tree::tar::{TarOptions, TarSource};
use packline_tree::{Entry, Extent, Kind, Source};
use tempfile::TempDir;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn sqfs2tar(image: &Path, options: &[&str]) -> Output {
    Command::new(PACKLINE).arg("sqfs2tar").args(options).arg(image).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The tar of an image; it must be made without an error.
fn tar_of(image: &Path, options: &[&str]) -> Vec<u8> {
    let output = sqfs2tar(image, options);
    assert!(output.status.success(), "{options:?}: {}", said(&output));
    output.stdout
}

/// The entries of a tar with their contents.
fn entries(tar: &[u8]) -> Vec<(Entry, Vec<u8>)> {
    let mut source = TarSource::new(tar, TarOptions::named("tar"));
    let mut all = Vec::new();
    while let Some(entry) = source.next_entry().unwrap() {
        let content = if let Kind::File { .. } = entry.kind { content(&mut source) } else { Vec::new() };
        all.push((entry, content));
    }
    all
}

fn content(source: &mut dyn Source) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match source.read(&mut buffer).unwrap() {
            Extent::Data(length) => all.extend_from_slice(&buffer[..length]),
            Extent::Hole(length) => all.resize(all.len() + length as usize, 0),
            Extent::End => return all,
        }
    }
}

/// A tree with a socket, two names of a file, and attributes, as an image.
fn image() -> (TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let (source, image) = (top.path().join("source"), top.path().join("image.sqfs"));
    std::fs::create_dir(&source).unwrap();
    let nodes = [
        Node::dir(""),
        Node::file("first", b"content ".repeat(2000)).xattr("user.note", *b"value"),
        Node::new("second", NodeKind::HardLink(b"first".to_vec())),
        Node::new("socket", NodeKind::Socket),
    ];
    plant::plant(&nodes, &source).unwrap();
    Packer::new(PACKLINE).pack(&source, &image, &["-b", "4K", "--quiet"]);
    (top, image)
}

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn sockets_are_left_out_or_refused() {
    if !tools::root() {
        return;
    }
    let (_top, image) = image();
    let left_out = sqfs2tar(&image, &[]);
    assert_eq!(left_out.status.code(), Some(0), "{}", said(&left_out));
    assert!(said(&left_out).contains("socket"), "{}", said(&left_out));
    assert!(!has(&left_out.stdout, "socket"));
    for option in ["-s", "--no-skip"] {
        let refused = sqfs2tar(&image, &[option]);
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains("image.sqfs: socket"), "{}", said(&refused));
    }
}

#[test]
fn attributes_are_left_out() {
    if !tools::root() {
        return;
    }
    let (_top, image) = image();
    assert!(has(&tar_of(&image, &[]), "SCHILY.xattr.user.note=value"));
    for option in ["-X", "--no-xattr"] {
        assert!(!has(&tar_of(&image, &[option]), "xattr"));
    }
}

#[test]
fn names_of_one_file_are_links_or_files() {
    if !tools::root() {
        return;
    }
    let (_top, image) = image();
    let content = b"content ".repeat(2000);
    let found = entries(&tar_of(&image, &[]));
    assert_eq!((&found[0].0.path[..], &found[0].1), (&b"first"[..], &content));
    assert_eq!((&found[1].0.path[..], &found[1].0.kind), (&b"second"[..], &Kind::HardLink(b"first".to_vec())));
    for option in ["-L", "--no-hard-links"] {
        let found = entries(&tar_of(&image, &[option]));
        let shown: Vec<_> = found.iter().map(|(entry, content)| (&entry.path[..], &content[..])).collect();
        assert_eq!(shown, [(&b"first"[..], &content[..]), (b"second", &content)]);
    }
}

#[test]
fn what_is_compressed_is_the_same_tar() {
    if !tools::need(&["xz", "gzip", "zstd", "bzip2"]) || !tools::root() {
        return;
    }
    let (_top, image) = image();
    let plain = tar_of(&image, &[]);
    for program in ["xz", "gzip", "zstd", "bzip2"] {
        let packed = tar_of(&image, &["-c", program]);
        assert!(packed.len() < plain.len() / 4, "{program}: {} bytes", packed.len());
        let mut command = Command::new(program);
        let mut child = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeding = std::thread::spawn(move || stdin.write_all(&packed));
        let output = child.wait_with_output().unwrap();
        feeding.join().unwrap().unwrap();
        assert!(output.status.success() && output.stdout == plain, "{program}: another tar");
    }
}

/// A specimen of the zoo as a file.
fn damaged(top: &Path, name: &str) -> PathBuf {
    let path = top.join(format!("{name}.sqfs"));
    let specimen = hostile::all().into_iter().find(|specimen| specimen.name == name).unwrap();
    std::fs::write(&path, specimen.bytes()).unwrap();
    path
}

#[test]
fn damage_ends_it_or_becomes_zeros() {
    let top = tempfile::tempdir().unwrap();
    let image = damaged(top.path(), "bad-gzip-garbage");
    let ended = sqfs2tar(&image, &[]);
    assert_eq!(ended.status.code(), Some(1), "{}", said(&ended));
    assert!(said(&ended).contains("bad-gzip-garbage.sqfs: odd: "), "{}", said(&ended));
    let went_on = sqfs2tar(&image, &["--continue"]);
    assert_eq!(went_on.status.code(), Some(2), "{}", said(&went_on));
    assert_eq!(said(&went_on), said(&ended));
    let found = entries(&went_on.stdout);
    let content = |name: &[u8]| &found.iter().find(|(entry, _)| entry.path == name).unwrap().1;
    assert_eq!(content(b"good"), b"sound");
    assert!(!content(b"odd").is_empty() && content(b"odd").iter().all(|byte| *byte == 0));
}

#[test]
fn damage_to_the_tree_leaves_the_rest() {
    let top = tempfile::tempdir().unwrap();
    let image = damaged(top.path(), "bad-directory-two-names");
    let ended = sqfs2tar(&image, &[]);
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(1), 0), "{}", said(&ended));
    let went_on = sqfs2tar(&image, &["--continue"]);
    assert_eq!(went_on.status.code(), Some(2), "{}", said(&went_on));
    assert!(said(&went_on).contains("a second name") && !entries(&went_on.stdout).is_empty());
}
