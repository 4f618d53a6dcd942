//! remaster-iso stacks images with overlayfs, the upper one with a whiteout, and builds one image from the result.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "remaster",
    needs: &[("remaster-squashfs-editor", "remaster-iso"), ("rsync", "rsync"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "made one image of two that overlayfs stacks",
    exercise,
};

fn exercise(run: &mut Run) -> Result<(), String> {
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
