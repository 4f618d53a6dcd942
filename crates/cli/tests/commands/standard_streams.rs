//! Standard streams that were closed when the program started, and a standard output whose reader goes away.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use packline_testkit::model::Node;

use crate::inspect_support::{Place, Ran, binary};

/// A tree as an image, a tar, a .lrz and a .pln file; `many` has more names than a pipe holds.
fn place() -> Place {
    let place = Place::new(&[Node::dir(""), Node::file("f", "content\n".repeat(40_000)), Node::dir("d")]);
    let many: Vec<Node> = (0..2000).map(|number| Node::file(format!("{number:0>80}"), "")).collect();
    let tar = packline_testkit::tar::to_bytes(&[vec![Node::dir("")], many].concat());
    std::fs::write(place.at("many.tar"), tar).unwrap();
    place.pack("i.sqfs", &[]);
    place.good(&["pack", "-q", "many.tar", "many.sqfs"]);
    place.good(&["pack", "-q", "many.tar", "many.lrz"]);
    place.good(&["compress", "-q", "-o", "f.pln", "source/f"]);
    place.good(&["lrzip", "-Q", "-o", "f.lrz", "source/f"]);
    place
}

/// Runs `packline ARGUMENTS REDIRECTIONS` in a shell, which can close descriptors.
fn shell(place: &Place, arguments: &str, redirections: &str) -> Ran {
    let mut command = Command::new("sh");
    command
        .env("P", binary())
        .env("LRZIP", "NOCONFIG")
        .args(["-c", &format!("exec \"$P\" {arguments} {redirections}")]);
    place.run(command)
}

#[test]
fn a_closed_standard_output_is_an_error_of_what_is_written_to_it() {
    let place = place();
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
        "compress -c source/f",
        "decompress -c f.pln",
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
        let ran = shell(&place, arguments, ">&-");
        let expected = if arguments.contains("diff") { 2 } else { 1 };
        assert!(ran.status == expected && ran.err.contains("standard output"), "{arguments}: {ran:?}");
        assert!(ran.err.contains("is closed"), "{arguments}: {ran:?}");
    }
    assert!(!place.at("made.sqfs").exists() && !place.at("made").exists());
}

#[test]
fn streams_that_are_not_used_may_be_closed() {
    let place = place();
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
        let mut run = Command::new("sh");
        let script = format!("\"$P\" {command} {input} >&- 2>&- && {{ :; {after}\n}}");
        run.env("P", binary()).env("LRZIP", "NOCONFIG").args(["-c", &script]);
        assert_eq!(place.run(run).status, 0, "{arguments}");
        let made = std::fs::read_dir(place.at("")).unwrap();
        let made = made
            .filter(|entry| entry.as_ref().unwrap().file_name().to_str().unwrap().starts_with(&format!("out{number}")));
        assert_eq!(made.count(), 1, "{arguments}");
    }
}

#[test]
fn a_closed_standard_input_is_no_empty_one() {
    let place = place();
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
        let ran = shell(&place, arguments, "<&-");
        assert!(ran.status == 1 && ran.err.contains("standard input is closed"), "{arguments}: {ran:?}");
        assert!(!["made", "made.sqfs", "made.lrz"].iter().any(|name| place.at(name).exists()), "{arguments}");
    }
    // One that is /dev/null because the caller chose that is an empty one.
    let ran = shell(&place, "compress -o made", "</dev/null");
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(shell(&place, "list i.sqfs", ">/dev/null").status, 0);
}

/// Runs `packline ARGUMENTS` with a standard output that nobody reads.
fn unread(place: &Place, arguments: &str) -> (i32, String) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let mut command = Command::new(binary());
    command.args(arguments.split(' ')).current_dir(place.at("")).env("LRZIP", "NOCONFIG").stdin(Stdio::null());
    let output = command.stdout(OwnedFd::from(theirs)).stderr(Stdio::piped()).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let place = place();
    for arguments in [
        "list many.sqfs",
        "list -l many.tar",
        "list --json many.lrz",
        "cat i.sqfs f",
        "cat f.pln",
        "info i.sqfs",
        "info --json f.lrz",
        "unpack -q many.sqfs -",
        "unpack -q many.lrz -",
        "sqfs2tar many.sqfs",
        "sqfs2tar -c gzip many.sqfs",
        "rdsquashfs -d many.sqfs",
        "verify many.sqfs",
        "verify f.lrz",
        "compress -c source/f",
        "decompress -c f.pln",
        "lrzip -Q -o - source/f",
        "lrzcat f.lrz",
        "man bench",
        "completions zsh",
        "--help",
        "list --help",
        "pack --json source made.sqfs",
    ] {
        assert_eq!(unread(&place, arguments), (0, String::new()), "{arguments}");
    }
    assert!(place.at("made.sqfs").exists());
}

#[test]
fn a_verdict_needs_no_reader() {
    let place = place();
    assert_eq!(unread(&place, "diff i.sqfs many.sqfs"), (1, String::new()));
    assert_eq!(unread(&place, "sqfsdiff -a i.sqfs -b many.sqfs"), (1, String::new()));
    assert_eq!(unread(&place, "diff i.sqfs i.sqfs"), (0, String::new()));
    assert_eq!(unread(&place, "diff i.sqfs many.sqfs -e extracted").0, 1);
    assert!(place.at("extracted/old/f").exists() && place.at("extracted/new").read_dir().unwrap().count() == 2000);
    for name in ["f.pln", "f.lrz"] {
        let mut bytes = std::fs::read(place.at(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(place.at(name), bytes).unwrap();
        assert_eq!(unread(&place, &format!("verify -q {name}")), (1, String::new()), "{name}");
    }
    assert_eq!(unread(&place, "list many.sqfs none").0, 1);
}
