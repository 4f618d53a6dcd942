//! What must not depend on where the tree comes from: directory, tar, compressed tar, pipe, drop-ins.

use packline_testkit::model::{Node, NodeKind};
use packline_testkit::mount::Mounted;
use packline_testkit::packer::Packer;
use packline_testkit::{generate, plant, reader, snapshot, tar, tools, views};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const BLOCK: usize = 16_384;

fn packer() -> Packer {
    Packer::new(env!("CARGO_BIN_EXE_packline"))
}

fn planted(directory: &Path, nodes: &[Node]) -> PathBuf {
    let source = directory.join("source");
    std::fs::create_dir(&source).unwrap();
    plant::plant(nodes, &source).unwrap();
    source
}

/// A tar as GNU tar makes it, names in order.
fn gnu_tar(directory: &Path, source: &Path, options: &[&str]) -> PathBuf {
    let archive = directory.join("gnu.tar");
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--xattrs", "--xattrs-include=*", "--numeric-owner"]).args(options);
    tools::run(command.arg("-cf").arg(&archive).arg("-C").arg(source).arg(".")).unwrap();
    archive
}

#[test]
fn data_area_of_a_directory_and_of_its_tar() {
    if !tools::need(&["tar"]) || !tools::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let nodes = generate::small_tree(5, BLOCK);
    let source = planted(directory.path(), &nodes);
    let images = ["from-directory.sqfs", "from-tar.sqfs"].map(|name| directory.path().join(name));
    for options in [&["--format=pax"][..], &["--format=pax", "--sparse"]] {
        let archive = gnu_tar(directory.path(), &source, options);
        for (place, image) in [&source, &archive].into_iter().zip(&images) {
            packer().pack(place, image, &["-c", "zstd", "-b", "16K", "--force"]);
        }
        let [first, second] = images.each_ref().map(|image| reader::inspect(image).unwrap());
        assert_eq!(first.data_hash, second.data_hash, "{options:?}: the data areas differ");
        assert_eq!(first.data_area, second.data_area);
    }
}

#[test]
fn tars_of_other_programs() {
    if !tools::need(&["tar", "bsdtar"]) || !views::available() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut nodes = generate::small_tree(6, BLOCK);
    // GNU tar takes hard links of fifos for fifos.
    nodes.retain(|node| node.path != b"links/fifo-again");
    let source = planted(directory.path(), &nodes);
    let archive = gnu_tar(directory.path(), &source, &["--format=pax", "--sparse"]);
    check_archive("GNU tar, pax", &archive, &source, directory.path());
    tools::run(
        Command::new("bsdtar")
            .args(["--format=pax", "--numeric-owner", "-cf"])
            .arg(&archive)
            .arg("-C")
            .arg(&source)
            .arg("."),
    )
    .unwrap();
    check_archive("bsdtar, pax", &archive, &source, directory.path());
}

fn check_archive(what: &str, archive: &Path, source: &Path, directory: &Path) {
    let image = directory.join("archive.sqfs");
    packer().pack(archive, &image, &["-b", "16K", "--force"]);
    let mut tree = snapshot::of_directory(source).unwrap();
    tree.retain(|_, attributes| attributes.kind != snapshot::Kind::Socket);
    views::assert_sound(what, &image, &tree);
}

