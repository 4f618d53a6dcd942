//! `--base` copies blocks of an earlier image, and the image has the bytes of a run without it.

use std::fs;

use packline_testkit::model::Node;
use packline_testkit::{Random, Sandbox, mount, tools, views};
use serde_json::Value;

use crate::sandbox;

const CODECS: [&str; 6] = ["zstd:level=3", "gzip:level=4", "xz:level=1", "lzma:level=1", "lz4", "lzo:level=5"];

/// Files of several blocks, tails, and some that do not compress: in `old`, and with changes in `new`.
fn trees() -> Sandbox {
    let sandbox = sandbox();
    let mut random = Random::new(22);
    let mut nodes = vec![Node::dir("")];
    for file in 0..12 {
        nodes.push(Node::file(format!("prose{file:02}"), random.prose(100_000 + file * 7_000)));
        nodes.push(Node::file(format!("noise{file:02}"), random.noise(40_000)));
    }
    sandbox.plant("old", &nodes);
    nodes.push(Node::file("a-new-one", random.prose(70_000)));
    nodes[5] = Node::file("prose02", random.prose(114_000));
    sandbox.plant("new", &nodes);
    sandbox
}

fn pack(sandbox: &Sandbox, codec: &str, [tree, image]: [&str; 2], options: &[&str]) -> Value {
    let first = ["pack", "-f", "--json", "-b", "16K", "-c", codec, tree, image];
    let ran = sandbox.good(&[&first[..], options].concat());
    serde_json::from_str(&ran.text()).unwrap()
}

fn number(report: &Value, name: &str) -> u64 {
    report["base"][name].as_u64().unwrap()
}

#[test]
fn the_image_is_the_same_with_a_base_and_a_cache() {
    let sandbox = trees();
    for codec in CODECS {
        pack(&sandbox, codec, ["old", "old.sqfs"], &[]);
        pack(&sandbox, codec, ["new", "clean"], &[]);
        let expected = sandbox.read("clean");
        // Work with a base does not depend on the codec, so only one codec is tested with every number of workers.
        let numbers = if codec == "lz4" { &["0", "1", "2", "7"][..] } else { &["0", "7"] };
        for workers in numbers {
            for cache in
                [&["--no-cache"][..], &["--cache", "empty"], &["--cache", "empty"], &["--verify", "--no-cache"]]
            {
                let options = [&["-j", workers, "--base", "old.sqfs"][..], cache].concat();
                let report = pack(&sandbox, codec, ["new", "image"], &options);
                assert!(sandbox.read("image") == expected, "{codec}: {options:?}");
                assert!(number(&report, "taken") > 60 && report["base"]["exact"] == true, "{codec}: {report}");
            }
            sandbox.remove("empty");
        }
    }
}

#[test]
fn several_bases_and_the_output_itself_may_be_one() {
    let sandbox = trees();
    let codec = "gzip";
    pack(&sandbox, codec, ["old", "old.sqfs"], &[]);
    pack(&sandbox, codec, ["new", "clean"], &[]);
    sandbox.create_dir("part");
    fs::copy(sandbox.at("new/a-new-one"), sandbox.at("part/a-new-one")).unwrap();
    pack(&sandbox, codec, ["part", "part.sqfs"], &[]);
    fs::copy(sandbox.at("old.sqfs"), sandbox.at("image")).unwrap();
    let one = pack(&sandbox, codec, ["new", "image"], &["--base", "image"]);
    assert!(sandbox.read("image") == sandbox.read("clean"));
    let two = pack(&sandbox, codec, ["new", "image"], &["--base", "old.sqfs", "--base", "part.sqfs"]);
    assert!(sandbox.read("image") == sandbox.read("clean"));
    assert!(number(&two, "taken") > number(&one, "taken"), "{one} {two}");
    let all = pack(&sandbox, codec, ["new", "image"], &["--base", "image"]);
    assert_eq!(number(&all, "taken"), number(&all, "blocks"), "{all}");
}

/// All faults are found before anything is written.
#[test]
fn a_base_that_cannot_be_used_is_refused_and_nothing_is_written() {
    let sandbox = trees();
    pack(&sandbox, "gzip", ["old", "old.sqfs"], &[]);
    let mut damaged = sandbox.read("old.sqfs");
    damaged[5000] ^= 4;
    sandbox.write("damaged.sqfs", &damaged);
    damaged.truncate(20_000);
    sandbox.write("short.sqfs", &damaged);
    sandbox.good(&["pack", "-q", "--pad", "1", "-b", "16K", "-c", "gzip", "old", "unpadded.sqfs"]);
    let refused = |options: &[&str]| {
        let first = ["pack", "-b", "16K", "-c", "gzip", "new", "image"];
        let message = sandbox.refused(&[&first[..], options].concat());
        assert!(!sandbox.at("image").exists(), "{options:?}");
        message
    };
    assert!(
        refused(&["--base", "damaged.sqfs"]).contains("damaged.sqfs: is damaged: its data does not match its checksum")
    );
    assert!(refused(&["--base", "unpadded.sqfs"]).contains("has no record of its encoder"));
    assert!(refused(&["--base", "short.sqfs", "--base-any"]).contains("the image is cut off"));
    assert!(refused(&["--base", "old.sqfs", "-c", "gzip:level=1"]).contains("--base-any"));
    assert!(
        refused(&["--base", "old.sqfs", "-c", "xz", "--base-any"]).contains("is compressed with gzip (expected xz")
    );
    assert!(
        refused(&["--base", "old.sqfs", "-b", "32K", "--base-any"])
            .contains("has blocks of 16K (expected 32K, as in the new image)")
    );
    assert!(refused(&["--base", "new", "--base-any"]).starts_with("packline: new: "));
    assert!(sandbox.bad(2, &["pack", "new", "image", "--base-any"]).contains("--base"));
    assert!(sandbox.bad(2, &["pack", "new", "image", "--base", "old.sqfs", "--dry-run"]).contains("--dry-run"));
    assert!(sandbox.bad(2, &["pack", "new", "x.lrz", "--base", "old.sqfs"]).contains("--base"));
}

