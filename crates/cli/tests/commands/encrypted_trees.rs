//! Images and tars in .pln files: they are packed, unpacked, compared and mounted without being stored.

use packline_testkit::{Random, Sandbox};
use serde_json::Value;

use crate::encrypted::{PUBLIC, SECRET, from_pipe_with};
use crate::sandbox;

/// A tree, images and a tar of it, and each of them encrypted.
fn encrypted_trees() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("key", SECRET.as_bytes());
    sandbox.write("tree/d/big", Random::new(5).prose(3_000_000));
    sandbox.write("tree/small", "small\n");
    for name in ["x.sqfs", "x.erofs", "x.tar"] {
        sandbox.good(&["pack", "-q", "tree", name]);
    }
    for name in ["x.sqfs", "x.erofs", "x.tar"] {
        sandbox.good(&["compress", "-q", "--record-size", "64K", "--recipient", PUBLIC, name]);
    }
    sandbox
}

#[test]
fn trees_in_encrypted_files_are_unpacked_and_compared() {
    let sandbox = encrypted_trees();
    for name in ["x.sqfs.pln", "x.erofs.pln", "x.tar.pln"] {
        for (number, options) in ["-j 0", "-j 1", "-j 3", "-j 3 --mem 60M"].into_iter().enumerate() {
            let out = format!("{name}.{number}");
            let options: Vec<&str> = options.split(' ').collect();
            sandbox.good(&[&["unpack", "-q", "--identity", "key", name, &out][..], &options].concat());
            sandbox.good(&["diff", "tree", &out]);
        }
        sandbox.good(&["unpack", "-q", "--identity", "key", name, "out.tar", "-f"]);
        sandbox.good(&["diff", "--identity", "key", "out.tar", name]);
        let part = format!("{name}.part");
        sandbox.good(&["unpack", "-q", "--identity", "key", name, &part, "d/big"]);
        assert!(sandbox.read(format!("{part}/d/big")) == sandbox.read("tree/d/big"));
    }
    sandbox.good(&["diff", "--identity", "key", "x.sqfs.pln", "x.tar.pln"]);
    sandbox.good(&["diff", "--identity", "key", "tree", "x.erofs.pln"]);
    sandbox.write("tree/small", "other\n");
    let differ = sandbox.run(&["diff", "--identity", "key", "x.sqfs.pln", "tree"]);
    assert_eq!((differ.status, differ.text().lines().count()), (1, 2), "{differ:?}");
    let piped = from_pipe_with(&sandbox, "unpack", "x.sqfs.pln", "-q piped");
    assert_eq!(piped.status, 0, "{piped:?}");
    assert_eq!(sandbox.read("piped/small"), b"small\n");
    // Nothing was named after the endings of both formats.
    sandbox.good(&["unpack", "-q", "--identity", "key", "x.sqfs.pln"]);
    assert!(sandbox.at("x/d/big").is_file());
}

#[test]
fn keys_are_refused_where_nothing_is_encrypted_and_other_content_is_named() {
    let sandbox = encrypted_trees();
    for words in [&["unpack", "x.sqfs", "out"][..], &["unpack", "x.tar", "out"], &["diff", "x.sqfs", "tree"]] {
        let ran = sandbox.run(&[words, &["--identity", "key"]].concat());
        assert!(ran.status == 2 && ran.stderr.contains("--identity: works only with a .pln file"), "{ran:?}");
    }
    sandbox.good(&["compress", "-q", "tree/small", "-o", "text.pln"]);
    let fault = "text.pln: a .pln file whose content is neither an image nor a tar (expected ";
    for words in [&["unpack", "text.pln", "out"][..], &["diff", "text.pln", "tree"]] {
        let ran = sandbox.run(words);
        assert!(ran.status > 0 && ran.stderr.contains(fault), "{words:?}: {ran:?}");
    }
    assert!(!sandbox.at("out").exists());
}

#[test]
fn an_image_in_an_encrypted_file_is_mounted() {
    if !packline_testkit::mount::fuse_available() {
        return;
    }
    let sandbox = encrypted_trees();
    std::fs::create_dir(sandbox.at("mounted")).unwrap();
    sandbox.good(&["mount", "--identity", "key", "x.sqfs.pln", "mounted"]);
    let compared = sandbox.run(&["diff", "tree", "mounted"]);
    sandbox.good(&["umount", "mounted"]);
    assert_eq!((compared.status, compared.text().as_str()), (0, ""), "{compared:?}");
    assert!(sandbox.bad(1, &["mount", "x.tar.pln", "mounted", "--identity", "key"]).contains("is a tar"));
}

/// A record with a changed byte is read from a copy that the recovery data repairs, also when several readers meet it.
#[test]
fn a_damaged_file_with_recovery_data_is_unpacked() {
    let sandbox = encrypted_trees();
    sandbox.good(&["compress", "-qf", "--record-size", "64K", "--recovery", "10%", "x.sqfs", "-o", "x.pln"]);
    let mut bytes = sandbox.read("x.pln");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 50].fill(b'#');
    sandbox.write("x.pln", &bytes);
    for jobs in ["1", "4"] {
        let out = format!("out{jobs}");
        sandbox.good(&["unpack", "-q", "-j", jobs, "x.pln", &out]);
        sandbox.good(&["diff", "tree", &out]);
    }
}

