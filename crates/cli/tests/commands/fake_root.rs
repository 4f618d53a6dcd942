//! Under fakeroot and pseudo, which pretend to a user's programs that they run as root: packing stores, and unpacking sets, the owners,
//! permissions and devices that only these two know. And in user namespaces, where a user is root with less rights.
//!
//! Programs whose system calls bypass libc behave differently: <https://github.com/uutils/coreutils/issues/13399>, and for single
//! calls <https://github.com/uutils/coreutils/issues/14028>.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use packline_testkit::{Ran, Sandbox, mount, tools};

use crate::{PACKLINE, sandbox};

/// A user without privileges.
const USER: &str = "65534";

/// Makes the tree `t`, as a build of a root file system does.
const TREE: &str = r"
    umask 022
    mkdir -p t/dir/sub; echo content > t/file; ln t/file t/dir/again; ln -s nowhere t/link
    echo setuid > t/setuid; seq 60000 > t/big; mkfifo t/fifo
    mknod t/char c 5 1; mknod t/block b 8 3
    chown 123:456 t/file; chown -h 7:8 t/link; chown 9:10 t/dir t/block; chown 70000:70001 t/big
    chmod 4755 t/setuid; chmod 2775 t/dir; chmod 640 t/char; chmod 600 t/file
    touch -h -d @1000000000 t/file t/link t/setuid t/big t/fifo t/char t/block t/dir/sub t/dir t
    list() { (cd $1 && find . | LC_ALL=C sort | xargs stat -c '%n %F %a %u %g %t:%T %N'); }
    list t > tree.list
";

/// Runs a script under one of the programs, as a user, in a directory that the user may write to. `$P` is packline.
fn run(sandbox: &Sandbox, program: &str, script: &str) {
    std::fs::set_permissions(sandbox.path(), Permissions::from_mode(0o777)).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        let user = [&*format!("--reuid={USER}"), &*format!("--regid={USER}"), "--clear-groups", program];
        sandbox.program("setpriv", &user)
    } else {
        sandbox.program(program, &[] as &[&str])
    };
    command.args(["sh", "-e", "-c", script]).env("P", PACKLINE).env("HOME", sandbox.path());
    // pseudo keeps its database there, and would otherwise look for its own files next to the program.
    command.env("PSEUDO_PREFIX", "/usr").env("PSEUDO_LOCALSTATEDIR", sandbox.at("pseudo"));
    Ran::good(&mut command);
}

/// Returns the programs, if they and setpriv are installed.
fn programs() -> Option<[&'static str; 2]> {
    tools::need(&["fakeroot", "pseudo", "setpriv", "find", "stat"]).then_some(["fakeroot", "pseudo"])
}

#[test]
fn packing_stores_what_fakeroot_and_pseudo_know() {
    let Some(programs) = programs() else { return };
    if !tools::need(&["mksquashfs", "gensquashfs", "tar"]) {
        return;
    }
    for program in programs {
        let sandbox = sandbox();
        let pack = "
            $P pack -q t pack.sqfs
            $P mksquashfs t mksquashfs.sqfs -quiet -no-progress
            tar -C t -cf - . | $P sqfstar -quiet -no-progress sqfstar.sqfs
            tar -C t -cf - . | $P tar2sqfs -q tar2sqfs.sqfs
            $P pack -q t tree.lrz; $P unpack -q tree.lrz lrz.tar; $P pack -q lrz.tar lrz.sqfs
            $P lrztar -q t; $P unpack -q t.tar.lrz lrztar.tar; $P pack -q lrztar.tar lrztar.sqfs
            $P gensquashfs -q --pack-dir t gensquashfs.sqfs
            mksquashfs t peer.sqfs -quiet -no-progress
            gensquashfs -q --pack-dir t gensquashfs-peer.sqfs
        ";
        run(&sandbox, program, &format!("{TREE} {pack}"));
        let list = |image: &str| sandbox.good(&["unsquashfs", "-lln", "-d", "", image]).text();
        let expected = list("peer.sqfs");
        assert!(expected.contains("123/456") && expected.contains("70000/70001"), "{program}: {expected}");
        for image in ["pack", "mksquashfs", "sqfstar", "tar2sqfs", "lrz"] {
            assert_eq!(list(&format!("{image}.sqfs")), expected, "{program}: {image}");
        }
        let below = list("lrztar.sqfs").replace(" /t", " ");
        assert_eq!(without_root(&below), without_root(&expected), "{program}: lrztar");
        assert_eq!(list("gensquashfs.sqfs"), list("gensquashfs-peer.sqfs"), "{program}: gensquashfs");
    }
}

