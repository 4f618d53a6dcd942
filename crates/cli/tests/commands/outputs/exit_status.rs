//! Exit statuses: with 0 the output is complete under its name, with 1 an existing output is unchanged.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use packline_testkit::{Ran, Sandbox, tools};

use crate::{PACKLINE, sandbox};

/// A sandbox with the inputs of the commands. The outputs go to `out`.
fn with_inputs() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/below/file", vec![b'x'; 100_000]);
    for arguments in ["pack -q tree t.sqfs", "pack -q tree t.lrz", "compress -q tree/below/file -o t.pln"] {
        Ran::good(&mut command(&sandbox, arguments));
    }
    sandbox
}

fn command(sandbox: &Sandbox, arguments: &str) -> Command {
    sandbox.command(&arguments.split(' ').collect::<Vec<_>>())
}

/// Runs the program; its system call of this name and number, counted from 1, fails.
fn failing(sandbox: &Sandbox, call: &str, number: usize, arguments: &str) -> Ran {
    let inject = format!("inject={call}:error=EIO:when={number}");
    let mut command = sandbox.program("strace", &["-f", "-qq", "-o", "/dev/null", "-e", &inject, PACKLINE]);
    // Cargo sets it; the loader searches these directories with the calls that are counted here.
    command.env_remove("LD_LIBRARY_PATH");
    Ran::of(command.args(arguments.split(' ')))
}

/// The content of `out`, or of the file in it.
fn out(sandbox: &Sandbox) -> Option<Vec<u8>> {
    let out = sandbox.at("out");
    let bytes = if out.is_dir() { fs::read(out.join("below/file")) } else { fs::read(&out) };
    assert_eq!(bytes.is_ok(), fs::symlink_metadata(&out).is_ok());
    bytes.ok()
}

const WRITING: [&str; 9] = [
    "pack --format squashfs tree out",
    "pack --format erofs tree out",
    "pack --format lrz tree out",
    "unpack t.sqfs out",
    "unpack --to tar t.sqfs out",
    "unpack t.lrz out",
    "unpack --to tar t.lrz out",
    "compress tree/below/file -o out",
    "decompress t.pln -o out",
];

#[test]
fn a_summary_that_cannot_be_printed_is_a_warning() {
    let sandbox = with_inputs();
    for arguments in WRITING {
        let arguments = format!("{arguments} --json");
        let plain = Ran::of(&mut command(&sandbox, &arguments));
        assert!(plain.status == 0 && plain.stdout.starts_with(b"{"), "{arguments}: {}", plain.stderr);
        let expected = out(&sandbox);
        sandbox.remove("out");
        let output = Ran::of(command(&sandbox, &arguments).stdout(File::create("/dev/full").unwrap()));
        assert_eq!(output.status, 0, "{arguments}: {}", output.stderr);
        assert!(output.stderr.contains("warning: cannot write to standard output: No space left"), "{}", output.stderr);
        assert!(expected.is_some() && out(&sandbox) == expected, "{arguments}");
        sandbox.remove("out");
    }
}

#[test]
fn a_summary_without_a_reader_is_no_failure() {
    let sandbox = with_inputs();
    for arguments in WRITING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Ran::of(command(&sandbox, &format!("{arguments} --json")).stdout(writer));
        assert_eq!((output.status, output.stderr.as_str()), (0, ""), "{arguments}");
        assert!(out(&sandbox).is_some(), "{arguments}");
        sandbox.remove("out");
    }
}

/// Drop-ins that print before and while they work.
const TALKING: [&str; 6] = [
    "mksquashfs tree out -no-progress",
    "mksquashfs tree out -noappend -info -no-progress",
    "unsquashfs -d out t.sqfs",
    "unsquashfs -li -d out t.sqfs",
    "rdsquashfs -u / -p out t.sqfs",
    "gensquashfs -D tree out",
];

