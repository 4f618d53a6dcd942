//! Compares sources of `mksquashfs` and their order with those of squashfs-tools: paths from standard input, complete paths, sort files,
//! tars in a row.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use packline_testkit::model::Node;
use packline_testkit::{Ran, Random, Sandbox, tools};

use crate::PACKLINE;

use super::mksquashfs::{compare, listing, ready, with_source};

const QUIET: &str = "-all-time 5 -mkfs-time 0 -quiet -no-progress";

/// Paths in an image, without the root.
fn paths(sandbox: &Sandbox, image: &str) -> Vec<String> {
    let listed = sandbox.peer("unsquashfs", &["-l", "-d", "", image]).text();
    listed.lines().map(str::to_string).filter(|line| line.starts_with('/')).collect()
}

/// Files keep their contents, also when descriptors are scarce.
#[test]
fn more_large_files_are_packed_than_may_be_open() {
    if !tools::need(&["prlimit"]) {
        return;
    }
    let sandbox = crate::sandbox();
    let mut random = Random::new(41);
    for number in 0..200 {
        sandbox.write(format!("s/f{number}"), random.noise(135_000));
    }
    let packs = ["mksquashfs s OUT -noappend -quiet -no-progress", "pack -q s OUT", "pack -q --continue s OUT"];
    for (jobs, pack) in [1, 3, 16].into_iter().zip(packs) {
        let pack = pack.replace("OUT", "few.sqfs");
        let jobs = if pack.starts_with("mk") { format!("-processors {jobs}") } else { format!("-j{jobs}") };
        let limited = format!("--nofile=40:40 {PACKLINE} {pack} {jobs}");
        packline_testkit::Ran::good(&mut sandbox.program("prlimit", &limited.split(' ').collect::<Vec<_>>()));
        sandbox.good(&["diff", "few.sqfs", "s"]);
        sandbox.remove("few.sqfs");
    }
}

/// mksquashfs 4.5 never ends with these options.
#[test]
fn paths_come_from_standard_input() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_files();
    for (input, options, expected) in [
        (
            "source\nsource/dir\nsource/dir/one\nsource/big\n",
            &["-cpiostyle"][..],
            &["/source", "/source/big", "/source/dir", "/source/dir/one"][..],
        ),
        (
            "./source/dir\nsource/dir/two\n./source/dir/two\n.\n",
            &["-cpiostyle"],
            &["/source", "/source/dir", "/source/dir/two"],
        ),
        ("source/dir\0source/big", &["-cpiostyle0"], &["/source", "/source/big", "/source/dir"]),
        (
            "source/dir/one\nsource/big\n",
            &["-cpiostyle", "-max-depth", "2"],
            &["/source", "/source/big", "/source/dir"],
        ),
        (
            "source/dir/one\nsource/big\n",
            &["-cpiostyle", "-e", "source/big"],
            &["/source", "/source/dir", "/source/dir/one"],
        ),
    ] {
        sandbox.write("input", input);
        sandbox.good_on(&[&["mksquashfs", "-", "x.sqfs", "-noappend", "-quiet"], options].concat(), "input");
        assert_eq!(paths(&sandbox, "x.sqfs"), expected, "{options:?} {input}");
    }
}

fn with_files() -> Sandbox {
    let sandbox = crate::sandbox();
    ["big", "dir/one", "dir/two", "dir/deep/er/file"]
        .into_iter()
        .for_each(|name| drop(sandbox.write(format!("source/{name}"), name)));
    sandbox
}

#[test]
fn paths_keep_all_their_names() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    for sources in [&["source/dir", "source/noise"][..], &["source/dir/one", "./source//empty"], &["source"]] {
        compare(&sandbox, sources, &format!("-no-strip {QUIET}"));
        compare(&sandbox, sources, &format!("-tarstyle {QUIET} -e source/dir/two"));
    }
    let absolute = sandbox.arg("source/dir");
    compare(&sandbox, &[&absolute], &format!("-no-strip {QUIET}"));
}

#[test]
fn depths_are_limited() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_files();
    for (depth, expected) in [
        ("0", &[][..]),
        ("1", &["/big", "/dir"]),
        ("2", &["/big", "/dir", "/dir/deep", "/dir/one", "/dir/two"]),
        ("3", &["/big", "/dir", "/dir/deep", "/dir/deep/er", "/dir/one", "/dir/two"]),
    ] {
        for sources in [&["source"][..], &["source/dir", "source/big"]] {
            let options = ["x.sqfs", "-max-depth", depth, "-noappend", "-quiet"];
            sandbox.good(&[&["mksquashfs"], sources, &options].concat());
            assert_eq!(paths(&sandbox, "x.sqfs"), expected, "{depth} {sources:?}");
        }
    }
}

