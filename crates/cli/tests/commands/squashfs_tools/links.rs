//! Symbolic links that are followed: `mksquashfs -dereference`, `-deref`, `-deref-path` and the action `dereference`, and `pack --dereference`.
//! squashfs-tools 4.5 do not have these options. The trees below were made by 4.7.6.

use std::fs;
use std::os::unix::fs::symlink;

use packline_testkit::{Ran, Sandbox, tools};

/// Links to a file, to directories inside and outside the tree, to nothing, to themselves, and back to a directory that contains the
/// link.
fn with_links() -> Sandbox {
    let sandbox = crate::sandbox();
    for (name, text) in [("source/dir/one", "1"), ("beside/file", "22"), ("beside/sub/x", "333")] {
        sandbox.write(name, text);
    }
    sandbox.create_dir("source/dir/deep");
    for (target, name) in [
        ("sub", "beside/again"),
        ("dir/one", "source/to_file"),
        ("../beside", "source/to_dir"),
        ("dir/deep", "source/to_deep"),
        ("..", "source/dir/up"),
        ("../../source/dir", "source/dir/deep/back"),
        ("nonesuch", "source/dangling"),
        ("self", "source/self"),
    ] {
        symlink(target, sandbox.at(name)).unwrap();
    }
    sandbox
}

/// Type, size of a file or target of a link, and path of all entries.
fn entries(sandbox: &Sandbox, image: &str) -> Vec<String> {
    let listed = sandbox.peer("unsquashfs", &["-lln", "-d", "", image]).text();
    let entry = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let size = if line.starts_with('-') { words[2] } else { "" };
        format!("{}{size} {}", &line[..1], words[5..].join(" "))
    };
    listed.lines().map(entry).collect()
}

fn pack(sandbox: &Sandbox, sources: &[&str], options: &[&str]) -> (Vec<String>, String) {
    let ran = sandbox.good(&[&["mksquashfs"], sources, &["x.sqfs", "-noappend", "-quiet"], options].concat());
    (entries(sandbox, "x.sqfs"), ran.stderr)
}

const FOLLOWED: [&str; 12] = [
    "d /dir",
    "d /dir/deep",
    "-1 /dir/one",
    "d /to_deep",
    "d /to_dir",
    "d /to_dir/again",
    "-3 /to_dir/again/x",
    "-2 /to_dir/file",
    "d /to_dir/sub",
    "-3 /to_dir/sub/x",
    "-1 /to_file",
    "d ",
];

const KEPT: [&str; 5] = [
    "l /dangling -> nonesuch",
    "l /dir/deep/back -> ../../source/dir",
    "l /dir/up -> ..",
    "l /self -> self",
    "l /to_deep/back -> ../../source/dir",
];

fn sorted<'e>(entries: impl IntoIterator<Item = &'e str>) -> Vec<String> {
    let mut entries: Vec<_> = entries.into_iter().map(|entry| entry.trim_end().to_string()).collect();
    entries.sort();
    entries
}

#[test]
fn all_links_are_followed() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_links();
    for (options, keeps) in [
        (&["-dereference"][..], false),
        (&["-deref", "delete"], false),
        (&["-deref", "keep"], true),
        (&["-deref", "keep", "-dereference"], false),
        (&["-dereference", "-deref", "keep", "-processors", "1", "-progress"], true),
        (&["-action", "dereference@true"], true),
        (&["-a", "dereference(keep)@type(l)"], true),
        (&["-a", "dereference(delete)@type(l)"], false),
        (&["-deref-path", "*", "-deref-path", "/*/*", "-deref-path", "dir/deep/*"], false),
    ] {
        let (found, errors) = pack(&sandbox, &["source"], options);
        let kept = if keeps { &KEPT[..] } else { &[] };
        assert_eq!(
            sorted(found.iter().map(String::as_str)),
            sorted(FOLLOWED.iter().chain(kept).copied()),
            "{options:?}"
        );
        let end = if keeps { "; kept as a symbolic link" } else { "; left out" };
        let warnings =
            errors.lines().filter(|line| line.contains(": cannot follow the symbolic link: ") && line.ends_with(end));
        assert_eq!((warnings.count(), errors.lines().count()), (5, 5), "{options:?}: {errors}");
        assert!(
            errors.contains("source/dir/up: cannot follow the symbolic link: it leads to a directory that it is in")
        );
        // Names of one file are one inode.
        assert!(sandbox.good(&["list", "--json", "x.sqfs"]).text().contains("\"links\":2"));
        sandbox.good(&["verify", "x.sqfs"]);
    }
}

