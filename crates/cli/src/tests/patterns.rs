//! Tests of patterns: one language in all commands, and a message for a pattern that matches nothing.

use std::collections::BTreeSet;
use std::path::Path;

use packline_testkit::Sandbox;

use super::harness::{assert_misuse, run, run_on, sandbox};
use packline_testkit::model::Node;

/// Directories end in a slash.
const TREE: &[&str] = &[
    "a,b",
    "bin/",
    "bin/tool",
    "build/",
    "build/keep/",
    "build/keep/y.gz",
    "build/o.gz",
    "e/",
    "etc/",
    "etc/a.conf",
    "etc/b/",
    "etc/b/c.conf",
    "lib1",
    "lib2/",
    "lib2/bin",
    "usr/",
    "usr/bin/",
    "usr/bin/ls",
    "usr/build",
    "x.gz",
    "x.xz",
    "{odd}",
];

/// A pattern, and the entries of the tree that it selects or leaves out.
const TABLE: &[(&str, &str)] = &[
    ("bin", "bin bin/tool lib2/bin usr/bin usr/bin/ls"),
    ("/bin", "bin bin/tool"),
    ("./bin", "bin bin/tool"),
    ("/./bin/", "bin bin/tool"),
    ("bin/", "bin bin/tool usr/bin usr/bin/ls"),
    ("bin/tool", "bin/tool"),
    ("tool/", ""),
    ("*.gz", "build/keep/y.gz build/o.gz x.gz"),
    ("/*.gz", "x.gz"),
    ("*/*.gz", "build/o.gz"),
    ("**/*.gz", "build/keep/y.gz build/o.gz x.gz"),
    ("build/**/*.gz", "build/keep/y.gz build/o.gz"),
    ("build/**", "build/keep build/keep/y.gz build/o.gz"),
    ("build", "build build/keep build/keep/y.gz build/o.gz usr/build"),
    ("*/build", "usr/build"),
    ("*.{gz,xz}", "build/keep/y.gz build/o.gz x.gz x.xz"),
    ("{/etc,/usr}/{b,bin}", "etc/b etc/b/c.conf usr/bin usr/bin/ls"),
    ("etc/*.conf", "etc/a.conf"),
    ("lib[0-9]", "lib1 lib2 lib2/bin"),
    ("lib[![:digit:]]", ""),
    ("lib?/", "lib2 lib2/bin"),
    ("a,b", "a,b"),
    ("\\{odd\\}", "{odd}"),
    ("{odd}", ""),
    ("?", "e etc/b etc/b/c.conf"),
];

fn names(text: &str) -> BTreeSet<String> {
    text.split([' ', '\n']).filter(|name| !matches!(*name, "" | ".")).map(str::to_string).collect()
}

fn all() -> BTreeSet<String> {
    TREE.iter().map(|name| name.trim_end_matches('/').to_string()).collect()
}

/// Entries with the directories that lead to them.
fn with_leading(entries: &BTreeSet<String>) -> BTreeSet<String> {
    let above = |name: &String| Path::new(name).ancestors().map(|path| path.to_str().unwrap().to_string()).collect();
    entries.iter().flat_map::<Vec<String>, _>(above).filter(|name| !name.is_empty()).collect()
}

/// The tree as a directory, a tar and an image.
fn with_tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.create_dir("source");
    let mut nodes = vec![Node::dir("")];
    for name in TREE {
        match name.strip_suffix('/') {
            Some(name) => {
                nodes.push(Node::dir(name));
                sandbox.create_dir(format!("source/{name}"));
            }
            None => {
                nodes.push(Node::file(*name, "content"));
                sandbox.write(format!("source/{name}"), "content");
            }
        }
    }
    sandbox.write_tar("source.tar", &nodes);
    assert_eq!(run(&["pack", "-q", &sandbox.arg("source"), &sandbox.arg("image")]).status, 0);
    sandbox
}

