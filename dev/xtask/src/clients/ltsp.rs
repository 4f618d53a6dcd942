//! `ltsp image` packs a system through an overlay, without the files of its list of wildcards, and mounts the image for its kernel.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "ltsp",
    needs: &[("ltsp", "ltsp"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "packed a system without what its list of wildcards names",
    exercise,
};

/// Names in LTSP's list, and names that nearly match.
const FILES: &str = "boot/vmlinuz-1 boot/initrd.img-1 cdrom/.disk etc/.java etc/.hidden etc/ssh/ssh_host_key etc/ssh/ssh_config \
    etc/udev/rules.d/70-persistent-net.rules etc/udev/rules.d/170-persistent-net.rules etc/passwd home/user/file \
    opt/ltsp-old/file opt/other root/.profile root/file swapfile swapfile-2 tmp/.hidden tmp/file var/cache/apt/archives/a.deb \
    var/cache/apt/archives/a.txt var/log/syslog var/log/syslog.1 var/log/syslog.10 var/log/apt/history var/log/a.gz \
    var/spool/cron/tabs/root var/spool/cron/file";

fn exercise(run: &mut Run) -> Result<(), String> {
    run.plant("ltsp/system/tree")?;
    run.succeeds(&format!("cd ltsp/system; for name in {FILES}; do mkdir -p $(dirname $name); echo x >$name; done"))?;
    run.succeeds("TFTP_DIR=$PWD/tftp ltsp -b $PWD/ltsp image --cleanup=0 $PWD/ltsp/system")?;
    run.image_at("ltsp/images/system.img", 0, Times::Ignored)?;
    run.tree("tftp", Times::Ignored)
}
