//! live-build's step that packs a root file system, with files left out and others sorted.

use super::Client;
use super::run::Run;

pub const CLIENT: Client = Client {
    name: "live-build",
    needs: &[("lb", "live-build"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "packed a root file system",
    exercise,
};

fn exercise(run: &mut Run) -> Result<(), String> {
    run.succeeds("lb config --build-with-chroot false --cache false")?;
    run.plant("chroot")?;
    run.write("config/rootfs/squashfs.sort", "sizes/mixed 100\nholes -5\n")?;
    run.write("config/rootfs/excludes", "sizes/prose-*\ntwins/[hb]*\n")?;
    // The steps before it, which would install a system.
    run.succeeds("touch .build/bootstrap .build/binary_chroot")?;
    run.succeeds("SOURCE_DATE_EPOCH=1700000000 lb binary_rootfs")?;
    run.image("binary/live/filesystem.squashfs")
}
