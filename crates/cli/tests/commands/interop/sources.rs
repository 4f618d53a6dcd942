//! The image does not depend on the source of the tree: directory, tar, compressed tar, pipe, drop-ins.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::{Sandbox, generate, reader, snapshot, tar, tools, views};

use crate::{PACKLINE, sandbox};

const BLOCK: usize = 16_384;

/// Packs `source` to `image`.
fn pack(sandbox: &Sandbox, source: &str, image: &str, options: &[&str]) {
    sandbox.good(&[&["pack", source, image], options].concat());
}

/// Makes `gnu.tar` of `source` with GNU tar, names in order.
fn gnu_tar(sandbox: &Sandbox, options: &[&str]) {
    let first = ["--sort=name", "--xattrs", "--xattrs-include=*", "--numeric-owner"];
    sandbox.peer("tar", &[&first[..], options, &["-cf", "gnu.tar", "-C", "source", "."]].concat());
}

#[test]
fn data_area_of_a_directory_and_of_its_tar() {
    if !tools::need(&["tar"]) || !tools::root() {
        return;
    }
    let sandbox = sandbox();
    sandbox.plant("source", &generate::small_tree(5, BLOCK));
    for options in [&["--format=pax"][..], &["--format=pax", "--sparse"]] {
        gnu_tar(&sandbox, options);
        let [first, second] = ["source", "gnu.tar"].map(|source| {
            pack(&sandbox, source, "image.sqfs", &["-c", "zstd", "-b", "16K", "--force"]);
            reader::inspect(&sandbox.at("image.sqfs")).unwrap()
        });
        assert_eq!(first.data_hash, second.data_hash, "{options:?}: the data areas differ");
        assert_eq!(first.data_area, second.data_area);
    }
}

#[test]
fn tars_of_other_programs() {
    if !tools::need(&["tar", "bsdtar"]) || !views::available() {
        return;
    }
    let sandbox = sandbox();
    let mut nodes = generate::small_tree(6, BLOCK);
    // GNU tar takes hard links of fifos for fifos.
    nodes.retain(|node| node.path != b"links/fifo-again");
    sandbox.plant("source", &nodes);
    gnu_tar(&sandbox, &["--format=pax", "--sparse"]);
    sandbox.peer("bsdtar", &["--format=pax", "--numeric-owner", "-cf", "bsd.tar", "-C", "source", "."]);
    let mut tree = sandbox.snapshot("source");
    tree.retain(|_, attributes| attributes.kind != snapshot::Kind::Socket);
    for archive in ["gnu.tar", "bsd.tar"] {
        pack(&sandbox, archive, "image.sqfs", &["-b", "16K", "--force"]);
        views::assert_sound(archive, &sandbox.at("image.sqfs"), &tree);
    }
}

#[test]
fn compressed_tars_and_pipes_give_the_same_image() {
    if !tools::need(&["gzip", "xz", "zstd", "bzip2", "lz4"]) {
        return;
    }
    let sandbox = sandbox();
    sandbox.write_tar("plain.tar", &generate::small_tree(7, BLOCK));
    pack(&sandbox, "plain.tar", "plain.sqfs", &[]);
    let expected = sandbox.read("plain.sqfs");
    for program in ["gzip", "xz", "zstd", "bzip2", "lz4"] {
        sandbox.write("packed", sandbox.peer(program, &["-c", "plain.tar"]).stdout);
        pack(&sandbox, "packed", "image.sqfs", &["--force"]);
        assert!(sandbox.read("image.sqfs") == expected, "{program}: another image than from the plain tar");
        sandbox.good_on(&["pack", "-", "piped.sqfs", "--force"], "packed");
        assert!(sandbox.read("piped.sqfs") == expected, "{program}: another image from standard input");
    }
}

