//! `bench pack`: peers are measured beside ours, and a wrong answer is found.

use packline_bench::report::{Report, Tails, read_csv};
use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Random, plant, signal, tar, tools};
use std::fs;
use std::io::{BufRead, BufReader};
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
        command.args(["bench", "pack", input, "--work-dir", "scratch", "--no-storage"]).args(options);
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
        assert_eq!(self.left(), 0);
        (self.csv(), String::from_utf8(output.stdout).unwrap())
    }

    /// The runs that were written.
    fn csv(&self) -> Report {
        read_csv(&fs::read_to_string(self.at("runs.csv")).unwrap()).unwrap()
    }

    /// A peer that packs as we do, but for these options.
    fn imitator(&self, options: &str) -> String {
        format!("tar2sqfs={}", self.script("imitator", &format!("exec {PACKLINE} tar2sqfs {options} \"$@\"")))
    }

    fn left(&self) -> usize {
        fs::read_dir(self.at("scratch")).unwrap().count()
    }
}

/// The programs of each configuration, in the order of the report.
fn configurations(report: &Report) -> Vec<String> {
    let one = |measured: &packline_bench::report::Measured| {
        let case = &measured.case;
        format!("{} {} {} {}", case.codec, case.tails.name(), case.program, case.jobs)
    };
    report.measured.iter().map(one).collect()
}

