//! With a limit of threads every command runs with fewer threads, or fails with one line about a thread.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use packline_testkit::{Ran, Sandbox, tools};

use crate::{PACKLINE, sandbox};

/// Threads and processes of the user, the program's own first included. The largest is enough for everything.
const LIMITS: [u32; 8] = [1, 2, 3, 4, 5, 7, 10, 40];

/// A sandbox, open to every user, with the program and what its commands read.
struct Limited {
    sandbox: Sandbox,
    /// No other process is of this user, so that the limit counts the program's threads only.
    user: u32,
}

impl Limited {
    fn new(salt: u32) -> Option<Limited> {
        if !tools::need(&["setpriv", "prlimit", "timeout", "tar", "gzip", "xz", "zstd", "bzip2", "lz4"])
            || !tools::root()
        {
            return None;
        }
        let limited = Limited { user: 1_000_000 + std::process::id() * 8 + salt, sandbox: sandbox() };
        open_to_all(limited.sandbox.path());
        std::fs::copy(PACKLINE, limited.sandbox.at("packline")).unwrap();
        limited.fill();
        Some(limited)
    }

    /// Content that compresses a little, with repeats far apart and more blocks than there are threads.
    fn fill(&self) {
        let mut random = packline_testkit::Random::new(7);
        let noise: Vec<u8> = (0..250_000).map(|_| random.below(200) as u8).collect();
        for name in ["a", "b", "below/c", "below/d"] {
            self.sandbox.write(format!("tree/{name}"), [&noise[..], name.as_bytes(), &noise[..]].concat());
        }
        for script in [
            "tar cf t.tar -C tree . && xz -k -T2 --block-size=150000 t.tar && gzip -k t.tar && zstd -qk t.tar",
            "bzip2 -k t.tar && lz4 -q t.tar t.tar.lz4 && cat t.tar.zst t.tar.zst > twice.zst",
            "./packline pack -q tree t.sqfs && ./packline pack -q -c gzip tree t.lrz && ./packline compress -q t.tar",
            "chmod -R a+rX .",
        ] {
            self.sandbox.peer("sh", &["-ec", script]);
        }
    }

    /// Runs the program with 4 jobs while the user may have at most `limit` threads. It writes to `out`.
    fn run(&self, limit: u32, arguments: &str) -> Ran {
        self.sandbox.remove("out");
        let out = self.sandbox.create_dir("out");
        open_to_all(&out);
        let user = [format!("--reuid={}", self.user), format!("--regid={}", self.user), "--clear-groups".into()];
        let mut command = self.sandbox.program("timeout", &["-s", "KILL", "60", "setpriv"]);
        command.args(user).args(["prlimit", &format!("--nproc={limit}"), "./packline"]);
        Ran::of(command.args(arguments.split(' ')).env("HOME", &out))
    }

    /// Runs a command under every limit. It succeeds and `check` accepts its output, or it fails with one line about a thread.
    fn under_every_limit(&self, arguments: &str, check: impl Fn(&Path, &[u8]) -> bool) {
        let mut succeeded = 0;
        for limit in LIMITS {
            let ran = self.run(limit, arguments);
            let shown = format!("{arguments} with {limit} threads: {ran:?}");
            match ran.status {
                0 => assert!(check(&self.sandbox.at("out"), &ran.stdout), "{shown}"),
                1 | 2 => self.is_refused(limit, &ran.stderr, &shown),
                _ => panic!("{shown}"),
            }
            succeeded += u32::from(ran.status == 0);
        }
        assert!(succeeded > LIMITS.len() as u32 / 2, "{arguments}: {succeeded} succeed");
    }

    fn is_refused(&self, limit: u32, message: &str, shown: &str) {
        assert!(limit < 40, "{shown}");
        assert_eq!(message.lines().count(), 1, "{shown}");
        assert!(message.contains("thread") && !message.contains("internal error"), "{shown}");
        assert_eq!(self.sandbox.names_in("out").len(), 0, "{shown}");
    }

    /// Checks that `out/name` has the bytes of an unlimited run with the same arguments.
    fn as_unlimited(&self, arguments: &str, name: &'static str) -> impl Fn(&Path, &[u8]) -> bool + use<> {
        let ran = self.run(1000, arguments);
        assert_eq!(ran.status, 0, "{arguments}: {ran:?}");
        let expected = self.sandbox.read(format!("out/{name}"));
        move |out, _| std::fs::read(out.join(name)).unwrap() == expected
    }

    fn same_output(&self, arguments: &str, name: &'static str) {
        self.under_every_limit(arguments, self.as_unlimited(arguments, name));
    }

    /// Checks that the unpacked tree equals the packed one.
    fn same_tree(&self, arguments: &str) {
        let read = |top: &Path| ["a", "b", "below/c", "below/d"].map(|name| std::fs::read(top.join(name)).unwrap());
        let packed = read(&self.sandbox.at("tree"));
        self.under_every_limit(arguments, |out, _| read(&out.join("tree")) == packed);
    }
}

fn open_to_all(directory: &Path) {
    std::fs::set_permissions(directory, Permissions::from_mode(0o777)).unwrap();
}

#[test]
fn packing() {
    let Some(limited) = Limited::new(0) else { return };
    for source in ["tree", "t.tar", "t.tar.gz", "t.tar.xz", "t.tar.zst", "t.tar.bz2", "t.tar.lz4"] {
        limited.same_output(&format!("pack -q -j 4 -c zstd:level=1 {source} out/o.sqfs"), "o.sqfs");
    }
    for source in ["tree", "t.tar", "t.tar.xz"] {
        limited.same_output(&format!("pack -q -j 4 -c gzip:level=1 {source} out/o.lrz"), "o.lrz");
    }
}

#[test]
fn unpacking() {
    let Some(limited) = Limited::new(1) else { return };
    limited.same_tree("unpack -q -j 4 t.sqfs out/tree");
    limited.same_tree("unpack -q -j 4 t.lrz out/tree");
    limited.same_output("unpack -q -j 4 t.sqfs out/o.tar", "o.tar");
    limited.same_output("unpack -q -j 4 t.sqfs out/o.tar.gz", "o.tar.gz");
    limited.same_output("unpack -q -j 4 t.lrz out/o.tar", "o.tar");
    let tar = limited.run(1000, "sqfs2tar t.sqfs").stdout;
    assert!(tar.len() > 1_950_000);
    limited.under_every_limit("sqfs2tar t.sqfs", |_, printed| printed == tar);
}

#[test]
fn streams() {
    let Some(limited) = Limited::new(2) else { return };
    limited.same_output("lrzip -Q -g -p 4 -o out/o.lrz t.tar", "o.lrz");
    limited.same_output("lrzip -Q -p 4 -d -o out/o.tar t.lrz", "o.tar");
    limited.same_output("compress -q -T 4 -o out/o.pln t.tar", "o.pln");
    limited.same_output("decompress -q -T 4 -o out/o.tar t.tar.pln", "o.tar");
}

#[test]
fn looking() {
    let Some(limited) = Limited::new(3) else { return };
    limited.under_every_limit("verify -j 4 t.sqfs", |_, _| true);
    limited.under_every_limit("diff -j 4 t.sqfs tree", |_, printed| printed.is_empty());
    let content = limited.sandbox.read("tree/below/c");
    limited.under_every_limit("cat t.sqfs below/c", |_, printed| printed == content);
}
