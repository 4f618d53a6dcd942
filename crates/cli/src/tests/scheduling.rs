//! Tests of the scheduling options of each command: outputs stay the same, and every job is counted.

use std::fs;

use packline_testkit::Sandbox;
use serde_json::Value;

use super::harness::{self, Ran, assert_misuse, host, run_on, sample_tar, sandbox};
use crate::host::Host;

/// A machine of two caches, so that queues can be shared in more than one way.
fn two_caches() -> Host {
    Host { topology: harness::two_caches, processors: || 4, ..host() }
}

/// The sample in each container.
struct Files {
    image: String,
    /// The same tree with another block size, so that contents have to be compared.
    other: String,
    lrz: String,
    pln: String,
}

impl Files {
    fn new(sandbox: &Sandbox) -> Files {
        let [image, other, lrz, pln] = ["x.sqfs", "y.sqfs", "x.lrz", "x.tar.pln"].map(|name| sandbox.arg(name));
        let tar = sample_tar();
        let pack: [&[&str]; 3] =
            [&["pack", "-q", "-", &image], &["pack", "-q", "-b", "8K", "-", &other], &["pack", "-q", "-", &lrz]];
        for words in pack.into_iter().chain([&compress(&pln)[..]]) {
            assert_eq!(run_on(words, &tar, host()).status, 0, "{words:?}");
        }
        Files { image, other, lrz, pln }
    }

    /// Returns commands that run pipelines and write to `out` or to standard output, with `--json` if they have it.
    fn commands<'a>(&'a self, out: &'a str) -> Vec<Vec<&'a str>> {
        vec![
            vec!["pack", "--json", "--format", "squashfs", "-", out],
            vec!["pack", "--json", "-c", "gzip", "--format", "lrz", "-", out],
            vec!["compress", "--json", "-c", "lz4", "--record-size", "4K", "-o", out],
            vec!["decompress", "--json", "-o", out, &self.pln],
            vec!["unpack", "--json", "--to", "tar", "-c", "gzip", &self.image, out],
            vec!["unpack", "--json", "--to", "tar", &self.lrz, out],
            vec!["verify", "--json", &self.image],
            vec!["verify", "--json", &self.pln],
            vec!["diff", "--json", &self.image, &self.other],
        ]
    }
}

fn compress(out: &str) -> [&str; 7] {
    ["compress", "-q", "-c", "lz4", "--record-size=4K", "-o", out]
}

/// Runs a command with further options. Also returns the bytes of `out`.
fn ran(sandbox: &Sandbox, command: &[&str], more: &[&str]) -> (Ran, Option<Vec<u8>>) {
    let words = [&command[..1], more, &command[1..]].concat();
    let ran = run_on(&words, &sample_tar(), two_caches());
    assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
    let made = fs::read(sandbox.at("out")).ok();
    sandbox.remove("out");
    (ran, made)
}

#[test]
fn outputs_do_not_depend_on_scheduling() {
    let sandbox = sandbox();
    let files = Files::new(&sandbox);
    let out = sandbox.arg("out");
    for command in files.commands(&out).iter().filter(|command| command.contains(&&*out)) {
        let plain = ran(&sandbox, command, &[]).1;
        for share in ["none", "llc", "all"] {
            for more in [&["--policy", "local"][..], &["--help-out"], &["--policy", "local", "--help-out"]] {
                let options = [&["--share", share], more].concat();
                assert!(plain.is_some() && ran(&sandbox, command, &options).1 == plain, "{command:?} {options:?}");
            }
        }
    }
}

/// The last printed object; null without output.
fn last_object(ran: &Ran) -> Value {
    ran.out.lines().last().map_or(Value::Null, |line| serde_json::from_str(line).unwrap())
}

#[test]
fn every_job_is_counted_and_traced() {
    let sandbox = sandbox();
    let files = Files::new(&sandbox);
    let out = sandbox.arg("out");
    let path = sandbox.arg("trace");
    for command in files.commands(&out) {
        let (counted, _) = ran(&sandbox, &command, &["--share", "none", "--stats", "--trace", &path]);
        let summary = last_object(&counted);
        let sum = |what: &str| -> u64 {
            summary[what].as_array().unwrap().iter().map(|one| one["jobs"].as_u64().unwrap()).sum()
        };
        let jobs = summary["pipeline"]["jobs"].as_u64().unwrap();
        assert!(jobs > 0 && [sum("queues"), sum("worker_stats")] == [jobs; 2], "{command:?}: {summary}");
        assert!(summary["pipeline"]["peak_bytes"].as_u64() > Some(0), "{command:?}: {summary}");
        check_trace(&sandbox, command[0], jobs);
        assert_eq!(last_object(&ran(&sandbox, &command, &[]).0).get("pipeline"), None, "{command:?}");
    }
}

