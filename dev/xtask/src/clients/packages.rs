//! snap, RAUC and Charliecloud, which ship images, and diffoscope, which compares images.

use super::Client;
use super::run::{Run, Times, beginning};

/// `snap pack` checks a directory and makes a snap, and `snap info` reads it. Neither needs the daemon.
pub const SNAP: Client = Client {
    name: "snap",
    needs: &[("snap", "snapd"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: true,
    does: "checked a directory, packed it with xz and lzo, and showed the snaps",
    exercise: snap,
};

const SNAP_YAML: &str = "\
name: hello
version: '1.0'
summary: Prints a line
description: A snap of one program
base: core22
confinement: strict
grade: stable
apps:
  hello:
    command: bin/hello
";

fn snap(run: &mut Run) -> Result<(), String> {
    run.write("hello/meta/snap.yaml", SNAP_YAML)?;
    run.write("hello/bin/hello", "#!/bin/sh\necho hello\n")?;
    // Files that snaps leave out by default.
    run.write("hello/bin/hello.bak~", "an editor's copy\n")?;
    run.succeeds("chmod 755 hello/bin/hello; seq 20000 >hello/numbers; ln -s numbers hello/link; mkdir empty")?;
    run.prints("snap pack --check-skeleton hello", 0)?;
    for codec in ["xz", "lzo"] {
        // `snap info` shows the creation time of the image.
        let pack = format!("SOURCE_DATE_EPOCH=1000000000 snap pack --compression={codec}");
        run.prints(&format!("{pack} --filename={codec}.snap hello"), 0)?;
        run.prints(&format!("snap info ./{codec}.snap"), 0)?;
        run.image_at(&format!("{codec}.snap"), 0, Times::Ignored)?;
    }
    run.prints("snap pack empty 2>&1", 1)
}

/// RAUC builds signed bundles, plain and with verity hashes, checks them, extracts them and signs them again.
pub const RAUC: Client = Client {
    name: "rauc",
    needs: &[("rauc", "rauc"), ("openssl", "openssl"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: true,
    does: "made, checked, extracted and signed bundles",
    exercise: rauc,
};

const CERTIFICATE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj /CN=packline-test -keyout key.pem -out certificate.pem";

fn rauc(run: &mut Run) -> Result<(), String> {
    run.succeeds(CERTIFICATE)?;
    bundle(run, "plain", "")?;
    bundle(run, "verity", "--mksquashfs-args='-comp xz -b 64k'")
}

/// A bundle of two images, in one of RAUC's formats.
fn bundle(run: &mut Run, format: &str, options: &str) -> Result<(), String> {
    let manifest = format!(
        "[update]\ncompatible=test\nversion=1\n\n[bundle]\nformat={format}\n\n\
        [image.rootfs]\nfilename=rootfs.img\n\n[image.app]\nfilename=app.img\n"
    );
    run.write(&format!("{format}/manifest.raucm"), &manifest)?;
    run.write(&format!("{format}/rootfs.img"), "root\n")?;
    run.succeeds(&format!("seq 100000 >{format}/app.img"))?;
    let keyring = "--keyring=certificate.pem";
    let keys = "--cert=certificate.pem --key=key.pem";
    run.succeeds(&format!("rauc {keys} bundle {options} {format} {format}.raucb"))?;
    run.prints(&format!("rauc {keyring} info --output-format=json-pretty {format}.raucb"), 0)?;
    run.succeeds(&format!("rauc {keyring} extract {format}.raucb {format}-extracted"))?;
    run.succeeds(&format!("rauc {keyring} {keys} resign {format}.raucb {format}-again.raucb"))?;
    run.succeeds(&format!("rauc {keyring} info {format}-again.raucb"))?;
    run.image_at(&format!("{format}.raucb"), 0, Times::Ignored)?;
    run.tree(&format!("{format}-extracted"), Times::Ignored)
}

/// Charliecloud's ch-convert turns a directory into an image, the image into a directory and a tar, and the tar into an image.
pub const CHARLIECLOUD: Client = Client {
    name: "charliecloud",
    needs: &[("ch-convert", "charliecloud-builders"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: false,
    does: "turned a directory into an image, and that into a directory, a tar and an image again",
    exercise: charliecloud,
};

fn charliecloud(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    run.succeeds("mkdir tree/ch tree/dev; touch -d @1 tree/ch tree/dev tree")?;
    // ch-convert puts the directory of its own name first in PATH, so it is called in the directory of the replaced programs.
    run.succeeds("mkdir ../lib; ln -s /usr/lib/charliecloud ../lib; ln -s /usr/bin/ch-convert ../bin")?;
    for formats in [
        "--in-fmt dir tree tree.sqfs",
        "--out-fmt dir tree.sqfs again",
        "tree.sqfs tree.tar.gz",
        "tree.tar.gz again.sqfs",
    ] {
        run.succeeds(&format!("ch-convert {formats}"))?;
    }
    run.image_at("tree.sqfs", 0, Times::Ignored)?;
    run.image_at("again.sqfs", 0, Times::Ignored)?;
    run.tree("again", Times::Ignored)
}

/// diffoscope compares two images of squashfs-tools by what unsquashfs prints and extracts.
pub const DIFFOSCOPE: Client = Client {
    name: "diffoscope",
    needs: &[("diffoscope", "diffoscope-minimal"), ("mksquashfs", "squashfs-tools")],
    debian: 12,
    short: true,
    does: "compared two images",
    exercise: diffoscope,
};

const COMPARE: &str = "diffoscope --no-progress --no-default-limits";

fn diffoscope(run: &mut Run) -> Result<(), String> {
    run.plant("tree")?;
    // diffoscope stops at names and targets of links that are not UTF-8.
    run.succeeds("rm -r tree/names tree/links/*odd*; touch -d @1 tree/links tree")?;
    let make = |name| format!("/usr/bin/mksquashfs tree {name}.sqfs -mkfs-time 0 -quiet -no-progress");
    run.succeeds(&make("before"))?;
    run.succeeds("echo new >tree/new; chmod 750 tree/new; chown 1:2 tree/new; ln -s new tree/to-new; mkdir tree/more")?;
    run.succeeds("touch -h -d @2 tree/new tree/to-new tree/more tree")?;
    run.succeeds(&make("after"))?;
    let found = run.ends(&format!("{COMPARE} before.sqfs after.sqfs"), 1)?;
    // The words of squashfs-tools 4.6 and later, which the drop-ins have, and those of 4.5.
    let found = found.replace("Always-use-fragments option is not specified", "Tailends are not packed into fragments");
    if !found.contains("/to-new -> new") {
        return Err(format!("diffoscope does not show the new entries:\n{}", beginning(&found)));
    }
    run.text("what diffoscope prints", found);
    run.succeeds("cp before.sqfs same.sqfs")?;
    run.prints(&format!("{COMPARE} before.sqfs same.sqfs"), 0)
}
