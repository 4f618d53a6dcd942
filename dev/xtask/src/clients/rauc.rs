//! RAUC builds signed bundles, plain and with verity hashes, checks them, extracts them and signs them again.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "rauc",
    needs: &[("rauc", "rauc"), ("openssl", "openssl"), ("mksquashfs", "squashfs-tools")],
    short: true,
    does: "made, checked, extracted and signed bundles",
    exercise,
};

const CERTIFICATE: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
    -subj /CN=packline-test -keyout key.pem -out certificate.pem";

fn exercise(run: &mut Run) -> Result<(), String> {
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
