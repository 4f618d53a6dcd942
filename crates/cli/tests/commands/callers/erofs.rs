//! Lines that write EROFS images: the kernel mounts each image, and finds the source with the changes that the line asks for.

use packline_testkit::mount::{self, Mounted};
use packline_testkit::snapshot::{self, Attributes, Except, Snapshot};

use super::{Row, Side, Stage, check, of_directory, row};

/// A line, and the changes that it makes.
struct Line {
    row: Row,
    changes: &'static [Change],
}

#[derive(Clone, Copy)]
enum Change {
    /// Entries whose paths begin with this are left out.
    Without(&'static str),
    /// Everything has this time.
    Time(i64),
    /// Everything has this owner and group.
    Owner(u32),
    NoXattrs,
    /// The source is the tar.
    Tar,
    /// Attributes that overlayfs uses itself are left out.
    NoOverlay,
    /// Each name is a file.
    NoLinks,
}

const fn line(caller: &'static str, line: &'static str, changes: &'static [Change]) -> Line {
    Line { row: row(caller, line), changes }
}

use Change::{NoLinks, NoOverlay, NoXattrs, Owner, Tar, Time, Without};

#[test]
fn callers_write_erofs() {
    let Some(stage) = stage() else { return };
    let source = of_directory(&stage.sandbox.at("source")).unwrap();
    // A tar has no sockets, and hard links of files only.
    let extract = "mkdir extracted; tar -C extracted --xattrs --xattrs-include='*' -xf tree.tar";
    assert_eq!(stage.run(Side::Peers, extract).status, 0);
    let extracted = of_directory(&stage.sandbox.at("extracted")).unwrap();
    let rows: Vec<Row> = LINES.iter().map(|line| Row { ..line.row }).collect();
    check(&rows, |row| {
        let line = LINES.iter().find(|line| line.row.line == row.line).unwrap();
        differs(&stage, line, if line.has(|change| matches!(change, Tar)) { &extracted } else { &source })
    });
}

fn stage() -> Option<Stage> {
    if ["none", "lz4", "lzma", "gzip", "zstd"].iter().all(|codec| mount::kernel_mounts_erofs(codec)) {
        Stage::new()
    } else {
        None
    }
}

impl Line {
    fn has(&self, is_it: fn(&Change) -> bool) -> bool {
        self.changes.iter().any(is_it)
    }
}

/// Runs a line, and says where the mounted image differs from the source.
fn differs(stage: &Stage, line: &Line, source: &Snapshot) -> Result<(), String> {
    stage.sandbox.remove("ours");
    let ran = stage.run(Side::Ours, line.row.line);
    if ran.status != 0 {
        return Err(format!("{ran:?}"));
    }
    if line.row.line.contains("--quiet") && !(ran.stdout.is_empty() && ran.stderr.is_empty()) {
        return Err(format!("prints {ran:?}"));
    }
    let mut expected = source.clone();
    line.changes.iter().for_each(|change| change.apply(&mut expected));
    // The directory has a device with the numbers 0:0, which overlayfs takes for a whiteout if the directory is marked.
    if let (false, Some(marked)) = (line.has(|change| matches!(change, Tar)), expected.get_mut(&b"special"[..])) {
        marked.xattrs.insert(b"trusted.overlay.origin".to_vec(), Vec::new());
    }
    let mounted = Mounted::erofs(&stage.sandbox.at("ours"))?;
    let found = of_directory(mounted.path())?;
    let links = line.has(|change| matches!(change, NoLinks));
    let lines = snapshot::differences(&expected, &found, Except { links, ..Except::default() });
    if !lines.is_empty() {
        return Err(lines[..lines.len().min(12)].join("\n"));
    }
    let checked = stage.run(Side::Ours, "fsck.erofs --extract $IMAGE && fsck.erofs $IMAGE");
    if checked.status == 0 { Ok(()) } else { Err(format!("{checked:?}")) }
}

impl Change {
    fn apply(self, tree: &mut Snapshot) {
        let each = |tree: &mut Snapshot, change: &dyn Fn(&mut Attributes)| tree.values_mut().for_each(change);
        match self {
            Without(start) => tree.retain(|path, _| !path.starts_with(start.as_bytes())),
            Time(time) => each(tree, &|entry| entry.mtime = time),
            Owner(id) => each(tree, &|entry| (entry.uid, entry.gid) = (id, id)),
            NoXattrs => each(tree, &|entry| entry.xattrs.clear()),
            NoOverlay => each(tree, &|entry| entry.xattrs.retain(|name, _| !name.starts_with(b"trusted.overlay."))),
            Tar | NoLinks => {}
        }
    }
}

const LINES: &[Line] = &[
    line(
        "containerd, tar",
        r#"mkfs.erofs --tar=f --aufs --quiet -Enoinline_data -b4096 -U c1b9d5a2-f162-11cf-9ece-0020afc76f16 -T0 --mkfs-time --sort=none "$IMAGE" <tree.tar"#,
        &[Tar, NoOverlay],
    ),
    // The tar is appended to its index.
    line(
        "containerd, index of a tar",
        r#"mkfs.erofs --tar=i --aufs --quiet "$IMAGE" <tree.tar && cat tree.tar >>"$IMAGE""#,
        &[Tar, NoOverlay],
    ),
    line("containerd, directory", r#"mkfs.erofs --quiet -Enoinline_data "$IMAGE" source"#, &[]),
    line("containerd, compressed", r#"mkfs.erofs --quiet -Enoinline_data -zlz4 "$IMAGE" source"#, &[]),
    line("systemd-repart", r#"mkfs.erofs -U c1b9d5a2-f162-11cf-9ece-0020afc76f16 "$IMAGE" source --quiet"#, &[]),
    line(
        "systemd-repart, compressed",
        r#"mkfs.erofs -U c1b9d5a2-f162-11cf-9ece-0020afc76f16 "$IMAGE" source --quiet -zzstd,level=3 -Efragments,dedupe"#,
        &[],
    ),
    line(
        "systemd-repart, device",
        r#"truncate -s 16M "$IMAGE"; device=$(losetup --find --show "$IMAGE"); trap 'losetup --detach $device' EXIT; mkfs.erofs -U c1b9d5a2-f162-11cf-9ece-0020afc76f16 $device source --quiet"#,
        &[],
    ),
    line("osbuild", r#"mkfs.erofs "$IMAGE" source -z zstd,8 -E all-fragments,dedupe"#, &[]),
    line(
        "kiwi",
        r#"mkfs.erofs -z zstd,level=9 --exclude-regex='^boot/.*' --exclude-regex='^ch/.*' -L ROOT "$IMAGE" source"#,
        &[Without("boot/"), Without("ch/")],
    ),
    line(
        "dracut",
        r#"mkfs.erofs --exclude-path=squash -C 65536 -E fragments -x -1 -U 00000000-0000-0000-0000-000000000000 -T 0 -z lzma "$IMAGE" source"#,
        &[Without("squash"), NoXattrs, Time(0)],
    ),
    line(
        "dracut, uncompressed",
        r#"mkfs.erofs --exclude-path=squash -C 65536 -E fragments -x -1 -U 00000000-0000-0000-0000-000000000000 -T 0 "$IMAGE" source"#,
        &[Without("squash"), NoXattrs, Time(0)],
    ),
    line(
        "Buildroot",
        r#"mkfs.erofs -zlz4hc -C65536 -T 1600000000 -U 00000000-0000-0000-0000-000000000000 "$IMAGE" source"#,
        &[Time(1_600_000_000)],
    ),
    line("OpenWrt", r#"env -u SOURCE_DATE_EPOCH mkfs.erofs -zlz4hc,12 -C65536 -Eztailpacking "$IMAGE" source"#, &[]),
    line(
        "nixpkgs",
        r#"cd source; mkfs.erofs --force-uid=0 --force-gid=0 -L nix-store -U eb176051-bd15-49b7-9e6b-462e0b467019 -T 0 --exclude-regex="(^nix|/git)" "$IMAGE" ."#,
        &[Owner(0), Time(0), Without("nix"), Without("ch/git")],
    ),
    line(
        "nixpkgs, tar",
        r#"cat tree.tar | mkfs.erofs --quiet --force-uid=0 --force-gid=0 -L nix-store -U eb176051-bd15-49b7-9e6b-462e0b467019 -T 0 --hard-dereference --tar=f "$IMAGE""#,
        &[Tar, Owner(0), Time(0), NoLinks],
    ),
    line(
        "nix",
        r#"mkfs.erofs --workers 2 --ignore-mtime --zD=1 -z zstd,9 -C 65536 -E 48bit,all-fragments,dot-omitted,fragdedupe=inode -T 0 -x -1 "$IMAGE" source"#,
        &[Time(0), NoXattrs],
    ),
    line("Fedora", r#"mkfs.erofs -Efragments -C 1048576 -z lzma,level=6 "$IMAGE" source"#, &[]),
    line("Fedora, live", r#"mkfs.erofs -zlzma,level=6 -Eall-fragments,dedupe -L LIVE --quiet "$IMAGE" source"#, &[]),
    line(
        "archiso",
        r#"mkfs.erofs --quiet -zlz4 -Efragments,dedupe,force-inode-extended,ztailpacking -C262144 -T0 -- "$IMAGE" source"#,
        &[Time(0)],
    ),
    line(
        "archiso, baseline",
        r#"mkfs.erofs -zlzma,109 -E ztailpacking -U 00000000-0000-0000-0000-000000000000 "$IMAGE" source"#,
        &[],
    ),
    line("linglong", r#"mkfs.erofs -zlz4hc,9 -b4096 "$IMAGE" source"#, &[]),
    line("cocoon", r#"mkfs.erofs --tar=f -zlz4hc -C4096 -T0 -U clear "$IMAGE" tree.tar"#, &[Tar, Time(0)]),
    line("e2b", r#"mkfs.erofs --quiet --tar=f -b 4096 "$IMAGE" tree.tar"#, &[Tar]),
    line("deflate", r#"mkfs.erofs -zdeflate,6 -C32768 --all-root "$IMAGE" source"#, &[Owner(0)]),
    line("Home Assistant OS", r#"mkfs.erofs -zlz4hc,12 -Ededupe,fragments,ztailpacking -C262144 "$IMAGE" source"#, &[]),
];

/// A library for containers asks with --help what a release can do, and reads the version.
#[test]
fn callers_ask_for_features() {
    let Some(stage) = stage() else { return };
    let help = stage.run(Side::Ours, "mkfs.erofs --help 2>&1");
    assert!(help.status == 0 && help.text().contains("--tar"), "{help:?}");
    let version = stage.run(Side::Ours, "mkfs.erofs --version").text();
    assert!(
        version.starts_with("mkfs.erofs (erofs-utils) 1.9.3") && version.contains("available compressors: lz4, lz4hc,")
    );
    let index = stage.run(Side::Ours, r#"mkfs.erofs --tar=headerball --aufs --quiet "$IMAGE" tree.tar"#);
    assert!(index.status == 1 && index.stderr.contains("--tar: 'headerball' is not supported yet"), "{index:?}");
    assert!(!stage.sandbox.at("ours").exists());
}

/// Android's builds name owners, permissions and labels by paths below the mount point.
#[test]
fn android_sets_owners_and_labels() {
    let Some(stage) = stage() else { return };
    let lines = "0 0 0755\nsystem/bin 0 2000 0751\nsystem/bin/tool 0 2000 04750 capabilities=0x400\n";
    stage.sandbox.write("config", format!(" {lines}"));
    stage
        .sandbox
        .write("contexts", "/system(/.*)? u:object_r:system_file:s0\n/system/bin/tool u:object_r:tool_exec:s0\n");
    stage.sandbox.write("system/bin/tool", "tool");
    let line = r#"mkfs.erofs -zlz4hc,9 -T 7 --mount-point=/system/ --fs-config-file=config --file-contexts=contexts "$IMAGE" system"#;
    let ran = stage.run(Side::Ours, line);
    assert_eq!(ran.status, 0, "{ran:?}");
    let mounted = Mounted::erofs(&stage.sandbox.at("ours")).unwrap();
    let found = of_directory(mounted.path()).unwrap();
    let tool = &found[&b"bin/tool"[..]];
    assert_eq!((tool.mode, tool.uid, tool.gid, tool.mtime), (0o4750, 0, 2000, 7));
    assert_eq!(tool.xattrs[&b"security.selinux"[..]], b"u:object_r:tool_exec:s0");
    assert!(tool.xattrs.contains_key(&b"security.capability"[..]));
    assert_eq!((found[&b"bin"[..]].mode, found[&b""[..]].mode), (0o751, 0o755));
}
