//! The public API: the examples, and each builder with each container.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../examples/app_image.rs"]
mod app_image;
mod bases;
mod changed_sources;
mod contents;
mod damaged_data;
mod error_kinds;
mod examples;
#[path = "../../examples/firmware.rs"]
mod firmware;
#[path = "../../examples/image_diff.rs"]
mod image_diff;
mod image_source;
#[path = "../../examples/image_to_tar.rs"]
mod image_to_tar;
#[path = "../../examples/pack_directory.rs"]
mod pack_directory;
mod repaired;
mod seek;
mod send;
#[path = "../../examples/serve_image.rs"]
mod serve_image;
mod stack;
mod streams;
mod tar_streams;
mod tree;

use std::fs::{self, File};
use std::io::{Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use packline::{
    Container, Error, ErrorKind, Image, Input, Output, Packer, Resources, Selection, Source, StreamOptions, Unobserved,
    Unpacker, compress, decompress,
};
use packline_testkit::Random;
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
    let image = top.path().join("a.sqfs");
    let tar = top.path().join("a.tar.zst");
    let packed = pack_directory::pack(&tree, &image).unwrap();
    assert_eq!((packed.container, packed.content_bytes), (Container::SquashFs, (3 << 20) + 10));
    assert_eq!(packed.output_bytes, fs::metadata(&image).unwrap().len());

    let image_file = Image::open(&image).unwrap();
    let mut content = Vec::new();
    image_file.read("release", &mut content).unwrap();
    assert_eq!(content, b"NAME=test\n");
    let conf = Selection::pattern("etc/conf").unwrap();
    let listed: Vec<Vec<u8>> = image_file.entries(&conf).map(|entry| entry.unwrap().path().to_vec()).collect();
    assert_eq!(listed, [b"etc/conf".to_vec(), b"etc/conf/large".to_vec()]);
    let missing = image_file.read("main.o", &mut content).unwrap_err();
    assert_eq!((missing.kind(), missing.entry()), (ErrorKind::NotFound, Some(&b"main.o"[..])));

    assert_eq!(image_to_tar::convert(&image, &tar).unwrap().content_bytes, (3 << 20) + 10);
    let again = top.path().join("b.sqfs");
    Packer::new(Source::tar_file(&tar)).codec("zstd:level=19").block_size(256 << 10).write_to(&again).unwrap();
    assert_eq!(fs::read(again).unwrap(), fs::read(image).unwrap());
}

/// The status line, the headers and the body that a program of the example answers a request with.
fn answered(image: &Image, request: &str) -> (String, Vec<u8>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    std::thread::scope(|scope| {
        let served = || serve_image::answer(image, listener.accept().unwrap().0).unwrap();
        std::thread::Builder::new().spawn_scoped(scope, served).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        client.read_to_end(&mut reply).unwrap();
        let end = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        (String::from_utf8(reply[..end].to_vec()).unwrap(), reply[end + 4..].to_vec())
    })
}

#[test]
fn a_file_of_an_image_is_served_whole_and_in_ranges() {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    let content = Random::new(1).prose(400_000);
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), &content).unwrap();
    Packer::new(Source::directory(&tree)).write_to(top.path().join("a.sqfs")).unwrap();
    let image = Image::open(top.path().join("a.sqfs")).unwrap();
    let get = |range: &str| answered(&image, &format!("GET /file HTTP/1.1\r\nHost: test\r\n{range}\r\n"));

    let (head, body) = get("");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("Content-Length: 400000"), "{head}");
    assert!(body == content);
    for (range, bytes) in [("0-0", 0..1), ("131000-131199", 131_000..131_200), ("399990-", 399_990..400_000)] {
        let (head, body) = get(&format!("Range: bytes={range}\r\n"));
        assert!(head.starts_with("HTTP/1.1 206 Partial Content\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Range: bytes {}-{}/400000\r\n", bytes.start, bytes.end - 1)), "{head}");
        assert!(body == content[bytes], "{range}");
    }
    let (head, body) = get("range: bytes=399999-999999999999999999\r\n");
    assert!(head.contains("bytes 399999-399999/400000") && body == content[399_999..], "{head}");
    let (head, body) = get("Range: bytes=400000-\r\n");
    assert!(head.starts_with("HTTP/1.1 416 ") && head.contains("bytes */400000") && body.is_empty(), "{head}");
    for request in ["GET /none HTTP/1.1\r\n\r\n", "POST /file HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "\r\n"] {
        let (head, body) = answered(&image, request);
        assert!(head.starts_with("HTTP/1.1 404 ") && body.is_empty(), "{request}: {head}");
    }
}

#[test]
fn images_and_lrz_files_are_packed_and_unpacked() {
    let (top, tree) = place();
    for name in ["a.sqfs", "a.erofs", "a.lrz"] {
        let packed = top.path().join(name);
        let unpacked = top.path().join(format!("{name}.d"));
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
fn rejects_sources_that_a_container_cannot_hold() {
    let (top, tree) = place();
    let packer = || Packer::new(Source::directory(&tree));
    let at = |name: &str| top.path().join(name);
    for (result, words) in [
        (packer().write_to(at("a.pln")), "holds one file or stream, not a tree"),
        (packer().container(Container::Pln).write_to(at("a")), "holds one file or stream, not a tree"),
        (packer().write_to(at("a.zip")), "the name suggests a zip archive"),
        (packer().block_size(4096).write_to(at("a.lrz")), "a block size"),
        (packer().codec("zstd").write_to(at("a.lrz")), "'zstd' (expected none, gzip"),
        (packer().codec("zpaq").write_to(at("a.sqfs")), "zpaq"),
        (packer().codec("xz").write_to(at("a.erofs")), "xz"),
        (packer().block_size(5000).write_to(at("a.erofs")), "5000"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    packer().write_to(at("a.lrz")).unwrap();
    let part = Unpacker::new(at("a.lrz")).select(Selection::pattern("etc").unwrap());
    assert!(matches!(part.to_tar(at("part.tar")), Err(Error::Request { .. })));
    let nothing = Unpacker::new(at("a.lrz")).to_tar(at("a.tar.gz"));
    assert!(matches!(nothing, Err(Error::Request { .. })) && !at("a.tar.gz").exists());
}

#[test]
fn streams_are_compressed_and_decompressed_by_container() {
    let top = tempfile::tempdir().unwrap();
    let content: Vec<u8> = (0..2_000_000u32).flat_map(|number| (number / 7).to_le_bytes()).collect();
    let plain = top.path().join("plain");
    let options = StreamOptions::default();
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
