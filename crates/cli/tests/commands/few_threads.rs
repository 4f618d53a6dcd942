//! Limits of threads: every command goes on with fewer, or ends with one line that says so.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use packline_testkit::tools;

/// Threads and processes of the user, the program's own first included. With the most, nothing is short.
const LIMITS: [u32; 8] = [1, 2, 3, 4, 5, 7, 10, 40];

/// A directory with the program and what its commands read, open to every user.
struct Place {
    directory: tempfile::TempDir,
    /// No other process is of this user, so that the limit counts the program's threads alone.
    user: u32,
}

impl Place {
    fn new(salt: u32) -> Option<Place> {
        if !tools::need(&["setpriv", "prlimit", "timeout", "tar", "gzip", "xz", "zstd", "bzip2", "lz4"])
            || !tools::root()
        {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = Place { user: 1_000_000 + std::process::id() * 8 + salt, directory };
        std::fs::set_permissions(place.path(""), Permissions::from_mode(0o777)).unwrap();
        std::fs::copy(env!("CARGO_BIN_EXE_packline"), place.path("packline")).unwrap();
        place.fill();
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Content that compresses a little, with repeats far apart and more blocks than there are threads.
    fn fill(&self) {
        std::fs::create_dir_all(self.path("tree/below")).unwrap();
        let mut random = packline_testkit::Random::new(7);
        let noise: Vec<u8> = (0..500_000).map(|_| random.below(200) as u8).collect();
        for name in ["a", "b", "below/c", "below/d"] {
            std::fs::write(self.path("tree").join(name), [&noise[..], name.as_bytes(), &noise[..]].concat()).unwrap();
        }
        self.shell("tar cf t.tar -C tree . && xz -k -T2 --block-size=300000 t.tar && gzip -k t.tar && zstd -qk t.tar");
        self.shell("bzip2 -k t.tar && lz4 -q t.tar t.tar.lz4 && cat t.tar.zst t.tar.zst > twice.zst");
        self.shell(
            "./packline pack -q tree t.sqfs && ./packline pack -q -c gzip tree t.lrz && ./packline compress -q t.tar",
        );
        self.shell("chmod -R a+rX .");
    }

    fn shell(&self, script: &str) {
        let status = Command::new("sh").args(["-ec", script]).current_dir(self.path("")).status().unwrap();
        assert!(status.success(), "{script}");
    }

    /// Runs the program with 4 jobs where the user has no more than `limit` threads; what it wrote is in `out`.
    fn run(&self, limit: u32, arguments: &str) -> Output {
        let out = self.path("out");
        let _: std::io::Result<()> = std::fs::remove_dir_all(&out);
        std::fs::create_dir(&out).unwrap();
        std::fs::set_permissions(&out, Permissions::from_mode(0o777)).unwrap();
        let user = [format!("--reuid={}", self.user), format!("--regid={}", self.user), "--clear-groups".into()];
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60", "setpriv"]).args(user).args(["prlimit", &format!("--nproc={limit}")]);
        command.arg("./packline").args(arguments.split(' ')).env("HOME", &out).env("LRZIP", "NOCONFIG");
        command.stdin(Stdio::null()).current_dir(self.path("")).output().unwrap()
    }

    /// Runs a command under every limit. It ends well, with `check` content, or with one line about a thread.
    fn under_every_limit(&self, arguments: &str, check: impl Fn(&Path, &[u8]) -> bool) {
        let mut well = 0;
        for limit in LIMITS {
            let output = self.run(limit, arguments);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let shown = format!("{arguments} with {limit} threads: {:?}\n{said}", output.status);
            match output.status.code() {
                Some(0) => assert!(check(&self.path("out"), &output.stdout), "{shown}"),
                Some(1 | 2) => self.is_refused(limit, &said, &shown),
                _ => panic!("{shown}"),
            }
            well += u32::from(output.status.success());
        }
        assert!(well > LIMITS.len() as u32 / 2, "{arguments}: {well} succeed");
    }

    fn is_refused(&self, limit: u32, said: &str, shown: &str) {
        assert!(limit < 40, "{shown}");
        assert_eq!(said.lines().count(), 1, "{shown}");
        assert!(said.contains("thread") && !said.contains("internal error"), "{shown}");
        assert_eq!(std::fs::read_dir(self.path("out")).unwrap().count(), 0, "{shown}");
    }

    /// Whether `out/name` has the bytes that an unlimited run makes of the same arguments.
    fn as_unlimited(&self, arguments: &str, name: &'static str) -> impl Fn(&Path, &[u8]) -> bool + use<> {
        let output = self.run(1000, arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        let expected = std::fs::read(self.path("out").join(name)).unwrap();
        move |out, _| std::fs::read(out.join(name)).unwrap() == expected
    }

    fn same_output(&self, arguments: &str, name: &'static str) {
        self.under_every_limit(arguments, self.as_unlimited(arguments, name));
    }

    /// Whether the tree that was unpacked is the one that was packed.
    fn same_tree(&self, arguments: &str) {
        let read = |top: &Path| ["a", "b", "below/c", "below/d"].map(|name| std::fs::read(top.join(name)).unwrap());
        let packed = read(&self.path("tree"));
        self.under_every_limit(arguments, |out, _| read(&out.join("tree")) == packed);
    }
}

#[test]
fn packing() {
    let Some(place) = Place::new(0) else { return };
    for source in ["tree", "t.tar", "t.tar.gz", "t.tar.xz", "t.tar.zst", "t.tar.bz2", "t.tar.lz4"] {
        place.same_output(&format!("pack -q -j 4 -c zstd:level=1 {source} out/o.sqfs"), "o.sqfs");
    }
    for source in ["tree", "t.tar", "t.tar.xz"] {
        place.same_output(&format!("pack -q -j 4 -c gzip:level=1 {source} out/o.lrz"), "o.lrz");
    }
}

#[test]
fn unpacking() {
    let Some(place) = Place::new(1) else { return };
    place.same_tree("unpack -q -j 4 t.sqfs out/tree");
    place.same_tree("unpack -q -j 4 t.lrz out/tree");
    place.same_output("unpack -q -j 4 t.sqfs out/o.tar", "o.tar");
    place.same_output("unpack -q -j 4 t.sqfs out/o.tar.gz", "o.tar.gz");
    place.same_output("unpack -q -j 4 t.lrz out/o.tar", "o.tar");
    let tar = place.run(1000, "sqfs2tar t.sqfs").stdout;
    assert!(tar.len() > 3_900_000);
    place.under_every_limit("sqfs2tar t.sqfs", |_, printed| printed == tar);
}

#[test]
fn streams() {
    let Some(place) = Place::new(2) else { return };
    place.same_output("lrzip -Q -g -p 4 -o out/o.lrz t.tar", "o.lrz");
    place.same_output("lrzip -Q -p 4 -d -o out/o.tar t.lrz", "o.tar");
    place.same_output("compress -q -T 4 -o out/o.pln t.tar", "o.pln");
    place.same_output("decompress -q -T 4 -o out/o.tar t.tar.pln", "o.tar");
}

#[test]
fn looking() {
    let Some(place) = Place::new(3) else { return };
    place.under_every_limit("verify -j 4 t.sqfs", |_, _| true);
    place.under_every_limit("diff -j 4 t.sqfs tree", |_, printed| printed.is_empty());
    let content = std::fs::read(place.path("tree/below/c")).unwrap();
    place.under_every_limit("cat t.sqfs below/c", |_, printed| printed == content);
}
