//! Images for each kernel, with each codec, of small and large blocks, with features on and off: independent readers find the packed tree in all
//! of them. The kernel and dump.erofs report the extents that our reader finds.

mod readers;
mod tree;

use std::collections::BTreeSet;

use packline_testkit::{mount, share, tools};

use self::readers::{Packed, Release, Source};
use crate::sandbox;

/// Kernels at which the form of images changes, or from which on a codec can be used.
const KERNELS: [(u32, u32); 7] = [(5, 13), (5, 16), (6, 1), (6, 4), (6, 10), (6, 15), (6, 18)];

const BLOCKS: [&str; 4] = ["4K", "64K", "128K", "1M"];

/// Features that are off or less used. Each image has one of these sets.
const WITHOUT: [&[&str]; 6] = [
    &[],
    &["--no-fragments"],
    &["--no-dedup"],
    &["--fragments", "small", "--no-sparse"],
    &["--no-fragments", "--no-dedup", "--no-sparse"],
    &["--no-dedup", "--no-sparse"],
];

/// Files of different layouts.
const LOOKED_AT: [&str; 4] = ["shared/all", "shared/end", "holes/middle", "sizes/noise-8192"];

/// A codec as `-c` names it, and the first kernel of the matrix that decodes it.
struct Codec {
    name: &'static str,
    first: (u32, u32),
}

impl Codec {
    /// Returns the options of the images of this codec: each kernel with two block sizes and two sets of features, which change from kernel to kernel.
    fn forms(&self) -> impl Iterator<Item = Vec<String>> {
        let kernels = KERNELS.iter().enumerate().filter(|(_, kernel)| **kernel >= self.first);
        let both = kernels.flat_map(|(number, kernel)| [(2 * number, *kernel), (2 * number + 1, *kernel)]);
        both.map(|(number, kernel)| self.form(number, kernel))
    }

    fn form(&self, number: usize, (major, minor): (u32, u32)) -> Vec<String> {
        let is_compressed = self.name != "none";
        let block = match BLOCKS[number % BLOCKS.len()] {
            // Clusters of whole blocks have at least two, and a cluster of lz4 in extents is limited.
            "4K" if is_compressed && (major, minor) < (6, 15) => "8K",
            "1M" if self.name.starts_with("lz4") && (major, minor) >= (6, 15) => "512K",
            block => block,
        };
        // Sets of odd and of even numbers come with each block size.
        let mut without = WITHOUT[(number + number / BLOCKS.len()) % WITHOUT.len()];
        if is_compressed && (major, minor) < (6, 1) && without.contains(&"--fragments") {
            without = &["--no-sparse"];
        }
        let has_packed = is_compressed && (major, minor) >= (6, 1) && !without.contains(&"--no-fragments");
        // Both forms of images come with compressed directories and without.
        let directories = (has_packed && (number / 2).is_multiple_of(2)).then_some("--compress-directories");
        let kernel = format!("{major}.{minor}");
        let words = ["-c", self.name, "--kernel", &kernel, "-b", block];
        words.iter().chain(without).chain(&directories).map(|word| word.to_string()).collect()
    }
}

/// Packs the tree in all forms of a codec, and compares what the readers find. Returns the layouts of the contents.
fn readers_agree(name: &'static str, first: (u32, u32)) -> BTreeSet<u8> {
    let sandbox = sandbox();
    let source = Source::new();
    sandbox.write_tar("tree.tar", &source.nodes);
    let is_mounted = mount::kernel_mounts_erofs(name.split(':').next().unwrap()) && tools::need(&["filefrag"]);
    let release = Release::installed(&sandbox).filter(|release| release.decodes(name));
    let mut known = 0;
    let mut layouts = BTreeSet::new();
    for form in share((Codec { name, first }).forms(), 3, name) {
        sandbox.good(&[&["pack", "-q", "-f", "tree.tar", "new.erofs"].map(String::from), &form[..]].concat());
        let packed = Packed::open(&sandbox, "new.erofs", form.join(" "));
        if is_mounted {
            source.kernel_agrees(&packed);
        }
        source.erofs_rs_agrees(&packed);
        if release.as_ref().is_some_and(|release| release.knows(&packed)) {
            source.erofs_utils_agree(&packed);
            known += 1;
        }
        layouts.extend(LOOKED_AT.map(|path| packed.layout(path)));
    }
    assert!(known > 0 || release.is_none(), "erofs-utils know no image");
    layouts
}

/// Numbers of layouts in the format.
const PLAIN: u8 = 0;
const FULL: u8 = 1;
const COMPACT: u8 = 3;
const CHUNKS: u8 = 4;

#[test]
fn zstd() {
    let layouts = readers_agree("zstd:level=3", (6, 10));
    assert!(layouts.is_superset(&[FULL, COMPACT].into()), "{layouts:?}");
}

#[test]
fn lzma() {
    let layouts = readers_agree("lzma:level=1", (5, 16));
    assert!(layouts.is_superset(&[FULL, COMPACT].into()), "{layouts:?}");
}

#[test]
fn gzip() {
    let layouts = readers_agree("gzip:level=4", (6, 10));
    assert!(layouts.is_superset(&[FULL, COMPACT].into()), "{layouts:?}");
}

#[test]
fn lz4() {
    let layouts = readers_agree("lz4", (5, 13));
    assert!(layouts.is_superset(&[FULL, COMPACT].into()), "{layouts:?}");
}

#[test]
fn lz4hc() {
    let layouts = readers_agree("lz4:hc", (5, 13));
    assert!(layouts.is_superset(&[FULL, COMPACT].into()), "{layouts:?}");
}

#[test]
fn none() {
    let layouts = readers_agree("none", (5, 13));
    assert!(layouts.is_superset(&[PLAIN, CHUNKS].into()), "{layouts:?}");
}