/// Only intact blocks of a damaged base are used, and none of its blocks goes into a cache.
#[test]
fn a_damaged_base_is_used_on_request_as_far_as_it_is_sound() {
    let sandbox = trees();
    pack(&sandbox, "zstd", ["new", "clean"], &[]);
    let mut random = Random::new(23);
    let whole = sandbox.read("clean");
    let mut damaged_blocks = 0;
    for round in 0..20 {
        let mut damaged = whole.clone();
        for _ in 0..10 {
            let at = 100 + random.below(whole.len() as u64 * 9 / 10) as usize;
            damaged[at] ^= 1 << random.below(8);
        }
        sandbox.write("damaged.sqfs", damaged);
        let report =
            pack(&sandbox, "zstd", ["new", "image"], &["--base", "damaged.sqfs", "--base-any", "--cache", "cache"]);
        assert!(report["base"]["exact"] == false && number(&report, "taken") > 60, "{round}: {report}");
        damaged_blocks += number(&report, "damaged");
        views::assert_sound("damaged base", &sandbox.at("image"), &sandbox.snapshot("new"));
        pack(&sandbox, "zstd", ["new", "image"], &["--cache", "cache"]);
        assert!(sandbox.read("image") == whole, "{round}");
    }
    assert!(damaged_blocks > 20, "{damaged_blocks}");
}

#[test]
fn images_of_mksquashfs_are_bases_on_request() {
    if !tools::need(&["mksquashfs"]) || !tools::root() {
        return;
    }
    let sandbox = trees();
    for codec in ["gzip", "xz", "zstd", "lz4", "lzo"].into_iter().filter(|codec| mount::kernel_mounts(codec)) {
        sandbox.remove("old.sqfs");
        sandbox.peer("mksquashfs", &["old", "old.sqfs", "-comp", codec, "-b", "16K", "-quiet", "-no-progress"]);
        let first = ["pack", "-f", "-b", "16K", "-c", codec, "new", "image", "--base", "old.sqfs"];
        assert!(sandbox.refused(&first).contains("--base-any"));
        let ran = sandbox.good(&[&first[..], &["--base-any"]].concat());
        assert!(
            ran.stderr.contains("taken") && ran.stderr.contains("may differ from an image packed without a base"),
            "{codec}: {}",
            ran.stderr
        );
        let tree = sandbox.snapshot("new");
        views::kernel(codec, &sandbox.at("image"), &tree).unwrap();
        views::assert_sound(codec, &sandbox.at("image"), &tree);
        let verified = sandbox.good(&["verify", "image"]).text();
        assert!(verified.contains("image: sound") && !verified.contains(" note"), "{verified}");
    }
}

#[test]
fn rejects_output_device_as_base() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = trees();
    pack(&sandbox, "gzip", ["old", "old.sqfs"], &[]);
    fs::OpenOptions::new().write(true).open(sandbox.at("old.sqfs")).unwrap().set_len(8 << 20).unwrap();
    let device = mount::LoopDevice::over(&sandbox.at("old.sqfs")).unwrap();
    let path = device.path();
    let before = sandbox.read("old.sqfs");
    let words = ["pack", "-f", "-b", "16K", "-c", "gzip", "new", path, "--base", path];
    assert!(sandbox.refused(&words).contains(path));
    assert!(sandbox.read("old.sqfs") == before);
}

/// `verify` sees damage that no decoder does: a bit of a block that is stored as it is.
#[test]
fn the_checksum_of_the_record_is_verified() {
    let sandbox = trees();
    pack(&sandbox, "gzip", ["old", "old.sqfs"], &[]);
    assert!(sandbox.good(&["verify", "old.sqfs"]).text().contains("old.sqfs: sound\n"));
    let noise = fs::read(sandbox.at("old/noise03")).unwrap();
    let mut image = sandbox.read("old.sqfs");
    let at = image.windows(64).position(|window| *window == noise[..64]).unwrap();
    image[at + 9] ^= 1;
    sandbox.write("damaged.sqfs", &image);
    let found = sandbox.run(&["verify", "damaged.sqfs"]);
    assert!(
        found.status == 1 && found.text().contains("changed content, in an unknown file: checksum 0x"),
        "{found:?}"
    );
    image[at + 9] ^= 1;
    let used = u64::from_le_bytes(image[40..48].try_into().unwrap()) as usize;
    image[used + 20] ^= 1;
    sandbox.write("damaged.sqfs", &image);
    let found = sandbox.run(&["verify", "damaged.sqfs"]);
    assert!(found.status == 1 && found.text().contains("the record of the encoder is damaged"), "{found:?}");
}

#[test]
fn summary_omits_unused_source_image() {
    let sandbox = sandbox();
    sandbox.write("one/a", "a");
    sandbox.write("two/b", "b");
    sandbox.good(&["pack", "-q", "one", "one.sqfs"]);
    let pack = ["pack", "-f", "--overlay", "one.sqfs", "two", "o.sqfs"];
    let stderr = sandbox.good(&pack).stderr;
    assert!(!stderr.contains("base:"), "{stderr}");
    let stderr = sandbox.good(&[&pack[..], &["--base", "one.sqfs"]].concat()).stderr;
    assert!(stderr.contains("base:      0 of "), "{stderr}");
}
