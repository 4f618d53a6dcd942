//! Tests `packline bench` with a shell script in place of packline.

use std::fs;

use packline_testkit::Sandbox;

use super::harness::{Ran, host, run, run_on, sandbox};
use crate::host::Host;

/// A host whose packline is this script.
fn host_with(sandbox: &Sandbox, script: &str) -> Host {
    Host { program: Some(sandbox.script("stand-in", script).into()), ..host() }
}

fn bench(sandbox: &Sandbox, script: &str, options: &[&str]) -> Ran {
    sandbox.write("in.tar", [0; 1024]);
    sandbox.create_dir("scratch");
    let input = sandbox.arg("in.tar");
    let scratch = sandbox.arg("scratch");
    let words = [&["bench", "pack", &input, "--work-dir", &scratch, "--no-storage", "-c", "lz4"], options].concat();
    let alone = if options.contains(&"--against") { &[][..] } else { &["--against", "none"] };
    let words = [&words, alone].concat();
    run_on(&words, b"", host_with(sandbox, script))
}

fn left(sandbox: &Sandbox) -> usize {
    sandbox.names_in("scratch").len()
}

/// `pack SOURCE IMAGE ...`: writes an image of 6 bytes, and prints the size of the content.
const PACKS: &str = "echo image > \"$3\"; echo '{\"content_bytes\": 60}'";

#[test]
fn rejects_options_without_effect() {
    let cases: &[(&[&str], &str)] = &[
        (&["unpack", "-c", "zstd"], "bench pack, bench codec"),
        (&["codec", "--jobs", "2"], "bench pack, bench unpack"),
        (&["codec", "--against", "zstd"], "bench pack, bench unpack"),
        (&["storage", "--runs", "2"], "bench pack, bench unpack, bench codec"),
        (&["pack", "--limit", "2M"], "bench codec"),
        (&["unpack", "--tails", "fragments"], "bench pack"),
        (&["pack", "--steps", "verify"], "bench serial"),
        (&["serial", "--against", "none"], "bench pack, bench unpack"),
        (&["serial", "--steps", "read"], "pack-stream"),
        (&["pack", "--tasks", "tar"], "bench unpack"),
        (&["pack", "--no-storage", "--bytes", "2M"], "--no-storage"),
        (&["pack", "--force"], "without --csv"),
        (&["pack", "--csv", "/nonesuch/x", "--html", "/nonesuch/x"], "the same file"),
        (&["pack", "-c", "none", "--levels", "3"], "has level 3"),
        (&["pack", "-c", "lz5"], "lz5"),
        (&["pack", "-b", "100K"], "power of two"),
        (&["pack", "-j", "0"], "expected 1 to 1024"),
        (&["packs"], "WHAT"),
    ];
    for (words, expected) in cases {
        let ran = run(&[&["bench"], *words, &["/nonesuch"]].concat());
        assert!(ran.status == 2 && ran.err.contains(expected), "{words:?}: {ran:?}");
    }
    assert_eq!(run(&["bench"]).status, 2);
    assert_eq!(run(&["bench", "pack"]).status, 2);
}

#[test]
fn rejects_unsuitable_peers() {
    let sandbox = sandbox();
    for (peer, expected) in [
        ("unsquashfs", "unknown 'unsquashfs'"),
        ("zstd=/nonesuch/zstd", "/nonesuch/zstd is not installed"),
        ("zstd=/bin/true", "zstd=/bin/true takes no part with lz4: of these codecs, it supports only zstd."),
    ] {
        let ran = bench(&sandbox, PACKS, &["--against", peer]);
        assert!(ran.status == 2 && ran.err.contains(expected), "{peer}: {ran:?}");
        assert_eq!(left(&sandbox), 0);
    }
}