/// The superblock is written last, also at an offset and after the bytes of another file.
#[test]
fn an_image_at_an_offset_is_packed_into_an_encrypted_file() {
    let sandbox = encrypted_trees();
    sandbox.write("runtime", Random::new(6).prose(10_000));
    for image in ["y.sqfs", "y.erofs"] {
        for begin in ["--offset 1K", "--offset 4K", "--offset 1M", "--prepend runtime"] {
            let options = [&["pack", "-qf", "tree"][..], &begin.split(' ').collect::<Vec<_>>()].concat();
            sandbox.good(&[&options[..], &[image]].concat());
            let packed = format!("{image}.pln");
            sandbox.good(&[&options[..], &["--recipient", PUBLIC, &packed]].concat());
            sandbox.good(&["decompress", "-qf", "--identity", "key", "-o", "back", &packed]);
            assert!(sandbox.read("back") == sandbox.read(image), "{image} {begin}");
            // The image is found as in a plain file.
            sandbox.good(&["diff", "--identity", "key", "tree", &packed]);
            sandbox.good(&["unpack", "-q", "--identity", "key", &packed, "out", "-f"]);
            sandbox.good(&["diff", "tree", "out"]);
        }
    }
}

#[test]
fn a_tree_is_packed_into_an_encrypted_file() {
    let sandbox = encrypted_trees();
    for (name, plain) in [("y.sqfs.pln", "x.sqfs"), ("y.erofs.pln", "x.erofs"), ("y.tar.pln", "x.tar")] {
        for jobs in ["0", "1", "3"] {
            sandbox.good(&["pack", "-qf", "-j", jobs, "--recipient", PUBLIC, "tree", name]);
            sandbox.good(&["decompress", "-qf", "--identity", "key", "-o", "back", name]);
            assert!(sandbox.read("back") == sandbox.read(plain), "{name}, {jobs}");
        }
        let bytes = sandbox.read(name);
        assert!(!bytes.windows(5).any(|part| part == b"small"), "{name}");
        // Without keys, and from the encrypted file to another image.
        sandbox.good(&["pack", "-qf", "tree", name]);
        sandbox.good(&["pack", "-qf", name, "again.sqfs"]);
        assert!(sandbox.read("again.sqfs") == sandbox.read("x.sqfs"), "{name}");
    }
    sandbox.good(&["pack", "-qf", "--identity", "key", "x.sqfs.pln", "again.sqfs"]);
    assert!(sandbox.read("again.sqfs") == sandbox.read("x.sqfs"));
    let object =
        sandbox.good(&["pack", "-f", "--json", "--verify", "--recipient", PUBLIC, "tree", "y.sqfs.pln"]).text();
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object["pln_bytes"], sandbox.read("y.sqfs.pln").len());
    let tar = sandbox.good(&["pack", "-f", "--json", "--recipient", PUBLIC, "tree", "y.tar.pln"]).text();
    let tar: Value = serde_json::from_str(&tar).unwrap();
    assert_eq!(tar["pln_bytes"], sandbox.read("y.tar.pln").len());
}

/// A .pln file in the directory that is packed is not packed, and an existing one is replaced only with --force.
#[test]
fn an_encrypted_output_is_treated_as_other_outputs() {
    let sandbox = encrypted_trees();
    sandbox.good(&["pack", "-q", "--recipient", PUBLIC, "tree", "tree/y.sqfs.pln"]);
    let before = sandbox.read("tree/y.sqfs.pln");
    let refused = sandbox.bad(1, &["pack", "-q", "--recipient", PUBLIC, "tree", "tree/y.sqfs.pln"]);
    assert!(refused.contains("tree/y.sqfs.pln: already exists; --force replaces it"), "{refused}");
    assert!(sandbox.read("tree/y.sqfs.pln") == before);
    sandbox.good(&["pack", "-qf", "--recipient", PUBLIC, "tree", "tree/y.sqfs.pln"]);
    let listed = sandbox.good(&["list", "--identity", "key", "tree/y.sqfs.pln"]).text();
    assert_eq!(listed.lines().count(), 4, "{listed}");
    sandbox.remove("tree/y.sqfs.pln");
    let refused = |words: &[&str]| sandbox.bad(2, &[&["pack", "tree"][..], words].concat());
    assert!(refused(&["y.sqfs", "--recipient", PUBLIC]).contains("--recipient: works only if IMAGE is a .pln file"));
    assert!(refused(&["y.pln"]).contains("the name does not say what the .pln file holds"));
    assert!(refused(&["y.sqfs", "--identity", "key"]).contains("--identity: works only with a .pln file"));
    let cached = refused(&["y.sqfs.pln", "--recipient", PUBLIC, "--cache", "cache"]);
    assert!(cached.contains("--cache: would store the blocks of the image without encryption"), "{cached}");
    assert!(!sandbox.at("y.sqfs.pln").exists() && !sandbox.at("cache").exists());
}
