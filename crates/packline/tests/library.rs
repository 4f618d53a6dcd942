//! The public API: the examples, and each builder with each container.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/image_to_tar.rs"]
mod image_to_tar;
#[path = "../examples/pack_directory.rs"]
mod pack_directory;
#[path = "../examples/read_file.rs"]
mod read_file;

use std::fs::{self, File};
use std::io::Cursor;
use std::path::{Path, PathBuf};

use packline::{
    Container, Error, Image, Input, Output, Packer, Resources, Selection, Source, StreamOptions, Unobserved, Unpacker,
    compress, decompress,
};
use tempfile::TempDir;

/// A directory with a small tree in `tree`.
fn place() -> (TempDir, PathBuf) {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    fs::create_dir_all(tree.join("etc/conf")).unwrap();
    fs::write(tree.join("etc/os-release"), b"NAME=test\n").unwrap();
    fs::write(tree.join("etc/conf/large"), vec![b'x'; 3 << 20]).unwrap();
    fs::write(tree.join("main.o"), b"object").unwrap();
    std::os::unix::fs::symlink("etc/os-release", tree.join("release")).unwrap();
    (top, tree)
}

fn is_as_packed(unpacked: &Path) {
    assert_eq!(fs::read(unpacked.join("etc/os-release")).unwrap(), b"NAME=test\n");
    assert_eq!(fs::read(unpacked.join("etc/conf/large")).unwrap(), vec![b'x'; 3 << 20]);
    assert_eq!(fs::read_link(unpacked.join("release")).unwrap(), Path::new("etc/os-release"));
    assert!(!unpacked.join("main.o").exists());
}

#[test]
fn the_examples_do_what_they_say() {
    let (top, tree) = place();
    let (image, tar) = (top.path().join("a.sqfs"), top.path().join("a.tar.zst"));
    let packed = pack_directory::pack(&tree, &image).unwrap();
    assert_eq!((packed.container, packed.content_bytes), (Container::SquashFs, (3 << 20) + 10));
    assert_eq!(packed.output_bytes, fs::metadata(&image).unwrap().len());

    let mut content = Vec::new();
    read_file::read(&image, "release", &mut content).unwrap();
    assert_eq!(content, b"NAME=test\n");
    let listed = read_file::list(&image, "etc/conf").unwrap();
    assert_eq!(listed, [b"etc/conf".to_vec(), b"etc/conf/large".to_vec()]);
    assert!(matches!(read_file::read(&image, "main.o", &mut content), Err(Error::Request { .. })));

    assert_eq!(image_to_tar::convert(&image, &tar).unwrap().content_bytes, (3 << 20) + 10);
    let again = top.path().join("b.sqfs");
    Packer::new(Source::tar_file(&tar)).codec("zstd:level=19").block_size(256 << 10).write_to(&again).unwrap();
    assert_eq!(fs::read(again).unwrap(), fs::read(image).unwrap());
}

#[test]
fn images_and_lrz_files_are_packed_and_unpacked() {
    let (top, tree) = place();
    for name in ["a.sqfs", "a.lrz"] {
        let (packed, unpacked) = (top.path().join(name), top.path().join(format!("{name}.d")));
        let packer = || Packer::new(Source::directory(&tree)).exclude("*.o").unwrap().resources(Resources::new(2));
        packer().write_to(&packed).unwrap();
        assert!(matches!(packer().write_to(&packed), Err(Error::Exists(_))));
        packer().replace(true).write_to(&packed).unwrap();
        Unpacker::new(&packed).to_directory(&unpacked).unwrap();
        is_as_packed(&unpacked);
        let tar = top.path().join(format!("{name}.tar"));
        Unpacker::new(&packed).to_tar(&tar).unwrap();
        let image = top.path().join(format!("{name}.sqfs"));
        Packer::new(Source::tar_reader("tar", File::open(&tar).unwrap())).write_to(&image).unwrap();
        assert_eq!(Image::open(&image).unwrap().verify(&Resources::new(2)).unwrap(), []);
    }
}

#[test]
fn what_a_container_cannot_hold_is_refused() {
    let (top, tree) = place();
    let packer = || Packer::new(Source::directory(&tree));
    let at = |name: &str| top.path().join(name);
    for (result, words) in [
        (packer().write_to(at("a.pln")), "holds one file or stream, not a tree"),
        (packer().container(Container::Pln).write_to(at("a")), "holds one file or stream, not a tree"),
        (packer().write_to(at("a.zip")), "the name is that of a zip archive"),
        (packer().block_size(4096).write_to(at("a.lrz")), "a block size"),
        (packer().codec("zstd").write_to(at("a.lrz")), "'zstd' (expected none, gzip"),
        (packer().codec("zpaq").write_to(at("a.sqfs")), "zpaq"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    packer().write_to(at("a.lrz")).unwrap();
    let part = Unpacker::new(at("a.lrz")).select(Selection::pattern("etc").unwrap());
    assert!(matches!(part.to_directory(at("d")), Err(Error::Request { .. })));
    let nothing = Unpacker::new(at("a.lrz")).to_tar(at("a.tar.gz"));
    assert!(matches!(nothing, Err(Error::Request { .. })) && !at("a.tar.gz").exists());
}

#[test]
fn streams_are_compressed_and_decompressed_by_container() {
    let top = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..2_000_000u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
    let (plain, options) = (top.path().join("plain"), StreamOptions::default());
    fs::write(&plain, &content).unwrap();
    for container in [Container::Lrz, Container::Pln] {
        let packed = top.path().join(container.name());
        let target = Output::file(&packed);
        let (read, written) = compress(Input::file(&plain), container, &options, target, &mut Unobserved).unwrap();
        assert_eq!((read, written), (content.len() as u64, fs::metadata(&packed).unwrap().len()));
        let back = top.path().join(format!("{}.back", container.name()));
        let stream = Input::reader("stream", Cursor::new(fs::read(&packed).unwrap()));
        let bytes = decompress(stream, .., &options, Output::file(&back), &mut Unobserved).unwrap();
        assert!(bytes == read && fs::read(&back).unwrap() == content, "{container:?}");
    }
    let part = top.path().join("part");
    let range = 1_000_000..1_000_100;
    let pln = || Input::file(top.path().join("pln"));
    decompress(pln(), range.clone(), &options, Output::file(&part), &mut Unobserved).unwrap();
    assert_eq!(fs::read(&part).unwrap(), content[1_000_000..1_000_100]);
    let lrz = Input::file(top.path().join("lrz"));
    let refused = decompress(lrz, range, &options, Output::file(top.path().join("none")), &mut Unobserved);
    assert!(matches!(refused, Err(Error::Request { .. })));
    let image = compress(pln(), Container::SquashFs, &options, Output::file(top.path().join("i")), &mut Unobserved);
    assert!(matches!(image, Err(Error::Request { .. })));
}
