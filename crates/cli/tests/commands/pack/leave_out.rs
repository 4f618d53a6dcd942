//! `pack --continue` reports and leaves out what cannot be read, the same with any number of readers.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use packline_testkit::{Ran, Sandbox, tools};

use crate::{PACKLINE, sandbox};

const THREADS: [&[&str]; 4] = [&["-j0"], &["--readers=0"], &["--readers=1"], &["-j2", "--readers=4"]];

/// The entries of the tree that user 65534 cannot read, in order.
const UNREADABLE: [&str; 6] = [
    "tree/a/large: cannot open: Permission denied",
    "tree/a/link: cannot link: its first name was skipped",
    "tree/a/secret: cannot open: Permission denied",
    "tree/closed: cannot open: Permission denied",
    "tree/listed/f: cannot examine: Permission denied",
    "tree/z: cannot link: its first name was skipped",
];

/// A tree, and a copy of the program that another user can run: the build directory may be closed to them.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    for (name, length, mode) in [
        ("a/first", 10, 0o644),
        ("a/large", 200 << 10, 0o600),
        ("a/secret", 10, 0o600),
        ("closed/f", 10, 0o644),
        ("empty", 0, 0o644),
        ("listed/f", 10, 0o644),
        ("other/f", 300 << 10, 0o644),
    ] {
        let file = sandbox.write(format!("tree/{name}"), vec![b'x'; length]);
        fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
    }
    fs::hard_link(sandbox.at("tree/a/large"), sandbox.at("tree/a/link")).unwrap();
    fs::hard_link(sandbox.at("tree/a/secret"), sandbox.at("tree/z")).unwrap();
    let directories = [
        ("", 0o777),
        ("tree", 0o755),
        ("tree/a", 0o755),
        ("tree/closed", 0o700),
        ("tree/listed", 0o744),
        ("tree/other", 0o755),
    ];
    for (name, mode) in directories {
        fs::set_permissions(sandbox.at(name), Permissions::from_mode(mode)).unwrap();
    }
    fs::copy(PACKLINE, sandbox.at("packline")).unwrap();
    sandbox
}

fn as_user(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", "./packline", "pack"];
    Ran::of(&mut sandbox.program("setpriv", &[&user[..], words].concat()))
}

#[test]
fn leaves_out_unreadable_entries() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let sandbox = tree();
    let mut images = Vec::new();
    for threads in THREADS {
        let ran = as_user(&sandbox, &[&["tree", "i.sqfs", "-fq", "--continue"], threads].concat());
        assert_eq!(ran.status, 3, "{}", ran.stderr);
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines.len(), UNREADABLE.len(), "{}", ran.stderr);
        for (line, expected) in lines.iter().zip(UNREADABLE) {
            assert!(line.starts_with(&format!("packline: {expected}")), "{line}");
        }
        images.push(sandbox.read("i.sqfs"));
        assert!(images[0] == images[images.len() - 1], "{threads:?}");
    }
    let listed = sandbox.good(&["list", "i.sqfs"]).text();
    assert_eq!(listed, ".\na\na/first\nclosed\nempty\nlisted\nother\nother/f\n");
    assert!(sandbox.good(&["list", "-l", "--numeric-owner", "i.sqfs", "closed"]).text().starts_with("drwx------ 0/0 "));
    sandbox.good(&["verify", "-q", "i.sqfs"]);
}

#[test]
fn errors_are_counted_and_without_the_option_final() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let sandbox = tree();
    for options in [&["--continue", "--json"][..], &["--continue", "--json", "--dry-run", "-f"]] {
        let ran = as_user(&sandbox, &[&["tree", "i.sqfs"], options].concat());
        assert!(ran.status == 3 && ran.text().contains("\"errors\":6,"), "{}{}", ran.text(), ran.stderr);
    }
    let ran = as_user(&sandbox, &["tree", "i.sqfs", "-f", "--continue"]);
    assert!(ran.stderr.contains("\nerrors:    6 (what could not be read was left out)\n"), "{}", ran.stderr);
    let ran = as_user(&sandbox, &["tree", "j.sqfs"]);
    assert_eq!((ran.status, ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    let hint = "(os error 13); --continue leaves out what cannot be read\n";
    assert!(ran.stderr.starts_with("packline: tree/") && ran.stderr.ends_with(hint), "{}", ran.stderr);
    assert!(!sandbox.at("j.sqfs").exists());
    let without = ["-xlarge", "-xlink", "-xsecret", "-xclosed", "-xlisted", "-xz"];
    let ran = as_user(&sandbox, &[&["tree", "k.sqfs", "--continue"], &without[..]].concat());
    assert_eq!((ran.status, ran.stderr.contains("error")), (0, false), "{}", ran.stderr);
    let error = sandbox.bad(2, &["pack", "tree", "i.lrz", "--continue"]);
    assert!(error.contains("--continue: not supported for .lrz output"), "{error}");
}

/// Files of /sys have a size of 4096 bytes and less content.
#[test]
fn files_with_less_content_than_their_size_are_stored_with_warnings() {
    let source = Path::new("/sys/kernel/mm/transparent_hugepage");
    if !source.is_dir() && !tools::skip("there is no /sys/kernel/mm/transparent_hugepage") {
        return;
    }
    let sandbox = sandbox();
    let mut results = Vec::new();
    for threads in THREADS {
        let words = [&["pack", "-fq", "--mtime=0", source.to_str().unwrap(), "i.sqfs"], threads].concat();
        let ran = sandbox.good(&words);
        results.push((ran.stderr, sandbox.read("i.sqfs")));
    }
    assert!(results.windows(2).all(|two| two[0] == two[1]));
    assert!(results[0].0.contains(": its size is given as 4096 bytes, but it has "), "{}", results[0].0);
    assert_eq!(sandbox.good(&["cat", "i.sqfs", "enabled"]).stdout, fs::read(source.join("enabled")).unwrap());
    sandbox.good(&["verify", "-q", "i.sqfs"]);
}

/// Matches squashfs-tools. snapd's tests of its container checks rely on it (snap/squashfs and snap of snapcore/snapd): an unreadable
/// file is reported for its mode there, not as a missing file.
#[test]
fn mksquashfs_stores_unreadable_files_as_empty_files() {
    if !tools::need(&["setpriv", "mksquashfs", "unsquashfs"]) || !tools::root() {
        return;
    }
    let sandbox = tree();
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--"];
    let pack = |program: &[&str], image: &str| {
        let words = ["tree", image, "-noappend", "-no-progress", "-quiet", "-comp", "gzip"];
        let ran = Ran::of(&mut sandbox.program("setpriv", &[&user[..], program, &words].concat()));
        assert_eq!(ran.status, 0, "{ran:?}");
        let listed = Ran::of(&mut sandbox.program("unsquashfs", &["-lln", image]));
        (ran.stderr, listed.text().to_string())
    };
    let (stderr, ours) = pack(&["./packline", "mksquashfs"], "ours");
    let (_, theirs) = pack(&["mksquashfs"], "theirs");
    assert_eq!(ours, theirs);
    for name in ["a/large", "a/secret"] {
        let expected = format!("tree/{name}: stored as an empty file, since it cannot be read: Permission denied");
        assert!(stderr.contains(&expected), "{stderr}");
    }
    let words = ["./packline", "mksquashfs", "tree", "none", "-exit-on-error", "-no-progress", "-quiet"];
    let ran = Ran::of(&mut sandbox.program("setpriv", &[&user[..], &words].concat()));
    assert!(ran.status == 1 && !sandbox.at("none").exists(), "{ran:?}");
}
