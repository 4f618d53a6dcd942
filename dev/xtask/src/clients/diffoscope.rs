//! diffoscope compares two images of squashfs-tools by what unsquashfs prints and extracts.

use super::Client;
use super::run::{Run, beginning};

pub const CLIENT: Client = Client {
    name: "diffoscope",
    needs: &[("diffoscope", "diffoscope-minimal"), ("mksquashfs", "squashfs-tools")],
    short: true,
    does: "compared two images",
    exercise,
};

const COMPARE: &str = "diffoscope --no-progress --no-default-limits";

fn exercise(run: &mut Run) -> Result<(), String> {
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
