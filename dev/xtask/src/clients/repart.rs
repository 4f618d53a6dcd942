//! systemd-repart makes a disk whose partitions are a SquashFS image, written to a loop device, and its verity hashes.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "repart",
    needs: &[("systemd-repart", "systemd"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "made a disk with an image and its verity hashes in partitions",
    exercise,
};

/// Offset in bytes at which systemd-repart begins the first partition.
const PARTITION: u64 = 1 << 20;

fn exercise(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    let tree = run.path("tree");
    let image = format!("Format=squashfs\nCopyFiles={}:/\nVerity=data\nVerityMatchKey=root\n", tree.display());
    run.write("definitions/10-root.conf", &format!("[Partition]\nType=root\n{image}"))?;
    run.write("definitions/20-verity.conf", "[Partition]\nType=root-verity\nVerity=hash\nVerityMatchKey=root\n")?;
    let disk = "--empty=create --size=32M --seed=00112233445566778899aabbccddeeff --no-pager disk.raw";
    run.succeeds(&format!("systemd-repart --definitions=definitions --dry-run=no {disk}"))?;
    run.image_at("disk.raw", PARTITION, Times::Compared)
}
