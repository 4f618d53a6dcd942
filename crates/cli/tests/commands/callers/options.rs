//! Lines with the options that no caller uses.

use super::{Row, Side, Stage, readers, row, writers};

#[test]
fn mksquashfs_packs_alike() {
    writers::compare(MKSQUASHFS);
}

const MKSQUASHFS: &[Row] = &[
    row(
        "mount points",
        r#"mount -t tmpfs none source/proc; trap 'umount source/proc' EXIT; touch source/proc/x; mksquashfs source "$IMAGE" -one-file-system-x"#,
    )
    .peer(&[(" -one-file-system-x", " -e proc")]),
    row("synonyms", r#"mksquashfs source "$IMAGE" -fstime 6 -inode-time 5 -o 4096"#)
        .peer(&[("-inode-time", "-all-time"), (" -o 4096", " -offset 4096")]),
    row("latest time", r#"mksquashfs source "$IMAGE" -repro -wildcards -e '*/time-*'"#)
        .peer(&[(" -repro", " -mkfs-time 4294967295")]),
    row("one time", r#"mksquashfs source "$IMAGE" -repro-time 77"#)
        .peer(&[(" -repro-time 77", " -mkfs-time 77 -all-time 77")]),
    row("offset of owners", r#"mksquashfs source "$IMAGE" -all-root -uid-gid-offset 1000"#)
        .peer(&[(" -all-root -uid-gid-offset 1000", " -force-uid 1000 -force-gid 1000")]),
    row("attribute", r#"mksquashfs source "$IMAGE" -no-duplicates -xattrs-add user.note=0x6869"#).peer(&[
        (
            "mksquashfs source",
            "cp -a source noted; ls -lR noted >ls; find noted \\( -type f -o -type d \\) -exec setfattr -n user.note -v hi {} +; mksquashfs noted",
        ),
        (" -xattrs-add user.note=0x6869", ""),
    ]),
    row(
        "missing directories",
        r#"mksquashfs source "$IMAGE" -pseudo-dir 'd 700 1 2' -p 'a/b/c f 644 0 0 echo hi'"#,
    )
    .peer(&[(" -pseudo-dir 'd 700 1 2'", " -p 'a d 700 1 2' -p 'a/b d 700 1 2'")]),
    row(
        "implied directories",
        r#"tar -C source -c usr/bin/tool | mksquashfs - "$IMAGE" -tar -default-mode 0700 -default-uid 5 -default-gid 6 -all-time 9 -root-mode 0711"#,
    )
    .peer(&[
        (
            "mksquashfs -",
            "tar -x; chmod 700 usr usr/bin; chown 5:6 usr usr/bin; mkdir top; mv usr top; chown 5:6 top; mksquashfs top",
        ),
        (" -tar -default-mode 0700 -default-uid 5 -default-gid 6", " -tailends"),
    ]),
    row("acceleration", r#"mksquashfs source "$IMAGE" -comp lz4 -Xacceleration 7"#).peer(&[(" -Xacceleration 7", "")]),
    row(
        "no effect",
        r#"mksquashfs source "$IMAGE" -limit 90 -not-reproducible -progress -info -verify -overcommit 50 -read-queue 16 -write-queue 16 -fragment-queue 16 -small-readers 2 -block-readers 2"#,
    )
    .peer(&[(" -verify -overcommit 50 -read-queue 16 -write-queue 16 -fragment-queue 16 -small-readers 2 -block-readers 2", "")]),
    row("one reader", r#"tar -C source --sort=name -c boot etc links usr var 2>&- | mksquashfs - "$IMAGE" -tar -single-reader -numeric-owner"#)
        .peer(&[(" -single-reader -numeric-owner", " -exports")]),
];

#[test]
fn sqfstar_packs_alike() {
    writers::compare(SQFSTAR);
}

/// mksquashfs 4.5.1 does not know that options of compressors have arguments.
const BY_MKSQUASHFS: &[(&str, &str)] = &[(r#" "$IMAGE""#, ""), ("sqfstar", r#"mksquashfs - "$IMAGE" -tar"#)];

const SQFSTAR: &[Row] = &[
    row(
        "forced modes",
        r#"tar -C source --sort=name -c boot etc usr | sqfstar -force-dir-mode 0711 -force-file-mode 0640 -all-time 4 "$IMAGE""#,
    )
    .peer(&[
        (r#" "$IMAGE""#, ""),
        (
            "sqfstar -force-dir-mode 0711 -force-file-mode 0640",
            r#"{ mkdir forced; tar -C forced -x; }; find forced -type d -exec chmod 711 {} +; find forced ! -type d -exec chmod 640 {} +; mksquashfs forced "$IMAGE" -no-exports -tailends"#,
        ),
    ]),
    row(
        "options of both",
        r#"tar -C source --sort=name -c boot etc links usr var 2>&- | sqfstar -comp gzip -Xwindow-size 12 -Xstrategy filtered,fixed -no-sparse -fstime 5 -force-gid 3 -throttle 1 -not-reproducible -o 4096 "$IMAGE""#,
    )
    .peer(BY_MKSQUASHFS),
    row(
        "lzo",
        r#"tar -C source --sort=name -c boot etc links usr var 2>&- | sqfstar -comp lzo -Xalgorithm lzo1x_1_15 -noIdTableCompression -limit 90 -progress -info "$IMAGE""#,
    )
    .peer(BY_MKSQUASHFS),
    row(
        "later options",
        r#"tar -C source --sort=name -c boot etc links usr var 2>&- | sqfstar -comp lz4 -Xacceleration 2 -repro-time 9 -numeric-owner -overcommit 3 -mem-percent 20 -verify "$IMAGE""#,
    )
    .peer(&[(
        " -Xacceleration 2 -repro-time 9 -numeric-owner -overcommit 3 -mem-percent 20 -verify",
        " -mkfs-time 9 -all-time 9",
    )]),
    row("owners", r#"tar -C source --sort=name -c boot etc links usr var 2>&- | sqfstar -all-root -uid-gid-offset 9 -inode-time 4 "$IMAGE""#)
        .peer(&[("-all-root -uid-gid-offset 9 -inode-time 4", "-force-uid 9 -force-gid 9 -all-time 4")]),
];

#[test]
fn unsquashfs_reads_alike() {
    readers::compare(UNSQUASHFS);
}

const UNSQUASHFS: &[Row] = &[
    row("depth", r#"unsquashfs -max 2 -ll "$IMAGE"; unsquashfs -max 1 -d D "$IMAGE""#),
    row("exclude list", r#"unsquashfs -d D -exclude-list usr 'n*' ';' "$IMAGE""#),
    row("extract file", r#"echo usr/lib >list; unsquashfs -d D -extract-file list "$IMAGE""#),
    row(
        "exclude file",
        r#"echo usr >list; unsquashfs -d D -exclude-file list "$IMAGE"; unsquashfs -d E -exc list "$IMAGE""#,
    ),
    row(
        "links",
        r#"unsquashfs -d D -follow-symlinks "$IMAGE" links; unsquashfs -d E -L "$IMAGE" links; unsquashfs -d F -follow-symlinks -missing-symlinks "$IMAGE" var/run 2>&- || echo $?"#,
    ),
    row("names", r#"unsquashfs -no-wild -ll "$IMAGE" usr"#),
    row("attributes", r#"unsquashfs -d D -no "$IMAGE"; unsquashfs -d E -xattrs -linfo "$IMAGE" usr | sort"#),
    row("time", r#"unsquashfs -fstime "$IMAGE"; unsquashfs -mkfs-time "$IMAGE""#),
    row("numbers", r#"unsquashfs -llnumeric -UTC "$IMAGE""#),
    row("seconds", r#"unsquashfs -lls -full "$IMAGE" | sed -E 's/( [0-9]{2}:[0-9]{2}):[0-9]{2} /\1 /'"#)
        .peer(&[(" -full ", " ")]),
    row("errors", r#"unsquashfs -d D -ig -no-exit "$IMAGE"; unsquashfs -d E -st "$IMAGE""#),
    row(
        "sqfscat",
        r#"sqfscat -no-wild -processors 2 "$IMAGE" usr/bin/tool | cksum; sqfscat -regex -ig -no-exit "$IMAGE" '^etc$/u' | cksum; sqfscat -st -da 9 -fr 9 -o 0 "$IMAGE" etc/update.conf"#,
    ),
];

#[test]
fn help_is_printed() {
    let Some(stage) = Stage::new() else { return };
    for name in ["mksquashfs", "sqfstar", "unsquashfs", "sqfscat"] {
        for options in ["-h", "-help", "-help-all", "-ha", "-cols 90 -h", "-no-pager -help"] {
            for expected in [name, "-processors", "-mem"] {
                prints(&stage, &format!("{name} {options}"), expected);
            }
        }
        prints(&stage, &format!("{name} -help-option proc"), "-processors");
        prints(&stage, &format!("{name} -ho proc"), "-processors");
        prints(&stage, &format!("{name} -hs list"), "\n");
        prints(&stage, &format!("{name} -help-section ."), "-processors");
        let memory = stage.run(Side::Ours, &format!("{name} -mem-default")).text();
        assert!(memory.trim().parse::<u64>().is_ok(), "{name}: {memory}");
    }
    for name in ["mksquashfs", "sqfstar"] {
        prints(&stage, &format!("{name} -comp xz -Xhelp"), "dict-size");
        prints(&stage, &format!("{name} -help-comp lz4"), "hc");
        prints(&stage, &format!("{name} -help-advanced"), "-overcommit");
    }
}

fn prints(stage: &Stage, line: &str, expected: &str) {
    let ran = stage.run(Side::Ours, line);
    assert!(ran.status == 0 && ran.stderr.is_empty() && ran.text().contains(expected), "{line}: {ran:?}");
}