#[test]
fn single_links_are_followed() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_links();
    let below =
        |found: &[String], name: &str| found.iter().filter(|entry| entry.contains(name)).cloned().collect::<Vec<_>>();
    let (found, errors) = pack(&sandbox, &["source"], &["-deref-path", "to_d?r", "-e", "source/to_deep"]);
    assert_eq!(
        below(&found, "/to_d"),
        [
            "l /to_deep -> dir/deep",
            "d /to_dir",
            "d /to_dir/again",
            "-3 /to_dir/again/x",
            "-2 /to_dir/file",
            "d /to_dir/sub",
            "-3 /to_dir/sub/x"
        ]
    );
    assert!(errors.is_empty() && found.contains(&"l /self -> self".to_string()), "{errors} {found:?}");
    // Actions and patterns leave nothing out below a link; other actions and the depth count there.
    let (found, _) = pack(
        &sandbox,
        &["source"],
        &[
            "-a",
            "dereference@name(to_dir)",
            "-a",
            "exclude@name(sub)",
            "-a",
            "move(/moved)@name(again)",
            "-max-depth",
            "2",
        ],
    );
    assert_eq!(below(&found, "/to_dir"), ["d /to_dir", "-2 /to_dir/file", "d /to_dir/sub"]);
    assert_eq!(below(&found, "/moved"), ["d /moved"]);
    // A source can be a link itself.
    let (found, _) = pack(&sandbox, &["source/to_dir", "source/to_file"], &["-dereference", "-e", "sub"]);
    assert_eq!(sorted(found.iter().map(String::as_str)), sorted(["d ", "d /to_dir", "-2 /to_dir/file", "-1 /to_file"]));
    let (found, _) = pack(&sandbox, &["source/to_dir"], &["-dereference", "-wildcards", "-e", "sub/*"]);
    assert_eq!(
        sorted(found.iter().map(String::as_str)),
        sorted(["d ", "d /again", "-3 /again/x", "-2 /file", "d /sub"])
    );
}

#[test]
fn an_image_is_not_packed_into_itself_through_a_link() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_links();
    for options in [&["-dereference"][..], &["-action", "dereference@true"]] {
        for _ in 0..2 {
            let words = ["mksquashfs", "source", "beside/x.sqfs", "-noappend", "-quiet"];
            sandbox.good(&[&words, options].concat());
            let found = entries(&sandbox, "beside/x.sqfs");
            assert!(found.iter().all(|entry| !entry.contains(".sqfs")), "{options:?}: {found:?}");
        }
    }
}

#[test]
fn links_are_followed_for_our_own_containers() {
    if !tools::need(&["unsquashfs"]) {
        return;
    }
    let sandbox = with_links();
    let warned = |ran: &Ran| ran.stderr.matches("kept as a symbolic link").count();
    assert_eq!(warned(&sandbox.good(&["pack", "-q", "--dereference", "source", "y.sqfs"])), 5);
    let expected = sorted(FOLLOWED.iter().chain(&KEPT).copied());
    assert_eq!(sorted(entries(&sandbox, "y.sqfs").iter().map(String::as_str)), expected);
    let image = fs::read(sandbox.at("y.sqfs")).unwrap();
    sandbox.good(&["pack", "-qf", "--dereference", "--readers=0", "-j0", "source", "y.sqfs"]);
    assert!(fs::read(sandbox.at("y.sqfs")).unwrap() == image);
    assert_eq!(warned(&sandbox.good(&["pack", "-q", "--dereference", "source", "y.lrz"])), 5);
    sandbox.good(&["unpack", "-q", "y.lrz", "out"]);
    assert_eq!(fs::read(sandbox.at("out/to_dir/again/x")).unwrap(), b"333");
}

#[test]
fn links_are_not_followed_where_that_means_nothing() {
    let sandbox = with_links();
    for (words, expected) in [
        (&["-", "z.sqfs", "-tar", "-dereference"][..], "cannot be used with"),
        (&["-", "z.sqfs", "-cpiostyle", "-deref", "keep"], "cannot be used with"),
        (&["-", "z.sqfs", "-tar", "-deref-path", "a"], "cannot be used with"),
        (&["source", "z.sqfs", "-deref", "both"], "keep, delete"),
        (&["source", "z.sqfs", "-a", "dereference(both)@true"], "unknown argument 'both' (expected keep or delete)"),
    ] {
        let complaint = sandbox.bad(1, &[&["mksquashfs"], words].concat());
        assert!(complaint.contains(expected) && !sandbox.at("z.sqfs").exists(), "{complaint}");
    }
}
