//! An image as a source: what is packed from it has the bytes of what is packed from the tree itself.

use std::fs;
use std::os::unix::fs::FileExt;

use packline_testkit::{Sandbox, generate, tools};

use crate::sandbox;

const BLOCK: usize = 16_384;

/// A sandbox with a tree at `source` and an image of it at `old.sqfs`.
fn packed(options: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    let mut nodes = generate::small_tree(11, BLOCK);
    if !tools::root() {
        let me = fs::metadata(sandbox.path()).unwrap();
        use std::os::unix::fs::MetadataExt;
        nodes = generate::without_privileges(nodes, me.uid(), me.gid());
    }
    sandbox.plant("source", &nodes);
    sandbox.good(&[&["pack", "-q", "source", "old.sqfs"], options].concat());
    sandbox
}

/// The bytes of an image of `source`.
fn pack(sandbox: &Sandbox, source: &str, options: &[&str]) -> Vec<u8> {
    sandbox.good(&[&["pack", "-q", "-f", source, "new.sqfs"], options].concat());
    sandbox.read("new.sqfs")
}

#[test]
fn an_image_of_an_image_is_that_of_the_tree() {
    let sandbox = packed(&["-c", "gzip", "-b", "16K"]);
    for options in [
        &["-c", "gzip", "-b", "16K"][..],
        &["-c", "xz:level=0", "-b", "1M"],
        &["-c", "none", "-b", "4K", "--no-fragments"],
        &["-c", "lz4", "--no-dedup", "--no-sparse", "--exportable"],
        &["-c", "none", "--no-xattrs", "--mtime", "7", "--all-root", "-v"],
        &["-c", "none", "-x", "a*", "-x", "*[0-9]", "-x", "/links/first*"],
        &["-c", "none", "--root-becomes", "links", "-x", "/links/f*"],
    ] {
        let of_tree = pack(&sandbox, "source", options);
        for workers in ["0", "1", "2", "7"] {
            let options = [options, &["-j", workers]].concat();
            assert!(pack(&sandbox, "old.sqfs", &options) == of_tree, "{options:?}: other bytes than from the tree");
        }
    }
}

#[test]
fn an_image_comes_through_a_pipe_or_behind_other_data() {
    let sandbox = packed(&[]);
    let of_tree = pack(&sandbox, "source", &["-c", "none"]);
    let script = format!(
        "{0} pack -q -f -c none - pipe.sqfs < old.sqfs && mkfifo fifo && (cat old.sqfs > fifo &) && \
         {0} pack -q -f -c none fifo fifo.sqfs && (printf 'head%4092s' ; cat old.sqfs) > behind && \
         {0} pack -q -f -c none behind behind.sqfs",
        crate::PACKLINE
    );
    sandbox.shell(&script);
    for image in ["pipe.sqfs", "fifo.sqfs", "behind.sqfs"] {
        assert!(sandbox.read(image) == of_tree, "{image}");
    }
    sandbox.good(&["pack", "-q", "-f", "-c", "none", "old.sqfs", "old.sqfs"]);
    assert!(sandbox.read("old.sqfs") == of_tree, "an image is replaced by one of itself");
}

#[test]
fn the_memory_limit_that_is_named_is_enough() {
    let sandbox = packed(&["-b", "1M"]);
    let of_tree = pack(&sandbox, "source", &["-b", "64K"]);
    let pack = ["pack", "-q", "-f", "old.sqfs", "new.sqfs", "-b", "64K", "-x", "none", "--mem"];
    let refused = sandbox.refused(&[&pack[..], &["1M"]].concat());
    let needed = refused.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    sandbox.good(&[&pack[..], &[needed]].concat());
    assert!(sandbox.read("new.sqfs") == of_tree);
    let less = (needed.parse::<u64>().unwrap() - 1).to_string();
    sandbox.refused(&[&pack[..], &[&less]].concat());
}

#[test]
fn a_damaged_image_is_named_with_the_entry_and_the_place() {
    let sandbox = packed(&["-c", "gzip", "-b", "16K", "--no-fragments"]);
    let image = fs::OpenOptions::new().write(true).open(sandbox.at("old.sqfs")).unwrap();
    image.write_all_at(&[0xff; 64], 110).unwrap();
    for workers in ["0", "2"] {
        let message = sandbox.refused(&["pack", "old.sqfs", "new.sqfs", "-j", workers]);
        let named = message.starts_with("packline: old.sqfs: gzip: bad compressed data of ");
        assert!(named && message.contains(" at byte 1") && message.contains(" in entry holes/"), "{message}");
        assert!(!sandbox.at("new.sqfs").exists());
    }
}

#[test]
fn options_of_other_sources_are_refused() {
    let sandbox = packed(&[]);
    for (option, only) in [
        (&["--files-from", "x"][..], "a directory"),
        (&["--dereference"], "a directory"),
        (&["--no-hard-links"], "a directory"),
        (&["--lenient"], "a tar"),
        (&["--ignore-zeros"], "a tar"),
    ] {
        let message = sandbox.bad(2, &[&["pack", "old.sqfs", "new.sqfs"], option].concat());
        let expected = format!("only {only} can be packed so (the source is an image)");
        assert!(message.contains(&expected), "{message}");
    }
    let message = sandbox.refused(&["pack", "old.sqfs", "new.lrz"]);
    assert!(message.contains("old.sqfs: a SquashFS image does not become a .lrz file"), "{message}");
}
