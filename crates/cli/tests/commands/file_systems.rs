//! Sources and destinations on file systems of containers and images, and under proot: the tree is the same as elsewhere.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use packline_testkit::mount::{self, Mounted};
use packline_testkit::{Ran, Sandbox, tools};

use crate::{PACKLINE, sandbox};

/// A tree with names of one file, a link and a hole, and an image of it.
fn with_image() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/below/file", "content ".repeat(10_000));
    let script =
        "ln tree/below/file tree/name && ln -s file tree/link && truncate -s 300000 tree/hole && touch tree/gone";
    sandbox.peer("sh", &["-ec", script]);
    sandbox.good(&["pack", "-q", "tree", "image.sqfs"]);
    sandbox
}

/// Runs a script in which `$P` is packline.
fn script(sandbox: &Sandbox, program: &str, words: &[&str], script: &str) -> Ran {
    let mut command = sandbox.program(program, words);
    Ran::good(command.args(["sh", "-ec", script]).env("P", PACKLINE))
}

/// The tree is the lower layer. The root of the merged tree has the time of the upper layer. Files of the upper layer, removed files and a name that only one layer has are there.
#[test]
fn overlays_are_packed_and_unpacked() {
    if !tools::need(&["unshare"]) || !mount::namespaces() {
        return;
    }
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if !known.contains("overlay") && !tools::skip("needs a kernel with overlayfs") {
        return;
    }
    let sandbox = with_image();
    let overlay = "mkdir layers && mount -t tmpfs none layers && mkdir layers/upper layers/work merged && touch -r tree layers/upper
        mount -t overlay -o lowerdir=tree,upperdir=layers/upper,workdir=layers/work none merged
        $P diff merged image.sqfs
        rm merged/gone; echo more >> merged/name; mkdir merged/new; echo new > merged/new/file
        $P pack -q merged overlay.sqfs && $P diff merged overlay.sqfs
        $P unpack -q overlay.sqfs merged/out && $P diff merged/out overlay.sqfs
        $P pack -q merged/out again.sqfs && cmp overlay.sqfs again.sqfs
        cp -a merged/out plain && $P pack -q plain again.sqfs -f && cmp overlay.sqfs again.sqfs";
    script(&sandbox, "unshare", &["-m"], overlay);
    let listed = sandbox.good(&["list", "overlay.sqfs"]).text();
    assert!(listed.contains("new/file") && !listed.contains("gone"), "{listed}");
}

#[test]
fn a_mount_of_an_image_is_a_source() {
    if !mount::fuse_available() || !tools::need(&["squashfuse"]) {
        return;
    }
    let sandbox = with_image();
    let mounted = Mounted::fuse(&sandbox.at("image.sqfs")).unwrap();
    sandbox.good(&["pack", "-q", mounted.path().to_str().unwrap(), "again.sqfs"]);
    // squashfuse gives each name of a file a number of its own.
    let ran = sandbox.run(&["diff", "again.sqfs", "image.sqfs"]);
    assert_eq!((ran.status, ran.text().as_str()), (1, "! name: hard links\n"), "{ran:?}");
}

#[test]
fn a_destination_in_memory_has_the_tree() {
    if !mount::allowed() {
        return;
    }
    let sandbox = with_image();
    let mounted = Mounted::memory(64 << 20).unwrap();
    let out = mounted.path().join("out");
    sandbox.good(&["unpack", "-q", "image.sqfs", out.to_str().unwrap()]);
    sandbox.good(&["diff", out.to_str().unwrap(), "image.sqfs"]);
    sandbox.good(&["pack", "-q", out.to_str().unwrap(), "again.sqfs"]);
    assert!(sandbox.read("again.sqfs") == sandbox.read("image.sqfs"));
}

/// proot gives a user the view of root by changing the program's system calls. It does not change the owners in the answers of statx(2).
#[test]
fn a_user_packs_and_unpacks_under_proot() {
    if !tools::need(&["proot", "setpriv"]) || !tools::root() {
        return;
    }
    let sandbox = with_image();
    std::fs::set_permissions(sandbox.path(), Permissions::from_mode(0o777)).unwrap();
    let user =
        ["--reuid=65534", "--regid=65534", "--clear-groups", "env", "TMPDIR=.", "PROOT_TMP_DIR=.", "proot", "-0"];
    let commands = "$P pack -q tree again.sqfs && cmp again.sqfs image.sqfs
        $P unpack -q image.sqfs out && diff -r --no-dereference tree out && $P verify image.sqfs";
    script(&sandbox, "setpriv", &user, commands);
}