/// A listing without the lines of the root, which lrztar stores as the directory's own name.
fn without_root(listing: &str) -> String {
    let lines = listing.lines().filter(|line| !line.ends_with(' ') && !line.ends_with(" /"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn unpacking_tells_fakeroot_and_pseudo_owners_and_devices() {
    let Some(programs) = programs() else { return };
    if !tools::need(&["mksquashfs", "tar"]) {
        return;
    }
    for program in programs {
        let sandbox = sandbox();
        let unpack = "
            mksquashfs t image.sqfs -quiet -no-progress
            tar -C t -cf - . | $P pack -q - image.lrz --format lrz
            $P unpack -q image.sqfs unpack; list unpack > unpack.list
            $P unsquashfs -q -n -d unsquashfs image.sqfs > out; list unsquashfs > unsquashfs.list
            $P unsquashfs -q -n -f -d unsquashfs image.sqfs > out; list unsquashfs > again.list
            $P rdsquashfs -q -u / -p rdsquashfs -C -O -T image.sqfs; list rdsquashfs > rdsquashfs.list
            $P unpack -q image.lrz lrz; list lrz > lrz.list
            mkdir lrzuntar; cp image.lrz lrzuntar/x.tar.lrz; (cd lrzuntar; $P lrzuntar -q x.tar.lrz; rm x.tar.lrz)
            list lrzuntar > lrzuntar.list
        ";
        run(&sandbox, program, &format!("{TREE} {unpack}"));
        let root = |listing: String| listing.split_once('\n').unwrap().1.to_string();
        let expected = root(sandbox.read_text("tree.list"));
        assert!(expected.contains("character special file 640 0 0 5:1"), "{program}: {expected}");
        for list in ["unpack", "unsquashfs", "again", "rdsquashfs", "lrz", "lrzuntar"] {
            assert_eq!(root(sandbox.read_text(format!("{list}.list"))), expected, "{program}: {list}");
        }
    }
}

/// A directory is opened again by one call, `openat2`, which neither program knows.
#[test]
fn deep_trees_are_unpacked_under_pseudo() {
    let Some(programs) = programs() else { return };
    for program in programs {
        let sandbox = sandbox();
        // More directories than are open at a time, each with a file at its end that is written last.
        let script = r#"
            deep=$(printf 'd/%.0s' $(seq 300)); mkdir -p t/$deep; echo x > t/${deep}f; chown 3:4 t/${deep}f
            for number in $(seq 300); do mkdir t/w$number; echo $number > t/w$number/f; chown $number:1 t/w$number/f; done
            $P pack -q t t.sqfs; $P unpack -q t.sqfs out
            test "$(stat -c %u:%g out/${deep}f)" = 3:4
            test "$(stat -c %u:%g out/w299/f)" = 299:1
        "#;
        run(&sandbox, program, script);
    }
}

#[test]
fn other_programs_see_what_was_unpacked_in_the_same_session() {
    let Some(programs) = programs() else { return };
    if !tools::need(&["tar"]) {
        return;
    }
    for program in programs {
        let sandbox = sandbox();
        let script = r#"
            $P pack -q t one.sqfs; $P unpack -q one.sqfs out; tar --numeric-owner -C out -cf out.tar .
            $P pack -q out.tar two.sqfs
        "#;
        run(&sandbox, program, &format!("{TREE} {script}"));
        let mut command: Command = sandbox.command(&["diff", "one.sqfs", "two.sqfs"]);
        Ran::good(&mut command);
    }
}

/// Both programs make a process believe that it is root, but the kernel asks for the user who mounted.
#[test]
fn mounts_under_fakeroot_and_pseudo_can_be_read() {
    let Some(programs) = programs() else { return };
    if !mount::fuse_available() {
        return;
    }
    for program in programs {
        let sandbox = sandbox();
        let script = r#"
            mkdir s on; echo content > s/file; $P pack -q s s.sqfs
            timeout 60 $P mount s.sqfs on || { fusermount -u -z on; exit 1; }
            cat on/file > read || true; $P umount on
            test "$(cat read)" = content
            if $P mount s.sqfs on -o allow_root 2> refused; then $P umount on; exit 1; fi
            grep -q 'allow-root would lock out the real user' refused
        "#;
        run(&sandbox, program, script);
    }
}

/// The user is root in the namespace, but may not create devices, and may set only the owners that the namespace maps.
#[test]
fn unpacking_in_a_user_namespace_names_the_ways_out() {
    if !tools::need(&["unshare"]) {
        return;
    }
    let works = tools::run(Command::new("unshare").args(["-r", "true"])).is_ok();
    if !(works || tools::skip("needs unshare -r to work")) {
        return;
    }
    let sandbox = sandbox();
    for (name, entry, expected, option) in [
        (
            "device",
            "e c 0644 0 0 1 3",
            "; creating devices needs root outside a user namespace; --no-devices",
            "--no-devices",
        ),
        (
            "owner",
            "e d 0755 33 33",
            "; setting owners needs root, and a user namespace sets only owners that it maps;",
            "--no-owner",
        ),
    ] {
        sandbox.write("manifest", format!("/ d 0755 0 0\n{entry}\n"));
        let image = format!("{name}.sqfs");
        sandbox.good_on(&["pack", "-q", "--manifest", "-", &image], "manifest");
        let unpack = ["-r", PACKLINE, "unpack", "-q", &image, name];
        let ran = Ran::of(&mut sandbox.program("unshare", &unpack));
        assert!(ran.status == 1 && ran.stderr.contains(expected) && ran.stderr.contains(option), "{ran:?}");
        Ran::good(&mut sandbox.program("unshare", &[&unpack[..], &[option]].concat()));
    }
}
