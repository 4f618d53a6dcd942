//! dracut's squash module puts most of an initramfs into an image. Without a kernel, so that no modules are needed.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "dracut",
    needs: &[
        ("dracut", "dracut"),
        ("/usr/lib/dracut/modules.d/99squash/module-setup.sh", "dracut-squash"),
        ("cpio", "cpio"),
        ("mksquashfs", "squashfs-tools"),
    ],
    short: false,
    does: "made an initramfs whose files are in an image",
    exercise,
};

fn exercise(run: &mut Run) -> Result<(), String> {
    run.succeeds("mkdir configuration temporary initramfs")?;
    let place = "--conf /dev/null --confdir configuration --tmpdir temporary --force initramfs.img 6.1.0-none";
    let contents = "--no-kernel --no-hostonly --no-hostonly-cmdline --no-early-microcode --modules 'base bash squash'";
    // dracut sets PATH itself.
    let path = "DRACUT_PATH=\"$(echo $PATH | tr : ' ')\"";
    run.succeeds(&format!("{path} dracut {contents} --add squash --squash-compressor xz --reproducible {place}"))?;
    run.succeeds("cd initramfs && cpio --extract --make-directories --quiet <../initramfs.img")?;
    run.succeeds("mv initramfs/squash-root.img root.sqfs")?;
    run.image_at("root.sqfs", 0, Times::Ignored)?;
    run.tree("initramfs", Times::Ignored)
}