/// The text without the ends of its lines.
fn unwrapped(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn stderr_of(output: &Output) -> String {
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
    assert_eq!(configurations(&report), expected);
    for measured in &report.measured {
        assert_eq!((measured.runs.len(), measured.content_bytes), (2, 1_250_077), "{:?}", measured.case);
        assert!(measured.runs.iter().all(|run| run.wall > 0.0 && run.peak > 1 << 20), "{:?}", measured.runs);
        let least = if measured.case.codec == "none" { 559_000 } else { 150_000 };
        assert!(measured.image_bytes > least && measured.image_bytes < 1_400_000, "{}", measured.image_bytes);
    }
    assert!(page.contains("tar2sqfs takes no part with none: it always compresses."), "{page}");
    assert!(page.starts_with("Smallest: ") && page.contains("packline to mksquashfs: wall time"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}

#[test]
fn a_directory_is_packed_by_everyone_alike() {
    if !tools::need(&["gensquashfs", "mksquashfs"]) || !tools::root() {
        return;
    }
    let place = Place::new();
    let fragments = "never,small,always";
    let options = [
        "-c",
        "gzip",
        "-b",
        "4K",
        "-j",
        "2",
        "-n",
        "1",
        "--against",
        "gensquashfs,mksquashfs",
        "--fragments",
        fragments,
    ];
    let (report, page) = place.report("tree", &options);
    let sizes = |program: &str| -> Vec<u64> {
        let of = report.measured.iter().filter(|measured| measured.case.program == program);
        of.map(|measured| measured.image_bytes).collect()
    };
    assert_eq!((sizes("packline").len(), sizes("mksquashfs").len(), sizes("gensquashfs").len()), (3, 3, 2));
    assert_eq!(report.measured[0].case.tails, Tails::NoFragments);
    assert!(unwrapped(&page).contains("gensquashfs takes no part with no-fragments"), "{page}");
    assert!(unwrapped(&page).contains("does not keep"), "{page}");
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
    assert!(streams.iter().all(|stream| packline_bench::report::against(stream, &report.measured).is_some()));
    let liar = place.script("liar", "case $* in *-d*) echo other;; *) cat;; esac");
    let output = place.bench("in.tar", &["-c", "gzip", "-j", "1", "--against", &format!("gzip={liar}")]);
    assert!(
        output.status.code() == Some(1) && stderr_of(&output).contains("does not become"),
        "{}",
        stderr_of(&output)
    );
    assert_eq!(place.left(), 0);
}

#[test]
fn an_image_of_something_else_is_a_failure_and_the_others_are_measured() {
    let place = Place::new();
    fs::create_dir(place.at("other")).unwrap();
    fs::write(place.at("other/small"), "other").unwrap();
    let other = place.at("other").to_str().unwrap().to_owned();
    let liar = place.script("liar", &format!("for last; do :; done; exec {PACKLINE} pack -q {other} \"$last\""));
    let peer = format!("tar2sqfs={liar}");
    let options = ["-c", "lz4", "-j", "1,2", "-n", "1", "--csv", "runs.csv", "--force", "--against", &peer];
    let output = place.bench("in.tar", &options);
    assert_eq!((output.status.code(), place.left()), (Some(1), 0), "{}", stderr_of(&output));
    assert_eq!(stderr_of(&output).matches("9 differences between").count(), 4, "{}", stderr_of(&output));
    assert!(stderr_of(&output).contains("d/big"), "{}", stderr_of(&output));
    let report = place.csv();
    assert_eq!(configurations(&report), ["lz4 fragments packline 1", "lz4 fragments packline 2"]);
    assert!(report.failures.len() == 2 && report.failures[1].contains("jobs 2"), "{:?}", report.failures);
    assert_eq!(report.incomplete, None);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.starts_with("Failed: tar2sqfs=") && page.contains("Fastest: packline"), "{page}");
    let output = place.bench("in.tar", &[&options[..], &["--keep"]].concat());
    let kept = stderr_of(&output).lines().last().unwrap().split(" is in ").last().unwrap().to_owned();
    assert!(Path::new(&kept).join("made-1.sqfs").is_file() && Path::new(&kept).join("first.sqfs").is_file(), "{kept}");
    assert_eq!(stderr_of(&output).matches("9 differences between").count(), 2, "{}", stderr_of(&output));
}

#[test]
fn directories_without_an_entry_are_noted_and_the_case_goes_on() {
    let place = Place::new();
    let mut tar = tar::TarWriter::without_sparse(Vec::new());
    let file = |path: &str| Node::file(path, vec![7; 5000]);
    tar.nodes(&[file("none/deep/file"), Node::dir("named").mode(0o750).time(5), file("named/file")]).unwrap();
    fs::write(place.at("in.tar"), tar.finish().unwrap()).unwrap();
    let imitator = place.imitator("--defaults uid=3,mode=0700,mtime=9");
    let (report, _) = place.report("in.tar", &["-c", "lz4", "-j", "1,2", "-n", "1", "--against", &imitator]);
    let runs: Vec<(bool, usize)> =
        report.measured.iter().map(|one| (one.case.program == "packline", one.runs.len())).collect();
    assert_eq!(runs, [(true, 1), (true, 1), (false, 1), (false, 1)]);
    let chosen =
        "directories that have no entry in the input differ in mode, mtime, owner; each program chooses these itself.";
    assert_eq!(report.notes.iter().filter(|note| note.ends_with(chosen)).count(), 1, "{:?}", report.notes);
    assert_eq!(report.failures, Vec::<String>::new());

    // What has an entry must be as it says.
    let script = format!("for last; do :; done; exec {PACKLINE} pack -q --mtime 9 in.tar \"$last\"");
    let liar = format!("tar2sqfs={}", place.script("liar", &script));
    let output = place.bench("in.tar", &["-c", "lz4", "-j", "1", "-n", "1", "--against", &liar]);
    assert!(
        output.status.code() == Some(1) && stderr_of(&output).contains("\"path\":\"named\""),
        "{}",
        stderr_of(&output)
    );
}

#[test]
fn what_was_measured_is_reported_when_it_is_interrupted() {
    let place = Place::new();
    let pid_file = place.at("pid");
    let sleep = format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 600", pid_file.display());
    let script = format!("case \" $* \" in *' -j 2 '*) {sleep};; esac; exec {PACKLINE} tar2sqfs \"$@\"");
    let peer = format!("tar2sqfs={}", place.script("sleeper", &script));
    let options = ["-c", "lz4", "-j", "1,2", "-n", "1", "--csv", "runs.csv", "--force", "--against", &peer];
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let _ = fs::remove_file(&pid_file);
        let mut command = place.command("in.tar", &options);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !pid_file.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        signal::send(signal, child.id()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), place.left()), (Some(status), 0), "{}", stderr_of(&output));
        let report = place.csv();
        assert_eq!(report.incomplete.as_deref(), Some("interrupted after 3 of 4 runs"));
        assert_eq!(report.measured.iter().map(|one| one.case.jobs).collect::<Vec<_>>(), [1, 2, 1]);
        assert!(!stderr_of(&output).contains("signal: 9"), "{}", stderr_of(&output));
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.starts_with("Incomplete: interrupted after 3 of 4 runs\n"), "{page}");
    }
}

