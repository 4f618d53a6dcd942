//! What an exit status promises: with 0 the output is whole and has its name, with 1 its name has what it had before.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use packline_testkit::tools;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

/// A directory with what commands read. The outputs go to `out`.
struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.path("tree/below")).unwrap();
        fs::write(place.path("tree/below/file"), vec![b'x'; 100_000]).unwrap();
        for arguments in ["pack -q tree t.sqfs", "pack -q tree t.lrz", "compress -q tree/below/file -o t.pln"] {
            let output = place.command(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        self.started_by(&[], arguments)
    }

    /// The program with arguments, started by another.
    fn started_by(&self, starter: &[&str], arguments: &str) -> Command {
        let words: Vec<&str> = starter.iter().copied().chain([PACKLINE]).chain(arguments.split(' ')).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(self.directory.path()).stdin(Stdio::null()).env("LRZIP", "NOCONFIG");
        command
    }

    /// The program, which is refused the call of a system call with this number, counted from 1.
    fn refused(&self, call: &str, number: usize, arguments: &str) -> Output {
        let inject = format!("inject={call}:error=EIO:when={number}");
        let starter = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &inject];
        self.started_by(&starter, arguments).output().unwrap()
    }

    /// What is in `out`: nothing, or the bytes of a file, or those of the file of the tree.
    fn out(&self) -> Option<Vec<u8>> {
        let out = self.path("out");
        let bytes = if out.is_dir() { fs::read(out.join("below/file")) } else { fs::read(&out) };
        assert_eq!(bytes.is_ok(), fs::symlink_metadata(&out).is_ok());
        bytes.ok()
    }

    fn clear(&self) {
        let out = self.path("out");
        let _: std::io::Result<()> = if out.is_dir() { fs::remove_dir_all(out) } else { fs::remove_file(out) };
    }
}

const WRITING: [&str; 8] = [
    "pack --format squashfs tree out",
    "pack --format lrz tree out",
    "unpack t.sqfs out",
    "unpack --to tar t.sqfs out",
    "unpack t.lrz out",
    "unpack --to tar t.lrz out",
    "compress tree/below/file -o out",
    "decompress t.pln -o out",
];

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Nothing but what there was before is beside the output.
fn names(place: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_summary_that_cannot_be_printed_is_a_warning() {
    let place = Place::new();
    for arguments in WRITING {
        let arguments = format!("{arguments} --json");
        let plain = place.command(&arguments).output().unwrap();
        assert!(plain.status.success() && plain.stdout.starts_with(b"{"), "{arguments}: {}", text(&plain));
        let expected = place.out();
        place.clear();
        let output = place.command(&arguments).stdout(File::create("/dev/full").unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output));
        assert!(text(&output).contains("warning: cannot write to standard output: No space left"), "{}", text(&output));
        assert!(expected.is_some() && place.out() == expected, "{arguments}");
        place.clear();
    }
}

#[test]
fn a_summary_that_nobody_reads_is_nothing() {
    let place = Place::new();
    for arguments in WRITING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(&format!("{arguments} --json")).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), text(&output)), (Some(0), String::new()), "{arguments}");
        assert!(place.out().is_some(), "{arguments}");
        place.clear();
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_a_warning() {
    let place = Place::new();
    for arguments in WRITING {
        let output = place.command(&format!("{arguments} --trace missing/trace")).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output));
        assert!(text(&output).contains("packline: warning: missing/trace: "), "{}", text(&output));
        assert!(place.out().is_some(), "{arguments}");
        place.clear();
    }
}

#[test]
fn without_its_data_synced_an_output_has_no_name_and_without_its_directory_it_has_one() {
    if !tools::need(&["strace"]) {
        return;
    }
    let place = Place::new();
    let before = names(&place.path(""));
    for arguments in WRITING {
        let directory = arguments.starts_with("unpack") && !arguments.contains("--to");
        let (call, arguments) = match directory {
            true => ("syncfs", format!("{arguments} --sync")),
            false => ("fsync", arguments.to_owned()),
        };
        let first = place.refused(call, 1, &arguments);
        assert_eq!(first.status.code(), Some(1), "{arguments}: {}", text(&first));
        assert!(text(&first).contains("cannot sync: Input/output error"), "{}", text(&first));
        assert_eq!(names(&place.path("")), before, "{arguments}");
        let second = place.refused(call, 2, &arguments);
        assert_eq!(second.status.code(), Some(0), "{arguments}: {}", text(&second));
        assert!(text(&second).contains("packline: warning: out: cannot sync its directory: "), "{}", text(&second));
        assert!(place.out().is_some(), "{arguments}");
        place.clear();
    }
}

#[test]
fn a_source_is_removed_only_when_its_output_has_its_name_for_good() {
    if !tools::need(&["strace"]) {
        return;
    }
    for arguments in
        ["compress -q --rm source", "decompress -q --rm source.pln", "lrzip -Q -D source", "lrzip -Q -d -D source.lrz"]
    {
        let place = Place::new();
        let (command, source) = arguments.rsplit_once(' ').unwrap();
        fs::copy(place.path("tree/below/file"), place.path("source")).unwrap();
        if source != "source" {
            let make = if source.ends_with("lrz") { "lrzip -Q -D source" } else { "compress -q --rm source" };
            assert!(place.command(make).status().unwrap().success());
        }
        let before = names(&place.path(""));
        let first = place.refused("fsync", 1, arguments);
        assert_eq!((first.status.code(), names(&place.path(""))), (Some(1), before), "{}", text(&first));
        let second = place.refused("fsync", 2, arguments);
        assert_eq!(second.status.code(), Some(0), "{arguments}: {}", text(&second));
        assert!(text(&second).contains(&format!("warning: {source}: not removed")), "{}", text(&second));
        assert!(place.path(source).exists());
        let third = place.command(&format!("{command} -f {source}")).output().unwrap();
        assert!(third.status.success() && !place.path(source).exists(), "{arguments}: {}", text(&third));
    }
}

#[test]
fn a_source_that_cannot_be_removed_is_a_warning() {
    if !tools::need(&["strace"]) {
        return;
    }
    let place = Place::new();
    fs::copy(place.path("tree/below/file"), place.path("source")).unwrap();
    let output = place.refused("unlink", 1, "compress -q --rm source");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("warning: source: cannot remove: Input/output error"), "{}", text(&output));
    assert!(place.path("source").exists() && place.path("source.pln").exists());
}

/// Each look at the staging directory that fails is told as what it is, not as another run.
#[test]
fn a_staging_directory_that_cannot_be_looked_at_is_told() {
    if !tools::need(&["strace"]) {
        return;
    }
    let place = Place::new();
    let before = names(&place.path(""));
    let mut told = 0;
    for number in 1..=60 {
        let output = place.refused("fstat,newfstatat,statx", number, "unpack -q t.sqfs out");
        let said = text(&output);
        assert!(!said.contains("in use") && !said.contains("internal error"), "call {number}: {said}");
        match output.status.code() {
            Some(0) => assert!(place.out().is_some(), "call {number}"),
            Some(1) => assert_eq!(names(&place.path("")), before, "call {number}: {said}"),
            // The system's own part of starting a program.
            other => assert!(other == Some(127), "call {number}: {other:?} {said}"),
        }
        told += usize::from(said.contains(".out.packline-partial: cannot look at it: Input/output error"));
        place.clear();
    }
    assert!(told > 0);
}
