//! Lines that list and extract: the drop-in and `unsquashfs` print the same, exit alike and leave the same trees.

use packline_testkit::snapshot::{self, Except};

use super::{Row, Side, Stage, check, of_directory, row, same};
use crate::squashfs_tools::unsquashfs::lines;

/// Lines that write the images: one by each program, with different compressors.
const IMAGES: [(Side, &str); 2] = [
    (Side::Peers, "mksquashfs source image -noappend -quiet -no-progress -mkfs-time 1500000000"),
    (Side::Ours, "mksquashfs source image -noappend -quiet -comp lzo -b 16K -always-use-fragments"),
];

#[test]
fn callers_read() {
    compare(ROWS);
}

/// Compares all lines on all images.
pub fn compare(rows: &[Row]) {
    let Some(stage) = Stage::new() else { return };
    for (side, line) in IMAGES {
        good(&stage, side, line);
        check(rows, |row| differs(&stage, row));
    }
}

fn good(stage: &Stage, side: Side, line: &str) {
    let ran = stage.run(side, line);
    assert!(ran.status == 0, "{line}: {ran:?}");
}

/// snapd stores the difference of the definitions of two images, and packs the second from its definitions: to the same bytes.
#[test]
fn snapd_packs_definitions_of_an_image() {
    let Some(stage) = Stage::new() else { return };
    let source = "mksquashfs source image -noappend -quiet -wildcards -e 'names/*' links/to-odd xattrs/empty; ";
    // Definitions hold no line breaks, and no attributes without a value.
    for options in ["-comp xz -no-fragments -no-xattrs", "-comp gzip -no-duplicates", "-comp lzo -no-exports"] {
        let line = source.replace(" -quiet", &format!(" -quiet {options}"))
            + "mkfifo pipe; unsquashfs -da 128 -fr 128 -no-progress -pf pipe image >unsquashed & \
               time=$(unsquashfs -mkfs-time image); mksquashfs - again -pf - -noappend -quiet "
            + options
            + " -mkfs-time $time <pipe; wait; cmp image again; rm pipe again";
        good(&stage, Side::Ours, &line);
    }
}

/// Runs a line with both in an empty directory.
fn differs(stage: &Stage, row: &Row) -> Result<(), String> {
    let ran = [(Side::Ours, row.line.to_string()), (Side::Peers, row.peers_line())].map(|(side, line)| {
        stage.sandbox.remove(side.name());
        stage.sandbox.create_dir(side.name());
        stage.run_on(side, "image", &format!("cd {}; {line}", side.name()))
    });
    let [ours, peers] = &ran;
    same("status", &(ours.status, &ours.stderr), &(peers.status, &peers.stderr))?;
    same("standard output", &printed(&ours.stdout), &printed(&peers.stdout))?;
    let trees = [Side::Ours, Side::Peers].map(|side| of_directory(&stage.sandbox.at(side.name())));
    let [ours, peers] = trees;
    let mut ours = ours?;
    let mut peers = peers?;
    [&mut ours, &mut peers].into_iter().for_each(|tree| stage.without_times_of_runs(tree));
    if row.line.contains(" D ") && peers.len() < 2 {
        return Err("nothing is extracted".to_string());
    }
    let differ =
        snapshot::differences(&peers, &ours, Except { root: !row.line.contains("-f -d ."), ..Except::default() });
    if differ.is_empty() { Ok(()) } else { Err(differ[..differ.len().min(12)].join("\n")) }
}

/// Lines without the progress bar and the line that it ends.
fn printed(text: &[u8]) -> Vec<String> {
    let mut lines = lines(text);
    lines.retain(|line| !line.is_empty() && !line.starts_with("\r["));
    lines
}

