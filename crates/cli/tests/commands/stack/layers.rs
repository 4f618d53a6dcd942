//! Sources that overlay each other: the image equals the image of a directory with the merged tree.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::{Sandbox, generate, mount, needed_memory, tools};
use serde_json::Value;

use crate::stack::support::shell;
use crate::{PACKLINE, sandbox};

const BLOCK: usize = 16_384;

/// A tree as a directory and as a tar. It has nothing that is a whiteout, and nothing that a tar cannot have.
fn plant(sandbox: &Sandbox, name: &str, nodes: Vec<Node>) {
    let mut nodes = nodes;
    if !tools::root() {
        let me = fs::metadata(sandbox.path()).unwrap();
        nodes = generate::without_privileges(nodes, me.uid(), me.gid());
    }
    nodes.retain(|node| !matches!(node.kind, NodeKind::Socket | NodeKind::CharDevice(0, 0)));
    nodes.iter_mut().for_each(|node| node.xattrs.retain(|(name, _)| !name.starts_with(b"trusted.overlay.")));
    sandbox.plant(name, &nodes);
    sandbox.write_tar(format!("{name}.tar"), &nodes);
}

/// Two trees, tars and images of them, and the directory that they make.
fn layers() -> Sandbox {
    let sandbox = sandbox();
    plant(&sandbox, "low", generate::small_tree(11, BLOCK));
    let mut high = generate::small_tree(12, BLOCK);
    high.retain(|node| !node.path.starts_with(b"sizes"));
    let link = Node::new("y", NodeKind::HardLink(b"only/x".to_vec()));
    high.extend([Node::dir("only").time(5), Node::file("only/x", "x"), link]);
    plant(&sandbox, "high", high);
    shell(
        &sandbox,
        "cp -a low merged && cp -a --remove-destination high/. merged && \
         gzip -k low.tar && zstd -q high.tar -o high.tar.zst && xz -kT2 low.tar",
    );
    sandbox.good(&["pack", "-q", "-c", "gzip", "low", "low.sqfs"]);
    sandbox.good(&["pack", "-q", "-c", "zstd", "-b", "64K", "high", "high.sqfs"]);
    sandbox
}

fn pack(sandbox: &Sandbox, sources: &[&str], options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", "-q", "-f", "--overlay"], sources, &["new.sqfs"], options].concat());
    sandbox.read("new.sqfs")
}

#[test]
fn layers_are_packed_as_the_directory_that_they_make() {
    if !tools::need(&["zstd", "xz"]) {
        return;
    }
    let sandbox = layers();
    for options in [
        &["-c", "none", "-b", "16K"][..],
        &["-c", "gzip", "-b", "4K", "--no-fragments", "--exportable"],
        &["-c", "lz4", "--no-dedup", "--no-sparse"],
        &["-c", "none", "-x", "a*", "-x", "*[0-9]", "-x", "/links/first*", "--all-root", "--mtime", "7"],
        &["-c", "none", "--root-becomes", "links"],
        &["-c", "zstd", "--mem", "72M"],
    ] {
        let merged = pack(&sandbox, &["merged"], options);
        for (sources, workers) in [
            (["low", "high"], "0"),
            (["low", "high"], "2"),
            (["low.tar", "high"], "1"),
            (["low.tar.gz", "high.tar.zst"], "0"),
            (["low.tar.gz", "high.tar.zst"], "1"),
            (["low.tar.gz", "high.tar.zst"], "2"),
            (["low.tar.xz", "high.sqfs"], "7"),
            (["low.sqfs", "high"], "0"),
            (["low.sqfs", "high.sqfs"], "2"),
        ] {
            let options = [options, &["-j", workers]].concat();
            let same = pack(&sandbox, &sources, &options) == merged;
            assert!(same, "{sources:?} {options:?}: {:?}", sandbox.run(&["diff", "new.sqfs", "merged"]));
        }
    }
}

#[test]
fn blocks_of_an_image_below_are_taken_as_they_are() {
    if !tools::need(&["zstd", "xz"]) {
        return;
    }
    let sandbox = layers();
    let options = ["-c", "zstd", "-b", "16K"];
    sandbox.good(&[&["pack", "-q", "-f", "low", "low.sqfs"], &options[..]].concat());
    let merged = pack(&sandbox, &["merged"], &options);
    for workers in ["0", "1", "2", "7"] {
        let more = ["--json", "-f", "-j", workers];
        let ran = sandbox.good(&[&["pack", "low.sqfs", "high", "new.sqfs"], &options[..], &more].concat());
        let report: Value = serde_json::from_str(&ran.text()).unwrap();
        assert!(sandbox.read("new.sqfs") == merged, "{workers} workers");
        assert!(report["base"]["taken"].as_u64().unwrap() > 10 && report["base"]["exact"] == true, "{report}");
    }
}