/// Checks that the trace has this many jobs, with sizes.
fn check_trace(sandbox: &Sandbox, command: &str, jobs: u64) {
    let trace: Value = serde_json::from_slice(&sandbox.read("trace")).unwrap();
    sandbox.remove("trace");
    let events = trace["traceEvents"].as_array().unwrap();
    let jobs_of = || events.iter().filter(|event| event["cat"] == "job");
    // A thread that only writes has a pool of its own, whose jobs are not counted.
    let pool = jobs_of().find(|event| event["name"] == "hash").map(|event| &event["pid"]);
    let traced: Vec<&Value> = jobs_of().filter(|event| pool.is_none_or(|pool| event["pid"] == *pool)).collect();
    let bytes = |what: &str| -> u64 { traced.iter().map(|event| event["args"][what].as_u64().unwrap()).sum() };
    assert_eq!(traced.len() as u64, jobs, "{command}");
    assert!(bytes("bytes_in") > 1000 && bytes("bytes_out") > 1000, "{command}: {trace}");
    let other = &trace["otherData"];
    assert_eq!((&other["command"], &other["queue_per"]), (&command.into(), &"none".into()));
}

#[test]
fn counters_are_printed_on_standard_error_or_with_the_totals() {
    let sandbox = sandbox();
    let files = Files::new(&sandbox);
    let out = sandbox.arg("out");
    let tree = sandbox.arg("tree");
    let commands: [(&[&str], bool); 8] = [
        (&["cat", "--stats", &files.image, "a/small"], false),
        (&["cat", "--stats", "--range", "0..10", &files.pln], false),
        (&["diff", "--stats", &files.image, &files.other], false),
        (&["verify", "--stats", &files.image], true),
        (&["unpack", "--stats", &files.image, &tree], false),
        (&["unpack", "--stats", "-f", &files.lrz, &tree], false),
        (&["decompress", "--stats", "--stdout", &files.pln], false),
        (&["pack", "--stats", "-", &out, "--format", "lrz"], false),
    ];
    for (words, in_totals) in commands {
        let ran = run_on(words, &sample_tar(), host());
        let text = if in_totals { &ran.out } else { &ran.err };
        assert!(ran.status == 0 && text.contains("wake-ups") && text.contains("\nworker 1: "), "{words:?}: {ran:?}");
    }
}

#[test]
fn counts_each_file_and_traces_all_in_one_file() {
    let sandbox = sandbox();
    let [one, other, trace] = ["one", "other", "trace"].map(|name| sandbox.arg(name));
    for (name, records) in [("one", 3), ("other", 5)] {
        sandbox.write(name, vec![7; records << 12]);
    }
    let words = ["compress", "--record-size=4K", "--json", "--stats", "--trace", &trace, &one, &other];
    let ran = run_on(&words, b"", host());
    let jobs: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&jobs[0]["pipeline"]["jobs"], &jobs[1]["pipeline"]["jobs"]), (&3.into(), &5.into()), "{ran:?}");
    let trace: Value = serde_json::from_slice(&sandbox.read("trace")).unwrap();
    let jobs = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["cat"] == "job");
    let of_pipeline = |number: u64| jobs.clone().filter(|event| event["args"]["pipeline"] == number).count();
    assert_eq!((of_pipeline(1), of_pipeline(2)), (3, 5), "{trace}");
}

#[test]
fn rejects_options_without_effect() {
    let sandbox = sandbox();
    let files = Files::new(&sandbox);
    let out = sandbox.arg("out");
    let cases: [(&[&str], &str); 6] = [
        (
            &["pack", "--serial", "--share", "all", "--format", "lrz", "-", &out],
            "--serial: cannot be used with --queue-per",
        ),
        (&["compress", "--policy", "last"], "--policy"),
        (&["list", "--share", "all", &files.image], "--share"),
        (&["info", "--stats", &files.image], "--stats"),
        (&["lrzip", "--help-out", &files.image], "--help-out"),
        (&["pack", "--stats", "--exportable", "--format", "lrz", "-", &out], "--exportable"),
    ];
    assert_misuse(&cases);
    let there = run_on(&["cat", "--trace", &files.lrz, &files.pln], b"", host());
    assert!(there.status == 1 && there.err.contains("already exists; choose another name"), "{there:?}");
    let there = run_on(&["compress", "--trace", &files.lrz, "-o", &out], b"", host());
    assert!(there.status == 1 && there.err.contains("--force replaces it") && !sandbox.at("out").exists(), "{there:?}");
}