#[test]
fn lists_offsets_of_data() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    // Compressed sizes differ.
    let stored = ["-noappend", "-quiet", "-no-progress", "-noI", "-noD", "-noF", "-noX", "-log"];
    for (sources, options) in [
        (&["source"][..], &["-e", "zero"][..]),
        (&["source"], &["-no-hardlinks", "-e", "zero", "noise"]),
        (&["source"], &["-no-hardlinks", "-no-duplicates", "-e", "zero"]),
        (&["source/dir", "source/noise"], &["-offset", "8192", "-b", "4096"]),
        (&["source/big", "source/dir"], &["-no-fragments"]),
    ] {
        let lines = |mut command: std::process::Command, log: &str| {
            Ran::good(command.args(sources).arg("x.sqfs").args(stored).arg(log).args(options));
            fs::read_to_string(sandbox.at(log)).unwrap().lines().map(str::to_string).collect::<BTreeSet<_>>()
        };
        let ours = lines(sandbox.command(&["mksquashfs"]), "ours");
        let peers = lines(sandbox.program("mksquashfs", &[""; 0]), "peers");
        assert!(ours == peers && !ours.is_empty(), "{sources:?} {options:?}: {ours:#?} {peers:#?}");
    }
    let tar = sandbox.write_tar("x.tar", &[Node::dir("").mode(0o755), Node::file("dir/a", vec![7; 200_000])]);
    sandbox.good_on(&["mksquashfs", "-", "x.sqfs", "-tar", "-noappend", "-quiet", "-log", "ours"], "x.tar");
    assert!(tar.exists() && fs::read_to_string(sandbox.at("ours")).unwrap().starts_with("/dir/a, 96\nFragment 0, "));
    let complaint = sandbox.bad(1, &["mksquashfs", "source", "y.sqfs", "-log", "none/log"]);
    assert!(complaint.contains("none/log: cannot create") && !sandbox.at("y.sqfs").exists(), "{complaint}");
}

/// A sort file of mkisofs has paths from the working directory: <https://github.com/plougher/squashfs-tools/blob/master/squashfs-tools/sort.c>.
#[test]
fn takes_sort_files_of_mkisofs_and_sources_that_end_in_dots() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    let first = |log: &str| fs::read_to_string(sandbox.at(log)).unwrap().lines().next().unwrap().to_string();
    let options = ["-noappend", "-quiet", "-no-progress", "-sort", "sort", "-log", "ours", "-e", "zero"];
    for (lines, warned) in
        [("source/noise 5\nsource/big 3\n", true), ("noise 5\nbig 3\n", false), ("big 3\nsource/noise 5\n", false)]
    {
        sandbox.write("sort", lines);
        let ran = sandbox.good(&[&["mksquashfs", "source", "x.sqfs"], &options[..]].concat());
        // `source/dir/hard` is a further name of `source/big`.
        let expected = if lines.starts_with("big") { "source/dir/hard" } else { "source/noise" };
        assert!(first("ours").starts_with(expected), "{}", first("ours"));
        assert_eq!(ran.stderr.contains("is below the working directory"), warned, "{ran:?}");
    }
    sandbox.write("down/p1/f", "x");
    for (source, expected) in [
        ("down/p1/..", &["/down", "/down/p1", "/down/p1/f"][..]),
        ("down/p1/.", &["/p1", "/p1/f"]),
        ("down/p1/../p1", &["/p1", "/p1/f"]),
    ] {
        sandbox.good(&["mksquashfs", source, "y.sqfs", "-keep-as-directory", "-noappend", "-quiet"]);
        assert_eq!(paths(&sandbox, "y.sqfs"), expected, "{source}");
    }
}

/// snapd expects further lines: `TestBuildWithCompressionUnhappy` in <https://github.com/canonical/snapd/blob/master/snap/squashfs/squashfs_test.go>.
#[test]
fn words_that_scripts_search_are_those_of_the_peer() {
    if !ready() {
        return;
    }
    let sandbox = with_source();
    let unknown = |ran: Ran| ran.stderr.replace("/usr/bin/", "").replace("packline: ", "mksquashfs: ");
    let words = ["source", "x.sqfs", "-comp", "silly"];
    let ours = unknown(sandbox.run(&[&["mksquashfs"], &words[..]].concat()));
    assert_eq!(ours, unknown(Ran::of(&mut sandbox.program("mksquashfs", &words))));
    let numbers = |text: String| {
        let lines =
            text.lines().filter(|line| line.starts_with("Number of ") && !line.contains(" nodes ")).map(str::to_string);
        lines.collect::<BTreeSet<_>>()
    };
    let words = ["source", "x.sqfs", "-noappend", "-no-progress"];
    let ours = sandbox.good(&[&["mksquashfs"], &words[..]].concat()).text();
    let size = format!("Filesystem size {:.2} Kbytes", f64::from(superblock_bytes(&sandbox)) / 1024.0);
    assert!(ours.contains(&size) && ours.contains("% of uncompressed filesystem size ("), "{ours}");
    let peers = numbers(sandbox.peer("mksquashfs", &words).text());
    let strange: Vec<String> = numbers(ours).difference(&peers).cloned().collect();
    assert!(
        strange.iter().all(|line| ["fragments", "duplicate"].iter().any(|word| line.contains(word))),
        "{strange:?} {peers:?}"
    );
}

