//! `bench pack` measures other programs together with packline, and finds wrong results.

use packline_bench::report::{Report, Tails, read_csv};
use packline_testkit::model::{Content, Node, NodeKind};
use packline_testkit::{Ran, Random, Sandbox, signal, tar, tools};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{PACKLINE, sandbox};

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

fn with_inputs() -> Sandbox {
    let sandbox = sandbox();
    write_tar(&sandbox, &nodes());
    sandbox.plant("tree", &nodes());
    sandbox.create_dir("scratch");
    sandbox
}

/// mksquashfs 4.5 cannot read PAX holes.
fn write_tar(sandbox: &Sandbox, nodes: &[Node]) {
    let mut tar = tar::TarWriter::without_sparse(Vec::new());
    tar.nodes(nodes).unwrap();
    sandbox.write("in.tar", tar.finish().unwrap());
}

/// Creates an executable script that prints a version, and returns its path.
fn script(sandbox: &Sandbox, name: &str, lines: &str) -> String {
    sandbox.script(name, &format!("case $1 in --version) echo fake 1; exit;; esac\n{lines}"))
}

fn command(sandbox: &Sandbox, input: &str, options: &[&str]) -> Command {
    sandbox.command(&[&["bench", "pack", input, "--work-dir", "scratch", "--no-storage"], options].concat())
}

fn bench(sandbox: &Sandbox, input: &str, options: &[&str]) -> Ran {
    Ran::of(&mut command(sandbox, input, options))
}

/// Returns the report of a run, which must succeed, and its output.
fn report(sandbox: &Sandbox, input: &str, options: &[&str]) -> (Report, String) {
    let options = [options, &["--csv", "runs.csv", "--force"]].concat();
    let ran = Ran::good(&mut command(sandbox, input, &options));
    assert_eq!(left(sandbox), 0);
    (csv(sandbox), ran.text())
}

fn csv(sandbox: &Sandbox) -> Report {
    read_csv(&sandbox.read_text("runs.csv")).unwrap()
}

/// A peer that is packline with these options.
fn imitator(sandbox: &Sandbox, options: &str) -> String {
    format!("tar2sqfs={}", script(sandbox, "imitator", &format!("exec {PACKLINE} tar2sqfs {options} \"$@\"")))
}

