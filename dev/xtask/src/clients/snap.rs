//! `snap pack` checks a directory and makes a snap, and `snap info` reads it. Neither needs the daemon.

use super::Client;
use super::run::{Run, Times};

pub const CLIENT: Client = Client {
    name: "snap",
    needs: &[("snap", "snapd"), ("mksquashfs", "squashfs-tools")],
    short: true,
    does: "checked a directory, packed it with xz and lzo, and showed the snaps",
    exercise,
};

const SNAP: &str = "\
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

fn exercise(run: &mut Run) -> Result<(), String> {
    run.write("hello/meta/snap.yaml", SNAP)?;
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
