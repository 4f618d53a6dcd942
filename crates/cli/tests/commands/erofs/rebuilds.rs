//! Blocks of earlier images and of source images are used again, and the new image has the same bytes as without them.

use packline_testkit::model::Node;
use packline_testkit::{Random, Sandbox, share};
use serde_json::Value;

use crate::sandbox;

/// Options of each form, with codecs whose blocks other containers have, and with others.
const WAYS: [&[&str]; 6] = [
    &["-c", "zstd:level=3"],
    &["-c", "lz4", "--kernel", "6.1"],
    &["-c", "lzma:level=1"],
    &["-c", "zstd:level=3", "--kernel", "6.15"],
    &["-c", "lz4", "--kernel", "6.15"],
    &["-c", "gzip:level=4", "--kernel", "6.15"],
];

/// Files of several clusters and segments, tails, and some that do not compress: in `old`, and with changes in `new`.
fn trees() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(41);
    let mut nodes = vec![Node::dir("")];
    for file in 0..8 {
        nodes.push(Node::file(format!("prose{file}"), random.prose(300_000 + file * 70_000)));
        nodes.push(Node::file(format!("noise{file}"), random.noise(150_000)));
    }
    nodes.push(Node::file("large", random.prose(2_500_000)));
    nodes.extend((0..200).map(|file| Node::file(format!("small{file}"), random.prose(10_000))));
    sandbox.plant("old", &nodes);
    nodes.push(Node::file("a-new-one", random.prose(200_000)));
    nodes[5] = Node::file("prose2", random.prose(400_000));
    sandbox.plant("new", &nodes);
    sandbox
}

fn pack(sandbox: &Sandbox, source: &str, image: &str, options: &[&[&str]]) -> Value {
    let words = [&["pack", "-f", "--json", source, image][..], &options.concat()].concat();
    serde_json::from_str(&sandbox.good(&words).text()).unwrap()
}

fn taken(report: &Value) -> u64 {
    report["base"]["taken"].as_u64().unwrap_or(0)
}

/// Removes the record of an EROFS image, so that it is not a base any more.
fn without_record(sandbox: &Sandbox, from: &str, to: &str) {
    let mut image = sandbox.read(from);
    let at = image.len() - 64;
    assert!(image[at..].starts_with(b"packline"), "{from}");
    image[at..].fill(0);
    sandbox.write(to, image);
    let verified = sandbox.good(&["verify", to]).text();
    // The lengths before the record are bytes that belong to nothing then.
    assert!(verified.contains(": sound") && verified.contains("; changed content cannot be found"), "{verified}");
}

#[test]
fn an_image_says_how_it_was_packed() {
    let sandbox = trees();
    pack(&sandbox, "old", "old.erofs", &[&["-c", "zstd:level=3", "-b", "64K", "--kernel", "6.12"]]);
    let text = sandbox.good(&["info", "--quick", "old.erofs"]).text();
    for (name, value) in [("Codec:", " zstd:level=3"), ("Cluster size:", " 64.0 KiB"), ("Packed for:", " Linux 6.12")] {
        assert!(text.lines().any(|line| line.starts_with(name) && line.ends_with(value)), "{text}");
    }
    let info: Value = serde_json::from_str(&sandbox.good(&["info", "--json", "old.erofs"]).text()).unwrap();
    assert_eq!((&info["codec"], &info["cluster_size"]), (&"zstd:level=3".into(), &65_536.into()));
    assert_eq!((&info["packed_for"], &info["linux"]), (&"6.12".into(), &"6.10".into()));
    let message = sandbox.refused(&["pack", "old", "new.erofs", "--base", "old.erofs"]);
    let expected = "old.erofs: was packed with codec zstd:level=3 and blocks of 64K \
                    (expected codec zstd and blocks of 128K, as in the new image)";
    assert!(message.ends_with(expected), "{message}");
    // Every bit of the text is checked.
    let mut image = sandbox.read("old.erofs");
    let at = image.windows(6).rposition(|window| window == b"codec=").unwrap();
    image[at + 8] ^= 1;
    sandbox.write("bad.erofs", image);
    let found = sandbox.run(&["verify", "bad.erofs"]);
    assert!(found.status == 1 && found.text().contains("lengths or options that do not match"), "{found:?}");
    assert!(sandbox.good(&["info", "--quick", "bad.erofs"]).text().contains("Codec:             zstd\n"));
}