fn left(sandbox: &Sandbox) -> usize {
    sandbox.names_in("scratch").len()
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

#[test]
fn all_programs_pack_tar_alike() {
    if !tools::need(&["tar2sqfs", "mksquashfs", "zstd"]) {
        return;
    }
    let sandbox = with_inputs();
    let options =
        ["-c", "zstd:level=3,none", "-j", "1,2", "-n", "2", "--warmup", "0", "--against", "tar2sqfs,mksquashfs,zstd"];
    let (report, page) = report(&sandbox, "in.tar", &options);
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
fn all_programs_pack_directory_alike() {
    if !tools::need(&["gensquashfs", "mksquashfs"]) || !tools::root() {
        return;
    }
    let sandbox = with_inputs();
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
    let (report, page) = report(&sandbox, "tree", &options);
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
fn compares_streams_with_their_source() {
    if !tools::need(&["gzip", "xz"]) {
        return;
    }
    let sandbox = with_inputs();
    let (report, _) =
        report(&sandbox, "in.tar", &["-c", "gzip:level=1,xz:level=0", "-j", "1", "-n", "1", "--against", "gzip,xz"]);
    let streams: Vec<_> = report.measured.iter().filter(|measured| measured.case.block_size == 0).collect();
    assert_eq!(streams.len(), 2);
    assert!(streams.iter().all(|stream| packline_bench::report::against(stream, &report.measured).is_some()));
    let liar = script(&sandbox, "liar", "case $* in *-d*) echo other;; *) cat;; esac");
    let output = bench(&sandbox, "in.tar", &["-c", "gzip", "-j", "1", "--against", &format!("gzip={liar}")]);
    assert!(output.status == 1 && output.stderr.contains("does not decompress to"), "{}", output.stderr);
    assert_eq!(left(&sandbox), 0);
}

#[test]
fn wrong_image_fails_and_others_are_measured() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    sandbox.write("other/small", "other");
    let other = sandbox.arg("other");
    let liar = script(&sandbox, "liar", &format!("for last; do :; done; exec {PACKLINE} pack -q {other} \"$last\""));
    let peer = format!("tar2sqfs={liar}");
    let options = ["-c", "lz4", "-j", "1,2", "-n", "1", "--csv", "runs.csv", "--force", "--against", &peer];
    let output = bench(&sandbox, "in.tar", &options);
    assert_eq!((output.status, left(&sandbox)), (1, 0), "{}", output.stderr);
    assert_eq!(output.stderr.matches("9 differences between").count(), 4, "{}", output.stderr);
    assert!(output.stderr.contains("d/big"), "{}", output.stderr);
    let report = csv(&sandbox);
    assert_eq!(configurations(&report), ["lz4 fragments packline 1", "lz4 fragments packline 2"]);
    assert!(report.failures.len() == 2 && report.failures[1].contains("jobs 2"), "{:?}", report.failures);
    assert_eq!(report.incomplete, None);
    let page = output.text();
    assert!(page.starts_with("Failed: tar2sqfs=") && page.contains("Fastest: packline"), "{page}");
    let output = bench(&sandbox, "in.tar", &[&options[..], &["--keep"]].concat());
    let kept = output.stderr.lines().last().unwrap().split(" is in ").last().unwrap().to_owned();
    assert!(Path::new(&kept).join("made-1.sqfs").is_file() && Path::new(&kept).join("first.sqfs").is_file(), "{kept}");
    assert_eq!(output.stderr.matches("9 differences between").count(), 2, "{}", output.stderr);
}

#[test]
fn notes_missing_directories_and_continues() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let file = |path: &str| Node::file(path, vec![7; 5000]);
    write_tar(&sandbox, &[file("none/deep/file"), Node::dir("named").mode(0o750).time(5), file("named/file")]);
    let imitator = imitator(&sandbox, "--defaults uid=3,mode=0700,mtime=9");
    let (report, _) = report(&sandbox, "in.tar", &["-c", "lz4", "-j", "1,2", "-n", "1", "--against", &imitator]);
    let runs: Vec<(bool, usize)> =
        report.measured.iter().map(|one| (one.case.program == "packline", one.runs.len())).collect();
    assert_eq!(runs, [(true, 1), (true, 1), (false, 1), (false, 1)]);
    let chosen =
        "directories that have no entry in the input differ in mode, mtime, owner; each program chooses these itself.";
    assert_eq!(report.notes.iter().filter(|note| note.ends_with(chosen)).count(), 1, "{:?}", report.notes);
    assert_eq!(report.failures, Vec::<String>::new());

    // Directories with an entry must match it.
    let lines = format!("for last; do :; done; exec {PACKLINE} pack -q --mtime 9 in.tar \"$last\"");
    let liar = format!("tar2sqfs={}", script(&sandbox, "liar", &lines));
    let output = bench(&sandbox, "in.tar", &["-c", "lz4", "-j", "1", "-n", "1", "--against", &liar]);
    assert!(output.status == 1 && output.stderr.contains("\"path\":\"named\""), "{}", output.stderr);
}

#[test]
fn an_interrupted_run_reports_its_measurements() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let pid_file = sandbox.at("pid");
    let sleep = format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 600", pid_file.display());
    let lines = format!("case \" $* \" in *' -j 2 '*) {sleep};; esac; exec {PACKLINE} tar2sqfs \"$@\"");
    let peer = format!("tar2sqfs={}", script(&sandbox, "sleeper", &lines));
    let options = ["-c", "lz4", "-j", "1,2", "-n", "1", "--csv", "runs.csv", "--force", "--against", &peer];
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        sandbox.remove("pid");
        let mut command = command(&sandbox, "in.tar", &options);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while !pid_file.exists() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        signal::send(signal, child.id()).unwrap();
        let output = Ran::from(child.wait_with_output().unwrap());
        assert_eq!((output.status, left(&sandbox)), (status, 0), "{}", output.stderr);
        let report = csv(&sandbox);
        assert_eq!(report.incomplete.as_deref(), Some("interrupted after 3 of 4 runs"));
        assert_eq!(report.measured.iter().map(|one| one.case.jobs).collect::<Vec<_>>(), [1, 2, 1]);
        assert!(!output.stderr.contains("signal: 9"), "{}", output.stderr);
        let page = output.text();
        assert!(page.starts_with("Incomplete: interrupted after 3 of 4 runs\n"), "{page}");
    }
}

#[test]
fn an_interrupted_codec_run_reports_its_measurements() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let options = ["bench", "codec", "in.tar", "-c", "lz4,xz", "-n", "900", "--csv", "runs.csv", "-b", "4K"];
    let mut child = sandbox.command(&options).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let _rest = lines.map(Result::unwrap).find(|line| line.contains("codec lz4")).unwrap();
    signal::send("INT", child.id()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report = csv(&sandbox);
    assert_eq!((report.codecs[0].codec.as_str(), report.codecs[0].compress.len()), ("lz4", 900));
    assert!(report.incomplete.unwrap().starts_with("interrupted after"));
}

