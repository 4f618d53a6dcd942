//! Complete images without data, compressed without workers, and read by every available reader.

use crate::metadata_support::{When, check, image, mounted, options, source, try_image, zoo};
use packline_squashfs::{DirectoryLinks, Fragments, Options, Stored};
use packline_testkit::Random;
use packline_testkit::model::{Node, NodeKind};

/// `count` files in one directory, not in the order of their names, with names of several lengths.
fn flat(count: usize) -> Vec<Node> {
    let mut random = Random::new(1);
    let mut names: Vec<String> = (0..count).map(|n| format!("{n:x}{}", "-name".repeat(n % 13))).collect();
    random.shuffle(&mut names);
    let files = names.iter().map(|name| Node::file(format!("d/{name}"), ""));
    [Node::dir(""), Node::dir("d")].into_iter().chain(files).collect()
}

/// A tree of directories and files; some files have further names elsewhere.
fn random_tree(seed: u64, count: usize) -> Vec<Node> {
    let mut random = Random::new(seed);
    let mut directories = vec![String::new()];
    let mut files = Vec::new();
    let mut nodes = vec![Node::dir("")];
    for n in 0..count {
        let parent = &directories[random.below(directories.len() as u64) as usize];
        let path = if parent.is_empty() { format!("n{n}") } else { format!("{parent}/n{n}") };
        let node = match random.below(6) {
            0 => {
                directories.push(path.clone());
                Node::dir(path)
            }
            1 if !files.is_empty() => {
                let target: &String = &files[random.below(files.len() as u64) as usize];
                Node::new(path, NodeKind::HardLink(target.clone().into_bytes()))
            }
            2 => Node::new(path, NodeKind::Symlink(vec![b's'; 1 + random.below(300) as usize])),
            _ => {
                files.push(path.clone());
                Node::file(path, "").owner(random.below(9) as u32, random.below(99) as u32).time(n as i64)
            }
        };
        nodes.push(node);
    }
    nodes
}

fn deep(levels: usize) -> Vec<Node> {
    let mut nodes = vec![Node::dir("")];
    let mut path = String::new();
    for level in 0..levels {
        path.push_str(if level == 0 { "d" } else { "/d" });
        nodes.push(Node::dir(path.clone()));
        nodes.push(Node::file(format!("{path}/a"), ""));
        nodes.push(Node::file(format!("{path}/z"), ""));
    }
    nodes
}

#[test]
fn every_kind_of_inode_with_every_codec() {
    for codec in ["none", "gzip", "xz", "lzma", "zstd", "lz4", "lzo"] {
        let mut options = options(codec);
        options.exportable = true;
        check(&zoo(), &image(&zoo(), &options));
    }
}

#[test]
fn an_empty_tree() {
    for pad in [0, 1, 1024, 4096, 1 << 20] {
        let mut options = options("gzip");
        options.pad = pad;
        let nodes = [Node::dir("").mode(0o700)];
        let image = image(&nodes, &options);
        assert_eq!((image.end.inodes, image.end.ids, image.end.directory_table), (1, 1, 0));
        assert_eq!(image.end.padded, image.end.bytes_used.next_multiple_of(u64::from(pad.max(1))));
        if pad >= 1024 {
            check(&nodes, &image);
        }
    }
}

#[test]
fn directories_of_empty_directories_only() {
    let nodes: Vec<Node> = ["", "a", "a/b", "c"].map(Node::dir).to_vec();
    check(&nodes, &image(&nodes, &options("zstd")));
}

#[test]
fn directories_round_the_limits_of_a_run() {
    for count in [1, 255, 256, 257, 300, 511, 512, 513, 1000] {
        let nodes = flat(count);
        check(&nodes, &image(&nodes, &options("gzip")));
    }
}

#[test]
fn names_of_full_length_fill_runs_by_bytes() {
    let long = |n: usize| format!("{n:04}{}", "x".repeat(251));
    let nodes: Vec<Node> = (0..600).map(|n| Node::file(long(n), "")).collect();
    let nodes = [vec![Node::dir("")], nodes].concat();
    check(&nodes, &image(&nodes, &options("lz4")));
}

#[test]
fn a_directory_of_50_000_entries() {
    let nodes = flat(50_000);
    let image = image(&nodes, &options("gzip"));
    check(&nodes, &image);
}

#[test]
fn a_directory_of_10_000_subdirectories() {
    let nodes: Vec<Node> = (0..10_000).map(|n| Node::dir(format!("{n}"))).collect();
    let nodes = [vec![Node::dir("")], nodes].concat();
    check(&nodes, &image(&nodes, &options("zstd")));
}

#[test]
fn a_chain_of_directories() {
    let nodes = deep(300);
    check(&nodes, &image(&nodes, &options("gzip")));
}

#[test]
fn a_chain_of_3000_directories_is_written() {
    let options = options("lz4");
    let image = image(&deep(3000), &options);
    assert_eq!(image.end.inodes, 9001);
}

#[test]
fn hard_links_all_over_the_tree() {
    for seed in 0..4 {
        let nodes = random_tree(seed, 2000);
        let mut options = options("gzip");
        options.exportable = true;
        check(&nodes, &image(&nodes, &options));
    }
}

