//! Lines that mount with `squashfuse_ll`: the drop-in shows the tree that squashfuse shows.

use std::process::Command;

use packline_testkit::snapshot::{self, Except, Snapshot};
use packline_testkit::tools;

use super::{Row, Side, Stage, check, of_directory, row};
use crate::squashfuse::available;

/// The squashfuse of Debian 12 has no owners.
const OWNERS: &[(&str, &str)] = &[(",uid=1000,gid=100", "")];

/// `$IMAGE` is an image after 4096 other bytes.
const ROWS: &[Row] = &[
    row(
        "apptainer",
        "squashfuse_ll -f -o allow_other,ro,uid=1000,gid=100,offset=4096 $IMAGE on & until mountpoint -q on; do :; done",
    )
    .peer(OWNERS),
    row("singularity", "squashfuse_ll -o ro,offset=4096,uid=1000,gid=100,allow_other $IMAGE on").peer(OWNERS),
    row("singularity, own", "squashfuse_ll -o ro,offset=4096,uid=1000,gid=100 $IMAGE on").peer(OWNERS),
];

#[test]
fn callers_mount() {
    if !available(&["squashfuse_ll", "mountpoint"]) {
        return;
    }
    let Some(stage) = Stage::new() else { return };
    stage.sandbox.create_dir("on");
    let ran = stage.run(Side::Peers, "mksquashfs source image -quiet -offset 4096 -all-time 1500000000");
    assert!(ran.status == 0, "{ran:?}");
    check(ROWS, |row| {
        let [ours, peers] = [(Side::Ours, row.line.to_string()), (Side::Peers, row.peers_line())]
            .map(|(side, line)| shown(&stage, side, &line));
        let ours = ours?;
        let mut peers = peers?;
        peers.values_mut().for_each(|entry| (entry.uid, entry.gid) = (1000, 100));
        // squashfuse shows an inode for each name, and swaps two kinds of extended attributes.
        let except = Except { groups: true, xattrs: true, ..Except::default() };
        let lines = snapshot::differences(&peers, &ours, except);
        if lines.is_empty() { Ok(()) } else { Err(lines.join("\n  ")) }
    });
}

/// The tree that a line mounts, which is unmounted.
fn shown(stage: &Stage, side: Side, line: &str) -> Result<Snapshot, String> {
    let ran = stage.run_on(side, "image", &format!("{{ {line}; }} >log 2>&1"));
    if ran.status != 0 {
        return Err(format!("{}: {ran:?} {}", side.name(), stage.sandbox.read_text("log")));
    }
    let tree = of_directory(&stage.sandbox.at("on"));
    tools::run(Command::new("umount").arg(stage.sandbox.at("on")))?;
    tree
}
