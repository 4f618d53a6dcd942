//! Compares actions of `mksquashfs` with those of squashfs-tools: the same actions give the same tree and the same logs.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use packline_testkit::{Ran, Sandbox, tools};

use super::mksquashfs::{compare, ready, superblock, with_source};

const QUIET: &str = "-all-time 5 -mkfs-time 0 -quiet -no-progress";

fn with_links() -> Sandbox {
    let sandbox = with_source();
    for (target, name) in [("../big", "up"), ("nonesuch", "broken"), ("/dir", "absolute")] {
        symlink(target, sandbox.at("source/dir").join(name)).unwrap();
    }
    sandbox
}

/// Arguments, words separated by blanks; `~` is a blank in a word.
fn words(options: &str) -> String {
    options.replace('~', "\u{20a0}")
}

#[test]
fn actions_give_the_same_tree() {
    if !ready() {
        return;
    }
    let sandbox = with_links();
    for options in [
        "-action exclude@name(*.c)||depth(2)&&type(l)",
        "-a exclude@filesize(>130K)",
        "-action exclude@subpathname(d*/o*)",
        "-action prune@type(l)&&!exists() -action prune@absolute",
        "-action prune@readlink(\"name(big)\")||eval(..,\"name(dir)&&type(d)\")&&size(1)",
        "-action prune@stat(\"type(f)\")&&type(l)",
        "-action empty@true",
        "-action empty(source)@true -action exclude@depth(2)",
        "-action empty(excluded)@true -action exclude@depth(2)",
        "-action uid(77)@type(d) -action gid(root)@user(root) -a guid(5,6)@perm(-u+x)",
        "-action chmod(u+x,go-rwx)@name(t*) -action mode(4711)@pathname(/dir/one)",
        "-action chmod(a=rX)@true",
        "-action move(/moved)@name(dir) -action move(../empty)@name(two)",
        "-action move(renamed)@name(big) -action move(dir)@name(big)",
        "-action move(/empty)@nlink(2)&&type(f)",
        "-action prune@dircount(<2)&&type(d)",
        "-action exclude@uid_range(900,1100)&&(gid(100)||false)",
        "-action exclude@file(empty|ASCII)",
        "-action exclude@exec(\"test~$NAME~=~noise\")",
        "-action noop@true -force-uid 9 -a uid(3)@true",
        "-action uid(3)@uid(0) -all-root",
        "-action uncompressed@name(big) -action fragments@true -no-fragments",
        "-action compressed@true -noD -noF",
        "-action no-fragments@size(<2)",
        "-action exclude@type(f)&&!name(big) -action always-use-fragments@name(big)",
        "-always-use-fragments -action dont-always-use-fragments@true",
        "-action fragment(a)@name(one)",
        "-a fragment(a)@name(*.c)||name(one) -a fragment(a)@depth(2)",
    ] {
        compare(&sandbox, &["source"], &words(&format!("{options} {QUIET}")));
    }
    compare(&sandbox, &["source/dir", "source/empty"], &format!("-action exclude@depth(1)&&name(e*) {QUIET}"));
}

#[test]
fn actions_come_from_files() {
    if !ready() {
        return;
    }
    let sandbox = with_links();
    let text = "# A comment\n\n  uid(7)@name(one) || \\\n  name(two)\nexclude@name(\"x.c\")\n   # another\nprune@type(l) && \\\nabsolute";
    sandbox.write("actions", text);
    for option in ["-action-file", "-af", "-log-action-file", "-vaf", "-true-action-file", "-taf", "-false-action-file"]
    {
        compare(&sandbox, &["source"], &format!("{option} actions {QUIET}"));
    }
}

/// Lines of a run that are logs of actions. The order of entries is that of a directory in the peer.
fn logs(ran: &Ran) -> BTreeSet<String> {
    ran.text().lines().filter(|line| line.starts_with('/')).map(str::to_string).collect()
}

#[test]
fn evaluations_are_printed() {
    if !ready() {
        return;
    }
    let sandbox = with_links();
    sandbox.write("actions", "chmod(u+x,go=)@type(f) || name(\"a b\")\n");
    for options in [
        &["-log-action", "uid(5)@name(*.c) && !(depth(>1) || true) && size_range(1,2)"][..],
        &["-va", "prune@readlink(\"name(big)\") || eval(..,\"name(dir) || false\") && stat(\"type(f)\")"],
        &["-true-action", "exclude@type(d) || false"],
        &["-ta", "move(/z)@name(one)"],
        &["-false-action", "empty(source)@name(e*)", "-fa", "noop@perm(-g+w)"],
        &["-false-action-file", "actions"],
        &["-faf", "actions", "-vaf", "actions"],
    ] {
        let pack = |mut command: std::process::Command, image| {
            let _ = std::fs::remove_file(sandbox.at(image));
            logs(&Ran::good(command.args(["source", image, "-no-progress"]).args(options)))
        };
        let ours = pack(sandbox.command(&["mksquashfs"]), "ours.sqfs");
        let peers = pack(sandbox.program("mksquashfs", &[""; 0]), "peers.sqfs");
        let differ: Vec<_> = ours.symmetric_difference(&peers).collect();
        assert!(differ.is_empty() && !ours.is_empty(), "{options:?}: {differ:#?}");
    }
}