#[test]
fn hard_links_further_apart_than_a_run_can_count() {
    let name = |n: u32| format!("far/{n:05}");
    let files = (0..40_000).map(|n| Node::file(name(n), ""));
    let links = (0..200).map(|n| Node::new(format!("near/{n:03}"), NodeKind::HardLink(name(n * 199).into_bytes())));
    let first = [Node::dir(""), Node::dir("far"), Node::dir("near")];
    let nodes: Vec<Node> = first.into_iter().chain(files).chain(links).collect();
    check(&nodes, &image(&nodes, &options("lz4")));
}

#[test]
fn many_ids_need_several_blocks() {
    let nodes: Vec<Node> = (0..5000).map(|n| Node::file(format!("{n}"), "").owner(n, n + 100_000)).collect();
    let nodes = [vec![Node::dir("")], nodes].concat();
    let image = image(&nodes, &options("gzip"));
    assert_eq!(image.end.ids, 10_000);
    check(&nodes, &image);
}

#[test]
fn xattrs_are_shared_and_long_values_too() {
    let long = |n: u32| vec![b'0' + (n % 7) as u8; 3000];
    let nodes: Vec<Node> = (0..2000)
        .map(|n| {
            let node = Node::file(format!("{n:04}"), "").xattr("user.long", long(n / 2));
            let node = node.xattr("security.each", format!("{}", n / 2)).xattr("user.empty", "");
            if n % 3 == 0 { node.xattr("trusted.t", long(n / 2 + 1)) } else { node }
        })
        .collect();
    let nodes = [vec![Node::dir("")], nodes].concat();
    let image = image(&nodes, &options("gzip"));
    assert!((1001..2000).contains(&image.end.xattr_sets), "{}", image.end.xattr_sets);
    assert!(image.compressor.raw_bytes < 500_000, "values are repeated: {} bytes", image.compressor.raw_bytes);
    check(&nodes, &image);
}

#[test]
fn xattrs_can_be_left_out() {
    let mut options = options("gzip");
    options.xattrs = false;
    let with = zoo();
    let image = image(&with, &options);
    let without: Vec<Node> = with.into_iter().map(|node| Node { xattrs: Vec::new(), ..node }).collect();
    check(&without, &image);
    assert_eq!(image.end.xattr_sets, 0);
}

#[test]
fn stored_parts_are_stored() {
    for (inodes, ids, xattrs) in [(true, false, false), (false, true, false), (false, false, true), (true, true, true)]
    {
        let mut options = options("gzip");
        options.stored = Stored { inodes, ids, xattrs, ..Stored::default() };
        options.fragments = Fragments::Never;
        check(&zoo(), &image(&zoo(), &options));
    }
}

fn links_of(options: &Options) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt;
    let nodes = ["", "a", "a/b", "a/c"].map(Node::dir).into_iter().chain([Node::file("a/f", "")]);
    let nodes: Vec<Node> = nodes.collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), image(&nodes, options).bytes).unwrap();
    let mut found = Vec::new();
    mounted(file.path(), "gzip", |path| {
        let links = |name| std::fs::symlink_metadata(path.join(name)).unwrap().nlink();
        found = ["", "a", "a/b", "a/f"].map(links).to_vec();
    });
    found
}

#[test]
fn directories_count_links_as_asked() {
    let mut options = options("gzip");
    let subdirectories = links_of(&options);
    options.directory_links = DirectoryLinks::Children;
    let children = links_of(&options);
    if !children.is_empty() {
        assert_eq!(subdirectories, [3, 4, 2, 1]);
        assert_eq!(children, [3, 5, 2, 1]);
    }
}

#[test]
fn the_bytes_do_not_depend_on_when_blocks_are_done() {
    for nodes in [zoo(), flat(20_000), random_tree(9, 20_000)] {
        for codec in ["gzip", "none"] {
            let options = options(codec);
            let source = source(&nodes, &options);
            let early = try_image(&source, &options, When::Early).unwrap();
            let late = try_image(&source, &options, When::Late).unwrap();
            assert!(early.bytes == late.bytes);
            assert!(late.compressor.most_pending <= 256);
        }
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_order_entries_come_in() {
    let sorted = |nodes: &mut Vec<Node>| nodes.sort_by(|a, b| a.path.cmp(&b.path));
    let mut nodes = flat(3000);
    let shuffled = image(&nodes, &options("gzip")).bytes;
    sorted(&mut nodes);
    assert!(image(&nodes, &options("gzip")).bytes == shuffled);
}

#[test]
fn ten_times_the_entries_take_ten_times_the_work() {
    let work = |nodes: Vec<Node>| {
        let image = image(&nodes, &options("none"));
        (image.compressor.blocks as f64, image.compressor.raw_bytes as f64)
    };
    for make in [|n| flat(n), |n| random_tree(3, n)] {
        let one = work(make(4000));
        let ten = work(make(40_000));
        assert!((8.0..12.0).contains(&(ten.0 / one.0)), "{one:?} {ten:?}");
        assert!((8.0..12.0).contains(&(ten.1 / one.1)), "{one:?} {ten:?}");
    }
}
