//! `packline diff` compares tars, .lrz files, images and directories in any pair.

use super::{shell, with_tree};

#[test]
fn equal_trees_are_equal_in_every_pair() {
    let Some(sandbox) = with_tree(71) else { return };
    let sandbox = &sandbox;
    for output in ["x.tar", "x.tar.zst", "x.erofs"] {
        sandbox.good(&["pack", "-q", "source", output]);
    }
    sandbox.good(&["pack", "-q", "-c", "none", "x.tar", "x.lrz"]);
    for (old, new) in [
        ("x.tar", "source"),
        ("source", "x.tar.zst"),
        ("x.tar.zst", "x.tar"),
        ("x.erofs", "x.tar"),
        ("x.lrz", "x.tar.zst"),
    ] {
        let ran = sandbox.good(&["diff", old, new]);
        assert_eq!(ran.text(), "", "{old} {new}");
    }
    assert_eq!(shell(sandbox, "cat x.tar.zst | $P diff - source"), "");
    shell(
        sandbox,
        "printf X | dd of=source/sparse-file bs=1 seek=1000000 conv=notrunc 2>&1; chmod 600 source/precise; rm -r source/links",
    );
    let ran = sandbox.run(&["diff", "-T", "x.tar.zst", "source"]);
    assert_eq!(ran.status, 1);
    let lines: Vec<String> = ran.text().lines().map(str::to_string).collect();
    for expected in ["- links", "! precise: permissions 0644 -> 0600", "! sparse-file: content from byte 1000000 on"] {
        assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}: {lines:?}");
    }
    for (words, named) in [
        (&["diff", "--super", "x.tar", "x.erofs"][..], "--super"),
        (&["diff", "-I", "x.erofs", "x.tar"], "--inode-num"),
        (&["diff", "--old-offset", "512", "source", "x.tar"], "--old-offset"),
        (&["diff", "--new-device", "x.tar", "source", "x.tar"], "--new-device"),
    ] {
        let message = sandbox.bad(2, words);
        assert!(message.contains(named), "{words:?}: {message}");
    }
    shell(sandbox, "head -c 2000 x.tar > cut.tar");
    sandbox.bad(2, &["diff", "cut.tar", "source"]);
}
