//! Lines that pack: the images have the same tree for the kernel and for both `unsquashfs`, and the same superblock.

use super::{Row, Stage, check, images, row};

/// Options that squashfs-tools 4.5.1 lack, and what has the same effect.
const NO_PERCENTAGE: (&str, &str) = (" -percentage", "");
/// A tree with labels, since definitions have none in 4.5.1. It takes names of a symbolic link for different ones if the first access
/// to it comes between them, so `ls` reads them before.
const LABELED: &str = "rm -rf labeled; cp -R --preserve=mode,ownership,timestamps,links source labeled; \
                       ls -lR labeled >ls; \
                       setfattr -n security.selinux -v system_u:boot labeled/usr/bin/tool; \
                       setfattr -n security.selinux -v var labeled/var; mksquashfs labeled";
/// `sqfstar` of 4.5.1 does not give the root the attributes that are asked for.
const ATTRIBUTES_OF_ROOT: &str = r#"mkdir extracted; tar -C extracted --xattrs --xattrs-include='*' -xf tree.tar; ls -lR extracted >ls; mksquashfs extracted "$IMAGE" -no-exports -tailends"#;
const NO_EXCLUDE_BTRFS: (&str, &str) = (" -xattrs-exclude '^btrfs.'", "");

/// Compares all lines.
pub fn compare(rows: &[Row]) {
    if let Some(stage) = Stage::new() {
        check(rows, |row| images::differs(&stage, row));
    }
}

#[test]
fn packages_and_applications() {
    compare(PACKAGES);
}