#[test]
fn codecs_in_memory_that_were_measured_are_reported_when_it_is_interrupted() {
    let place = Place::new();
    let options = ["bench", "codec", "in.tar", "-c", "lz4,xz", "-n", "900", "--csv", "runs.csv", "-b", "4K"];
    let mut command = Command::new(PACKLINE);
    command.args(options).current_dir(place.0.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let _rest = lines.map(Result::unwrap).find(|line| line.contains("codec lz4")).unwrap();
    signal::send("INT", child.id()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = place.csv();
    assert_eq!((report.codecs[0].codec.as_str(), report.codecs[0].compress.len()), ("lz4", 900));
    assert!(report.incomplete.unwrap().starts_with("interrupted after"));
}

#[test]
fn outputs_are_checked_before_the_first_run() {
    let place = Place::new();
    fs::write(place.at("is-there"), "old").unwrap();
    for (option, path, expected) in [
        ("--html", "none/page.html", "none/page.html: cannot create"),
        ("--csv", "tree", "tree: is a directory"),
        ("--markdown", "is-there", "is-there: exists already"),
        ("--csv", "in.tar", "in.tar: is the input"),
        ("--html", "/proc/page.html", "/proc/page.html: cannot create"),
    ] {
        let force: &[&str] = if path == "is-there" { &[] } else { &["--force"] };
        let output = place.bench("in.tar", &[&["-c", "lz4", "-n", "1", option, path], force].concat());
        assert!(
            output.status.code() == Some(1) && stderr_of(&output).contains(expected),
            "{path}: {}",
            stderr_of(&output)
        );
        assert!(!stderr_of(&output).contains("plan:") && output.stdout.is_empty(), "{path}: {}", stderr_of(&output));
    }
    let output = place.bench("in.tar", &["--csv", "tree/x", "--html", "tree/../tree/x"]);
    assert!(output.status.code() == Some(2) && stderr_of(&output).contains("the same file"), "{}", stderr_of(&output));
}

#[test]
fn the_usual_plan_is_small_and_printed_first() {
    let place = Place::new();
    let plan = |options: &[&str]| {
        let output = place.bench("in.tar", &[options, &["-j", "2", "--against", "none"]].concat());
        assert!(output.status.success(), "{}", stderr_of(&output));
        stderr_of(&output).lines().next().unwrap().to_owned()
    };
    assert_eq!(plan(&[]), "plan: 9 runs: packline; lz4, zstd:level=3, gzip; jobs 2; 3 runs each");
    let all = "none, gzip, xz, lzma, zstd, lz4, lzo";
    let full = format!("plan: 28 runs: packline; {all}; jobs 2; 3 runs each after 1 to warm up");
    assert_eq!(plan(&["--full"]), full);
}

#[test]
fn the_usual_peers_are_those_for_squashfs() {
    if !tools::need(&["mksquashfs", "tar2sqfs", "gensquashfs"]) {
        return;
    }
    let place = Place::new();
    for (input, peer) in [("in.tar", "tar2sqfs"), ("tree", "gensquashfs")] {
        let (report, _) = place.report(input, &["-c", "lz4", "-j", "1", "-n", "1"]);
        let programs: Vec<&str> = report.measured.iter().map(|one| one.case.program.as_str()).collect();
        assert_eq!(programs, ["packline", "mksquashfs", peer]);
        assert!(!report.notes.iter().any(|note| note.contains("takes no part")), "{:?}", report.notes);
    }
}

#[test]
fn a_peer_that_fails_is_left_out_and_noted() {
    let place = Place::new();
    let failing = place.script("failing", "echo no such thing >&2; exit 3");
    let peer = format!("tar2sqfs={failing}");
    let (report, page) = place.report("in.tar", &["-c", "lz4", "-j", "1,2", "-n", "1", "--against", &peer]);
    assert_eq!(configurations(&report), ["lz4 fragments packline 1", "lz4 fragments packline 2"]);
    assert!(report.notes.iter().any(|note| note.contains("exit status: 3 / no such thing")), "{page}");
}

#[test]
fn a_peer_that_makes_nothing_is_a_failure_by_its_name() {
    let place = Place::new();
    let peer = format!("tar2sqfs={}", place.script("idle", "exit 0"));
    let output = place.bench("in.tar", &["-c", "lz4", "-j", "1", "-n", "1", "--against", &peer]);
    let expected = format!("packline: {peer} (lz4, jobs 1, run 1): ");
    assert!(output.status.code() == Some(1) && stderr_of(&output).contains(&expected), "{}", stderr_of(&output));
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
        signal::send(signal, child.id()).unwrap();
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
    assert!(output.status.code() == Some(2) && stderr_of(&output).contains("zeros, random, text or mixed"));
}