#[test]
fn the_image_is_the_same_with_a_base_and_a_cache() {
    let sandbox = trees();
    for way in WAYS {
        pack(&sandbox, "old", "old.erofs", &[way]);
        pack(&sandbox, "new", "clean.erofs", &[way]);
        assert!(sandbox.good(&["verify", "clean.erofs"]).text().contains("clean.erofs: sound\n"));
        let expected = sandbox.read("clean.erofs");
        for workers in share(["0", "1", "2", "7"], 4, &way.concat()) {
            for cache in [&["--no-cache"][..], &["--cache", "cache"], &["--cache", "cache", "--verify"]] {
                let report = pack(&sandbox, "new", "new.erofs", &[way, &["-j", workers, "--base", "old.erofs"], cache]);
                assert!(sandbox.read("new.erofs") == expected, "{way:?}, {workers} workers, {cache:?}");
                assert!(taken(&report) > 15 && report["base"]["exact"] == true, "{way:?}: {report}");
            }
            sandbox.remove("cache");
        }
        // Of an image with the same contents, everything is taken.
        let report = pack(&sandbox, "new", "new.erofs", &[way, &["--base", "clean.erofs", "--cache", "cache"]]);
        assert!(sandbox.read("new.erofs") == expected && report["cache"]["missed"] == 0, "{way:?}: {report}");
        sandbox.remove("cache");
    }
}

/// `verify` sees damage that no decoder does: a bit of a block that is stored as it is.
#[test]
fn the_checksum_of_the_record_is_verified() {
    let sandbox = trees();
    for way in WAYS {
        pack(&sandbox, "old", "old.erofs", &[way]);
        let noise = sandbox.read("old/noise3");
        let mut image = sandbox.read("old.erofs");
        let at = image.windows(64).position(|window| *window == noise[..64]).unwrap();
        image[at + 9] ^= 1;
        sandbox.write("damaged.erofs", &image);
        let found = sandbox.run(&["verify", "damaged.erofs"]);
        let expected = "changed content or metadata, of an unknown entry: checksum 0x";
        assert!(found.status == 1 && found.text().contains(expected), "{way:?}: {found:?}");
        let message = sandbox.refused(&["pack", "-f", "old", "new.erofs", "--base", "damaged.erofs", way[0], way[1]]);
        assert!(way.len() > 2 || message.contains("is damaged: its data does not match its checksum"), "{message}");
        image[at + 9] ^= 1;
        let record = image.len() - 44;
        image[record] ^= 1;
        sandbox.write("damaged.erofs", &image);
        let found = sandbox.run(&["verify", "damaged.erofs"]);
        assert!(found.status == 1 && found.text().contains("the record of the encoder is damaged"), "{found:?}");
    }
}

#[test]
fn an_image_that_is_a_source_is_its_own_base() {
    let sandbox = trees();
    for way in WAYS {
        pack(&sandbox, "old", "old.erofs", &[way]);
        without_record(&sandbox, "old.erofs", "plain.erofs");
        let compressed = pack(&sandbox, "plain.erofs", "expected.erofs", &[way]);
        assert_eq!(taken(&compressed), 0, "{compressed}");
        for workers in ["0", "2"] {
            let copied = pack(&sandbox, "old.erofs", "new.erofs", &[way, &["-j", workers]]);
            assert!(sandbox.read("new.erofs") == sandbox.read("expected.erofs"), "{way:?}, {workers} workers");
            assert!(taken(&copied) > 15, "{way:?}: {copied}");
        }
    }
}

#[test]
fn conversions_copy_blocks_that_both_file_systems_have() {
    let sandbox = trees();
    for way in [&["-c", "zstd:level=3", "-b", "128K"][..], &["-c", "lz4", "-b", "64K"]] {
        let wide = ["--kernel", "6.15"];
        pack(&sandbox, "old", "old.sqfs", &[way]);
        // Images without padding have no record.
        pack(&sandbox, "old", "plain.sqfs", &[way, &["--pad", "1"]]);
        let compressed = pack(&sandbox, "plain.sqfs", "expected.erofs", &[way, &wide]);
        let copied = pack(&sandbox, "old.sqfs", "new.erofs", &[way, &wide]);
        assert!(sandbox.read("new.erofs") == sandbox.read("expected.erofs"), "{way:?}");
        assert!(taken(&compressed) == 0 && taken(&copied) > 15, "{copied}");
        without_record(&sandbox, "new.erofs", "plain.erofs");
        let compressed = pack(&sandbox, "plain.erofs", "expected.sqfs", &[way]);
        let copied = pack(&sandbox, "new.erofs", "new.sqfs", &[way]);
        assert!(sandbox.read("new.sqfs") == sandbox.read("expected.sqfs"), "{way:?}");
        assert!(taken(&compressed) == 0 && taken(&copied) > 15, "{copied}");
        for [base, image] in [["old.sqfs", "new.erofs"], ["new.erofs", "new.sqfs"]] {
            let kernel = if image == "new.erofs" { &wide[..] } else { &[] };
            pack(&sandbox, "new", "clean", &[way, kernel, &["--format", &image[4..].replace("sqfs", "squashfs")]]);
            let report = pack(&sandbox, "new", image, &[way, kernel, &["--base", base]]);
            assert!(sandbox.read(image) == sandbox.read("clean") && taken(&report) > 15, "{way:?}: {report}");
        }
    }
}
