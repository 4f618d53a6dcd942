//! util-linux, KIWI and systemd-repart, which call erofs-utils.

use super::Client;
use super::run::{Run, Times};

/// Needed by all clients.
const MKFS: (&str, &str) = ("mkfs.erofs", "erofs-utils");

/// mkfs and fsck of util-linux run the programs of a file system by name, as a system does when it starts.
pub const UTIL_LINUX: Client = Client {
    name: "util-linux",
    needs: &[("mkfs", "util-linux"), ("fsck", "util-linux"), ("fsck.erofs", "erofs-utils"), MKFS],
    debian: 12,
    short: true,
    does: "built an image with mkfs, and checked its device with fsck",
    exercise: util_linux,
};

fn util_linux(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    // mkfs.erofs 1.5, which Debian 12 has, does not find files with the longest names, and does not mark a directory with a whiteout.
    run.succeeds(
        "rm -r tree/names tree/special/char-0-0; touch -d @1000000000 tree tree/special; mkfs -t erofs tree.erofs tree",
    )?;
    // fsck checks only devices.
    run.succeeds(
        "loop=$(losetup --find --show tree.erofs); fsck -T $loop; status=$?; losetup --detach $loop; exit $status",
    )?;
    run.erofs_at("tree.erofs", 0, Times::Compared)
}

/// KIWI builds a live system's image with a label, and without the names of a list.
pub const KIWI: Client = Client {
    name: "kiwi",
    needs: &[("kiwi-ng", "pip install kiwi"), MKFS],
    debian: 13,
    short: false,
    does: "built images of a tree, one compressed without some names",
    exercise: kiwi,
};

const KIWI_PROGRAM: &str = "\
from kiwi.filesystem import FileSystem
from kiwi.storage.device_provider import DeviceProvider
import sys

options = {'compression': sys.argv[2]} if len(sys.argv) > 2 else {}
with FileSystem.new('erofs', DeviceProvider(), 'tree', options) as system:
    system.create_on_file(sys.argv[1], 'SYSTEM', ['sizes/prose-*', 'holes'])
";

fn kiwi(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    run.write("build.py", KIWI_PROGRAM)?;
    // The interpreter of the program has its modules.
    let python = "$(sed -n '1s/^#!//p' \"$(command -v kiwi-ng)\")";
    for (image, compression) in [("plain.erofs", ""), ("lz4hc.erofs", "lz4hc,level=9")] {
        run.succeeds(&format!("{python} build.py {image} {compression}"))?;
        run.prints(&format!("blkid -o value -s LABEL {image}"), 0)?;
        run.erofs_at(image, 0, Times::Compared)?;
    }
    Ok(())
}

/// systemd-repart builds a disk with an image and its hash tree.
pub const REPART: Client = Client {
    name: "repart-erofs",
    needs: &[("systemd-repart", "systemd-repart"), ("partx", "util-linux"), MKFS],
    debian: 13,
    short: false,
    does: "built a disk with an image and its hash tree in partitions",
    exercise: repart,
};

/// Bytes of a sector in partition tables.
const SECTOR: u64 = 512;

fn repart(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    let tree = run.path("tree");
    let options = "Minimize=best\nCompression=zstd\nCompressionLevel=9";
    let image = format!("Format=erofs\nCopyFiles={}:/\nVerity=data\nVerityMatchKey=root\n{options}\n", tree.display());
    run.write("definitions/10-root.conf", &format!("[Partition]\nType=root\n{image}"))?;
    run.write(
        "definitions/20-verity.conf",
        "[Partition]\nType=root-verity\nVerity=hash\nVerityMatchKey=root\nMinimize=best\n",
    )?;
    let disk = "--empty=create --size=auto --offline=yes --seed=00112233445566778899aabbccddeeff --no-pager disk.raw";
    run.succeeds(&format!("systemd-repart --definitions=definitions --dry-run=no {disk}"))?;
    let start = run.succeeds("partx --show --noheadings --output START --nr 1 disk.raw")?;
    let start: u64 = start.trim().parse().map_err(|cause| format!("partx: {start:?}: {cause}"))?;
    run.erofs_at("disk.raw", start * SECTOR, Times::Compared)
}
