//! mkfs.erofs: ends of files after their inodes, and starts of attribute names that are stored once.

use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Except};
use packline_testkit::{Sandbox, tools};

use super::tree;
use crate::sandbox;

/// Packs the tree, and checks what our reader finds.
fn made(sandbox: &Sandbox, options: &[&str]) -> u64 {
    sandbox.good(&[&["mkfs.erofs", "--quiet", "--tar=f", "-T0", "--mkfs-time", "image", "tree.tar"], options].concat());
    assert_eq!(sandbox.good(&["diff", "image", "tree.sqfs"]).text(), "", "{options:?}");
    sandbox.good(&["verify", "-q", "image"]);
    sandbox.read("image").len() as u64
}

fn with_tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write_tar("tree.tar", &tree::nodes());
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    sandbox
}

/// The layout of a file, as dump.erofs prints it.
fn layout(sandbox: &Sandbox, path: &str) -> String {
    let text = sandbox.good(&["dump.erofs", &format!("--path={path}"), "image"]).text();
    text.split("Layout: ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

const FILES: [&str; 2] = ["/a/small", "/a/noise"];

#[test]
fn ends_of_files_follow_their_inodes_by_default() {
    let sandbox = with_tree();
    let inline = made(&sandbox, &[]);
    assert_eq!(FILES.map(|path| layout(&sandbox, path)), ["2", "2"]);
    for options in [&["-Einline_data"][..], &["-Enoinline_data,inline_data"], &["-E^inline_data", "-Einline_data"]] {
        assert_eq!(made(&sandbox, options), inline, "{options:?}");
    }
    for options in ["-Enoinline_data", "-E^inline_data", "-Enoinline_data,fragments", "--chunksize=4096"] {
        // Each of the 302 small files has a block of its own. Shared blocks and holes save 100 blocks.
        assert!(made(&sandbox, &[options]) > inline + 150 * 4096, "{options}");
        assert!(FILES.iter().all(|path| layout(&sandbox, path) != "2"), "{options}");
    }
    let small = made(&sandbox, &["-zlz4", "-Einline_data"]);
    assert_eq!(layout(&sandbox, FILES[0]), "2");
    assert!(made(&sandbox, &["-zlz4", "-Enoinline_data"]) > small + 150 * 2048);
    assert!(made(&sandbox, &["-zlz4", "-Eztailpacking"]) < small);
    let text = sandbox.good(&["dump.erofs", "-s", "image"]).text();
    assert!(text.contains("ztailpacking") && text.contains("5.17"), "{text}");
    made(&sandbox, &["-E48bit,inline_data"]);
}

#[test]
fn directories_are_compressed_as_the_help_says() {
    let sandbox = with_tree();
    let is_compressed = |options: &[&str]| {
        made(&sandbox, options);
        layout(&sandbox, "/many") == "1"
    };
    for features in ["-Einline_data", "-Efragments", "-Eztailpacking", "-E48bit,all-fragments"] {
        for (option, expected) in [("--zD", true), ("--zD=1", true), ("--zD=0", false)] {
            assert_eq!(is_compressed(&["-zzstd,3", features, option]), expected, "{features} {option}");
        }
        assert!(!is_compressed(&["-zzstd,3", features]), "{features}");
    }
    made(&sandbox, &["-zlz4", "--zD"]);
    let text = sandbox.good(&["dump.erofs", "-s", "image"]).text();
    assert!(text.contains("fragments") && text.contains("6.1\n"), "{text}");
    for (options, expected) in [
        (&["--zD"][..], "--zD needs -z"),
        (&["--zD=1", "--tar=i"], "--zD does not work with --tar=i"),
        (&["--zD=2", "-zlz4"], "--zD"),
    ] {
        let message = sandbox.bad(1, &[&["mkfs.erofs", "--tar=f", "new", "tree.tar"], options].concat());
        assert!(message.contains(expected), "{options:?}: {message}");
    }
    // Without -z, it is what 1.9.3 does without the option.
    made(&sandbox, &["--zD=0"]);
}

#[test]
fn starts_of_attribute_names_are_stored_once() {
    let sandbox = with_tree();
    let features = || {
        let text = sandbox.good(&["dump.erofs", "-s", "image"]).text();
        let kernel = text.lines().find_map(|line| line.strip_prefix("Required upstream Linux kernel version:"));
        (text.contains("xattr_prefixes"), kernel.unwrap_or_default().trim().to_owned())
    };
    made(&sandbox, &[]);
    assert_eq!(features(), (false, String::new()));
    let prefixes = ["--xattr-prefix=user.sha", "--xattr-prefix", "user.no"];
    for (options, kernel) in
        [(&[][..], "6.4"), (&["-zlz4", "-C65536"], "6.4"), (&["-zlz4", "-Efragments,plain-xattr-prefixes"], "6.17")]
    {
        made(&sandbox, &[&prefixes, options].concat());
        assert_eq!(features(), (true, kernel.to_owned()), "{options:?}");
        if mount::kernel_mounts_erofs("lz4") && tools::root() {
            let mounted = Mounted::erofs(&sandbox.at("image")).unwrap();
            let found = snapshot::of_directory(mounted.path()).unwrap();
            let expected = snapshot::of_model(&tree::nodes(), true);
            snapshot::assert_same(&format!("{options:?}"), &expected, &found, Except::default());
        }
    }
    let long = ["--xattr-prefix=", &"n".repeat(256)].concat();
    for (options, expected) in [
        (&["-zlz4", "-Efragments"][..], "expected Linux 6.17 or later); add -E plain-xattr-prefixes"),
        (&["--xattr-prefix="], "--xattr-prefix: prefix \"\" of attribute names with 0 bytes (expected 1 to 255 bytes)"),
        (&[&long], "with 256 bytes (expected 1 to 255 bytes)"),
        (&["--xattr-prefix=a"; 127], "129 prefixes of attribute names with "),
    ] {
        let arguments = [&["mkfs.erofs", "--tar=f", "none", "tree.tar"], &prefixes[..], options].concat();
        let message = sandbox.bad(1, &arguments);
        assert!(message.contains(expected), "{message}");
    }
}

/// A tar index has blocks of 512 bytes, so that prefixes may need more of them.
#[test]
fn an_index_of_a_tar_has_starts_of_attribute_names() {
    let sandbox = sandbox();
    // The parts of a sparse file must start at blocks.
    let nodes: Vec<_> = tree::nodes().into_iter().filter(|node| node.path != b"a/holes").collect();
    sandbox.write_tar("tree.tar", &nodes);
    sandbox.good(&["pack", "-q", "tree.tar", "tree.sqfs"]);
    let prefix = format!("--xattr-prefix=user.{}", "n".repeat(240));
    let options = ["--xattr-prefix=user.sha", &prefix, &prefix, &prefix];
    sandbox.good(&[&["mkfs.erofs", "--quiet", "--tar=i", "index", "tree.tar"], &options[..]].concat());
    sandbox.write("image", [sandbox.read("index"), sandbox.read("tree.tar")].concat());
    assert_eq!(sandbox.good(&["diff", "image", "tree.sqfs"]).text(), "");
    sandbox.good(&["verify", "-q", "image"]);
}

#[test]
fn a_directory_with_whiteouts_is_marked_for_overlayfs() {
    if !tools::root() || !tools::need(&["mknod", "setfattr", "setpriv"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.shell("mkdir -p t/a t/b && mknod t/a/gone c 0 0 && echo kept > t/a/kept && setfattr -n user.a -v 1 t/a");
    let written = |options: &[&str]| {
        sandbox.good(&[&["mkfs.erofs", "--quiet", "image", "t"], options].concat());
        sandbox.good(&["verify", "-q", "image"]);
    };
    sandbox.good(&["pack", "-q", "t", "plain.sqfs"]);
    sandbox.shell("setfattr -n trusted.overlay.origin t/a");
    sandbox.good(&["pack", "-q", "t", "marked.sqfs"]);
    sandbox.shell("setfattr -x trusted.overlay.origin t/a");
    for options in [&[][..], &["-zlz4"], &["--ovlfs-strip=0"]] {
        written(options);
        assert_eq!(sandbox.good(&["diff", "image", "marked.sqfs"]).text(), "", "{options:?}");
    }
    sandbox.good(&["mkfs.erofs", "--quiet", "--blobdev=blob", "--chunksize=4096", "image", "t"]);
    sandbox.good(&["verify", "-q", "--device", "blob", "image"]);
    assert_eq!(sandbox.good(&["diff", "--old-device", "blob", "image", "marked.sqfs"]).text(), "");
    if mount::kernel_mounts_erofs("none") {
        // Without the attribute, overlayfs lists the whiteout.
        written(&[]);
        let mounted = Mounted::erofs_at(&sandbox.at("image"), 0).unwrap();
        sandbox.shell("mkdir upper work merged");
        let line = format!(
            "mount -t overlay none merged -o lowerdir=upper:{},ro && ls merged/a; umount merged",
            mounted.path().display()
        );
        assert_eq!(sandbox.shell(&line).text(), "kept\n");
    }
    written(&["--ovlfs-strip"]);
    assert_eq!(sandbox.good(&["list", "image"]).text(), ".\na\na/kept\nb\n");
    sandbox.shell("tar --xattrs --xattrs-include='*' -C t -cf t.tar .");
    written(&["--clean"]);
    sandbox.good(&["mkfs.erofs", "--quiet", "--tar=f", "image", "t.tar"]);
    assert_eq!(sandbox.good(&["diff", "image", "plain.sqfs"]).status, 0);
}

#[test]
fn excluded_paths_may_have_slashes_and_are_named_if_nothing_matches() {
    let sandbox = sandbox();
    for name in ["a/f", "a/g", "x"] {
        sandbox.write(format!("t/{name}"), name);
    }
    sandbox.shell("tar -C t -cf t.tar .");
    for source in [&["t"][..], &["--tar=f", "t.tar"]] {
        let run =
            |options: &[&str]| sandbox.good(&[&["mkfs.erofs", "--quiet", "image"], source, options].concat()).stderr;
        let list = || sandbox.good(&["list", "image"]).text();
        assert_eq!(run(&["--exclude-path=/x", "--exclude-path=a/f/", "--exclude-path=x"]), "");
        assert_eq!(list(), ".\na\na/g\n");
        let place = source[source.len() - 1];
        let expected = format!("packline: warning: --exclude-path: '/f' matches nothing in {place}\n");
        assert_eq!(run(&["--exclude-path=/f", "--exclude-path=a", "--exclude-regex=none"]), expected);
        assert_eq!(list(), ".\nx\n");
    }
}
