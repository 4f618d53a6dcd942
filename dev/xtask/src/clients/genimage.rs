//! genimage makes two images, the second without compression, and a disk with the first in a partition.

use super::Client;
use super::run::{Run, Times};

const CONFIG: &str = "\
image root.sqfs { size = 1M squashfs { compression = \"xz\" extraargs = \"-mkfs-time 0 -no-progress\" } }
image plain.sqfs { squashfs { compression = \"none\" } mountpoint = \"/opt\" }
image disk.img {
    hdimage { }
    partition root { image = \"root.sqfs\" partition-type = 0x83 }
}
";

pub const CLIENT: Client = Client {
    name: "genimage",
    needs: &[("genimage", "genimage"), ("mksquashfs", "squashfs-tools")],
    short: true,
    does: "made two images, and a disk with one in a partition",
    exercise,
};

/// The first sector is the partition table.
const PARTITION: u64 = 512;

fn exercise(run: &mut Run) -> Result<(), String> {
    run.write("genimage.cfg", CONFIG)?;
    run.write("root/opt/program", "#!/bin/sh\n")?;
    run.plant("root/tree")?;
    run.succeeds("touch -d @1000000000 root/opt/program root/opt root")?;
    run.succeeds("genimage --config genimage.cfg --rootpath root --inputpath images --outputpath images")?;
    run.image("images/root.sqfs")?;
    run.image("images/plain.sqfs")?;
    run.image_at("images/disk.img", PARTITION, Times::Compared)
}
