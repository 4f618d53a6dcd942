//! Images whose data is damaged without a decoder noticing: each command that reads all data reports it.

use packline_testkit::{Random, Sandbox};

use crate::sandbox;

/// Returns an image with a changed byte of `tree/noise`, which is stored uncompressed.
fn damaged(name: &str) -> Sandbox {
    let sandbox = sandbox();
    // The file has only blocks of its own, so that the other file can be read without them.
    let noise = Random::new(1).noise(300_000);
    sandbox.write("tree/noise", &noise);
    sandbox.write("tree/text", "text ".repeat(1000));
    sandbox.good(&["pack", "-q", "tree", name]);
    let mut image = sandbox.read(name);
    let place = image.windows(100).position(|bytes| *bytes == noise[..100]).unwrap();
    image[place + 5000] ^= 4;
    sandbox.write(name, image);
    sandbox
}

const WORDS: &str = "changed content, in an unknown file: checksum 0x";

#[test]
fn reports_damage_unnoticed_by_decoders() {
    let sandbox = damaged("i.sqfs");
    let image = sandbox.read("i.sqfs");
    for (words, output) in [
        (&["unpack", "i.sqfs", "o"][..], "o"),
        (&["unpack", "i.sqfs", "o.tar"], "o.tar"),
        (&["unpack", "i.sqfs", "o.tar.gz", "-j0"], "o.tar.gz"),
        (&["pack", "i.sqfs", "o.sqfs"], "o.sqfs"),
        (&["pack", "i.sqfs", "o.sqfs", "-c", "lz4", "-j0"], "o.sqfs"),
        (&["pack", "i.sqfs", "o.sqfs", "--exclude", "text"], "o.sqfs"),
        (&["pack", "tree", "i.sqfs", "o.sqfs", "--order", "similar"], "o.sqfs"),
        (&["mksquashfs", "tree", "i.sqfs", "-no-progress"], "o"),
        (&["unsquashfs", "-no-progress", "-d", "o", "i.sqfs"], "o"),
        // It extracts into a directory that stays.
        (&["rdsquashfs", "-q", "-u", "/", "-p", "d", "i.sqfs"], "o"),
        (&["sqfs2tar", "i.sqfs"], "o"),
        // Patterns that match everything, or exclude nothing.
        (&["unpack", "i.sqfs", "o", "*"], "o"),
        (&["unpack", "i.sqfs", "o.tar", "noise", "text"], "o.tar"),
        (&["unpack", "i.sqfs", "o", "-x", "none"], "o"),
        (&["cat", "i.sqfs", "text", "noise"], "o"),
        (&["sqfscat", "i.sqfs", "text", "noise"], "o"),
        (&["verity", "i.sqfs"], "i.sqfs.roothash"),
        (&["verity", "--append", "i.sqfs"], "i.sqfs.roothash"),
    ] {
        let message = sandbox.bad(1, words);
        assert!(message.contains("i.sqfs") && message.contains(WORDS), "{words:?}: {message}");
        assert!(!sandbox.at(output).exists(), "{words:?}");
        assert!(sandbox.read("i.sqfs") == image, "{words:?}");
    }
    let message = sandbox.bad(2, &["diff", "i.sqfs", "tree"]);
    assert!(message.contains(WORDS), "{message}");
    sandbox.bad(1, &["verify", "i.sqfs"]);
}

#[test]
fn continues_after_unnoticed_damage_on_request() {
    let sandbox = damaged("i.sqfs");
    for (words, output) in [
        (&["unpack", "--continue", "i.sqfs", "o"][..], "o/noise"),
        (&["unpack", "--continue", "i.sqfs", "o.tar"], "o.tar"),
    ] {
        let message = sandbox.bad(3, words);
        assert!(message.contains(WORDS), "{words:?}: {message}");
        assert!(sandbox.at(output).exists(), "{words:?}");
    }
    // A part of an image is not compared.
    sandbox.good(&["unpack", "i.sqfs", "p", "text"]);
    sandbox.good(&["cat", "i.sqfs", "text"]);
}

#[test]
fn reports_damage_of_erofs_images_unnoticed_by_decoders() {
    let sandbox = damaged("i.erofs");
    let image = sandbox.read("i.erofs");
    for (words, output) in [
        (&["unpack", "i.erofs", "o"][..], "o"),
        (&["unpack", "i.erofs", "o.tar"], "o.tar"),
        (&["unpack", "i.erofs", "o.tar.gz", "-j0"], "o.tar.gz"),
        (&["pack", "i.erofs", "o.erofs"], "o.erofs"),
        (&["pack", "i.erofs", "o.erofs", "-c", "lz4", "-j0"], "o.erofs"),
        (&["pack", "i.erofs", "o.sqfs", "--exclude", "text"], "o.sqfs"),
        (&["pack", "tree", "i.erofs", "o.erofs", "--order", "similar"], "o.erofs"),
        (&["fsck.erofs", "--extract=o", "i.erofs"], "o"),
        (&["unpack", "i.erofs", "o", "*"], "o"),
        (&["cat", "i.erofs", "text", "noise"], "o"),
        (&["verity", "i.erofs"], "i.erofs.roothash"),
        (&["verity", "--append", "i.erofs"], "i.erofs.roothash"),
        (&["mkfs.erofs", "--incremental", "-zzstd,15", "i.erofs", "tree"], "o"),
    ] {
        let message = sandbox.bad(1, words);
        let expected = "changed content or metadata, of an unknown entry: checksum 0x";
        assert!(message.contains("i.erofs") && message.contains(expected), "{words:?}: {message}");
        assert!(!sandbox.at(output).exists(), "{words:?}");
        assert!(sandbox.read("i.erofs") == image, "{words:?}");
    }
    sandbox.bad(2, &["diff", "i.erofs", "tree"]);
    sandbox.bad(1, &["verify", "i.erofs"]);
    sandbox.bad(3, &["unpack", "--continue", "i.erofs", "o"]);
    assert!(sandbox.at("o/noise").exists());
    // A part of an image is not compared.
    sandbox.good(&["unpack", "i.erofs", "p", "text"]);
    sandbox.good(&["cat", "i.erofs", "text"]);
}