#[test]
fn every_run_is_counted_and_reported() {
    let sandbox = sandbox();
    let ran =
        bench(&sandbox, PACKS, &["-j", "1-3", "-n", "4", "--warmup", "2", "-b", "4K,8K", "--csv", &sandbox.arg("csv")]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let report = packline_bench::read_csv(&sandbox.read_text("csv")).unwrap();
    let jobs: Vec<(u64, usize)> = report.measured.iter().map(|one| (one.case.block_size, one.case.jobs)).collect();
    assert_eq!(jobs, [(4096, 1), (4096, 2), (4096, 3), (8192, 1), (8192, 2), (8192, 3)]);
    assert!(report.measured.iter().all(|one| (one.content_bytes, one.image_bytes, one.runs.len()) == (60, 6, 4)));
    assert!(ran.out.contains("packline bench pack") && ran.out.contains("1970-01-01"), "{}", ran.out);
    let plan = "plan: 36 runs: packline; lz4; jobs 1, 2, 3; 4 runs each after 2 to warm up";
    assert_eq!(ran.err.lines().next(), Some(plan));
    assert_eq!(ran.err.lines().count(), 7, "the plan, and a line for each case: {}", ran.err);
    assert_eq!(left(&sandbox), 0);
}

#[test]
fn reports_replace_nothing_without_force() {
    let sandbox = sandbox();
    sandbox.write("report", "old");
    let report = sandbox.arg("report");
    let ran = bench(&sandbox, PACKS, &["--html", &report]);
    assert!(ran.status == 1 && ran.err.contains("--force"), "{ran:?}");
    assert_eq!(sandbox.read("report"), b"old");
    let ran = bench(
        &sandbox,
        PACKS,
        &["-j", "1,2", "--html", &report, "--force", "--quiet", "--json", "--markdown", &sandbox.arg("md")],
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(sandbox.read_text("report").contains("<svg"));
    assert!(sandbox.read_text("md").starts_with("# "));
    assert!(serde_json::from_str::<serde_json::Value>(&ran.out).unwrap()["measured"].is_array());
}

#[test]
fn an_image_that_changes_between_runs_is_a_failure() {
    let sandbox = sandbox();
    let script = format!("{PACKS}; echo $$ >> \"$3\"");
    let ran = bench(&sandbox, &script, &["-j", "1"]);
    assert!(ran.status == 1 && ran.err.contains("different images") && ran.err.contains("run 2"), "{ran:?}");
    assert_eq!((left(&sandbox), ran.out.as_str()), (0, ""));
    let ran = bench(&sandbox, &script, &["-j", "1", "--keep"]);
    let kept = ran.err.lines().last().unwrap().split(" is in ").last().unwrap();
    assert!(fs::metadata(kept).unwrap().is_dir() && left(&sandbox) == 1, "{ran:?}");
}

#[test]
fn failing_run_ends_benchmark_and_shows_output() {
    let sandbox = sandbox();
    let ran = bench(&sandbox, "echo no room >&2; exit 4", &[]);
    assert!(ran.status == 1 && ran.err.contains("exit status: 4\n  no room"), "{ran:?}");
    assert_eq!(left(&sandbox), 0);
    let ran = run(&["bench", "pack", "/nonesuch/in.tar", "--no-storage"]);
    assert!(ran.status == 1, "{ran:?}");
}

#[test]
fn codecs_are_measured_in_memory() {
    let sandbox = sandbox();
    sandbox.write("in", vec![b'x'; 100_000]);
    let words = [
        "bench",
        "codec",
        &sandbox.arg("in"),
        "-c",
        "zstd,none",
        "--levels",
        "1,3",
        "-b",
        "4K,64K",
        "-n",
        "2",
        "--json",
    ];
    let ran = run_on(&words, b"", host_with(&sandbox, ""));
    assert_eq!(ran.status, 0, "{ran:?}");
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let codecs = report["codecs"].as_array().unwrap();
    let shown: Vec<String> = codecs.iter().map(|one| format!("{} {}", one["codec"], one["block_size"])).collect();
    let expected =
        ["\"zstd:level=1\" 4096", "\"zstd:level=1\" 65536", "\"zstd:level=3\" 4096", "\"zstd:level=3\" 65536"];
    assert_eq!(shown, expected);
    assert_eq!((codecs[0]["blocks"].as_u64(), codecs[0]["content_bytes"].as_u64()), (Some(25), Some(100_000)));
    assert_eq!(codecs[1]["compress"].as_array().map(Vec::len).or(Some(2)), Some(2));
    assert!(ran.out.contains("none takes no part"));
}

/// Does what `pack`, `unpack` and `verify` do for a benchmark, and writes counters to the file after `--trace`.
const COUNTS: &str = r#"
if [ "$1" = pack ]; then
    if [ "$2" = - ]; then cat > /dev/null; fi
    echo image > "$3"; echo '{"content_bytes": 2000000000}'
fi
while [ "$1" != --trace ]; do shift; done
threads='"main_thread":{"user_ns":400000000,"system_ns":600000000},"all_threads":{"user_ns":3000000000,"system_ns":600000000}'
pipeline='"committed":100,"locks":400,"contended":1,"sleeper_locks":9,"sleeper_contended":1,"reading_ns":5,"deciding_ns":6,"committing_ns":7'
transfers='"transfers":{"read_bytes":1,"written_bytes":2,"calls":3}'
echo '{"otherData":{"wall_ns":9,"counters":{'"$threads,$transfers"',"pipeline":{'"$pipeline"'}}},"traceEvents":[]}' > "$2"
"#;

#[test]
fn threads_are_accounted_for() {
    let sandbox = sandbox();
    sandbox.write("in.tar", [0; 1024]);
    sandbox.create_dir("tree");
    sandbox.create_dir("scratch");
    sandbox.create_dir("traces");
    let [tar, tree, scratch, traces, csv] =
        ["in.tar", "tree", "scratch", "traces", "csv"].map(|name| sandbox.arg(name));
    let words =
        ["bench", "serial", &tar, &tree, "-c", "lz4", "-j", "2,8", "-n", "2", "--work-dir", &scratch, "--csv", &csv];
    let ran = run_on(&[&words[..], &["--traces", &traces]].concat(), b"", host_with(&sandbox, COUNTS));
    assert_eq!(ran.status, 0, "{ran:?}");
    let report = packline_bench::read_csv(&sandbox.read_text("csv")).unwrap();
    let steps: Vec<String> = report.serial.iter().map(|one| format!("{} {}", one.step.name(), one.jobs)).collect();
    let of_tar = ["pack-tar", "pack-stream", "unpack", "tar", "verify"];
    let of_tree = ["pack-directory", "unpack", "tar", "verify"];
    let expected: Vec<String> =
        of_tar.iter().chain(&of_tree).flat_map(|step| [2, 8].map(|jobs| format!("{step} {jobs}"))).collect();
    assert_eq!(steps, expected);
    assert!(report.serial.iter().all(|one| one.runs.len() == 2 && one.image_bytes == 6));
    assert!(ran.out.contains("Bound") && ran.out.contains("Contended/1000"), "{}", ran.out);
    assert_eq!((left(&sandbox), sandbox.names_in("traces").len()), (0, 18));
}

#[test]
fn memory_bounds_what_is_measured_in_memory() {
    let sandbox = sandbox();
    sandbox.write("in", vec![b'x'; 3 << 20]);
    let codec = |options: &[&str]| {
        let input = sandbox.arg("in");
        run_on(&[&["bench", "codec", &input, "-c", "lz4", "-n", "1"], options].concat(), b"", host_with(&sandbox, ""))
    };
    let ran = codec(&["--limit", "1M"]);
    assert!(ran.status == 0 && ran.out.contains("Only the first 1.0 MiB"), "{ran:?}");
    let ran = codec(&["--mem", "1M"]);
    assert!(ran.status == 2 && ran.err.contains("--mem: not enough memory for these codecs"), "{ran:?}");
    let ran = codec(&["--mem", "100M", "--limit", "1G"]);
    assert!(ran.status == 2 && ran.err.contains("--limit: 1.0 GiB cannot be measured"), "{ran:?}");
}

#[test]
fn storage_is_measured_and_cleaned_up() {
    let sandbox = sandbox();
    sandbox.create_dir("disk");
    let words = ["bench", "storage", &sandbox.arg("disk"), "--bytes", "2M"];
    let ran = run_on(&words, b"", host_with(&sandbox, ""));
    assert!(ran.status == 0 && ran.out.contains("At a ratio of 0.5"), "{ran:?}");
    assert_eq!(sandbox.names_in("disk").len(), 0);
    assert_eq!(run_on(&["bench", "storage", "/nonesuch"], b"", host_with(&sandbox, "")).status, 1);
}

#[test]
fn merges_reports() {
    let sandbox = sandbox();
    let report = |name: &str, options: &[&str]| {
        let path = sandbox.arg(name);
        let ran =
            bench(&sandbox, PACKS, &[&["--runs", "1", "--warmup", "0", "--quiet", "--csv", &path], options].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        path
    };
    let one = report("one.csv", &["-j", "1"]);
    let two = report("two.csv", &["-j", "2"]);
    let joined = run(&["bench", "report", &one, &two, "--csv", &sandbox.arg("both.csv")]);
    assert!(
        joined.status == 0 && joined.out.contains("\nlz4 ") && joined.out.matches("- Command").count() == 2,
        "{joined:?}"
    );
    let both = packline_bench::read_csv(&sandbox.read_text("both.csv")).unwrap();
    assert_eq!(both.measured.iter().map(|measured| measured.case.jobs).collect::<Vec<_>>(), [1, 2]);

    sandbox.write("two.csv", sandbox.read_text("two.csv").replace("in.tar", "other.tar"));
    let refused = run(&["bench", "report", &one, &two]);
    assert!(refused.status == 1 && refused.err.contains("two.csv: the input differs: \"other.tar\""), "{refused:?}");
    let no_report = run(&["bench", "report", &sandbox.arg("in.tar")]);
    assert!(no_report.status == 1 && no_report.err.contains("in.tar: line 1"), "{no_report:?}");
    let two_inputs = run(&["bench", "pack", &one, &two]);
    assert!(two_inputs.status == 2 && two_inputs.err.contains("takes one input"), "{two_inputs:?}");
}
