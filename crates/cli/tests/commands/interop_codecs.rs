//! Each codec, block size and source, fragments on and off: every program that reads images must see the source's tree.

use packline_testkit::mount::Mounted;
use packline_testkit::packer::Packer;
use packline_testkit::snapshot;
use packline_testkit::{generate, plant, tar, views};
use std::path::{Path, PathBuf};

/// Block sizes with the option that chooses them.
const BLOCKS: [(usize, &str); 3] = [(4096, "4K"), (131_072, "128K"), (1 << 20, "1M")];

/// A source with the tree that must be found in its image.
struct Source {
    place: PathBuf,
    tree: snapshot::Snapshot,
}

fn sources(directory: &Path, block: usize) -> [Source; 2] {
    let nodes = generate::small_tree(block as u64, block);
    let (planted, archive) = (directory.join(format!("tree-{block}")), directory.join(format!("tree-{block}.tar")));
    std::fs::create_dir(&planted).unwrap();
    plant::plant(&nodes, &planted).unwrap();
    std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    let tree = |sockets| snapshot::of_model(&nodes, sockets);
    [Source { place: planted, tree: tree(true) }, Source { place: archive, tree: tree(false) }]
}

/// Packs both sources with a codec in every way and looks at each image. With blocks of 1 MiB there is much data, so
/// there the codec works at the light level that `light` names, and on the directory alone.
fn in_every_way(codec: &str, light: &str) {
    if !views::available() {
        return;
    }
    let packer = Packer::new(env!("CARGO_BIN_EXE_packline"));
    let scratch = Mounted::scratch(1 << 30).unwrap();
    let directory = scratch.path();
    for (block, option) in BLOCKS {
        let codec = if block > 1 << 17 { light } else { codec };
        for source in sources(directory, block).into_iter().filter(|source| block <= 1 << 17 || source.place.is_dir()) {
            // Where the tree came from has no part in how tail ends are stored: that is looked at for one source.
            let ways: &[&str] = if source.place.is_dir() { &["always", "never"] } else { &["always"] };
            for &fragments in ways {
                let what = format!("{codec} {option} fragments={fragments} {}", source.place.display());
                let image = directory.join("image.sqfs");
                packer.pack(&source.place, &image, &["-c", codec, "-b", option, "--fragments", fragments, "--force"]);
                let report = views::assert_all_agree(&what, &image, &source.tree, directory);
                assert_eq!(report.unused, 0, "{what}: bytes that nothing uses");
                assert_eq!(report.superblock.fragments == 0, fragments == "never", "{what}");
                assert_eq!(report.superblock.block_size as usize, block, "{what}");
            }
        }
    }
}

#[test]
fn gzip() {
    in_every_way("gzip", "gzip:level=3");
}

#[test]
fn xz() {
    in_every_way("xz", "xz:level=0");
}

#[test]
fn lzma() {
    in_every_way("lzma", "lzma:level=0");
}

#[test]
fn zstd() {
    in_every_way("zstd", "zstd:level=3");
}

#[test]
fn lz4() {
    in_every_way("lz4", "lz4");
}

#[test]
fn lz4hc() {
    in_every_way("lz4:hc", "lz4:hc");
}

#[test]
fn lzo() {
    in_every_way("lzo", "lzo");
}

#[test]
fn none() {
    in_every_way("none", "none");
}