#[test]
fn drop_ins_work_without_a_reader_of_what_they_print() {
    let sandbox = with_inputs();
    for arguments in TALKING {
        for full in [false, true] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let stdout = if full { Stdio::from(File::create("/dev/full").unwrap()) } else { Stdio::from(writer) };
            if full && arguments.contains("-li") {
                continue;
            }
            let output = Ran::of(command(&sandbox, arguments).stdout(stdout));
            assert_eq!(output.status, 0, "{arguments}: {}", output.stderr);
            assert_eq!(output.stderr.contains("No space left"), full, "{arguments}: {}", output.stderr);
            assert!(out(&sandbox).is_some(), "{arguments}");
            sandbox.remove("out");
        }
    }
    // Appends to the image.
    sandbox.good(&["mksquashfs", "tree", "out", "-noappend", "-no-progress"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let before = sandbox.read("out");
    let appended = Ran::of(command(&sandbox, "mksquashfs tree out -no-progress -root-becomes old").stdout(writer));
    assert!(appended.status == 0 && sandbox.read("out") != before, "{appended:?}");
}

#[test]
fn verify_examines_all_files_without_a_reader() {
    let sandbox = with_inputs();
    let mut damaged = sandbox.read("t.sqfs");
    damaged[100] ^= 1;
    sandbox.write("damaged", damaged);
    sandbox.good(&["protect", "-q", "damaged"]);
    for arguments in ["verify t.sqfs damaged", "verify --json t.sqfs t.sqfs damaged", "verify damaged"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Ran::of(command(&sandbox, arguments).stdout(writer));
        assert_eq!(output.status, 1, "{arguments}: {}", output.stderr);
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_a_warning() {
    let sandbox = with_inputs();
    for arguments in WRITING {
        let output = Ran::of(&mut command(&sandbox, &format!("{arguments} --trace missing/trace")));
        assert_eq!(output.status, 0, "{arguments}: {}", output.stderr);
        assert!(output.stderr.contains("packline: warning: missing/trace: "), "{}", output.stderr);
        assert!(out(&sandbox).is_some(), "{arguments}");
        sandbox.remove("out");
    }
}

#[test]
fn without_synced_data_there_is_no_output_and_without_a_synced_directory_a_warning() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = with_inputs();
    let before = sandbox.names();
    for arguments in WRITING {
        let directory = arguments.starts_with("unpack") && !arguments.contains("--to");
        let (call, arguments) =
            if directory { ("syncfs", format!("{arguments} --sync")) } else { ("fsync", arguments.to_owned()) };
        let first = failing(&sandbox, call, 1, &arguments);
        assert_eq!(first.status, 1, "{arguments}: {}", first.stderr);
        assert!(first.stderr.contains("cannot sync: Input/output error"), "{}", first.stderr);
        assert_eq!(sandbox.names(), before, "{arguments}");
        let second = failing(&sandbox, call, 2, &arguments);
        assert_eq!(second.status, 0, "{arguments}: {}", second.stderr);
        assert!(second.stderr.contains("packline: warning: out: cannot sync its directory: "), "{}", second.stderr);
        assert!(out(&sandbox).is_some(), "{arguments}");
        sandbox.remove("out");
    }
}

#[test]
fn a_source_is_removed_only_after_its_output_is_synced() {
    if !tools::need(&["strace"]) {
        return;
    }
    for arguments in
        ["compress -q --rm source", "decompress -q --rm source.pln", "lrzip -Q -D source", "lrzip -Q -d -D source.lrz"]
    {
        let sandbox = with_inputs();
        let (words, source) = arguments.rsplit_once(' ').unwrap();
        fs::copy(sandbox.at("tree/below/file"), sandbox.at("source")).unwrap();
        if source != "source" {
            let make = if source.ends_with("lrz") { "lrzip -Q -D source" } else { "compress -q --rm source" };
            Ran::good(&mut command(&sandbox, make));
        }
        let before = sandbox.names();
        let first = failing(&sandbox, "fsync", 1, arguments);
        assert_eq!((first.status, sandbox.names()), (1, before), "{}", first.stderr);
        let second = failing(&sandbox, "fsync", 2, arguments);
        assert_eq!(second.status, 0, "{arguments}: {}", second.stderr);
        assert!(second.stderr.contains(&format!("warning: {source}: not removed")), "{}", second.stderr);
        assert!(sandbox.at(source).exists());
        let third = Ran::of(&mut command(&sandbox, &format!("{words} -f {source}")));
        assert!(third.status == 0 && !sandbox.at(source).exists(), "{arguments}: {}", third.stderr);
    }
}

#[test]
fn a_source_that_cannot_be_removed_is_a_warning() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = with_inputs();
    fs::copy(sandbox.at("tree/below/file"), sandbox.at("source")).unwrap();
    let output = failing(&sandbox, "unlink", 1, "compress -q --rm source");
    assert_eq!(output.status, 0, "{}", output.stderr);
    assert!(output.stderr.contains("warning: source: cannot remove: Input/output error"), "{}", output.stderr);
    assert!(sandbox.at("source").exists() && sandbox.at("source.pln").exists());
}

/// A failed call on the staging directory is reported as itself, not as a directory in use by another run.
#[test]
fn a_staging_directory_that_cannot_be_examined_is_reported() {
    if !tools::need(&["strace"]) {
        return;
    }
    let sandbox = with_inputs();
    let before = sandbox.names();
    let mut reported = 0;
    let mut messages = Vec::new();
    for number in 1..=60 {
        let output = failing(&sandbox, "fstat,newfstatat,statx", number, "unpack -q t.sqfs out");
        let message = output.stderr;
        assert!(!message.contains("in use") && !message.contains("internal error"), "call {number}: {message}");
        match output.status {
            0 => assert!(out(&sandbox).is_some(), "call {number}"),
            1 => assert_eq!(sandbox.names(), before, "call {number}: {message}"),
            // The dynamic loader failed.
            other => assert!(other == 127, "call {number}: {other} {message}"),
        }
        reported += usize::from(message.contains(".out.packline-partial: cannot examine it: Input/output error"));
        messages.push(message);
        sandbox.remove("out");
    }
    assert!(reported > 0, "{messages:?}");
}
