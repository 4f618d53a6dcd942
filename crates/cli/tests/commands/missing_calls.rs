//! System calls that old kernels lack, and that filters of container runtimes forbid.

use packline_testkit::{Ran, Sandbox, share, tools};

use crate::{PACKLINE, sandbox};

/// Calls that have a replacement, or whose effect is not needed.
const REPLACEABLE: [&str; 18] = [
    "access",
    "copy_file_range",
    "fadvise64",
    "faccessat2",
    "fgetxattr",
    "flock",
    "getcwd",
    "getrandom",
    "ioctl",
    "lgetxattr",
    "lseek",
    "madvise",
    "openat2",
    "prctl",
    "prlimit64",
    "renameat2",
    "sched_getaffinity",
    "statx",
];

/// Calls without which a command has to fail, with a part of its message.
const NEEDED: [(&str, &str, &str); 8] = [
    ("fsync", "pack", "again.sqfs: cannot sync"),
    ("getdents64", "pack", "tree: cannot list"),
    ("llistxattr", "pack", "tree/link: cannot list extended attributes"),
    ("readlinkat", "pack", "tree/link: cannot read the symbolic link"),
    ("fchmod", "unpack", ": cannot set the permissions"),
    ("ftruncate", "unpack", "out/hole: cannot set the size"),
    ("symlinkat", "unpack", "out/link: cannot create symlink"),
    ("utimensat", "unpack", "cannot set the time"),
];

/// What a kernel answers to a call that it lacks, and what old filters answer to a call that they do not know.
const ANSWERS: [&str; 2] = ["ENOSYS", "EPERM"];

const PACK: &str = "pack -q tree again.sqfs";
const UNPACK: &str = "unpack -q image.sqfs out";

/// A tree with a link, another name of a file and a hole, and an image of it.
fn with_image() -> Option<Sandbox> {
    if !tools::need(&["strace"]) {
        return None;
    }
    let sandbox = sandbox();
    sandbox.write("tree/file", "content ".repeat(10_000));
    let script = "ln tree/file tree/name && ln -s file tree/link && truncate -s 300000 tree/hole && mkdir tree/below";
    sandbox.peer("sh", &["-ec", script]);
    sandbox.good(&["pack", "-q", "tree", "image.sqfs"]);
    Some(sandbox)
}

/// Runs the program while each of these calls fails.
fn without(sandbox: &Sandbox, calls: &str, answer: &str, arguments: &str) -> Ran {
    sandbox.remove("out");
    sandbox.remove("again.sqfs");
    let trace = format!("trace={calls}");
    let inject = format!("inject={calls}:error={answer}");
    let words = ["-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, PACKLINE];
    Ran::of(sandbox.program("strace", &words).args(arguments.split(' ')))
}

#[test]
fn calls_that_have_a_replacement_change_nothing() {
    let Some(sandbox) = with_image() else { return };
    let image = sandbox.read("image.sqfs");
    let tree = sandbox.snapshot("tree");
    let all = REPLACEABLE.join(",");
    for calls in share(REPLACEABLE, 3, "replaceable").chain([all.as_str()]) {
        for answer in ANSWERS {
            let packed = without(&sandbox, calls, answer, PACK);
            assert!(packed.status == 0 && packed.stderr.is_empty(), "{calls} {answer}: {packed:?}");
            assert!(sandbox.read("again.sqfs") == image, "{calls} {answer}");
            let unpacked = without(&sandbox, calls, answer, UNPACK);
            assert!(unpacked.status == 0 && unpacked.stderr.is_empty(), "{calls} {answer}: {unpacked:?}");
            assert_eq!(sandbox.snapshot("out"), tree, "{calls} {answer}");
        }
    }
}

#[test]
fn calls_that_are_needed_are_named() {
    let Some(sandbox) = with_image() else { return };
    for (call, command, message) in NEEDED {
        let arguments = if command == "pack" { PACK } else { UNPACK };
        for answer in ANSWERS {
            let ran = without(&sandbox, call, answer, arguments);
            assert!(ran.status == 1 && ran.stderr.contains(message), "{call} {answer}: {ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{call} {answer}: {ran:?}");
            assert!(!sandbox.at("out").exists() && !sandbox.at("again.sqfs").exists(), "{call} {answer}");
        }
    }
}

/// A hard link that cannot be made is a copy, with a warning.
#[test]
fn links_that_cannot_be_made_are_copies() {
    let Some(sandbox) = with_image() else { return };
    for answer in ANSWERS {
        let ran = without(&sandbox, "linkat", answer, UNPACK);
        assert!(ran.status == 0 && ran.stderr.contains("out/name: cannot be a hard link"), "{answer}: {ran:?}");
        assert!(sandbox.read("out/name") == sandbox.read("tree/file"), "{answer}");
    }
}