#[test]
fn concatenated_streams_are_one_tar() {
    if !tools::need(&["gzip", "xz", "zstd"]) {
        return;
    }
    let sandbox = sandbox();
    let bytes = tar::to_bytes(&generate::small_tree(8, 4096));
    let halves = [&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2..]];
    sandbox.write("plain.tar", &bytes);
    pack(&sandbox, "plain.tar", "plain.sqfs", &[]);
    let expected = sandbox.read("plain.sqfs");
    for program in ["gzip", "xz", "zstd"] {
        let packed = halves.map(|half| {
            sandbox.write("half", half);
            sandbox.peer(program, &["-c", "half"]).stdout
        });
        sandbox.write("joined", packed.concat());
        pack(&sandbox, "joined", "image.sqfs", &["--force"]);
        assert!(sandbox.read("image.sqfs") == expected, "{program}");
    }
}

#[test]
fn drop_ins_see_the_same_tree() {
    if !views::available() {
        return;
    }
    let scratch = Mounted::scratch(1 << 28).unwrap();
    let sandbox = Sandbox::within(PACKLINE, scratch.path());
    let nodes = generate::small_tree(9, BLOCK);
    sandbox.plant("source", &nodes);
    sandbox.write_tar("source.tar", &nodes);
    let options = ["-q", "-f", "-c", "gzip", "-b", "16K"];
    sandbox.good_on(&[&["tar2sqfs"], &options[..], &["-e", "image.sqfs"]].concat(), "source.tar");
    let image = sandbox.at("image.sqfs");
    let tree = snapshot::of_model(&nodes, false);
    let report = views::assert_all_agree("tar2sqfs", &image, &tree, sandbox.path());
    assert_ne!(report.superblock.export_table, u64::MAX, "-e asks for an export table");
    let more = ["--keep-time", "--keep-xattr", "--pack-dir", "source", "image.sqfs"];
    sandbox.good(&[&["gensquashfs"], &options[..], &more].concat());
    // Like squashfs-tools-ng, tar2sqfs gives the root its defaults, not the attributes of the directory.
    let mut tree = snapshot::of_model(&nodes, true);
    tree.entry(Vec::new()).and_modify(|root| root.mtime = 0);
    views::assert_all_agree("gensquashfs", &image, &tree, sandbox.path());
}

#[test]
fn files_of_more_than_four_gigabytes() {
    if !tools::root() {
        return;
    }
    let sandbox = sandbox();
    let nodes = generate::beyond_four_gigabytes();
    sandbox.plant("source", &nodes);
    sandbox.write_tar("source.tar", &nodes);
    let tree = snapshot::of_model(&nodes, true);
    for source in ["source", "source.tar"] {
        let image = sandbox.at("image.sqfs");
        pack(&sandbox, source, "image.sqfs", &["-b", "1M", "--force"]);
        views::assert_sound("beyond four gigabytes", &image, &tree);
        assert!(std::fs::metadata(&image).unwrap().len() < 100_000);
    }
}

#[test]
fn the_last_of_two_entries_wins() {
    let sandbox = sandbox();
    let entries = [
        Node::file("f", "first"),
        Node::new("link", NodeKind::HardLink(b"f".to_vec())),
        Node::file("g", "old"),
        Node::file("f", "second, longer").mode(0o600),
        Node::new("g", NodeKind::Symlink(b"f".to_vec())),
    ];
    sandbox.write_tar("a.tar", &entries);
    pack(&sandbox, "a.tar", "a.sqfs", &[]);
    // The link keeps what it was made from, as when GNU tar extracts: the second file replaces the name, not the inode.
    let root = Node::dir("").mode(0o755);
    let expected = [root, Node::file("link", "first"), entries[3].clone(), entries[4].clone()];
    let mut expected = snapshot::of_model(&expected, false);
    let mut found = reader::inspect(&sandbox.at("a.sqfs")).unwrap();
    assert!(found.problems.is_empty(), "{:#?}", found.problems);
    // The tar has no root, so its attributes are the packer's own choice.
    expected.remove(&Vec::new());
    found.tree.remove(&Vec::new());
    snapshot::assert_same("last wins", &expected, &found.tree, snapshot::Except::default());
}
