//! An image as a source gives the bytes of an image that is packed from the tree itself.

use std::fs;
use std::os::unix::fs::FileExt;

use packline_testkit::{Random, Sandbox, generate, least_memory, needed_memory, tools};
use serde_json::Value;

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
fn packs_image_from_pipe_or_after_other_data() {
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
fn named_memory_limit_is_sufficient() {
    let sandbox = packed(&["-b", "1M"]);
    let of_tree = pack(&sandbox, "source", &["-b", "64K"]);
    let pack = ["pack", "-q", "-f", "old.sqfs", "new.sqfs", "-b", "64K", "-x", "none", "--mem"];
    let refused = sandbox.refused(&[&pack[..], &["1M"]].concat());
    let needed = needed_memory(&refused);
    sandbox.good(&[&pack[..], &[needed]].concat());
    assert!(sandbox.read("new.sqfs") == of_tree);
    let least = least_memory(&sandbox.bad(1, &[&pack[..], &["1M", "--log", "debug"]].concat()));
    sandbox.good(&[&pack[..], &[&least.to_string()]].concat());
    sandbox.refused(&[&pack[..], &[&(least - 1).to_string()]].concat());
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
fn rejects_options_of_other_sources() {
    let sandbox = packed(&[]);
    for (option, only) in [
        (&["--files-from", "x"][..], "a directory"),
        (&["--dereference"], "a directory"),
        (&["--no-hard-links"], "a directory"),
        (&["--lenient"], "a tar"),
        (&["--ignore-zeros"], "a tar"),
    ] {
        let message = sandbox.bad(2, &[&["pack", "old.sqfs", "new.sqfs"], option].concat());
        let expected = format!("works only with {only} (the source is an image)");
        assert!(message.contains(&expected), "{message}");
    }
}

/// The JSON of a pack of `old.sqfs`, whose bytes must be those of a pack of `source` with the same options.
fn repacked(sandbox: &Sandbox, options: &[&str]) -> Value {
    let of_tree = pack(sandbox, "source", options);
    let ran = sandbox.good(&[&["pack", "-f", "--json", "old.sqfs", "new.sqfs"], options].concat());
    assert!(sandbox.read("new.sqfs") == of_tree, "{options:?}: other bytes than from the tree");
    serde_json::from_str(&ran.text()).unwrap()
}

#[test]
fn blocks_of_the_image_itself_are_taken_where_they_are_the_same() {
    for codec in ["zstd:level=3", "gzip:level=4", "xz:level=1", "lz4", "lzo:level=5", "lzma:level=1"] {
        let sandbox = packed(&["-c", codec, "-b", "16K"]);
        let same = ["-c", codec, "-b", "16K"];
        for more in [&["-j0"][..], &["-j7"], &["-x", "/twins", "-j1"], &["--no-fragments"], &["--mem", "64M"]] {
            let options = [&same[..], more].concat();
            let report = repacked(&sandbox, &options);
            let taken = report["base"]["taken"].as_u64().unwrap();
            assert!(taken > 20 && report["base"]["exact"] == true, "{options:?}: {report}");
        }
        for other in [&["-c", codec, "-b", "32K"], &["-c", "none", "-b", "16K"]] {
            assert_eq!(repacked(&sandbox, other)["base"], Value::Null, "{other:?}");
        }
    }
}

#[test]
fn blocks_of_an_image_that_may_be_of_another_encoder_are_compressed_anew() {
    let sandbox = packed(&["-c", "gzip:level=1", "-b", "16K"]);
    assert_eq!(repacked(&sandbox, &["-c", "gzip", "-b", "16K"])["base"], Value::Null, "another level");
    sandbox.good(&["pack", "-q", "-f", "-b", "16K", "--no-pad", "source", "old.sqfs"]);
    assert_eq!(repacked(&sandbox, &["-b", "16K"])["base"], Value::Null, "an image without a record");
    if tools::need(&["mksquashfs"]) && tools::root() {
        sandbox.peer("mksquashfs", &["source", "old.sqfs", "-noappend", "-b", "16K", "-comp", "zstd"]);
        // It stores times before 1970 as others.
        assert_eq!(repacked(&sandbox, &["-b", "16K", "--mtime", "5"])["base"], Value::Null, "an image of mksquashfs");
    }
}

/// A block of a damaged image is decoded before it is used, and the checksum of its record finds what a decoder does not.
#[test]
fn an_image_that_is_damaged_is_refused_or_not_used() {
    let sandbox = packed(&["-b", "16K"]);
    let whole = sandbox.read("old.sqfs");
    let mut random = Random::new(41);
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    // The start of the inode table, and the record after the last table.
    let data_end = number(64);
    let record = number(40);
    assert!(whole[record..].starts_with(b"packline"));
    let repack = |bit: usize, workers: &str| {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        sandbox.write("old.sqfs", damaged);
        sandbox.run(&["pack", "--json", "-f", "-b", "16K", "-j", workers, "old.sqfs", "new.sqfs"])
    };
    let of_tree = pack(&sandbox, "source", &["-b", "16K"]);
    for _ in 0..20 {
        let ran = repack(record * 8 + random.below(64 * 8) as usize, "2");
        assert!(
            ran.status == 0 && ran.text().contains("\"base\":null") && sandbox.read("new.sqfs") == of_tree,
            "{ran:?}"
        );
    }
    for _ in 0..40 {
        let _ = fs::remove_file(sandbox.at("new.sqfs"));
        let bit = 8 * 200 + random.below((data_end as u64 - 200) * 8) as usize;
        let ran = repack(bit, "2");
        assert_eq!(ran.status, 1, "bit {bit}: {ran:?}");
        assert!(ran.stderr.contains("old.sqfs: ") && !sandbox.at("new.sqfs").exists(), "bit {bit}: {ran:?}");
    }
}
