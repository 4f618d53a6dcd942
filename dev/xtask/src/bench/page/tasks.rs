//! The tasks of the benchmark page beside packing and unpacking images: archives, streams, rebuilds, deltas and recovery data.

/// Commands that do the same work.
pub struct Task {
    pub title: &'static str,
    /// Commands that run once before the first measurement.
    pub setup: &'static [&'static str],
    /// The first command is packline's. The figures of the others are compared with its figures.
    pub commands: &'static [Measured],
}

/// A shell command whose cost is measured.
pub struct Measured {
    pub program: &'static str,
    /// A command that runs before each measurement.
    pub before: &'static str,
    pub line: &'static str,
    /// The file that the command writes. Its size is reported.
    pub output: &'static str,
}

const fn measured(program: &'static str, line: &'static str, output: &'static str) -> Measured {
    Measured { program, before: "true", line, output }
}

/// Corrupts 1 MiB in the middle of a file.
const DAMAGE: &str = "dd if=/dev/zero of=damaged.sqfs bs=1M seek=100 count=1 conv=notrunc status=none";

/// The commands run in a directory with `root.tar` (the first input), `versions.tar` (the second input), `versions/` (the second input,
/// unpacked), `old.tar` and `new.tar` (two versions of a program).
pub const TASKS: [Task; 12] = [
    Task {
        title: ".lrz, no back end",
        setup: &[],
        commands: &[
            measured("packline", "packline lrzip -Q -N 0 -p 2 -f -n -o a.lrz root.tar", "a.lrz"),
            measured("lrzip", "lrzip -Q -N 0 -p 2 -f -n -o b.lrz root.tar", "b.lrz"),
        ],
    },
    Task {
        title: ".lrz, LZO",
        setup: &[],
        commands: &[
            measured("packline", "packline lrzip -Q -N 0 -p 2 -f -l -o a.lrz root.tar", "a.lrz"),
            measured("lrzip", "lrzip -Q -N 0 -p 2 -f -l -o b.lrz root.tar", "b.lrz"),
        ],
    },
    Task {
        title: ".lrz, LZO: decompress",
        setup: &["packline lrzip -Q -N 0 -p 2 -f -l -o a.lrz root.tar"],
        commands: &[
            measured("packline", "packline lrzip -Q -N 0 -p 2 -f -d -o back.tar a.lrz", "back.tar"),
            measured("lrzip", "lrzip -Q -N 0 -p 2 -f -d -o back.tar a.lrz", "back.tar"),
        ],
    },
    Task {
        title: ".lrz, gzip",
        setup: &[],
        commands: &[
            measured("packline", "packline lrzip -Q -N 0 -p 2 -f -g -o a.lrz root.tar", "a.lrz"),
            measured("lrzip", "lrzip -Q -N 0 -p 2 -f -g -o b.lrz root.tar", "b.lrz"),
        ],
    },
    Task {
        title: ".lrz, LZMA (the second input)",
        setup: &[],
        commands: &[
            measured("packline", "packline lrzip -Q -N 0 -p 2 -f -o a.lrz versions.tar", "a.lrz"),
            measured("lrzip", "lrzip -Q -N 0 -p 2 -f -o b.lrz versions.tar", "b.lrz"),
        ],
    },
    Task {
        title: "One file, zstd level 3",
        setup: &[],
        commands: &[
            measured("packline", "packline compress -q -f -c slack+zstd:level=3 -o a.pln root.tar", "a.pln"),
            measured("zstd", "zstd -q -f -3 -T2 -o b.zst root.tar", "b.zst"),
            measured("pigz", "pigz -p 2 -c root.tar > b.gz", "b.gz"),
        ],
    },
    Task {
        title: "One file, zstd level 3: decompress",
        setup: &[
            "packline compress -q -f -c slack+zstd:level=3 -o a.pln root.tar",
            "zstd -q -f -3 -T2 -o b.zst root.tar",
        ],
        commands: &[
            measured("packline", "packline decompress -q -f -o back.tar a.pln", "back.tar"),
            measured("zstd", "zstd -q -f -d -o back.tar b.zst", "back.tar"),
        ],
    },
    Task {
        title: "Rebuild of an unchanged tree (zstd)",
        setup: &["packline pack -q -f --cache cache versions old.sqfs", "rm -f base.sqfs && ln old.sqfs base.sqfs"],
        commands: &[
            measured("packline, cache", "packline pack -q -f --cache cache versions a.sqfs", "a.sqfs"),
            measured("packline, base", "packline pack -q -f --base base.sqfs versions a.sqfs", "a.sqfs"),
            measured("packline, all", "packline pack -q -f versions a.sqfs", "a.sqfs"),
            measured("mksquashfs", "mksquashfs versions b.sqfs -noappend -quiet -no-progress -comp zstd", "b.sqfs"),
        ],
    },
    Task {
        title: "Delta between two images",
        setup: &["packline pack -q -f old.tar old.sqfs", "packline pack -q -f new.tar new.sqfs"],
        commands: &[
            measured("packline", "packline delta -q -f old.sqfs new.sqfs a.pld", "a.pld"),
            measured("xdelta3", "xdelta3 -e -f -s old.sqfs new.sqfs b.xdelta", "b.xdelta"),
        ],
    },
    Task {
        title: "Delta between two images: apply",
        setup: &["packline delta -q -f old.sqfs new.sqfs a.pld", "xdelta3 -e -f -s old.sqfs new.sqfs b.xdelta"],
        commands: &[
            measured("packline", "packline patch -q -f old.sqfs a.pld a.sqfs && cmp a.sqfs new.sqfs", "a.sqfs"),
            measured("xdelta3", "xdelta3 -d -f -s old.sqfs b.xdelta b.sqfs && cmp b.sqfs new.sqfs", "b.sqfs"),
        ],
    },
    Task {
        title: "Recovery data of 5 %",
        setup: &["packline pack -q -f -c gzip root.tar whole.sqfs"],
        commands: &[
            measured("packline", "packline protect -q -f whole.sqfs", "whole.sqfs.recovery"),
            Measured {
                program: "par2",
                before: "rm -f whole*.par2",
                line: "par2 create -qq -r5 whole.sqfs",
                output: "whole.sqfs.vol*.par2",
            },
        ],
    },
    Task {
        title: "Recovery data of 5 %: repair 1 MiB",
        setup: &[
            "cp whole.sqfs damaged.sqfs && packline protect -q -f damaged.sqfs",
            "rm -f damaged*.par2 && par2 create -qq -r5 damaged.sqfs",
        ],
        commands: &[
            Measured {
                program: "packline",
                before: DAMAGE,
                line: "packline repair -q -f damaged.sqfs && cmp damaged.sqfs whole.sqfs",
                output: "damaged.sqfs",
            },
            Measured {
                program: "par2",
                before: DAMAGE,
                line: "par2 repair -qq damaged.sqfs && cmp damaged.sqfs whole.sqfs",
                output: "damaged.sqfs",
            },
        ],
    },
];