/// `bytes_used` of the superblock of `x.sqfs`.
fn superblock_bytes(sandbox: &Sandbox) -> u32 {
    let image = sandbox.read("x.sqfs");
    u32::from_le_bytes(image[40..44].try_into().unwrap())
}

#[test]
fn a_tar_may_follow_another() {
    if !ready() {
        return;
    }
    let sandbox = crate::sandbox();
    sandbox.write_tar("first.tar", &[Node::dir("").mode(0o755), Node::file("a", "a"), Node::dir("dir")]);
    sandbox.write_tar("second.tar", &[Node::file("dir/b", "b")]);
    let both = [fs::read(sandbox.at("first.tar")).unwrap(), fs::read(sandbox.at("second.tar")).unwrap()].concat();
    sandbox.write("both.tar", both);
    for words in [
        &["mksquashfs", "-", "x.sqfs", "-tar", "-noappend", "-quiet"][..],
        &["sqfstar", "-force", "-quiet", "x.sqfs"],
        &["pack", "-qf", "-", "x.sqfs"],
    ] {
        sandbox.good_on(words, "both.tar");
        assert_eq!(paths(&sandbox, "x.sqfs"), ["/a", "/dir"], "{words:?}");
        let ignore_zeros = if words[0] == "pack" { "--ignore-zeros" } else { "-ignore-zeros" };
        let words = [&words[..1], &[ignore_zeros], &words[1..]].concat();
        sandbox.good_on(&words, "both.tar");
        assert_eq!(paths(&sandbox, "x.sqfs"), ["/a", "/dir", "/dir/b"], "{words:?}");
    }
}

const FILES: [&str; 7] = ["a", "b", "dir/a", "dir/sub/a", "dir/with blank", "e", "z"];

/// 10 bytes that only this file has.
fn content(name: &str) -> String {
    format!("<{:08}>", FILES.iter().position(|file| *file == name).unwrap())
}

#[test]
fn contents_are_in_the_order_of_a_sort_file() {
    if !ready() {
        return;
    }
    let sandbox = crate::sandbox();
    FILES.iter().for_each(|name| drop(sandbox.write(format!("source/{name}"), content(name).repeat(900))));
    let options = ["-noappend", "-noI", "-noD", "-noF", "-noX", "-no-fragments", "-quiet", "-no-progress"];
    for (sources, lines, expected) in [
        (
            &["source"][..],
            "z 5\nb 10\ndir 3\ndir/sub/a -4\n",
            &[&["b"][..], &["z"], &["dir/a", "dir/with blank"], &["a", "e"], &["dir/sub/a"]][..],
        ),
        (
            &["source"],
            "# comment\n\n  dir 32767\ndir/sub -32768\n./source/e 32767\n",
            &[&["dir/a", "dir/with blank", "e"], &["a", "b", "z"], &["dir/sub/a"]],
        ),
        (
            &["source"],
            "dir/with\\ blank 7\ndir/* 6\nnone 2\n",
            &[&["dir/with blank"], &["dir/a", "dir/sub/a"], &["a", "b", "e", "z"]],
        ),
        (
            &["source/dir", "source/z", "source/a"],
            "sub 2\nsource/z 9\n./source/a 4\n",
            &[&["a"], &["dir/sub/a"], &["dir/a", "dir/with blank", "z"]],
        ),
    ] {
        sandbox.write("sort", lines);
        let words = [sources, &["x.sqfs"][..], &options, &["-sort", "sort"]].concat();
        let compared = |mut command: std::process::Command| {
            let ran = Ran::good(command.args(&words));
            let warns = lines.contains("none") || lines.contains("\nsource/z");
            assert_eq!(ran.stderr.is_empty(), !warns, "{ran:?}");
            // Within a priority each program has its own order.
            let mut order = order(&sandbox).into_iter();
            for group in expected {
                let found: BTreeSet<&str> = order.by_ref().take(group.len()).collect();
                assert_eq!(found, group.iter().copied().collect(), "{lines}: {command:?}");
            }
            assert!(order.next().is_none());
            listing(&sandbox, "x.sqfs", "")
        };
        let ours = compared(sandbox.command(&["mksquashfs"]));
        assert_eq!(ours, compared(sandbox.program("mksquashfs", &[""; 0])), "{lines}");
    }
}