#[test]
fn checks_outputs_before_first_run() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    sandbox.write("is-there", "old");
    for (option, path, expected) in [
        ("--html", "none/page.html", "none/page.html: cannot create"),
        ("--csv", "tree", "tree: is a directory"),
        ("--markdown", "is-there", "is-there: already exists"),
        ("--csv", "in.tar", "in.tar: is the input"),
        ("--html", "/proc/page.html", "/proc/page.html: cannot create"),
    ] {
        let force: &[&str] = if path == "is-there" { &[] } else { &["--force"] };
        let output = bench(&sandbox, "in.tar", &[&["-c", "lz4", "-n", "1", option, path], force].concat());
        assert!(output.status == 1 && output.stderr.contains(expected), "{path}: {}", output.stderr);
        assert!(!output.stderr.contains("plan:") && output.stdout.is_empty(), "{path}: {}", output.stderr);
    }
    let output = bench(&sandbox, "in.tar", &["--csv", "tree/x", "--html", "tree/../tree/x"]);
    assert!(output.status == 2 && output.stderr.contains("the same file"), "{}", output.stderr);
}

#[test]
fn the_usual_plan_is_small_and_printed_first() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let plan = |options: &[&str]| {
        let output = bench(&sandbox, "in.tar", &[options, &["-j", "2", "--against", "none"]].concat());
        assert!(output.status == 0, "{}", output.stderr);
        output.stderr.lines().next().unwrap().to_owned()
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
    let sandbox = with_inputs();
    for (input, peer) in [("in.tar", "tar2sqfs"), ("tree", "gensquashfs")] {
        let (report, _) = report(&sandbox, input, &["-c", "lz4", "-j", "1", "-n", "1"]);
        let programs: Vec<&str> = report.measured.iter().map(|one| one.case.program.as_str()).collect();
        assert_eq!(programs, ["packline", "mksquashfs", peer]);
        assert!(!report.notes.iter().any(|note| note.contains("takes no part")), "{:?}", report.notes);
    }
}

#[test]
fn leaves_out_failing_peer_with_note() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let failing = script(&sandbox, "failing", "echo no such thing >&2; exit 3");
    let peer = format!("tar2sqfs={failing}");
    let (report, page) = report(&sandbox, "in.tar", &["-c", "lz4", "-j", "1,2", "-n", "1", "--against", &peer]);
    assert_eq!(configurations(&report), ["lz4 fragments packline 1", "lz4 fragments packline 2"]);
    assert!(report.notes.iter().any(|note| note.contains("exit status: 3 / no such thing")), "{page}");
}

#[test]
fn peer_without_output_fails_by_name() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let peer = format!("tar2sqfs={}", script(&sandbox, "idle", "exit 0"));
    let output = bench(&sandbox, "in.tar", &["-c", "lz4", "-j", "1", "-n", "1", "--against", &peer]);
    let expected = format!("packline: {peer} (lz4, jobs 1, run 1): ");
    assert!(output.status == 1 && output.stderr.contains(&expected), "{}", output.stderr);
}

#[test]
fn signal_stops_running_program_and_cleans_up() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let pid_file = sandbox.at("pid");
    let sleeper =
        script(&sandbox, "sleeper", &format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 600", pid_file.display()));
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        sandbox.remove("pid");
        let options = ["-c", "lz4", "-j", "1", "--against", &format!("tar2sqfs={sleeper}")];
        let mut child = command(&sandbox, "in.tar", &options).stderr(Stdio::null()).spawn().unwrap();
        let pid = loop {
            match fs::read_to_string(&pid_file) {
                Ok(pid) => break pid.trim().to_owned(),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(10)),
            }
        };
        signal::send(signal, child.id()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status), "{signal}");
        assert_eq!(left(&sandbox), 0, "{signal}");
        // The killed process is gone, or a zombie.
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}

#[test]
fn packs_synthetic_inputs() {
    if !tools::root() {
        return;
    }
    let sandbox = with_inputs();
    let (report, page) = report(&sandbox, "synthetic:mixed:2M", &["-c", "lz4", "-j", "2", "-n", "1"]);
    assert_eq!(report.measured[0].content_bytes, 2 << 20);
    assert!(report.measured[0].ratio() < 0.9 && page.contains("synthetic:mixed:2M"), "{page}");
    let output = bench(&sandbox, "synthetic:nope", &[]);
    assert!(output.status == 2 && output.stderr.contains("zeros, random, text or mixed"));
}