#[test]
fn a_layer_may_be_standard_input() {
    if !tools::need(&["zstd", "xz"]) {
        return;
    }
    let sandbox = layers();
    let merged = pack(&sandbox, &["merged"], &["-c", "none"]);
    for (input, operands) in
        [("low.tar", "- high"), ("low.tar.gz", "- high.tar"), ("high.tar", "low -"), ("high.sqfs", "low.tar -")]
    {
        shell(&sandbox, &format!("cat {input} | {PACKLINE} pack -q -f -c none {operands} new.sqfs"));
        assert!(sandbox.read("new.sqfs") == merged, "{input} {operands}");
    }
    shell(&sandbox, &format!("{PACKLINE} pack -q -c none --overlay low high - | cmp - new.sqfs"));
    let twice = sandbox.refusal(sandbox.command(&["pack", "-", "-", "new.sqfs", "-f"]).stdin(sandbox.open("low.tar")));
    assert_eq!(twice, "packline: standard input has been read already");
}

/// A base, a tree over it in which the form of whiteouts is chosen by the caller, and the directory that they make.
fn whiteouts(marks: &str) -> Sandbox {
    let sandbox = sandbox();
    shell(
        &sandbox,
        &format!(
            "mkdir -p base/gone/deep base/cut/in base/kept base/was && cd base && echo 1 > file && echo 2 > gone/deep/x && \
         echo 3 > cut/in/y && echo 4 > cut/z && echo 5 > kept/a && echo 6 > kept/b && ln kept/b b && echo 7 > was/x && \
         setfattr -n user.of -v base cut && cd .. && \
         mkdir -p over/cut over/kept over/file over/only && cd over && echo 8 > cut/new && echo 9 > kept/c && echo 10 > file/x && \
         echo 11 > was && {marks} && touch -d @5 .. . cut kept file file/x cut/new kept/c only was && cd .. && \
         mkdir merged && cp -a base/. merged && cd merged && rm -rf gone cut/* kept/b was file && \
         setfattr -x user.of cut && cp -a ../over/file ../over/was . && cp -a ../over/cut/new cut && \
         cp -a ../over/kept/c kept && mkdir only && touch -d @5 cut kept only . && cd .. && \
         tar -C over --xattrs --xattrs-include='*' -cf over.tar ."
        ),
    );
    sandbox
}

const AUFS: &str = ": > .wh.gone && : > cut/.wh..wh..opq && : > kept/.wh.b && : > only/.wh.x";
const OVERLAY: &str = "mknod gone c 0 0 && setfattr -n trusted.overlay.opaque -v y cut && ln gone kept/b && ln gone only/x && \
    setfattr -n trusted.overlay.origin -v x kept && setfattr -n trusted.overlay.impure -v y .";
const OVERLAY_OF_USERS: &str = ": > .wh.gone && setfattr -n user.overlay.opaque -v y cut && : > kept/b && setfattr -n user.overlay.whiteout kept/b -v '' && \
    : > only/x && setfattr -n user.overlay.whiteout only/x -v ''";

#[test]
fn whiteouts_of_each_form_hide_what_is_below() {
    if !tools::need(&["getfattr"]) || !tools::root() {
        return;
    }
    for marks in [AUFS, OVERLAY, OVERLAY_OF_USERS] {
        let sandbox = whiteouts(marks);
        let merged = pack(&sandbox, &["merged"], &["-c", "none"]);
        for (over, workers) in [("over", "0"), ("over", "2"), ("over.tar", "2")] {
            assert!(pack(&sandbox, &["base", over], &["-c", "none", "-j", workers]) == merged, "{marks} {over}");
        }
        // A single source is packed as it is, unless it is asked for.
        let alone = pack(&sandbox, &["over"], &["-c", "none"]);
        assert!(pack(&sandbox, &["over"], &["-c", "none", "--whiteouts=ignore"]) == alone);
        pack(&sandbox, &["over"], &["-c", "none", "--whiteouts", "apply"]);
        let names = sandbox.good(&["list", "new.sqfs"]).text();
        assert_eq!(names, ".\ncut\ncut/new\nfile\nfile/x\nkept\nkept/c\nonly\nwas\n", "{marks}");
    }
}