/// The files that are packed, in the order of their contents in an image without compression.
fn order(sandbox: &Sandbox) -> Vec<&'static str> {
    let bytes = fs::read(sandbox.at("x.sqfs")).unwrap();
    let place = |name: &str| bytes.windows(10).position(|part| part == content(name).as_bytes());
    let mut found: Vec<_> = FILES.iter().filter_map(|name| Some((place(name)?, *name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn a_malformed_sort_file_leaves_no_image() {
    let sandbox = crate::sandbox();
    for name in ["one/file", "two/file"] {
        sandbox.write(name, "x");
    }
    for (text, place, what) in [
        ("file\n", "line 1", "priority ''"),
        ("\n# x\nfile 1\nfile x\n", "line 4", "priority 'x'"),
        ("file 32768\n", "line 1", "-32768 to 32767"),
        ("file 1 2\n", "line 1", "priority '1 2'"),
    ] {
        sandbox.write("sort", text);
        let line = sandbox.bad(1, &["mksquashfs", "one", "image", "-sort", "sort", "-quiet"]);
        assert!(line.trim_end().lines().count() == 1 && line.contains("sort"), "{text:?}: {line}");
        assert!(line.contains(place) && line.contains(what) && !sandbox.at("image").exists(), "{text:?}: {line}");
    }
    sandbox.write("sort", "file 1\n");
    let line = sandbox.bad(1, &["mksquashfs", "one", "two", "image", "-sort", "sort", "-quiet"]);
    assert!(line.contains("several sources") && !sandbox.at("image").exists(), "{line}");
    let line = sandbox.bad(1, &["mksquashfs", "one", "image", "-sort", "missing", "-quiet"]);
    assert!(line.contains("missing") && !sandbox.at("image").exists(), "{line}");
}

#[test]
fn wrong_paths_are_refused() {
    let sandbox = crate::sandbox();
    sandbox.write("source/file", "x");
    sandbox.write("input", "source/file\n/etc\n");
    let mut command = sandbox.command(&["mksquashfs", "-", "image", "-cpiostyle", "-quiet"]);
    let ran = Ran::of(command.stdin(sandbox.open("input")));
    assert!(ran.status == 1 && ran.stderr.contains("line 2") && !sandbox.at("image").exists(), "{ran:?}");
    sandbox.write("input", "source/nothing\n");
    let ran = Ran::of(command.stdin(sandbox.open("input")));
    assert!(ran.status == 1 && ran.stderr.contains("nothing") && !sandbox.at("image").exists(), "{ran:?}");
    for words in [
        &["source", "image", "-cpiostyle"][..],
        &["-", "image", "-cpiostyle", "-tar"],
        &["-", "image", "-cpiostyle", "-pf", "-"],
        &["..", "image", "-no-strip"],
    ] {
        let line = sandbox.bad(1, &[&["mksquashfs"], words].concat());
        assert!(line.trim_end().lines().count() == 1 && !sandbox.at("image").exists(), "{words:?}: {line}");
    }
}

#[test]
fn names_are_printed_to_a_file() {
    let sandbox = crate::sandbox();
    sandbox.write("source/dir/file", "x");
    let ran = sandbox.good(&["mksquashfs", "source", "image", "-info-file", "names", "-no-progress"]);
    assert!(!ran.text().contains("/dir/file"), "{ran:?}");
    let names: BTreeSet<String> = sandbox.read_text("names").lines().map(str::to_string).collect();
    assert!(names.contains("/dir") && names.contains("/dir/file"), "{names:?}");
    let line = sandbox.bad(1, &["mksquashfs", "source", "other", "-info-file", "no/such/directory", "-quiet"]);
    assert!(line.contains("no/such/directory") && !sandbox.at("other").exists(), "{line}");
}

/// A file that cannot be read is an error where its place among others is known before it is read.
#[test]
fn sorted_files_can_all_be_read() {
    if !tools::need(&["setpriv"]) || !tools::root() {
        return;
    }
    let sandbox = crate::sandbox();
    sandbox.write("source/file", "x");
    fs::set_permissions(sandbox.at("source/file"), fs::Permissions::from_mode(0o0)).unwrap();
    sandbox.write("sort", "file 1\n");
    fs::set_permissions(sandbox.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = sandbox.program("setpriv", &["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let words = ["mksquashfs", "source", "image", "-sort", "sort", "-quiet"];
    let ran = Ran::of(command.arg(env!("CARGO_BIN_EXE_packline")).args(words));
    assert!(ran.status == 1 && ran.stderr.contains("source/file") && !sandbox.at("image").exists(), "{ran:?}");
}
