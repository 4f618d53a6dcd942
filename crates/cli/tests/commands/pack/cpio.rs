//! cpio archives as sources of `pack`, and in `list`, `cat`, `info`, `verify`, `unpack`, `diff` and `du`, compared with GNU cpio and bsdtar.

use packline_testkit::{Sandbox, tools};

use crate::sandbox;
use crate::stack::support::shell;

/// A tree, and its names in an order in which the contents of hard links come last.
fn tree() -> Option<Sandbox> {
    if !tools::root() || !tools::need(&["cpio", "bsdtar", "tar"]) {
        return None;
    }
    let sandbox = sandbox();
    shell(
        &sandbox,
        "mkdir -p tree/z/deep tree/empty && seq 100000 >tree/z/deep/numbers && echo a >tree/a && echo b >tree/z/b && \
         ln -s z/b tree/link && chmod 4755 tree/a && chown 7:70000 tree/z/b && : >tree/none && mknod tree/tty c 4 65 && \
         mkfifo tree/pipe && ln tree/a tree/again && ln tree/a tree/z/third && ln tree/none tree/nothing && \
         find tree -exec touch -h -d @1600000000 {} + && cd tree && find . | sort >../names",
    );
    Some(sandbox)
}

/// Writes `t.cpio`: in a form of GNU cpio, or of bsdtar.
fn archive(sandbox: &Sandbox, program: &str, form: &str) {
    let script = match program {
        "cpio" => format!("cd tree && cpio -o --quiet -H {form} <../names >../t.cpio"),
        _ => format!("cd tree && bsdtar -c --format {form} -n -T ../names -f ../t.cpio"),
    };
    shell(sandbox, &script);
}

#[test]
fn archives_of_all_forms_give_the_tree() {
    let Some(sandbox) = tree() else { return };
    for (program, form) in [("cpio", "newc"), ("cpio", "crc"), ("cpio", "odc"), ("bsdtar", "newc"), ("bsdtar", "odc")] {
        // odc has 18 bits for owners.
        archive(&sandbox, program, form);
        sandbox.good(&["pack", "-qf", "--verify", "t.cpio", "t.sqfs"]);
        sandbox.good(&["diff", "t.sqfs", "tree"]);
        sandbox.good(&["diff", "t.cpio", "tree"]);
        let ran = sandbox.shell("rm -rf out && cat t.cpio | $P unpack -q - out && $P diff tree out");
        assert_eq!((ran.status, ran.stdout.len(), ran.stderr.as_str()), (0, 0, ""), "{program} {form}");
        let listed = sandbox.good(&["list", "t.cpio"]).text();
        let mut found: Vec<&str> = listed.lines().collect();
        found.sort_unstable();
        let names = sandbox.read_text("names");
        let mut expected: Vec<&str> = names.lines().map(|name| name.strip_prefix("./").unwrap_or(name)).collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "{program} {form}");
        assert_eq!(sandbox.good(&["cat", "t.cpio", "z/b", "z/third"]).text(), "b\na\n");
        assert!(sandbox.good(&["verify", "t.cpio"]).text().contains("a cpio archive has no checksums"));
        assert!(sandbox.good(&["du", "--json", "t.cpio"]).text().contains("\"cpio\""));
    }
}

#[test]
fn workers_and_orders_do_not_change_the_image() {
    let Some(sandbox) = tree() else { return };
    archive(&sandbox, "cpio", "newc");
    sandbox.good(&["pack", "-q", "t.cpio", "serial.sqfs", "--serial"]);
    for options in [&["-j0"][..], &["-j3"], &["--mem", "100M"]] {
        sandbox.good(&[&["pack", "-qf", "t.cpio", "t.sqfs"], options].concat());
        assert!(sandbox.read("serial.sqfs") == sandbox.read("t.sqfs"), "{options:?}");
    }
    for order in ["path", "similar"] {
        sandbox.good(&["pack", "-qf", "--order", order, "t.cpio", "t.sqfs"]);
        sandbox.good(&["diff", "t.sqfs", "tree"]);
    }
}

/// An archive as the kernel reads it: a plain one, zeros, then a compressed one that replaces a file.
#[test]
fn archives_of_an_initramfs_are_joined() {
    let Some(sandbox) = tree() else { return };
    archive(&sandbox, "cpio", "newc");
    shell(
        &sandbox,
        "mkdir -p early/z && echo early >early/z/b && echo code >early/code && cd early && \
         find . | cpio -o --quiet -H newc >../early.cpio && head -c 3000 /dev/zero >>../early.cpio",
    );
    for (program, form) in [("gzip", "gzip"), ("xz", "xz"), ("zstd", "zstd"), ("lz4", "-l lz4"), ("lzma", "lzma")] {
        if !tools::need(&[program]) {
            continue;
        }
        let level = form.strip_suffix(program).unwrap_or_default();
        shell(&sandbox, &format!("{program} {level} -c <t.cpio >packed && cat early.cpio packed >initrd"));
        for name in ["initrd", "packed"] {
            sandbox.good(&["pack", "-qf", name, "t.sqfs"]);
            assert_eq!(sandbox.good(&["cat", "t.sqfs", "z/b", "a"]).text(), "b\na\n", "{program} {name}");
        }
        let info = sandbox.good(&["info", "packed"]).text();
        assert!(info.starts_with("Format:      cpio\nCompression: "), "{info}");
        sandbox.good(&["list", "initrd", "code"]);
    }
    shell(&sandbox, "cat early.cpio packed early.cpio >wrong");
    let message = sandbox.refused(&["pack", "wrong", "none.sqfs"]);
    assert!(message.contains("unknown data follows the stream"), "{message}");
    shell(&sandbox, "gzip -c <early.cpio >inner && cat early.cpio inner | gzip -c | cat - inner >twice");
    let message = sandbox.refused(&["pack", "twice", "none.sqfs"]);
    assert!(message.contains("a second part that is compressed, with gzip"), "{message}");
}

#[test]
fn archives_are_files_among_others_and_in_containers() {
    let Some(sandbox) = tree() else { return };
    archive(&sandbox, "cpio", "newc");
    sandbox.good(&["pack", "-q", "tree/z/b", "t.cpio", "both.sqfs"]);
    assert_eq!(sandbox.good(&["list", "both.sqfs"]).text(), ".\nb\nt.cpio\n");
    sandbox.good(&["compress", "-q", "-k", "t.cpio"]);
    assert_eq!(sandbox.good(&["list", "t.cpio.pln"]).text(), sandbox.good(&["list", "t.cpio"]).text());
    sandbox.good(&["unpack", "-q", "t.cpio", "t.tar"]);
    sandbox.good(&["diff", "t.tar", "tree"]);
    let message = sandbox.bad(2, &["pack", "--lenient", "t.cpio", "none.sqfs"]);
    assert!(message.contains("works only with a tar (the source is a cpio archive)"), "{message}");
    let message = sandbox.bad(2, &["cat", "t.cpio"]);
    assert!(message.contains("a path in the cpio archive is missing"), "{message}");
    let mut cut = sandbox.read("t.cpio");
    cut.truncate(cut.len() / 2);
    sandbox.write("cut.cpio", cut);
    let message = sandbox.refused(&["pack", "cut.cpio", "none.sqfs"]);
    assert!(message.contains("cut.cpio: the archive is cut off: "), "{message}");
    let ran = sandbox.run(&["verify", "cut.cpio"]);
    assert!(ran.status == 1 && ran.text().contains("the archive is cut off"), "{ran:?}");
}
