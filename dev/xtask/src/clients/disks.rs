//! genimage, systemd-repart and mkosi, which make disks and images from a configuration.

use super::Client;
use super::run::{Run, Times};

const GENIMAGE_CONFIG: &str = "\
image root.sqfs { size = 1M squashfs { compression = \"xz\" extraargs = \"-mkfs-time 0 -no-progress\" } }
image plain.sqfs { squashfs { compression = \"none\" } mountpoint = \"/opt\" }
image disk.img {
    hdimage { }
    partition root { image = \"root.sqfs\" partition-type = 0x83 }
}
";

/// genimage makes two images, the second without compression, and a disk with the first in a partition.
pub const GENIMAGE: Client = Client {
    name: "genimage",
    needs: &[("genimage", "genimage"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: true,
    does: "made two images, and a disk with one in a partition",
    exercise: genimage,
};

/// The first sector is the partition table.
const GENIMAGE_PARTITION: u64 = 512;

fn genimage(run: &mut Run) -> Result<(), String> {
    run.write("genimage.cfg", GENIMAGE_CONFIG)?;
    run.write("root/opt/program", "#!/bin/sh\n")?;
    run.plant("root/tree")?;
    run.succeeds("touch -d @1000000000 root/opt/program root/opt root")?;
    run.succeeds("genimage --config genimage.cfg --rootpath root --inputpath images --outputpath images")?;
    run.image("images/root.sqfs")?;
    run.image("images/plain.sqfs")?;
    run.image_at("images/disk.img", GENIMAGE_PARTITION, Times::Compared)
}

/// systemd-repart makes a disk whose partitions are a SquashFS image, written to a loop device, and its verity hashes.
pub const REPART: Client = Client {
    name: "repart",
    needs: &[("systemd-repart", "systemd"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "made a disk with an image and its verity hashes in partitions",
    exercise: repart,
};

/// Offset in bytes at which systemd-repart begins the first partition.
const REPART_PARTITION: u64 = 1 << 20;

fn repart(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    let tree = run.path("tree");
    let image = format!("Format=squashfs\nCopyFiles={}:/\nVerity=data\nVerityMatchKey=root\n", tree.display());
    run.write("definitions/10-root.conf", &format!("[Partition]\nType=root\n{image}"))?;
    run.write("definitions/20-verity.conf", "[Partition]\nType=root-verity\nVerity=hash\nVerityMatchKey=root\n")?;
    let disk = "--empty=create --size=32M --seed=00112233445566778899aabbccddeeff --no-pager disk.raw";
    run.succeeds(&format!("systemd-repart --definitions=definitions --dry-run=no {disk}"))?;
    run.image_at("disk.raw", REPART_PARTITION, Times::Compared)
}

/// mkosi makes an image of an operating system. The package manager that it runs is a script that installs nothing.
pub const MKOSI: Client = Client {
    name: "mkosi",
    needs: &[("mkosi", "mkosi"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "made an image of a tree",
    exercise: mkosi,
};

const MKOSI_CONFIG: &str = "\
[Distribution]
Distribution=arch
[Output]
Format=plain_squashfs
Output=system.sqfs
[Content]
SkeletonTree=skeleton
";

fn mkosi(run: &mut Run) -> Result<(), String> {
    run.write("mkosi.conf", MKOSI_CONFIG)?;
    run.write("bin/pacman", "#!/bin/sh\nexit 0\n")?;
    run.plant("skeleton/tree")?;
    // mkosi edits them.
    run.succeeds(
        "chmod 755 bin/pacman; mkdir -p skeleton/etc/pam.d skeleton/var/lib/pacman; touch skeleton/etc/pam.d/login",
    )?;
    run.succeeds("PATH=$PATH:$PWD/bin mkosi --force build")?;
    run.image_at("system.sqfs", 0, Times::Ignored)
}