/// Runs a command that makes `made`, and lists it; the status and messages are those of a success with `warnings`.
fn made(sandbox: &Sandbox, arguments: &[&str], made: &str, warnings: &[&str]) -> BTreeSet<String> {
    let ran = run(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
    assert_eq!(ran.err.lines().collect::<Vec<_>>(), warnings, "{arguments:?}");
    if sandbox.at(made).is_dir() {
        let found = sandbox.snapshot(made).into_keys().map(|name| String::from_utf8(name).unwrap());
        let found = found.filter(|name| !name.is_empty()).collect();
        sandbox.remove(made);
        return found;
    }
    if made.ends_with(".lrz") {
        let unpacked =
            self::made(sandbox, &["unpack", "-q", &sandbox.arg(made), &sandbox.arg("of-lrz")], "of-lrz", &[]);
        sandbox.remove(made);
        return unpacked;
    }
    let image = if made.ends_with(".tar") { "of-tar" } else { made };
    if image != made {
        assert_eq!(run(&["pack", "-q", "-f", &sandbox.arg(made), &sandbox.arg(image)]).status, 0);
    }
    names(&run(&["list", &sandbox.arg(image)]).out)
}

#[test]
fn exclude_patterns_match_equally_in_all_commands() {
    let sandbox = with_tree();
    let [image, source, tar] = ["image", "source", "source.tar"].map(|name| sandbox.arg(name));
    let [out, lrz, dir, out_tar] = ["out", "x.lrz", "dir", "x.tar"].map(|name| sandbox.arg(name));
    for (pattern, left_out) in TABLE {
        let left_out = names(left_out);
        let rest: BTreeSet<String> = all().difference(&left_out).cloned().collect();
        let idle = |input: &str| {
            if left_out.is_empty() {
                vec![format!("packline: warning: exclude pattern '{pattern}' matches nothing in {input}")]
            } else {
                Vec::new()
            }
        };
        let made = |arguments: &[&str], name: &str, input: &str| {
            let arguments = [arguments, &["-x", pattern]].concat();
            let idle = idle(input);
            let found = made(&sandbox, &arguments, name, &idle.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, rest, "{arguments:?}");
        };
        made(&["pack", "-q", "-f", &source, &out], "out", &source);
        made(&["pack", "-q", "-f", &tar, &out], "out", &tar);
        made(&["pack", "-q", &source, &lrz], "x.lrz", &source);
        made(&["unpack", "-q", &image, &dir], "dir", &image);
        made(&["unpack", "-q", "-f", &image, &out_tar], "x.tar", &image);
        for input in [&image, &tar] {
            let listed = run(&["list", input, "-x", pattern]);
            assert_eq!((listed.status, names(&listed.out)), (0, rest.clone()), "{pattern}");
            assert_eq!(listed.err.lines().collect::<Vec<_>>(), idle(input), "{pattern}");
        }
    }
}

#[test]
fn include_patterns_match_equally_in_all_commands() {
    let sandbox = with_tree();
    let [image, dir, tar] = ["image", "dir", "x.tar"].map(|name| sandbox.arg(name));
    for (pattern, selected) in TABLE {
        let selected = names(selected);
        if selected.is_empty() {
            let in_tar = ["list", &sandbox.arg("source.tar"), pattern];
            for arguments in [&["list", &image, pattern][..], &in_tar, &["unpack", &image, &dir, pattern]] {
                let ran = run(arguments);
                assert!(ran.status == 1 && ran.err.contains("matches nothing"), "{arguments:?}: {ran:?}");
            }
            continue;
        }
        for input in [&image, &sandbox.arg("source.tar")] {
            let listed = run(&["list", input, pattern]);
            assert_eq!(
                (listed.status, listed.err.as_str(), names(&listed.out)),
                (0, "", selected.clone()),
                "{pattern}"
            );
        }
        let with_leading = with_leading(&selected);
        assert_eq!(made(&sandbox, &["unpack", "-q", &image, &dir, pattern], "dir", &[]), with_leading, "{pattern}");
        let into_tar = ["unpack", "-q", "-f", &image, &tar, pattern];
        assert_eq!(made(&sandbox, &into_tar, "x.tar", &[]), with_leading, "{pattern}");
    }
    assert_eq!(names(&run(&["list", &image, "/"]).out), all());
    for root in ["/", ".", "./"] {
        let ran = run(&["list", &image, "/", "-x", root]);
        assert!(ran.status == 2 && ran.err.contains("for the root would leave out everything"), "{root}: {ran:?}");
    }
}

#[test]
fn patterns_with_subdir_start_at_subdirectory() {
    let sandbox = with_tree();
    let [image, dir] = ["image", "dir"].map(|name| sandbox.arg(name));
    let below = |patterns: &[&str]| {
        made(&sandbox, &[&["unpack", "-q", "--subdir", "etc", &image, &dir], patterns].concat(), "dir", &[])
    };
    assert_eq!(below(&["-x", "*.conf"]), names("b"));
    assert_eq!(below(&["/b"]), names("b b/c.conf"));
    let ran = run(&["unpack", "--subdir", "etc", &image, &dir, "etc/b"]);
    assert!(ran.status == 1 && ran.err.contains(&format!("'etc/b' matches nothing in {image}: etc ")), "{ran:?}");
}

#[test]
fn unmatched_pattern_writes_nothing() {
    let sandbox = with_tree();
    let image = sandbox.arg("image");
    let before = sandbox.names();
    let message = format!("packline: pattern 'TYPO' matches nothing in {image} (");
    for (destination, options) in
        [("new", &[][..]), ("x.tar", &[]), ("x.tar.gz", &[]), ("-", &[]), ("new", &["-x", "e"]), ("new", &["-j0"])]
    {
        let destination = if destination == "-" { "-" } else { &sandbox.arg(destination) };
        for patterns in [&["TYPO"][..], &["etc", "TYPO"], &["TYPO", "/"]] {
            let ran = run(&[&["unpack", &image, destination], patterns, options].concat());
            assert!(ran.status == 1 && ran.out.is_empty() && ran.err.starts_with(&message), "{ran:?}");
            assert_eq!(sandbox.names(), before);
        }
    }
    let several = run(&["unpack", &image, "-", "TYPO", "etc", "x*y"]);
    assert!(several.err.contains("patterns 'TYPO', 'x*y' match nothing"), "{several:?}");
    let excluded = run(&["unpack", &image, &sandbox.arg("new"), "etc/a.conf", "-x", "etc"]);
    assert!(excluded.status == 1 && excluded.err.contains("'etc/a.conf' matches nothing"), "{excluded:?}");
    for (subdirectory, problem) in [("TYPO", "does not exist"), ("x.gz", "is not a directory")] {
        for destination in ["new", "x.tar"] {
            let ran = run(&["unpack", "--subdir", subdirectory, &image, &sandbox.arg(destination)]);
            assert!(ran.status == 1 && ran.err.contains(&format!("{image}: {subdirectory} {problem}")), "{ran:?}");
        }
    }
    assert_eq!(sandbox.names(), before);
    let listed = run(&["list", &image, "TYPO", "lib1"]);
    assert!(listed.status == 1 && listed.out == "lib1\n" && listed.err.starts_with(&message), "{listed:?}");
    assert_eq!(run(&["cat", &image, "TYPO"]).status, 1);
}

#[test]
fn rejects_new_root_missing_in_source() {
    let sandbox = with_tree();
    let out = sandbox.arg("out");
    for source in ["source", "source.tar"].map(|name| sandbox.arg(name)) {
        let ran = run(&["pack", &source, &out, "--root-becomes", "TYPO"]);
        let message = "packline: new root: TYPO: is not in the source (";
        assert!(ran.status == 1 && ran.err.starts_with(message) && !sandbox.at("out").exists(), "{ran:?}");
    }
    let tar = sandbox.read("source.tar");
    let ran = run_on(&["tar2sqfs", "-q", "-r", "TYPO", &out], &tar, super::harness::host());
    assert!(ran.status == 0 && ran.err.contains("warning") && sandbox.at("out").exists(), "{ran:?}");
}

#[test]
fn keeps_existing_directory_unless_continue_is_given() {
    let sandbox = with_tree();
    let image = sandbox.arg("image");
    let dir = sandbox.arg("dir");
    sandbox.create_dir("dir");
    let inside = || sandbox.names_in("dir").len();
    assert_eq!((run(&["unpack", &image, &dir, "lib1", "TYPO"]).status, inside()), (1, 0));
    sandbox.write("dir/mine", "");
    assert_eq!((run(&["unpack", "-f", &image, &dir, "lib1", "TYPO"]).status, inside()), (1, 1));
    let ran = run(&["unpack", "-f", "--continue", "--json", &image, &dir, "lib1", "TYPO"]);
    assert!(ran.status == 3 && ran.err.contains("pattern 'TYPO' matches nothing"), "{ran:?}");
    assert!(
        sandbox.at("dir/lib1").exists() && sandbox.at("dir/mine").exists() && ran.out.contains("\"errors\":1"),
        "{ran:?}"
    );
    let ran = run(&["unpack", "--continue", &image, &sandbox.arg("x.tar"), "lib1", "TYPO"]);
    assert!(ran.status == 3 && ran.err.contains("pattern 'TYPO' matches nothing"), "{ran:?}");
    assert_eq!(made(&sandbox, &["list", &sandbox.arg("image")], "x.tar", &[]), names("lib1"));
}

#[test]
fn rejects_invalid_patterns() {
    let sandbox = with_tree();
    let [image, source, out] = ["image", "source", "out"].map(|name| sandbox.arg(name));
    let cases = [("a[b", "'[b' is not closed"), ("{a,b", "'{a,b' is not closed"), ("../x", "'..'"), ("", "is empty")];
    for (pattern, what) in cases {
        let begins = &format!("pattern '{pattern}': ");
        assert_misuse(&[
            (&["pack", &source, &out, "-x", pattern], begins),
            (&["list", &image, pattern], begins),
            (&["list", &image, "-x", pattern], begins),
            (&["unpack", &image, &out, pattern], begins),
            (&["unpack", &image, "-", "-x", pattern], what),
        ]);
    }
    assert!(!sandbox.at("out").exists());
}

#[test]
fn manual_of_each_command_describes_patterns() {
    for command in ["pack", "unpack", "list"] {
        let page = run(&["man", command]).out;
        assert!(page.contains(".SS Patterns\n") && page.contains("matches names at any depth"), "{command}");
        assert!(run(&[command, "--help"]).out.contains("Patterns"), "{command}");
    }
}

#[test]
fn drop_ins_keep_their_own_patterns() {
    let sandbox = with_tree();
    let image = sandbox.arg("image");
    let out = sandbox.arg("out");
    let ran = run_on(
        &["tar2sqfs", "-q", "-E", "*.gz", "-E", "TYPO", &out],
        &sandbox.read("source.tar"),
        super::harness::host(),
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    assert!(!run(&["list", &out]).out.contains(".gz"));
    let ran = run(&["sqfs2tar", "-d", "TYPO", "-d", "etc", &image]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert_eq!(run(&["rdsquashfs", "-q", "-u", "/{odd}", "-p", &sandbox.arg("odd"), &image]).status, 0);
    assert!(sandbox.at("odd/{odd}").exists());
}
