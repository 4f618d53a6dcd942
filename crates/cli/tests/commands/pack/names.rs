//! `pack --files-from` and `--exclude-from` give the image of a pack with excludes that leave the same entries.

use packline_testkit::Sandbox;

use crate::sandbox;

/// A tree in which files have names in several directories.
fn tree() -> Sandbox {
    let sandbox = sandbox();
    for (name, content) in [("a/f", "one"), ("a/b/g", "two"), ("a-b/h", "three"), ("z", "four"), ("odd\nname", "five")]
    {
        sandbox.write(format!("tree/{name}"), content.repeat(50_000));
    }
    sandbox.create_dir("tree/empty");
    std::fs::hard_link(sandbox.at("tree/a/b/g"), sandbox.at("tree/a-b/link")).unwrap();
    std::fs::hard_link(sandbox.at("tree/a/b/g"), sandbox.at("tree/link")).unwrap();
    std::os::unix::fs::symlink("nowhere", sandbox.at("tree/a/symlink")).unwrap();
    sandbox
}

fn image(sandbox: &Sandbox, options: &[&str], stdin: &str) -> Vec<u8> {
    sandbox.write("stdin", stdin);
    sandbox.good_on(&[&["pack", "-fq", "tree", "i.sqfs"], options].concat(), "stdin");
    sandbox.read("i.sqfs")
}

#[test]
fn named_entries_are_packed_as_if_all_else_were_excluded() {
    let sandbox = tree();
    for (names, excludes) in [
        ("a/b", &["-x/a/f", "-xsymlink", "-x/a-b", "-xz", "-xodd*", "-xempty", "-x/link"][..]),
        ("a-b/link\nlink\na-b", &["-xa", "-xz", "-xodd*", "-xempty"]),
        ("z\nempty", &["-xa", "-xa-b", "-xodd*", "-x/link"]),
        ("a/symlink\nlink", &["-x/a/f", "-x/a/b", "-xa-b", "-xz", "-xodd*", "-xempty"]),
        (".", &[]),
        ("", &["-x/*"]),
    ] {
        let expected = image(&sandbox, excludes, "");
        let backwards = names.split('\n').rev().chain(names.split('\n')).collect::<Vec<_>>().join("\n");
        for options in [&["--readers=0"][..], &["-j0"], &["-j3"]] {
            let options = [&["--files-from=-"], options].concat();
            assert!(image(&sandbox, &options, names) == expected, "{names:?} {options:?}");
            assert!(image(&sandbox, &options, &backwards) == expected, "{names:?} {options:?}");
        }
    }
}

#[test]
fn nul_terminated_names_may_contain_any_byte() {
    let sandbox = tree();
    let expected = image(&sandbox, &["-xa", "-xa-b", "-xempty", "-xlink", "-xz"], "");
    assert!(image(&sandbox, &["--files-from=-", "-0"], "odd\nname\0") == expected);
    let line = sandbox.bad(1, &["pack", "tree", "none.sqfs", "--files-from=list"]);
    assert!(line.contains("list: cannot read"), "{line}");
    sandbox.write("list", "a\nodd\nname\n");
    let line = sandbox.bad(1, &["pack", "tree", "none.sqfs", "--files-from=list"]);
    assert!(line.contains("list: line 2: 'odd': there is no such entry"), "{line}");
}

/// A name is rejected before anything is read, and nothing outside the tree is read.
#[test]
fn rejects_names_through_links() {
    let sandbox = tree();
    std::os::unix::fs::symlink("/", sandbox.at("tree/root")).unwrap();
    for name in ["root/etc/passwd", "a/../../list", "root/"] {
        sandbox.write("list", name);
        let ran = sandbox.run(&["pack", "-fq", "tree", "i.sqfs", "--files-from=list"]);
        // A link itself may be named; it is packed as a link.
        assert_eq!(ran.status, i32::from(name != "root/"), "{name}: {}", ran.stderr);
    }
    assert_eq!(sandbox.good(&["list", "i.sqfs"]).text(), ".\nroot\n");
}

#[test]
fn patterns_from_file_match_like_arguments() {
    let sandbox = tree();
    sandbox.write("patterns", "/a/b\n\nlink\n# nothing\n*.none\n");
    let expected = image(&sandbox, &["-x/a/b", "-xlink"], "");
    let ran = sandbox.good(&["pack", "-fq", "tree", "i.sqfs", "--exclude-from=patterns"]);
    assert!(sandbox.read("i.sqfs") == expected && ran.stderr.is_empty(), "{}", ran.stderr);
    assert!(image(&sandbox, &["--exclude-from=-", "--null"], "/a/b\0link") == expected);
    // A tar is filtered by the same patterns.
    sandbox.good(&["unpack", "-q", "i.sqfs", "x.tar"]);
    sandbox.good(&["pack", "-q", "x.tar", "tar.sqfs", "--exclude-from=patterns", "--exclude=z"]);
    let listed = sandbox.good(&["list", "tar.sqfs"]).text();
    assert_eq!(listed, ".\na\na/f\na/symlink\na-b\na-b/h\nempty\nodd\\nname\n");
}
