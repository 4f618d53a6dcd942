//! Each codec, block size and source, with fragments and without: every program that reads images must see the source's tree.

use packline_testkit::model::Node;
use packline_testkit::mount::Mounted;
use packline_testkit::{Sandbox, generate, snapshot, views};

use crate::PACKLINE;

/// Block sizes with the option that chooses them.
const BLOCKS: [(usize, &str); 3] = [(4096, "4K"), (131_072, "128K"), (1 << 20, "1M")];

/// The tree for a block size in bytes. With the largest blocks, the tree has only the files whose sizes are next to block boundaries and
/// files with holes, one of them with a block that does not compress, because the rest is the same for all codecs and sizes.
fn tree(block: usize) -> Vec<Node> {
    let mut nodes = generate::small_tree(block as u64, block);
    let starts = |path: &[u8], names: &[&str]| names.iter().any(|name| path.starts_with(name.as_bytes()));
    let for_codecs = |path: &[u8]| starts(path, &["sizes", "holes"]) && !starts(path, &["sizes/noise"]);
    nodes.retain(|node| block <= 1 << 17 || node.path.is_empty() || for_codecs(&node.path));
    nodes
}

/// Packs a tree from a directory and from a tar with a codec in every way and checks each image. With blocks of 1 MiB there is much data, so
/// there the codec works at the level that `light` names, and on the directory only.
fn in_every_way(codec: &str, light: &str) {
    if !views::available() {
        return;
    }
    let scratch = Mounted::scratch(1 << 30).unwrap();
    let sandbox = Sandbox::within(PACKLINE, scratch.path());
    for (block, option) in BLOCKS {
        let codec = if block > 1 << 17 { light } else { codec };
        let nodes = tree(block);
        let planted = format!("tree-{block}");
        let archive = format!("tree-{block}.tar");
        sandbox.plant(&planted, &nodes);
        sandbox.write_tar(&archive, &nodes);
        // How tail ends are stored does not depend on the source: both ways are tested with one source.
        for (source, fragments) in [(&planted, "always"), (&planted, "never"), (&archive, "always")] {
            if block > 1 << 17 && *source == archive {
                continue;
            }
            let what = format!("{codec} {option} fragments={fragments} {source}");
            let options = ["-c", codec, "-b", option, "--fragments", fragments, "--force"];
            sandbox.good(&[&["pack", source, "image.sqfs"], &options[..]].concat());
            let tree = snapshot::of_model(&nodes, *source == planted);
            let report = views::assert_all_agree(&what, &sandbox.at("image.sqfs"), &tree, sandbox.path());
            assert_eq!(report.unused, 0, "{what}: bytes that nothing uses");
            assert_eq!(report.superblock.fragments == 0, fragments == "never", "{what}");
            assert_eq!(report.superblock.block_size as usize, block, "{what}");
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
    in_every_way("lz4:hc", "lz4:hc,level=3");
}

#[test]
fn lzo() {
    in_every_way("lzo", "lzo:level=1");
}

#[test]
fn none() {
    in_every_way("none", "none");
}
