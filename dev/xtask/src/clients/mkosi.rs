//! mkosi makes an image of an operating system. The package manager that it runs is a script that installs nothing.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "mkosi",
    needs: &[("mkosi", "mkosi"), ("mksquashfs", "squashfs-tools")],
    short: false,
    does: "made an image of a tree",
    exercise,
};

const CONFIG: &str = "\
[Distribution]
Distribution=arch
[Output]
Format=plain_squashfs
Output=system.sqfs
[Content]
SkeletonTree=skeleton
";

fn exercise(run: &mut Run) -> Result<(), String> {
    run.write("mkosi.conf", CONFIG)?;
    run.write("bin/pacman", "#!/bin/sh\nexit 0\n")?;
    run.plant("skeleton/tree")?;
    // mkosi edits them.
    run.succeeds(
        "chmod 755 bin/pacman; mkdir -p skeleton/etc/pam.d skeleton/var/lib/pacman; touch skeleton/etc/pam.d/login",
    )?;
    run.succeeds("PATH=$PATH:$PWD/bin mkosi --force build")?;
    run.image_at("system.sqfs", 0, Times::Ignored)
}
