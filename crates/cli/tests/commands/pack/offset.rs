//! `pack --offset` begins the image at a byte of the output, where all readers find it.

use std::fs;

use packline_testkit::mount::{self, LoopDevice, Mounted};
use packline_testkit::{Sandbox, snapshot, tools};

use crate::sandbox;

const OFFSETS: [usize; 4] = [1, 512, 4096, 197_632];

fn tree() -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("tree/a/f", "content ".repeat(100_000));
    sandbox.write("tree/tail", "tail");
    std::os::unix::fs::symlink("a", sandbox.at("tree/link")).unwrap();
    sandbox.good(&["pack", "-q", "tree", "plain.sqfs"]);
    sandbox
}

#[test]
fn writes_same_image_after_zeros() {
    let sandbox = tree();
    let plain = sandbox.read("plain.sqfs");
    for (offset, options) in OFFSETS.iter().flat_map(|offset| [(*offset, "-j0"), (*offset, "-j2")]) {
        let ran = sandbox.good(&["pack", "-f", "tree", "i.sqfs", "--json", options, "--offset", &offset.to_string()]);
        let bytes = sandbox.read("i.sqfs");
        assert!(bytes[..offset].iter().all(|&byte| byte == 0) && bytes[offset..] == plain, "{offset}");
        assert!(ran.text().contains(&format!("\"output_bytes\":{},", plain.len())), "{}", ran.text());
        assert!(sandbox.good(&["info", "i.sqfs"]).text().contains(&format!("at byte {offset} of the file")));
        sandbox.good(&["verify", "-q", "i.sqfs"]);
        sandbox.good(&["diff", "i.sqfs", "tree"]);
        sandbox.good(&["unpack", "-qf", "i.sqfs", "out", "--offset", &offset.to_string()]);
    }
}

#[test]
fn other_readers_find_image_at_offset() {
    let sandbox = tree();
    for offset in &OFFSETS[1..] {
        sandbox.good(&["pack", "-qf", "tree", "i.sqfs", "--offset", &offset.to_string()]);
        if tools::need(&["unsquashfs"]) {
            sandbox.peer("unsquashfs", &["-q", "-n", "-f", "-o", &offset.to_string(), "-d", "peer", "i.sqfs"]);
            assert_eq!(sandbox.read("peer/a/f"), sandbox.read("tree/a/f"));
        }
        if mount::kernel_mounts("zstd") {
            let mounted = Mounted::kernel_at(&sandbox.at("i.sqfs"), *offset as u64).unwrap();
            let expected = snapshot::of_directory(&sandbox.at("tree")).unwrap();
            assert_eq!(snapshot::of_directory(mounted.path()).unwrap(), expected);
        }
    }
}

#[test]
fn keeps_bytes_of_device_before_offset() {
    if !mount::loop_devices() {
        return;
    }
    let sandbox = tree();
    sandbox.write("disk", vec![0xaa; 4 << 20]);
    let device = LoopDevice::over(&sandbox.at("disk")).unwrap();
    sandbox.good(&["pack", "-qf", "tree", device.path(), "--offset", "1M"]);
    let line = sandbox.refused(&["pack", "-qf", "tree", device.path(), "--offset", "5M"]);
    assert!(line.contains("the device has only 4194304 bytes"), "{line}");
    drop(device);
    let disk = sandbox.read("disk");
    let plain = sandbox.read("plain.sqfs");
    assert!(disk[..1 << 20].iter().all(|&byte| byte == 0xaa) && disk[1 << 20..].starts_with(&plain));
}

#[test]
fn padding_counts_from_the_image() {
    let sandbox = tree();
    sandbox.good(&["pack", "-q", "tree", "i.sqfs", "--offset", "1000", "--pad", "64K"]);
    assert_eq!(fs::metadata(sandbox.at("i.sqfs")).unwrap().len(), 1000 + (64 << 10));
    let error = sandbox.bad(2, &["pack", "tree", "i.lrz", "--offset", "512"]);
    assert!(error.contains("--offset: not supported for .lrz output"), "{error}");
}
