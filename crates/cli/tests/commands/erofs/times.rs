//! Nanoseconds of modification times, which SquashFS cannot store.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use packline_testkit::Sandbox;
use packline_testkit::mount;
use serde_json::Value;

use crate::sandbox;

/// A file of the fixture, and its time.
const FILE: &str = "hello";
const TIME: (i64, i64) = (1_600_000_000, 123_456_789);

fn with_fixture() -> Sandbox {
    let sandbox = sandbox();
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../erofs/tests/images");
    fs::copy(images.join("inline.erofs"), sandbox.at("image")).unwrap();
    sandbox
}

fn listed(sandbox: &Sandbox, archive: &str) -> (Option<i64>, Option<i64>) {
    let line = sandbox.good(&["list", "--json", archive, FILE]).text();
    let entry: Value = serde_json::from_str(&line).unwrap();
    (entry["mtime"].as_i64(), entry.get("mtime_nanoseconds").map(|value| value.as_i64().unwrap()))
}

fn of_host(sandbox: &Sandbox, path: &str) -> (i64, i64) {
    let found = fs::symlink_metadata(sandbox.at(path)).unwrap();
    (found.mtime(), found.mtime_nsec())
}

#[test]
fn unpacked_files_tars_and_lists_have_nanoseconds() {
    let sandbox = with_fixture();
    let expected = (Some(TIME.0), Some(TIME.1));
    assert_eq!(listed(&sandbox, "image"), expected);
    sandbox.good(&["unpack", "image", "out", "-q", FILE]);
    assert_eq!(of_host(&sandbox, "out/hello"), TIME);
    assert!(sandbox.good(&["list", "-l", "image", FILE]).text().contains(" 2020-09-13 12:26 hello"));
    sandbox.good(&["unpack", "image", "out.tar", "-q", FILE]);
    assert_eq!(listed(&sandbox, "out.tar"), expected);
    let records = sandbox.read("out.tar");
    let record = b"30 mtime=1600000000.123456789\n";
    assert!(records.windows(record.len()).any(|found| found == record));
}

#[test]
fn squashfs_images_and_tars_in_lrz_files_have_whole_seconds() {
    let sandbox = with_fixture();
    let whole = (Some(TIME.0), None);
    sandbox.good(&["unpack", "image", "out", "-q", FILE]);
    for (name, archive) in [("out", "of-directory.sqfs"), ("image", "of-image.sqfs"), ("out", "of-directory.lrz")] {
        sandbox.good(&["pack", name, archive, "-q"]);
        let line = sandbox.good(&["list", "--json", archive, FILE]).text();
        let entry: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((entry["mtime"].as_i64(), entry.get("mtime_nanoseconds")), whole, "{archive}");
    }
}

#[test]
fn mounted_files_have_nanoseconds() {
    if !mount::fuse_available() {
        return;
    }
    let sandbox = with_fixture();
    sandbox.create_dir("on");
    sandbox.good(&["mount", "image", "on"]);
    let found = of_host(&sandbox, "on/hello");
    sandbox.good(&["umount", "on"]);
    assert_eq!(found, TIME);
}

#[test]
fn mounted_files_have_times_before_1970() {
    if !mount::fuse_available() {
        return;
    }
    let sandbox = sandbox();
    sandbox.create_dir("old");
    sandbox.write("old/file", "x");
    sandbox.shell("touch -d '1960-01-01 00:00:00.5 UTC' old/file");
    assert_eq!(of_host(&sandbox, "old/file"), (-315_619_200, 500_000_000));
    sandbox.good(&["pack", "old", "old.erofs", "-q"]);
    sandbox.create_dir("on");
    sandbox.good(&["mount", "old.erofs", "on"]);
    let found = of_host(&sandbox, "on/file");
    sandbox.good(&["umount", "on"]);
    assert_eq!(found, of_host(&sandbox, "old/file"));
}

#[test]
fn diff_compares_the_nanoseconds_of_an_erofs_image() {
    let sandbox = with_fixture();
    sandbox.good(&["unpack", "image", "out", "-q", FILE]);
    sandbox.good(&["pack", "out", "whole.sqfs", "-q"]);
    sandbox.good(&["unpack", "whole.sqfs", "seconds", "-q"]);
    for sides in [["whole.sqfs", "out"], ["out", "whole.sqfs"], ["out", "seconds"]] {
        assert_eq!(sandbox.good(&["diff", sides[0], sides[1]]).text(), "", "{sides:?}");
    }
    let ran = sandbox.run(&["diff", "seconds", "image"]);
    let expected = "! hello: time 2020-09-13 12:26:40 -> 2020-09-13 12:26:40.123456789\n";
    assert!(ran.status == 1 && ran.text().contains(expected), "{ran:?}");
    assert!(!sandbox.run(&["diff", "out", "image"]).text().contains("! hello"));
    let ran = sandbox.run(&["diff", "--json", "image", "seconds"]);
    let line =
        ran.text().lines().find(|line| line.contains("mtime") && line.contains(r#""hello""#)).map(str::to_string);
    let difference: Value = serde_json::from_str(&line.unwrap()).unwrap();
    let members = ["old", "old_nanoseconds", "new"].map(|key| difference[key].as_i64().unwrap());
    assert_eq!(members, [TIME.0, TIME.1, TIME.0]);
    assert!(difference.get("new_nanoseconds").is_none());
}