/// The kernel's overlayfs shows the same tree over the base as the one that is packed at once.
#[test]
fn whiteouts_that_are_kept_hide_in_an_overlay_of_the_kernel() {
    if !tools::need(&["getfattr"]) || !mount::kernel_mounts("zstd") {
        return;
    }
    for marks in [AUFS, OVERLAY] {
        let sandbox = whiteouts(marks);
        let merged = pack(&sandbox, &["merged"], &["-c", "none"]);
        // Made of two layers, of which the upper one replaces what the lower one hides.
        shell(
            &sandbox,
            "mkdir -p again/gone && echo 12 > again/gone/new && cp -a again/gone merged && touch -r again merged",
        );
        let again = pack(&sandbox, &["merged"], &["-c", "none"]);
        for (sources, merged) in [(&["over"][..], &merged), (&["over.tar", "again"], &again)] {
            pack(&sandbox, sources, &["--whiteouts=keep"]);
            let upper = mount::Mounted::kernel(&sandbox.at("new.sqfs")).unwrap();
            let point = sandbox.create_dir("overlay");
            let lower = format!("lowerdir={}:{}", upper.path().display(), sandbox.arg("base"));
            tools::run(Command::new("mount").args(["-t", "overlay", "overlay", "-o", &lower]).arg(&point)).unwrap();
            let seen = sandbox.run(&["pack", "-q", "-f", "-c", "none", "overlay", "seen.sqfs"]);
            tools::run(Command::new("umount").arg(&point)).unwrap();
            assert_eq!(seen.status, 0, "{}", seen.text());
            // An overlay does not show hard links between layers as such; here there are none.
            assert!(sandbox.read("seen.sqfs") == *merged, "{marks} {sources:?}");
        }
    }
}

#[test]
fn removes_entries_from_result() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p a/d b/d && echo 1 > a/d/x && ln a/d/x a/l && echo 2 > a/y.o && echo 3 > b/d/z && echo 4 > b/y && \
         mkdir m && cp -a a/. m && cp -a b/. m && rm -rf m/d m/y.o && touch -r b m && tar -C a -cf a.tar .",
    );
    let merged = pack(&sandbox, &["m"], &["-c", "none"]);
    for first in ["a", "a.tar"] {
        let remove = ["-c", "none", "--remove", "/d", "--remove", "*.o"];
        assert!(pack(&sandbox, &[first, "b"], &remove) == merged, "{first}");
    }
    shell(&sandbox, "cp -a a alone && rm -r alone/d alone/y.o && touch -r a alone");
    let alone = pack(&sandbox, &["alone"], &["-c", "none"]);
    for source in ["a", "a.tar"] {
        assert!(pack(&sandbox, &[source], &["-c", "none", "--remove", "d", "--remove=*.o"]) == alone, "{source}");
    }
    let warned = sandbox.good(&["pack", "-q", "-f", "--overlay", "a", "b", "new.sqfs", "--remove", "none"]);
    assert!(warned.stderr.contains("none"), "{warned:?}");
}

#[test]
fn definitions_and_a_dry_run_work_over_layers() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir a b && echo 1 > a/x && echo 2 > b/y && echo 'made f 644 0 0 echo hi' > p && tar -C a -czf a.tgz .",
    );
    pack(&sandbox, &["a.tgz", "b"], &["--manifest", "p", "--run-commands"]);
    assert_eq!(sandbox.good(&["list", "new.sqfs"]).text(), ".\nmade\nx\ny\n");
    assert_eq!(sandbox.good(&["cat", "new.sqfs", "x", "made", "y"]).text(), "1\nhi\n2\n");
    let dry = sandbox.good(&["pack", "a.tgz", "b", "none.sqfs", "--dry-run"]);
    assert!(dry.stderr.contains("2 files") && !sandbox.at("none.sqfs").exists(), "{dry:?}");
}

#[test]
fn output_may_be_inside_layer() {
    let sandbox = sandbox();
    shell(&sandbox, "mkdir a b && echo 1 > a/x && echo 2 > b/y");
    let expected = pack(&sandbox, &["a", "b"], &["-c", "none", "--mtime", "1"]);
    for _ in 0..2 {
        sandbox.good(&["pack", "-q", "-f", "--overlay", "a", "b", "b/new.sqfs", "-c", "none", "--mtime", "1"]);
        assert!(sandbox.read("b/new.sqfs") == expected);
    }
    shell(&sandbox, "tar -cf a.tar a");
    let refused = sandbox.refused(&["pack", "-f", "b", "a.tar", "a.tar", "--format", "squashfs"]);
    assert!(refused.contains("a.tar: is the input itself"), "{refused}");
}