const PACKAGES: &[Row] = &[
    row(
        "snapd, application",
        r#"cd source; mksquashfs . "$IMAGE" -noappend -comp xz -no-fragments -no-progress -wildcards -ef ../excludes -all-root -no-xattrs"#,
    ),
    row("snapd, base", r#"cd source; mksquashfs . "$IMAGE" -noappend -comp lzo -no-fragments -no-progress -xattrs"#),
    row(
        "appimagetool, zstd",
        r#"mksquashfs source "$IMAGE" -offset 944632 -comp zstd -root-owned -noappend -b 128K -wildcards -ef excludes -wildcards -ef paths -mkfs-time 0"#,
    ),
    row(
        "appimagetool, xz",
        r#"mksquashfs source "$IMAGE" -offset 8192 -comp xz -root-owned -noappend -Xdict-size 100% -b 16384 -mkfs-time 0"#,
    ),
    row(
        "appimagetool, gzip",
        r#"SOURCE_DATE_EPOCH=1500000000 mksquashfs source "$IMAGE" -offset 4096 -comp gzip -root-owned -noappend"#,
    ),
    row(
        "rules_appimage",
        r#"mksquashfs empty "$IMAGE" -pf definitions -exit-on-error -no-progress -quiet -all-root -reproducible -mkfs-time 0 -root-time 0 -all-time 0 -processors 4 -mem 1024M"#,
    ),
    row(
        "NixOS",
        r#"mksquashfs AppRun source/nix source/usr "$IMAGE" -no-hardlinks -keep-as-directory -all-root -b 1048576 -comp xz -Xdict-size 100% -processors 2"#,
    ),
];

#[test]
fn container_images() {
    compare(CONTAINERS);
}

const CONTAINERS: &[Row] = &[
    row(
        "apptainer",
        r#"mksquashfs source "$IMAGE" -noappend -mem 512M -processors 2 -comp gzip -quiet -percentage -all-root"#,
    )
    .peer(&[NO_PERCENTAGE]),
    row("apptainer, encrypted", r#"mksquashfs source "$IMAGE" -noappend -quiet -percentage -noD -noF"#)
        .peer(&[NO_PERCENTAGE]),
    row(
        "SingularityCE",
        r#"mksquashfs source "$IMAGE" -noappend -processors 2 -mem 1G -comp gzip -all-root -wildcards -e 'dev/*' 'usr/*/z*'"#,
    ),
    row("SingularityCE, layer by tar2sqfs", r#"tar2sqfs --compressor gzip "$IMAGE" <tree.tar"#),
    row(
        "SingularityCE, layer by sqfstar",
        r#"sqfstar -mkfs-time 0 -root-time 0 -root-uid 0 -root-gid 0 -root-mode 0755 "$IMAGE" <tree.tar"#,
    )
    .peer(&[("sqfstar", ATTRIBUTES_OF_ROOT), (r#" "$IMAGE" <tree.tar"#, "")]),
    row(
        "enroot",
        r#"mksquashfs source "$IMAGE" -all-root -no-progress -processors 2 -comp lzo -noD -exit-on-error -mkfs-time 1600000000 -all-time 1500000000 -e boot dev"#,
    ),
    row(
        "charliecloud",
        r#"mksquashfs "$PWD/source" "$IMAGE" -xattrs -b 65536 -noappend -all-root -pf pseudo -e "$PWD/source/ch/git" -e "$PWD/source/boot"; head -c 4 /dev/zero | dd of="$IMAGE" bs=1 seek=8 conv=notrunc status=none"#,
    ),
    row("incus", r#"tar2sqfs --no-skip --force --compressor xz "$IMAGE" <tree.tar"#),
    row(
        "distrobuilder",
        r#"mksquashfs source "$IMAGE" -noappend -b 1M -no-exports -no-progress -no-recovery -comp zstd -Xcompression-level 3"#,
    ),
];

#[test]
fn systems() {
    compare(SYSTEMS);
}

const SYSTEMS: &[Row] = &[
    row(
        "Talos, root",
        r#"mksquashfs source "$IMAGE" -all-root -noappend -comp zstd -Xcompression-level 4 -no-progress -xattrs-exclude '.*' -pf labels"#,
    )
    .peer(&[("mksquashfs source", LABELED), (" -xattrs-exclude '.*'", ""), (" -pf labels", "")]),
    row(
        "Talos, extension",
        r#"mksquashfs source "$IMAGE" -all-root -noappend -no-progress -comp xz -Xdict-size 100% -xattrs-exclude '.*' -p '/usr/bin/tool x security.selinux=system_u:boot' -p '/var x security.selinux=var'"#,
    )
    .peer(&[
        ("mksquashfs source", LABELED),
        (" -xattrs-exclude '.*'", ""),
        (" -p '/usr/bin/tool x security.selinux=system_u:boot' -p '/var x security.selinux=var'", ""),
    ]),
    row(
        "archiso",
        r#"mksquashfs source "$IMAGE" -noappend -comp xz -Xbcj x86 -b 1M -Xdict-size 1M -no-progress -quiet"#,
    ),
    row(
        "live-build",
        r#"mksquashfs source "$IMAGE" -no-progress -info -sort priorities -comp xz -wildcards -ef excludes"#,
    ),
    row("livecd-rootfs", r#"cd source; mksquashfs . "$IMAGE" -no-progress -xattrs -comp xz -ef ../paths"#),
    row("KIWI", r#"mksquashfs source "$IMAGE" -noappend -b 1M -comp xz -Xbcj x86 -wildcards -e 'boot/*' 'ch/.*'"#),
    row("KIWI, uncompressed", r#"mksquashfs source "$IMAGE" -noappend -noI -noD -noF -noX"#),
    row(
        "osbuild",
        r#"mksquashfs source "$IMAGE" -comp zstd -Xcompression-level 5 -regex -e '^boot$/.*' '^usr$/^lib$/z'"#,
    ),
    row(
        "osbuild, coreos",
        r#"mksquashfs source "$IMAGE" -root-becomes source -wildcards -no-recovery -comp gzip -Xcompression-level 6"#,
    ),
    row("lorax", r#"mksquashfs source "$IMAGE" -comp xz -b 1M -Xdict-size 1M -no-recovery -Xbcj powerpc"#),
    row(
        "systemd-repart",
        r#"truncate -s 4M "$IMAGE"; device=$(losetup --find --show "$IMAGE"); trap 'losetup --detach $device' EXIT; mksquashfs source $device -noappend -quiet"#,
    ),
    row("dracut, test", r#"mksquashfs /dev/null "$IMAGE" -no-progress -comp zstd"#),
    row(
        "dracut",
        r#"mksquashfs "$PWD/source" "$PWD/source/squash/root.img" -no-xattrs -no-exports -noappend -no-recovery -always-use-fragments -no-progress -comp gzip -e "$PWD/source/squash"; mv source/squash/root.img "$IMAGE""#,
    ),
    row("Flatcar", r#"mksquashfs source "$IMAGE" -noappend -xattrs-exclude '^btrfs.'"#).peer(&[NO_EXCLUDE_BTRFS]),
    row(
        "Flatcar, extension",
        r#"mksquashfs source "$IMAGE" -pf pseudo -xattrs-exclude '^btrfs.' -e etc/machine-id"#,
    )
    .peer(&[NO_EXCLUDE_BTRFS]),
    row(
        "Flatcar, vm",
        r#"mksquashfs source "$IMAGE" -noappend -xattrs-exclude '^btrfs.' -comp zstd -Xcompression-level 22 -b 512k"#,
    )
    .peer(&[NO_EXCLUDE_BTRFS]),
    row("Flatcar, catalyst", r#"tar -C source -c . 2>/dev/null | tar2sqfs "$IMAGE" -q -f -j1 -c gzip"#),
    row("Void", r#"mksquashfs source "$IMAGE" -comp xz"#),
];

#[test]
fn embedded_systems() {
    compare(EMBEDDED);
}

const EMBEDDED: &[Row] = &[
    row("Buildroot, gzip", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 128K -Xcompression-level 9 -comp gzip"#),
    row("Buildroot, lzo", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 4K -Xcompression-level 9 -comp lzo"#),
    row("Buildroot, lz4", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 1M -Xhc -nopad -comp lz4"#),
    row("Buildroot, xz", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 64K -Xbcj arm,armthumb -comp xz"#),
    row("Buildroot, zstd", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 128K -Xcompression-level 22 -comp zstd"#),
    row("Buildroot, none", r#"mksquashfs source "$IMAGE" -noappend -processors 2 -b 128K -nopad -no-compression"#)
        .peer(&[("-no-compression", "-noI -noD -noF -noX")]),
    row(
        "Yocto",
        r#"export SOURCE_DATE_EPOCH=$(stat -c %Y source); mksquashfs source "$IMAGE" -noappend -comp lz4"#,
    ),
    row(
        "OpenWrt",
        r#"mksquashfs source "$IMAGE" -nopad -noappend -root-owned -comp xz -Xpreset 9 -Xe -Xlc 0 -Xlp 2 -Xpb 2 -Xbcj arm -b 256k -p '/dev d 755 0 0' -p '/dev/console c 600 0 0 5 1' -processors 2"#,
    )
    .peer(&[(" -Xpreset 9 -Xe -Xlc 0 -Xlp 2 -Xpb 2", "")]),
    row("genimage", r#"mksquashfs 'source' "$IMAGE" -b 4096 -noappend -comp lzo"#),
    row(
        "genimage, none",
        r#"mksquashfs 'source' "$IMAGE" -b 4096 -noappend -comp gzip -noInodeCompression -noDataCompression -noFragmentCompression -noXattrCompression"#,
    ),
    row("RAUC", r#"mksquashfs source "$IMAGE" -noappend -no-progress -all-root -no-xattrs -quiet"#),
    row(
        "Nerves",
        r#"mksquashfs source "$IMAGE" -pf pseudo -sort priorities -noappend -no-recovery -no-progress -no-xattrs -quiet"#,
    ),
    row("Nerves, delta", r#"mksquashfs source "$IMAGE" -noappend -quiet -noI -noId -noD -noF -noX"#),
];
