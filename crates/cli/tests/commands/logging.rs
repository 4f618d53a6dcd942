//! `--log` and `PACKLINE_LOG`: what is decided, in words on standard error.

use packline_testkit::model::Node;
use packline_testkit::{Random, Sandbox};

use crate::sandbox;

/// Several blocks that compress.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(40);
    let mut nodes = vec![Node::dir("")];
    nodes.extend((0..4).map(|file| Node::file(format!("prose{file}"), random.prose(400_000))));
    nodes.push(Node::file("skipped.o", random.prose(10)));
    sandbox.plant("tree", &nodes);
    sandbox
}

fn log_of(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.good(arguments).stderr
}

#[test]
fn is_silent_by_default() {
    let sandbox = tree();
    assert_eq!(log_of(&sandbox, &["pack", "-q", "tree", "image"]), "");
    assert_eq!(log_of(&sandbox, &["info", "image"]), "");
    assert_eq!(log_of(&sandbox, &["--log", "error", "info", "image"]), "");
}

#[test]
fn says_which_container_was_recognised() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "image"]);
    let expected = "packline: debug: image: recognised as a SquashFS image by its first bytes\n";
    for arguments in [&["info", "image", "--log", "debug"][..], &["--log=debug", "info", "image"]] {
        let log = log_of(&sandbox, arguments);
        assert!(log.contains(expected) && log.contains("image: SquashFS image at byte 0\n"), "{arguments:?}: {log}");
        assert_eq!(log.matches("recognised").count(), 1, "once: {log}");
    }
}

#[test]
fn says_why_fewer_workers_run() {
    let sandbox = tree();
    let log =
        log_of(&sandbox, &["pack", "-q", "--log", "debug", "-j", "8", "--mem", "40M", "-c", "xz", "tree", "image"]);
    let granted = log.lines().find(|line| line.contains(" of 8 workers granted: limit 40.0 MiB")).expect(&log);
    assert!(!granted.contains(" 8 of 8 "), "{granted}");
    assert!(log.contains("memory: compression asked for 0.0 MiB and for "), "{log}");
}

#[test]
fn says_what_the_cache_has() {
    let sandbox = tree();
    let pack = ["pack", "-q", "-f", "--log", "trace", "--cache", "cache", "tree", "image"];
    let first = log_of(&sandbox, &pack);
    assert!(first.contains("cache: block of ") && first.contains(" bytes: not found\n"), "{first}");
    assert!(!first.contains("found in the directory"), "{first}");
    let second = log_of(&sandbox, &pack);
    assert!(second.contains(" bytes: found in the directory\n") && !second.contains(": not found"), "{second}");
    assert!(second.contains(", 0 not found, 0 damaged, 0 added to the directory\n"), "{second}");
}

#[test]
fn says_which_filter_suits_a_block() {
    let sandbox = tree();
    let log = log_of(&sandbox, &["pack", "-q", "--log", "trace", "-c", "xz:auto", "tree", "image"]);
    assert!(log.contains("trace: xz:auto: block of ") && log.contains(": no filter\n"), "{log}");
}

#[test]
fn says_which_blocks_come_from_a_base() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "old"]);
    let log = log_of(&sandbox, &["pack", "-q", "--log", "debug", "--base", "old", "tree", "image"]);
    let taken = log.lines().find(|line| line.contains("blocks taken from this base")).expect(&log);
    assert!(taken.starts_with("packline: debug: old: ") && !taken.contains(" 0 blocks taken"), "{taken}");
}

#[test]
fn says_what_was_skipped() {
    let sandbox = tree();
    let log = log_of(&sandbox, &["pack", "-q", "--log", "debug", "--exclude", "*.o", "tree", "image"]);
    assert!(log.contains("packline: debug: skipped.o: skipped, because a pattern excludes it\n"), "{log}");
}

#[test]
fn names_are_escaped() {
    let sandbox = tree();
    let log = log_of(&sandbox, &["pack", "-q", "--log", "debug", "tree", "a\nb"]);
    assert!(log.lines().all(|line| line.starts_with("packline: debug: ")), "{log}");
    let log = log_of(&sandbox, &["info", "--log", "debug", "a\nb"]);
    assert!(log.lines().all(|line| line.starts_with("packline: debug: ")) && log.contains("a\\nb: "), "{log}");
}

#[test]
fn the_output_does_not_depend_on_the_log() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "one"]);
    sandbox.good(&["pack", "-q", "--log", "trace", "tree", "two"]);
    assert!(sandbox.read("one") == sandbox.read("two"));
}

#[test]
fn drop_ins_obey_the_variable() {
    let sandbox = tree();
    let mut command = sandbox.command(&["mksquashfs", "tree", "image", "-quiet", "-no-progress"]);
    let ran = packline_testkit::Ran::good(command.env("PACKLINE_LOG", "debug"));
    assert!(ran.stderr.contains(": debug: memory: "), "{}", ran.stderr);
}

#[test]
fn drop_ins_ignore_an_invalid_variable_with_one_warning() {
    let sandbox = tree();
    let mut command = sandbox.command(&["mksquashfs", "tree", "image", "-quiet", "-no-progress"]);
    let ran = packline_testkit::Ran::good(command.env("PACKLINE_LOG", "loud"));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: PACKLINE_LOG is ignored: invalid level 'loud'"), "{}", ran.stderr);
}

#[test]
fn the_last_level_is_in_force() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "image"]);
    assert_eq!(log_of(&sandbox, &["--log", "debug", "info", "image", "--log", "error"]), "");
    let mut words = vec!["--log=error"; 20_000];
    words.extend(["--log", "debug", "info", "image"]);
    let log = log_of(&sandbox, &words);
    assert!(log.contains("image: SquashFS image at byte 0\n"), "{log}");
}

#[test]
#[cfg(feature = "mount")]
fn a_level_before_the_name_reaches_the_background_process() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "image"]);
    let message = sandbox.bad(1, &["--log", "debug", "mount", "image", "missing"]);
    assert!(message.contains("image: SquashFS image at byte 0"), "{message}");
}

#[test]
fn an_invalid_level_is_wrong_usage_that_lists_the_levels() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "image"]);
    let in_environment = packline_testkit::Ran::of(sandbox.command(&["info", "image"]).env("PACKLINE_LOG", "loud"));
    assert_eq!(in_environment.status, 2, "{in_environment:?}");
    let messages = [
        in_environment.stderr,
        sandbox.bad(2, &["info", "image", "--log", "loud"]),
        sandbox.bad(2, &["--log", "loud", "info", "image"]),
    ];
    for message in messages {
        assert!(message.contains("'loud'"), "{message}");
        for level in ["error", "warn", "info", "debug", "trace"] {
            assert!(message.contains(level), "{level}: {message}");
        }
    }
}
