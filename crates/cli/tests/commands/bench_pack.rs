//! `bench pack`: peers are measured beside ours, and a wrong answer is found.

use packline::bench::{Report, Tails, read_csv};
use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Random, plant, tar, tools};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

fn nodes() -> Vec<Node> {
    let mut random = Random::new(4);
    let holes = Content::sparse(700_000, vec![(500_000, random.prose(9000))]);
    vec![
        Node::dir("").mode(0o700).time(7),
        Node::dir("d"),
        Node::file("d/big", random.prose(400_000)).mode(0o640).owner(3, 4),
        Node::new("d/link", NodeKind::HardLink(b"d/big".to_vec())),
        Node::file("d/noise", random.noise(150_000)),
        Node::new("d/sym", NodeKind::Symlink(b"big".to_vec())),
        Node::new("holes", NodeKind::File(holes)),
        Node::file("small", random.prose(77)).xattr("user.note", *b"value"),
    ]
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        // mksquashfs 4.5 reads no holes of PAX.
        let mut tar = tar::TarWriter::without_sparse(Vec::new());
        tar.nodes(&nodes()).unwrap();
        fs::write(place.at("in.tar"), tar.finish().unwrap()).unwrap();
        fs::create_dir(place.at("tree")).unwrap();
        plant::plant(&nodes(), &place.at("tree")).unwrap();
        fs::create_dir(place.at("scratch")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// An executable script; its path.
    fn script(&self, name: &str, lines: &str) -> String {
        let path = self.at(name);
        fs::write(&path, format!("#!/bin/sh\ncase $1 in --version) echo fake 1; exit;; esac\n{lines}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, input: &str, options: &[&str]) -> Command {
        let mut command = Command::new(PACKLINE);
        command.args(["bench", "pack", input, "--place", "scratch", "--no-storage"]).args(options);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn bench(&self, input: &str, options: &[&str]) -> Output {
        self.command(input, options).output().unwrap()
    }

    /// Runs it, which must succeed, and reads the runs back.
    fn report(&self, input: &str, options: &[&str]) -> (Report, String) {
        let options = [options, &["--csv", "runs.csv", "--force"]].concat();
        let output = tools::run(&mut self.command(input, &options)).unwrap();
        let csv = fs::read_to_string(self.at("runs.csv")).unwrap();
        assert_eq!(self.left(), 0);
        (read_csv(&csv).unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    fn left(&self) -> usize {
        fs::read_dir(self.at("scratch")).unwrap().count()
    }
}

/// The programs of each configuration, in the order of the report.
fn told(report: &Report) -> Vec<String> {
    let one = |measured: &packline::bench::Measured| {
        let case = &measured.case;
        format!("{} {} {} {}", case.codec, case.tails.name(), case.program, case.jobs)
    };
    report.measured.iter().map(one).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_tar_is_packed_by_everyone_alike() {
    if !tools::need(&["tar2sqfs", "mksquashfs", "zstd"]) {
        return;
    }
    let place = Place::new();
    let options =
        ["-c", "zstd:level=3,none", "-j", "1,2", "-n", "2", "--warmup", "0", "--against", "tar2sqfs,mksquashfs,zstd"];
    let (report, page) = place.report("in.tar", &options);
    let expected = [
        "zstd:level=3 fragments packline 1",
        "zstd:level=3 fragments packline 2",
        "zstd:level=3 fragments tar2sqfs 1",
        "zstd:level=3 fragments tar2sqfs 2",
        "zstd:level=3 fragments mksquashfs 1",
        "zstd:level=3 fragments mksquashfs 2",
        "zstd:level=3 none zstd 1",
        "zstd:level=3 none zstd 2",
        "none fragments packline 1",
        "none fragments packline 2",
        "none fragments mksquashfs 1",
        "none fragments mksquashfs 2",
    ];
    assert_eq!(told(&report), expected);
    for measured in &report.measured {
        assert_eq!((measured.runs.len(), measured.content_bytes), (2, 1_250_077), "{:?}", measured.case);
        assert!(measured.runs.iter().all(|run| run.wall > 0.0 && run.peak > 1 << 20), "{:?}", measured.runs);
        let least = if measured.case.codec == "none" { 559_000 } else { 150_000 };
        assert!(measured.image_bytes > least && measured.image_bytes < 1_400_000, "{}", measured.image_bytes);
    }
    assert!(page.contains("tar2sqfs takes no part with none: it always compresses."), "{page}");
}

#[test]
fn a_directory_is_packed_by_everyone_alike() {
    if !tools::need(&["gensquashfs", "mksquashfs"]) || !tools::root() {
        return;
    }
    let place = Place::new();
    let tails = "no-fragments,no-tail-packing,fragments";
    let options =
        ["-c", "gzip", "-b", "4K", "-j", "2", "-n", "1", "--against", "gensquashfs,mksquashfs", "--tails", tails];
    let (report, page) = place.report("tree", &options);
    let sizes = |program: &str| -> Vec<u64> {
        let of = report.measured.iter().filter(|measured| measured.case.program == program);
        of.map(|measured| measured.image_bytes).collect()
    };
    assert_eq!((sizes("packline").len(), sizes("mksquashfs").len(), sizes("gensquashfs").len()), (3, 3, 2));
    assert_eq!(report.measured[0].case.tails, Tails::NoFragments);
    assert!(page.contains("gensquashfs takes no part with no-fragments") && page.contains("does not keep"), "{page}");
}

#[test]
fn streams_are_compared_with_what_they_were_made_of() {
    if !tools::need(&["gzip", "xz"]) {
        return;
    }
    let place = Place::new();
    let (report, _) =
        place.report("in.tar", &["-c", "gzip:level=1,xz:level=0", "-j", "1", "-n", "1", "--against", "gzip,xz"]);
    let streams: Vec<_> = report.measured.iter().filter(|measured| measured.case.block_size == 0).collect();
    assert_eq!(streams.len(), 2);
    assert!(streams.iter().all(|stream| packline::bench::against(stream, &report.measured).is_some()));
    let liar = place.script("liar", "case $* in *-d*) echo other;; *) cat;; esac");
    let output = place.bench("in.tar", &["-c", "gzip", "-j", "1", "--against", &format!("gzip={liar}")]);
    assert!(output.status.code() == Some(1) && said(&output).contains("does not become"), "{}", said(&output));
    assert_eq!(place.left(), 0);
}

#[test]
fn an_image_of_something_else_is_a_failure() {
    let place = Place::new();
    fs::create_dir(place.at("other")).unwrap();
    fs::write(place.at("other/small"), "other").unwrap();
    let other = place.at("other").to_str().unwrap().to_owned();
    let liar = place.script("liar", &format!("for last; do :; done; exec {PACKLINE} pack -q {other} \"$last\""));
    let peer = format!("tar2sqfs={liar}");
    let options = ["-c", "lz4", "-j", "1", "-n", "1", "--against", &peer];
    let output = place.bench("in.tar", &options);
    assert_eq!((output.status.code(), output.stdout.len(), place.left()), (Some(1), 0, 0), "{}", said(&output));
    assert!(said(&output).contains("9 differences between") && said(&output).contains("d/big"), "{}", said(&output));
    let output = place.bench("in.tar", &[&options[..], &["--keep"]].concat());
    let kept = said(&output).lines().last().unwrap().split(" is in ").last().unwrap().to_owned();
    assert!(Path::new(&kept).join("made-1.sqfs").is_file() && Path::new(&kept).join("first.sqfs").is_file(), "{kept}");
}

#[test]
fn a_peer_that_fails_is_out_and_that_is_told() {
    let place = Place::new();
    let failing = place.script("failing", "echo no such thing >&2; exit 3");
    let peer = format!("tar2sqfs={failing}");
    let (report, page) = place.report("in.tar", &["-c", "lz4", "-j", "1,2", "-n", "1", "--against", &peer]);
    assert_eq!(told(&report), ["lz4 fragments packline 1", "lz4 fragments packline 2"]);
    assert!(page.contains("exit status: 3 / no such thing"), "{page}");
}

#[test]
fn a_signal_stops_the_program_that_runs_and_leaves_nothing() {
    let place = Place::new();
    let pid_file = place.at("pid");
    let sleeper =
        place.script("sleeper", &format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 600", pid_file.display()));
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let _ = fs::remove_file(&pid_file);
        let options = ["-c", "lz4", "-j", "1", "--against", &format!("tar2sqfs={sleeper}")];
        let mut child = place.command("in.tar", &options).stderr(Stdio::null()).spawn().unwrap();
        let pid = loop {
            match fs::read_to_string(&pid_file) {
                Ok(pid) => break pid.trim().to_owned(),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        let told = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        assert_eq!(child.wait().unwrap().code(), Some(status), "{signal}");
        assert_eq!(place.left(), 0, "{signal}");
        // What is left of a process that was killed is a zombie at most.
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}

#[test]
fn inputs_that_are_made_here_are_packed_too() {
    let place = Place::new();
    let (report, page) = place.report("synthetic:mixed:2M", &["-c", "lz4", "-j", "2", "-n", "1"]);
    assert_eq!(report.measured[0].content_bytes, 2 << 20);
    assert!(report.measured[0].ratio() < 0.9 && page.contains("synthetic:mixed:2M"), "{page}");
    let output = place.bench("synthetic:nope", &[]);
    assert!(output.status.code() == Some(2) && said(&output).contains("zeros, random, text or mixed"));
}