const ROWS: &[Row] = &[
    row(
        "snapd, unpack",
        r#"unsquashfs -data-queue 16 -frag-queue 16 -no-xattrs -no-progress -force -dest D "$IMAGE" usr/bin"#,
    ),
    row("snapd, walk", r#"unsquashfs -dest . -lls "$IMAGE"; unsquashfs -dest . -lls "$IMAGE" usr/bin"#),
    row("snapd, list", r#"unsquashfs -dest _ -ls "$IMAGE" usr"#),
    row(
        "snapd, time",
        r#"unsquashfs -stat "$IMAGE" | grep -E '^(Creation|Compression|Block size)'; unsquashfs -stat "$IMAGE""#,
    ),
    row(
        "snapd, failure",
        r#"unsquashfs -no-progress -dest D "$IMAGE" none/such 2>&-; echo $?; unsquashfs -stat /dev/null 2>&- || echo $?"#,
    ),
    row("apptainer", r#"unsquashfs -user-xattrs -f -d D "$IMAGE""#),
    row("apptainer, standard input", r#"unsquashfs -no-xattrs -f -d D /proc/self/fd/0 <"$IMAGE""#),
    row(
        "apptainer, without dev",
        r#"unsquashfs -user-xattrs -r -f -d D "$IMAGE" '^(.{0}[^d]|.{1}[^e]|.{2}[^v]|.{3}[^\x2f]).*$'"#,
    ),
    row("singularity, files", r#"unsquashfs -f -d D "$IMAGE" etc/update.conf usr/bin/tool"#),
    row(
        "enroot, superblock",
        r#"unsquashfs -s "$IMAGE"; unsquashfs -s "$IMAGE" | grep -Eo '^(Data is compressed|Compression.*)'"#,
    ),
    row(
        "enroot",
        r#"unsquashfs -processors 2 -user-xattrs -f -d D "$IMAGE"; unsquashfs -no-progress -user-xattrs -f -d D "$IMAGE""#,
    )
    // 4.5.1 does not replace sockets.
    .peer(&[("unsquashfs -no-progress", "rm D/special/socket; unsquashfs -no-progress")]),
    row("incus", r#"unsquashfs -f -d D -n -user-xattrs -da 64 -fr 64 -p 1 "$IMAGE""#),
    row("dracut, list", r#"unsquashfs -ll "$IMAGE" | tail -n +4"#),
    row("dracut", r#"unsquashfs -no-xattrs -f -d . "$IMAGE""#),
    row("dracut, files", r#"unsquashfs -force -d D -no-progress "$IMAGE" 'usr/lib/[sz]*' 'etc/*'"#),
    row("snapcraft", r#"unsquashfs -force -dest D "$IMAGE""#),
    row("rauc", r#"exec 3<"$IMAGE"; unsquashfs -dest D /proc/$$/fd/3 etc/update.conf"#),
    row("charliecloud", r#"unsquashfs -f -d D -user-xattrs "$IMAGE""#),
    row("charliecloud, list", r#"unsquashfs -l "$IMAGE""#),
    row("cosa", r#"unsquashfs -d D -no-xattrs -excludes "$IMAGE" /usr/lib"#),
    row("nerves, list", r#"unsquashfs -n -ll "$IMAGE""#),
    row("nerves", r#"unsquashfs -f "$IMAGE""#),
];

#[test]
fn callers_read_without_root() {
    let Some(stage) = Stage::new() else { return };
    // Other users may not be able to reach the build directory.
    let ran = stage.sandbox.shell("cp $P links/packline && ln -sf packline links/unsquashfs && chmod 777 .");
    assert!(ran.status == 0, "{ran:?}");
    // Linux has permitted the device of a whiteout since 5.8, but that of squashfs-tools does not try.
    good(&stage, Side::Peers, "mksquashfs source image -noappend -quiet -no-progress -e special/char-0-0");
    check(WITHOUT_ROOT, |row| differs(&stage, row));
}

const WITHOUT_ROOT: &[Row] = &[
    row(
        "incus",
        r#"chmod 777 .; setpriv --reuid 1 --regid 1 --clear-groups unsquashfs -f -d D -n -user-xattrs "$IMAGE" 2>err || echo $?; grep -c 'create .* device' err; rm err"#,
    ),
    row(
        "apptainer",
        r#"chmod 777 .; setpriv --reuid 1 --regid 1 --clear-groups unsquashfs -no-progress -no-xattrs -r -f -d D "$IMAGE" '^(.{0}[^d]|.{1}[^e]|.{2}[^v]|.{3}[^\x2f]).*$' 2>err || echo $?; grep -c 'create .* device' err; rm err"#,
    ),
];

/// apptainer and snapd parse this line.
#[test]
fn versions_are_those_of_a_release() {
    let Some(stage) = Stage::new() else { return };
    for name in ["mksquashfs", "unsquashfs", "sqfstar"] {
        let [ours, peers] = [Side::Ours, Side::Peers].map(|side| stage.run(side, &format!("{name} -version")));
        // unsquashfs 4.5.1 exits with 1.
        assert!(ours.status == 0 && ours.stderr.is_empty(), "{ours:?}");
        let [ours, peers] = [ours, peers].map(|ran| {
            let text = ran.text();
            let line = text.lines().next().unwrap().strip_prefix(&format!("{name} version ")).map(str::to_string);
            let (version, date) = line.as_deref().and_then(|rest| rest.split_once(' ')).unwrap();
            assert!(date.starts_with('(') && date.ends_with(')'), "{text}");
            version.split('.').map(|number| number.parse().unwrap()).collect::<Vec<u32>>()
        });
        assert!(ours >= peers && ours >= vec![4, 6, 0], "{name}: {ours:?}");
    }
}
