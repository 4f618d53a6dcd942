//! Options of `sqfs2tar`.

use std::io::Write;
use std::process::{Command, Stdio};

use packline_archives::tar::{TarOptions, TarSource};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Ran, Sandbox, hostile, tools};
use packline_tree::{Entry, Extent, Kind, Source};

use crate::sandbox;

fn sqfs2tar(sandbox: &Sandbox, options: &[&str]) -> Ran {
    sandbox.run(&[&["sqfs2tar", "image.sqfs"], options].concat())
}

/// The tar of the image; it must be made without an error.
fn tar_of(sandbox: &Sandbox, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["sqfs2tar", "image.sqfs"], options].concat()).stdout
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
    let mut all = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match source.read(&mut buffer).unwrap() {
            Extent::Data(length) => all.extend_from_slice(&buffer[..length]),
            Extent::Hole(length) => all.resize(all.len() + length as usize, 0),
            Extent::End => return all,
        }
    }
}

/// A tree with a socket, two names of a file, and attributes, as an image.
fn with_image() -> Sandbox {
    let sandbox = sandbox();
    let nodes = [
        Node::dir(""),
        Node::file("first", b"content ".repeat(2000)).xattr("user.note", *b"value"),
        Node::new("second", NodeKind::HardLink(b"first".to_vec())),
        Node::new("socket", NodeKind::Socket),
    ];
    sandbox.plant("source", &nodes);
    sandbox.good(&["pack", "source", "image.sqfs", "-b", "4K", "--quiet"]);
    sandbox
}

fn has(bytes: &[u8], words: &str) -> bool {
    bytes.windows(words.len()).any(|window| window == words.as_bytes())
}

#[test]
fn sockets_are_left_out_or_refused() {
    if !tools::root() {
        return;
    }
    let sandbox = with_image();
    let left_out = sqfs2tar(&sandbox, &[]);
    assert_eq!(left_out.status, 0, "{}", left_out.stderr);
    assert!(left_out.stderr.contains("socket"), "{}", left_out.stderr);
    assert!(!has(&left_out.stdout, "socket"));
    for option in ["-s", "--no-skip"] {
        let refused = sqfs2tar(&sandbox, &[option]);
        assert_eq!(refused.status, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("image.sqfs: socket"), "{}", refused.stderr);
    }
}

#[test]
fn attributes_are_left_out() {
    if !tools::root() {
        return;
    }
    let sandbox = with_image();
    assert!(has(&tar_of(&sandbox, &[]), "SCHILY.xattr.user.note=value"));
    for option in ["-X", "--no-xattr"] {
        assert!(!has(&tar_of(&sandbox, &[option]), "xattr"));
    }
}

#[test]
fn names_of_one_file_are_links_or_files() {
    if !tools::root() {
        return;
    }
    let sandbox = with_image();
    let content = b"content ".repeat(2000);
    let found = entries(&tar_of(&sandbox, &[]));
    assert_eq!((&found[0].0.path[..], &found[0].1), (&b"first"[..], &content));
    assert_eq!((&found[1].0.path[..], &found[1].0.kind), (&b"second"[..], &Kind::HardLink(b"first".to_vec())));
    for option in ["-L", "--no-hard-links"] {
        let found = entries(&tar_of(&sandbox, &[option]));
        let shown: Vec<_> = found.iter().map(|(entry, content)| (&entry.path[..], &content[..])).collect();
        assert_eq!(shown, [(&b"first"[..], &content[..]), (b"second", &content)]);
    }
}

#[test]
fn what_is_compressed_is_the_same_tar() {
    if !tools::need(&["xz", "gzip", "zstd", "bzip2"]) || !tools::root() {
        return;
    }
    let sandbox = with_image();
    let plain = tar_of(&sandbox, &[]);
    for program in ["xz", "gzip", "zstd", "bzip2"] {
        let packed = tar_of(&sandbox, &["-c", program]);
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

/// Creates a sandbox whose image is a hostile specimen.
fn damaged(name: &str) -> Sandbox {
    let sandbox = sandbox();
    let specimen = hostile::all().into_iter().find(|specimen| specimen.name == name).unwrap();
    sandbox.write("image.sqfs", specimen.bytes());
    sandbox
}

#[test]
fn damage_ends_it_or_becomes_zeros() {
    let sandbox = damaged("bad-gzip-garbage");
    let ended = sqfs2tar(&sandbox, &[]);
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("image.sqfs: odd: "), "{}", ended.stderr);
    let went_on = sqfs2tar(&sandbox, &["--continue"]);
    assert_eq!(went_on.status, 2, "{}", went_on.stderr);
    assert_eq!(went_on.stderr, ended.stderr);
    let found = entries(&went_on.stdout);
    let content = |name: &[u8]| &found.iter().find(|(entry, _)| entry.path == name).unwrap().1;
    assert_eq!(content(b"good"), b"sound");
    assert!(!content(b"odd").is_empty() && content(b"odd").iter().all(|byte| *byte == 0));
}

#[test]
fn damage_to_the_tree_leaves_the_rest() {
    let sandbox = damaged("bad-directory-two-names");
    let ended = sqfs2tar(&sandbox, &[]);
    assert_eq!((ended.status, ended.stdout.len()), (1, 0), "{}", ended.stderr);
    let went_on = sqfs2tar(&sandbox, &["--continue"]);
    assert_eq!(went_on.status, 2, "{}", went_on.stderr);
    assert!(went_on.stderr.contains("a second name") && !entries(&went_on.stdout).is_empty());
}