#[test]
fn compressed_tars_and_pipes_give_the_same_image() {
    if !tools::need(&["gzip", "xz", "zstd", "bzip2", "lz4"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("plain.tar");
    std::fs::write(&archive, tar::to_bytes(&generate::small_tree(7, BLOCK))).unwrap();
    let plain = directory.path().join("plain.sqfs");
    packer().pack(&archive, &plain, &[]);
    let expected = std::fs::read(&plain).unwrap();
    for program in ["gzip", "xz", "zstd", "bzip2", "lz4"] {
        let packed = directory.path().join(format!("tar.{program}"));
        let output =
            Command::new(program).arg("-c").arg(&archive).stdout(File::create(&packed).unwrap()).status().unwrap();
        assert!(output.success(), "{program}");
        let image = directory.path().join(format!("{program}.sqfs"));
        packer().pack(&packed, &image, &[]);
        assert!(std::fs::read(&image).unwrap() == expected, "{program}: another image than from the plain tar");
        let piped = directory.path().join(format!("{program}-piped.sqfs"));
        let mut command = packer().command(Path::new("-"), &piped, &[]);
        tools::run(command.stdin(File::open(&packed).unwrap())).unwrap();
        assert!(std::fs::read(&piped).unwrap() == expected, "{program}: another image from standard input");
    }
}

#[test]
fn concatenated_streams_are_one_tar() {
    if !tools::need(&["gzip", "xz", "zstd"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let bytes = tar::to_bytes(&generate::small_tree(8, 4096));
    let halves = [&bytes[..bytes.len() / 2], &bytes[bytes.len() / 2..]];
    let plain = directory.path().join("plain.tar");
    std::fs::write(&plain, &bytes).unwrap();
    packer().pack(&plain, &directory.path().join("plain.sqfs"), &[]);
    let expected = std::fs::read(directory.path().join("plain.sqfs")).unwrap();
    for program in ["gzip", "xz", "zstd"] {
        let mut joined = Vec::new();
        for half in halves {
            std::fs::write(&plain, half).unwrap();
            joined.extend(Command::new(program).arg("-c").arg(&plain).output().unwrap().stdout);
        }
        let (archive, image) = (directory.path().join("joined"), directory.path().join(format!("{program}.sqfs")));
        std::fs::write(&archive, joined).unwrap();
        packer().pack(&archive, &image, &[]);
        assert!(std::fs::read(&image).unwrap() == expected, "{program}");
    }
}

#[test]
fn drop_ins_see_the_same_tree() {
    if !views::available() {
        return;
    }
    let directory = Mounted::scratch(1 << 28).unwrap();
    let nodes = generate::small_tree(9, BLOCK);
    let (source, archive) = (planted(directory.path(), &nodes), directory.path().join("source.tar"));
    std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    let image = directory.path().join("image.sqfs");
    packer().drop_in("tar2sqfs", &["-q", "-f", "-c", "gzip", "-b", "16K", "-e"], &image, Some(&archive));
    let report = views::assert_all_agree("tar2sqfs", &image, &snapshot::of_model(&nodes, false), directory.path());
    assert_ne!(report.superblock.export_table, u64::MAX, "-e asks for an export table");
    let place = source.to_str().unwrap();
    let arguments = ["-q", "-f", "-c", "gzip", "-b", "16K", "--keep-time", "--keep-xattr", "--pack-dir", place];
    packer().drop_in("gensquashfs", &arguments, &image, None);
    // As squashfs-tools-ng, it gives the root its defaults and not what the directory has.
    let mut tree = snapshot::of_model(&nodes, true);
    tree.entry(Vec::new()).and_modify(|root| root.mtime = 0);
    views::assert_all_agree("gensquashfs", &image, &tree, directory.path());
}

#[test]
fn files_of_more_than_four_gigabytes() {
    if !tools::root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let nodes = generate::beyond_four_gigabytes();
    let source = planted(directory.path(), &nodes);
    let archive = directory.path().join("source.tar");
    std::fs::write(&archive, tar::to_bytes(&nodes)).unwrap();
    let tree = snapshot::of_model(&nodes, true);
    for place in [&source, &archive] {
        let image = directory.path().join("image.sqfs");
        packer().pack(place, &image, &["-b", "1M", "--force"]);
        views::assert_sound("beyond four gigabytes", &image, &tree);
        assert!(std::fs::metadata(&image).unwrap().len() < 100_000);
    }
}

#[test]
fn the_last_of_two_entries_wins() {
    let directory = tempfile::tempdir().unwrap();
    let (archive, image) = (directory.path().join("a.tar"), directory.path().join("a.sqfs"));
    let entries = [
        Node::file("f", "first"),
        Node::new("link", NodeKind::HardLink(b"f".to_vec())),
        Node::file("g", "old"),
        Node::file("f", "second, longer").mode(0o600),
        Node::new("g", NodeKind::Symlink(b"f".to_vec())),
    ];
    std::fs::write(&archive, tar::to_bytes(&entries)).unwrap();
    packer().pack(&archive, &image, &[]);
    // The link keeps what it was made from, as when GNU tar extracts: the second file replaces the name, not the inode.
    let root = Node::dir("").mode(0o755);
    let expected = [root, Node::file("link", "first"), entries[3].clone(), entries[4].clone()];
    let mut expected = snapshot::of_model(&expected, false);
    let mut found = reader::inspect(&image).unwrap();
    assert!(found.problems.is_empty(), "{:#?}", found.problems);
    // The tar has no root, so its attributes are the packer's own choice.
    expected.remove(&Vec::new());
    found.tree.remove(&Vec::new());
    snapshot::assert_same("last wins", &expected, &found.tree, snapshot::Except::default());
}
