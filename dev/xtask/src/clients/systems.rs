//! live-build, LTSP, remaster-iso, mmdebstrap and dracut, which pack a system.

use super::Client;
use super::run::{Run, Times};

/// live-build's step that packs a root file system, with files left out and others sorted.
pub const LIVE_BUILD: Client = Client {
    name: "live-build",
    needs: &[("lb", "live-build"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "packed a root file system",
    exercise: live_build,
};

fn live_build(run: &mut Run) -> Result<(), String> {
    run.succeeds("lb config --build-with-chroot false --cache false")?;
    run.plant("chroot")?;
    run.write("config/rootfs/squashfs.sort", "sizes/mixed 100\nholes -5\n")?;
    run.write("config/rootfs/excludes", "sizes/prose-*\ntwins/[hb]*\n")?;
    // The steps before it, which would install a system.
    run.succeeds("touch .build/bootstrap .build/binary_chroot")?;
    run.succeeds("SOURCE_DATE_EPOCH=1700000000 lb binary_rootfs")?;
    run.image("binary/live/filesystem.squashfs")
}

/// `ltsp image` packs a system through an overlay, without the files of its list of wildcards, and mounts the image for its kernel.
pub const LTSP: Client = Client {
    name: "ltsp",
    needs: &[("ltsp", "ltsp"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "packed a system without what its list of wildcards names",
    exercise: ltsp,
};

/// Names in LTSP's list, and names that nearly match.
const FILES: &str = "boot/vmlinuz-1 boot/initrd.img-1 cdrom/.disk etc/.java etc/.hidden etc/ssh/ssh_host_key etc/ssh/ssh_config \
    etc/udev/rules.d/70-persistent-net.rules etc/udev/rules.d/170-persistent-net.rules etc/passwd home/user/file \
    opt/ltsp-old/file opt/other root/.profile root/file swapfile swapfile-2 tmp/.hidden tmp/file var/cache/apt/archives/a.deb \
    var/cache/apt/archives/a.txt var/log/syslog var/log/syslog.1 var/log/syslog.10 var/log/apt/history var/log/a.gz \
    var/spool/cron/tabs/root var/spool/cron/file";

fn ltsp(run: &mut Run) -> Result<(), String> {
    run.plant("ltsp/system/tree")?;
    run.succeeds(&format!("cd ltsp/system; for name in {FILES}; do mkdir -p $(dirname $name); echo x >$name; done"))?;
    run.succeeds("TFTP_DIR=$PWD/tftp ltsp -b $PWD/ltsp image --cleanup=0 $PWD/ltsp/system")?;
    run.image_at("ltsp/images/system.img", 0, Times::Ignored)?;
    run.tree("tftp", Times::Ignored)
}

/// remaster-iso stacks images with overlayfs, the upper one with a whiteout, and builds one image from the result.
pub const REMASTER: Client = Client {
    name: "remaster",
    needs: &[("remaster-squashfs-editor", "remaster-iso"), ("rsync", "rsync"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "made one image of two that overlayfs stacks",
    exercise: remaster,
};

fn remaster(run: &mut Run) -> Result<(), String> {
    run.write("remaster-iso.conf", "_ISOExtractPath=disc\n_ISOLivePath=live\n")?;
    run.plant("tree")?;
    run.write("update/sizes/mixed", "another\n")?;
    // A character device of this number hides the entry below.
    run.succeeds("mkdir -p disc/live; mknod update/twins c 0 0; touch -d @1 update/sizes/mixed update/sizes update")?;
    run.succeeds("mksquashfs tree disc/live/filesystem.squashfs -quiet -no-progress")?;
    run.succeeds("mksquashfs update disc/live/psu-1.squashfs -quiet -no-progress")?;
    run.succeeds("printf 'N\\ny\\n' | TERM=dumb remaster-squashfs-editor")?;
    run.image_at("disc/live/filesystem.squashfs", 0, Times::Ignored)
}

/// mmdebstrap pipes the tar of a system into tar2sqfs. The system has one package, from a local repository, and a tree.
pub const MMDEBSTRAP: Client = Client {
    name: "mmdebstrap",
    needs: &[("mmdebstrap", "mmdebstrap"), ("tar2sqfs", "squashfs-tools-ng")],
    debian: 12,
    short: false,
    does: "made an image of a package and a tree",
    exercise: mmdebstrap,
};

const CONTROL: &str = "\
Package: hello-test
Version: 1
Architecture: all
Maintainer: nobody <nobody@localhost>
Description: a package of one file
";

fn mmdebstrap(run: &mut Run) -> Result<(), String> {
    run.write("package/DEBIAN/control", CONTROL)?;
    run.write("package/etc/hello", "hello\n")?;
    run.succeeds("mkdir repository; dpkg-deb --build package repository/hello.deb")?;
    let facts = "stat -c 'Size: %s' hello.deb; sha256sum <hello.deb | sed 's/^/SHA256: /; s/ *-$//'";
    run.succeeds(&format!(
        "cd repository; {{ cat ../package/DEBIAN/control; echo Filename: hello.deb; {facts}; }} >Packages"
    ))?;
    run.plant("tree")?;
    let hook = "--setup-hook='cp -a tree \"$1\"'";
    let repository = "\"deb [trusted=yes] copy:$PWD/repository ./\"";
    let select = "--mode=root --variant=extract --include=hello-test";
    run.succeeds(&format!("mmdebstrap {select} {hook} '' system.sqfs {repository}"))?;
    run.image_at("system.sqfs", 0, Times::Ignored)
}

/// dracut's squash module puts most of an initramfs into an image. Without a kernel, so that no modules are needed.
pub const DRACUT: Client = Client {
    name: "dracut",
    needs: &[
        ("dracut", "dracut"),
        ("/usr/lib/dracut/modules.d/99squash/module-setup.sh", "dracut-squash"),
        ("cpio", "cpio"),
        ("mksquashfs", "squashfs-tools"),
    ],
    debian: 12,
    short: false,
    does: "made an initramfs whose files are in an image",
    exercise: dracut,
};

fn dracut(run: &mut Run) -> Result<(), String> {
    initramfs(run, "squash", "xz")?;
    run.succeeds("mv initramfs/squash-root.img root.sqfs")?;
    run.image_at("root.sqfs", 0, Times::Ignored)?;
    run.tree("initramfs", Times::Ignored)
}

/// dracut's squash-erofs module, which is a part of Debian from release 13 on.
pub const DRACUT_EROFS: Client = Client {
    name: "dracut-erofs",
    needs: &[
        ("dracut", "dracut-core"),
        ("/usr/lib/dracut/modules.d/95squash-erofs/module-setup.sh", "dracut-squash"),
        ("cpio", "cpio"),
        ("mkfs.erofs", "erofs-utils"),
    ],
    debian: 13,
    short: false,
    does: "made an initramfs whose files are in an EROFS image",
    exercise: dracut_erofs,
};

fn dracut_erofs(run: &mut Run) -> Result<(), String> {
    initramfs(run, "squash-erofs", "zstd")?;
    run.succeeds("mv initramfs/erofs-root.img root.erofs")?;
    run.erofs_at("root.erofs", 0, Times::Ignored)?;
    run.tree("initramfs", Times::Ignored)
}

/// Runs dracut with a module that makes an image, and extracts the initramfs.
fn initramfs(run: &Run, module: &str, compressor: &str) -> Result<(), String> {
    run.succeeds("mkdir configuration temporary initramfs")?;
    let place = "--conf /dev/null --confdir configuration --tmpdir temporary --force initramfs.img 6.1.0-none";
    let modules = format!("--modules 'base bash {module}' --add {module} --squash-compressor {compressor}");
    let contents = "--no-kernel --no-hostonly --no-hostonly-cmdline --no-early-microcode --reproducible";
    // dracut sets PATH itself.
    let path = "DRACUT_PATH=\"$(echo $PATH | tr : ' ')\"";
    run.succeeds(&format!("{path} dracut {contents} {modules} {place}"))?;
    run.succeeds("cd initramfs && cpio --extract --make-directories --quiet <../initramfs.img").map(drop)
}
