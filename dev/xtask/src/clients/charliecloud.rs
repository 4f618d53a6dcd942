//! Charliecloud's ch-convert turns a directory into an image, the image into a directory and a tar, and the tar into an image.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "charliecloud",
    needs: &[("ch-convert", "charliecloud-builders"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "turned a directory into an image, and that into a directory, a tar and an image again",
    exercise,
};

fn exercise(run: &mut Run) -> Result<(), String> {
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