#[test]
fn named_memory_limit_is_sufficient() {
    if !tools::need(&["zstd", "xz"]) {
        return;
    }
    let sandbox = layers();
    let merged = pack(&sandbox, &["merged"], &["-b", "64K"]);
    let pack = ["pack", "-q", "-f", "low.sqfs", "low.tar.gz", "high", "new.sqfs", "-b", "64K", "--mem"];
    let refused = sandbox.refused(&[&pack[..], &["1M"]].concat());
    let needed = needed_memory(&refused);
    sandbox.good(&[&pack[..], &[needed]].concat());
    assert!(sandbox.read("new.sqfs") == merged);
}

#[test]
fn a_tree_that_is_too_large_for_the_memory_is_an_error_that_says_so() {
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir a b && for n in $(seq 1 40); do mkdir a/$n; (cd a/$n && seq -f %0240.0f 1 700 | xargs touch); done",
    );
    let pack = ["pack", "a", "b", "new.sqfs", "--overlay", "--mem", "24M", "-c", "none", "-b", "4K", "-j", "1"];
    let message = sandbox.refused(&pack);
    assert!(message.contains("entries so far needs") && message.contains("; raise the memory limit"), "{message}");
    assert!(!sandbox.at("new.sqfs").exists());
}

#[test]
fn rejects_options_that_fit_no_source() {
    let sandbox = sandbox();
    sandbox
        .shell("mkdir a b && tar -C a -cf a.tar . && tar -C b -cf b.tar . && echo a > names && echo 'd d 755 0 0' > p");
    for (arguments, expected) in [
        (
            &["a.tar", "b.tar", "o.sqfs", "--one-file-system"][..],
            "--one-file-system: works only with a directory (the sources are a tar)",
        ),
        (
            &["a", "b", "--overlay", "o.sqfs", "--lenient"],
            "--lenient: works only with a tar (the sources are a directory)",
        ),
        (
            &["a", "b.tar", "o.sqfs", "--platform", "linux/arm"],
            "--platform: works only with a container image (the sources are a directory, a tar)",
        ),
        (&["a", "o.sqfs", "--platform", "linux"], "--platform"),
        (&["a", "b", "--overlay", "o.sqfs", "--continue"], "--continue: works only with a single directory"),
        (&["a", "b", "o.sqfs", "--files-from", "names"], "--files-from: works only with one SOURCE, a directory"),
        (&["--manifest", "p", "o.sqfs", "--whiteouts=apply"], "--whiteouts: works only with a SOURCE"),
        (&["a", "o.sqfs", "--remove", "["], "pattern '['"),
        (&["a"], "the image to write is missing"),
    ] {
        let message = sandbox.bad(2, &[&["pack"], arguments].concat());
        assert!(message.contains(expected), "{message}");
    }
    let ran = sandbox.run(&["pack", "a", "none", "o.sqfs"]);
    assert!(ran.status != 0 && ran.stderr.contains("none: cannot open"), "{ran:?}");
    assert_eq!(
        sandbox.bad(2, &["pack", "a", "o.lrz", "--verify"]).trim(),
        "packline: --verify: not supported for .lrz output"
    );
    sandbox.good(&["pack", "-q", "a", "b.tar", "o.sqfs", "--one-file-system", "--lenient", "--no-hard-links"]);
}

#[test]
fn whiteouts_of_a_single_tar_cause_one_warning() {
    let sandbox = crate::sandbox();
    let run = sandbox.shell(
        "mkdir -p layer/d && : > layer/.wh.a && : > layer/d/.wh..wh..opq && : > layer/d/a.wh.b && tar -C layer -cf layer.tar .",
    );
    assert_eq!(run.status, 0, "{run:?}");
    let warning = "packline: warning: 2 whiteouts of a layer (.wh.NAME), packed as plain files; --whiteouts keep ";
    let warned = |arguments: &[&str]| {
        let ran = sandbox.run(&[&["pack", "-q", "-f"], arguments].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.stderr.matches(warning).count()
    };
    assert_eq!(warned(&["layer.tar", "o.sqfs"]), 1);
    assert_eq!(warned(&["layer.tar", "o.erofs", "--order=path"]), 1);
    for way in ["ignore", "keep", "apply"] {
        assert_eq!(warned(&["layer.tar", "o.sqfs", "--whiteouts", way]), 0, "{way}");
    }
    assert_eq!(warned(&["layer", "o.sqfs"]) + warned(&["layer", "layer.tar", "o.sqfs"]), 0);
}
