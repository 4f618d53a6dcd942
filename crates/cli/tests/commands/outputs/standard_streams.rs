//! Standard streams that were closed when the program started, and a standard output whose reader goes away.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use packline_testkit::model::Node;
use packline_testkit::{Ran, Sandbox};

use crate::inspect::support::{pack, quiet, with_source};

/// A tree as an image, a tar, a .lrz and a .pln file; `many` has more names than a pipe holds.
fn with_containers() -> Sandbox {
    let sandbox = with_source(&[Node::dir(""), Node::file("f", "content\n".repeat(40_000)), Node::dir("d")]);
    let many: Vec<Node> = (0..2000).map(|number| Node::file(format!("{number:0>80}"), "")).collect();
    sandbox.write_tar("many.tar", &[vec![Node::dir("")], many].concat());
    pack(&sandbox, "i.sqfs", &[]);
    quiet(&sandbox, &["pack", "-q", "many.tar", "many.sqfs"]);
    quiet(&sandbox, &["pack", "-q", "many.tar", "many.lrz"]);
    quiet(&sandbox, &["compress", "-q", "-o", "f.pln", "source/f"]);
    quiet(&sandbox, &["lrzip", "-Q", "-o", "f.lrz", "source/f"]);
    sandbox
}

/// Runs `packline ARGUMENTS REDIRECTIONS` in a shell, which can close descriptors.
fn shell(sandbox: &Sandbox, arguments: &str, redirections: &str) -> Ran {
    sandbox.shell(&format!("exec \"$P\" {arguments} {redirections}"))
}

#[test]
fn a_closed_standard_output_is_an_error_of_what_is_written_to_it() {
    let sandbox = with_containers();
    for arguments in [
        "cat i.sqfs f",
        "cat f.pln",
        "unpack i.sqfs -",
        "unpack many.lrz -",
        "list i.sqfs",
        "list --json i.sqfs",
        "list many.tar",
        "info i.sqfs",
        "info f.lrz",
        "info f.pln",
        "verify i.sqfs",
        "verify f.lrz",
        "verify f.pln",
        "diff i.sqfs many.sqfs",
        "compress --stdout source/f",
        "decompress --stdout f.pln",
        "lrzcat f.lrz",
        "lrzip -i f.lrz",
        "lrztar -o - source",
        "sqfs2tar i.sqfs",
        "rdsquashfs -l / i.sqfs",
        "rdsquashfs -c f i.sqfs",
        "rdsquashfs -d i.sqfs",
        "sqfsdiff -a i.sqfs -b many.sqfs",
        "completions bash",
        "man",
        "--help",
        "--version",
        "list --help",
        "pack --json source made.sqfs",
        "unpack --json i.sqfs made",
    ] {
        let ran = shell(&sandbox, arguments, ">&-");
        let expected = if arguments.contains("diff") { 2 } else { 1 };
        assert!(ran.status == expected && ran.stderr.contains("standard output"), "{arguments}: {ran:?}");
        assert!(ran.stderr.contains("is closed"), "{arguments}: {ran:?}");
    }
    assert!(!sandbox.at("made.sqfs").exists() && !sandbox.at("made").exists());
}

#[test]
fn unused_streams_may_be_closed() {
    let sandbox = with_containers();
    for (number, arguments) in [
        "pack source OUT.sqfs",
        "tar2sqfs OUT.sqfs <source.tar",
        "pack source OUT.lrz",
        "unpack i.sqfs OUT",
        "lrzip -o OUT source/f",
        "compress -o OUT source/f",
        "rdsquashfs -u / -p OUT i.sqfs",
        "verify -q i.sqfs; touch OUT",
        "diff i.sqfs i.sqfs; touch OUT",
    ]
    .into_iter()
    .enumerate()
    {
        let arguments = arguments.replace("OUT", &format!("out{number}"));
        let input = if arguments.contains('<') { "" } else { "<&-" };
        let (command, after) = arguments.split_once(';').unwrap_or((&arguments, ""));
        let script = format!("\"$P\" {command} {input} >&- 2>&- && {{ :; {after}\n}}");
        assert_eq!(sandbox.shell(&script).status, 0, "{arguments}");
        let made = sandbox.names().iter().filter(|name| name.starts_with(&format!("out{number}"))).count();
        assert_eq!(made, 1, "{arguments}");
    }
}

#[test]
fn closed_standard_input_is_not_empty_input() {
    let sandbox = with_containers();
    for arguments in [
        "pack - made.sqfs",
        "pack - made.lrz",
        "tar2sqfs made.sqfs",
        "compress -o made",
        "decompress -o made",
        "lrzip -o made",
        "lrzip -d -o made",
        "cat -",
        "lrzcat",
    ] {
        let ran = shell(&sandbox, arguments, "<&-");
        assert!(ran.status == 1 && ran.stderr.contains("standard input is closed"), "{arguments}: {ran:?}");
        assert!(!["made", "made.sqfs", "made.lrz"].iter().any(|name| sandbox.at(name).exists()), "{arguments}");
    }
    // /dev/null that the caller chose is an empty input.
    let ran = shell(&sandbox, "compress -o made", "</dev/null");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(shell(&sandbox, "list i.sqfs", ">/dev/null").status, 0);
}

/// Runs `packline ARGUMENTS` with a standard output whose reader is gone.
fn unread(sandbox: &Sandbox, arguments: &str) -> (i32, String) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let mut command = sandbox.command(&arguments.split(' ').collect::<Vec<_>>());
    let ran = Ran::of(command.stdout(OwnedFd::from(theirs)));
    (ran.status, ran.stderr)
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let sandbox = with_containers();
    for arguments in [
        "list many.sqfs",
        "list -l many.tar",
        "list --json many.lrz",
        "cat i.sqfs f",
        "cat f.pln",
        "info i.sqfs",
        "info --json f.lrz",
        "sqfs2tar many.sqfs",
        "sqfs2tar -c gzip many.sqfs",
        "rdsquashfs -d many.sqfs",
        "verify many.sqfs",
        "verify f.lrz",
        "decompress --stdout f.pln",
        "lrzip -Q -o - source/f",
        "lrzcat f.lrz",
        "man bench",
        "completions zsh",
        "--help",
        "list --help",
        "pack --json source made.sqfs",
    ] {
        assert_eq!(unread(&sandbox, arguments), (0, String::new()), "{arguments}");
    }
    assert!(sandbox.at("made.sqfs").exists());
}

#[test]
fn comparison_works_without_reader() {
    let sandbox = with_containers();
    assert_eq!(unread(&sandbox, "diff i.sqfs many.sqfs"), (1, String::new()));
    assert_eq!(unread(&sandbox, "sqfsdiff -a i.sqfs -b many.sqfs"), (1, String::new()));
    assert_eq!(unread(&sandbox, "diff i.sqfs i.sqfs"), (0, String::new()));
    assert_eq!(unread(&sandbox, "diff i.sqfs many.sqfs -e extracted").0, 1);
    assert!(sandbox.at("extracted/old/f").exists() && sandbox.at("extracted/new").read_dir().unwrap().count() == 2000);
    for name in ["f.pln", "f.lrz"] {
        let mut bytes = sandbox.read(name);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        sandbox.write(name, bytes);
        assert_eq!(unread(&sandbox, &format!("verify -q {name}")), (1, String::new()), "{name}");
    }
    assert_eq!(unread(&sandbox, "list many.sqfs none").0, 1);
}