/// squashfs-tools 4.5 lack these actions.
#[test]
fn actions_change_extended_attributes() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_source();
    let listed = |options: &[&str]| {
        sandbox.good(&[&["mksquashfs", "source", "x.sqfs", "-noappend", "-quiet"], options].concat());
        sandbox.good(&["list", "--json", "x.sqfs"]).text()
    };
    assert!(!listed(&["-action", "xattrs-exclude(^user)@true"]).contains("user."));
    let included = listed(&["-action", "xattrs-include(keep)@true"]);
    assert!(included.contains("user.keep") && !included.contains("user.other"), "{included}");
    let added = listed(&[
        "-action",
        "xattrs-add(user.new=0x41)@name(two)",
        "-action",
        "exclude@tailsize(>2)||tailsize_range(1,1)",
    ]);
    assert!(added.contains("user.new") && !added.contains("noise"), "{added}");
}

#[test]
fn malformed_actions_leave_nothing() {
    let sandbox = crate::sandbox();
    sandbox.write("source/file", "text");
    sandbox.write("actions", "noop@true\n\nnoop@\\\nname(\n");
    for (arguments, expected) in [
        (&["source", "x.sqfs", "-a", "nothing@true"][..], "-action 'nothing@true': there is no action 'nothing'"),
        (&["source", "x.sqfs", "-va", "uid(0)@"], "-log-action 'uid(0)@': unexpected end"),
        (&["source", "x.sqfs", "-af", "actions"], "actions: line 3: unexpected end"),
        (&["source", "x.sqfs", "-taf", "nonesuch"], "nonesuch: cannot read"),
        (&["source", "x.sqfs", "-a", "align(3K)@true"], "3072 is not an alignment (expected a power of two"),
        (&["source", "x.sqfs", "-a", "align(128M)@true"], "134217728 is not an alignment (expected a power of two"),
        (&["-", "x.sqfs", "-tar", "-a", "noop@true"], "-action: the source is -"),
        (&["source", "x.sqfs", "-a", "exclude@exists"], "the test 'exists' cannot be used with exclude"),
    ] {
        let complaint = sandbox.bad(1, &[&["mksquashfs"], arguments].concat());
        assert!(complaint.contains(expected) && complaint.trim_end().lines().count() == 1, "{complaint}");
        assert!(!sandbox.at("x.sqfs").exists());
    }
}

/// mksquashfs 4.5 lacks align().
#[test]
fn data_of_files_is_aligned() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    let options = ["-noappend", "-quiet", "-mkfs-time", "0", "-log", "log"];
    sandbox.good(&[&["mksquashfs", "source", "plain.sqfs"], &options[..]].concat());
    let actions =
        ["-a", "align(512K)@name(noise)", "-a", "align(16K)@depth(2)||name(zero)", "-a", "fragment(x)@name(big)"];
    let images = ["0", "1", "3"].map(|processors| {
        let processors = ["-processors", if processors == "0" { "2" } else { processors }];
        sandbox.good(&[&["mksquashfs", "source", "x.sqfs"], &options[..], &actions, &processors].concat());
        std::fs::read(sandbox.at("x.sqfs")).unwrap()
    });
    assert!(images.iter().all(|image| *image == images[0]));
    let log = std::fs::read_to_string(sandbox.at("log")).unwrap();
    let start = |name: &str| {
        let line = log.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(", "));
        line.and_then(|start| start.parse::<u64>().ok()).unwrap_or_else(|| panic!("{name}: {log}"))
    };
    assert_eq!((start("source/noise"), start("source/dir/one") % (16 << 10)), (512 << 10, 0), "{log}");
    assert!(start("source/dir/two") != start("source/dir/x.c"), "{log}");
    assert!(!log.contains("Fragment"), "{log}");
    sandbox.good(&["verify", "x.sqfs"]);
    sandbox.good(&["diff", "plain.sqfs", "x.sqfs"]);
}

#[test]
fn actions_say_how_files_are_stored() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    for (options, is_larger) in [
        (&["-action", "uncompressed@true"][..], true),
        (&["-noD", "-noF"], true),
        (&["-noD", "-noF", "-action", "compressed@true"], false),
        (&[], false),
    ] {
        sandbox.good(&[&["mksquashfs", "source", "x.sqfs", "-noappend", "-quiet"], options].concat());
        let size = std::fs::metadata(sandbox.at("x.sqfs")).unwrap().len();
        assert_eq!(size > 500_000, is_larger, "{options:?}: {size}");
        sandbox.good(&["verify", "x.sqfs"]);
        assert!(!superblock(&sandbox, "x.sqfs", "").is_empty());
    }
}
