//! What errors mean to a program.

use std::fs;
use std::path::Path;

use packline::{Error, ErrorKind, Image, Packer, Resources, Selection, Source, Tree, Unpacker};
use packline_testkit::Random;

#[test]
fn each_error_has_a_kind_and_names_its_file() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    let tree = || {
        let mut tree = Tree::new();
        tree.file("d/text", Random::new(2).prose(400_000)).unwrap();
        tree.symlink("loop", "loop").unwrap();
        tree
    };
    let packer = || Packer::new(tree());
    packer().write_to(at("a.sqfs")).unwrap();
    fs::write(at("text"), "neither an image nor a tar").unwrap();
    fs::write(at("b.sqfs"), "").unwrap();
    let image = Image::open(at("a.sqfs")).unwrap();

    let kinds: [(Error, ErrorKind, Option<&Path>); 12] = [
        (packer().write_to(at("a.sqfs")).unwrap_err(), ErrorKind::Exists, Some(&at("a.sqfs"))),
        (packer().write_to(at("none/a.sqfs")).unwrap_err(), ErrorKind::NotFound, Some(&at("none/a.sqfs"))),
        (
            Packer::new(Source::directory(at("none"))).write_to(at("c.sqfs")).unwrap_err(),
            ErrorKind::NotFound,
            Some(&at("none")),
        ),
        (packer().codec("zip").write_to(at("c.sqfs")).unwrap_err(), ErrorKind::Invalid, None),
        (packer().write_to(at("c.zip")).unwrap_err(), ErrorKind::Invalid, None),
        (packer().exclude("a{b").err().unwrap(), ErrorKind::Invalid, None),
        (
            packer().resources(Resources::new(1).memory_limit(1000)).write_to(at("c.sqfs")).unwrap_err(),
            ErrorKind::Limit,
            None,
        ),
        (Image::open(at("none")).unwrap_err(), ErrorKind::NotFound, Some(&at("none"))),
        (Image::open(at("text")).unwrap_err(), ErrorKind::WrongFormat, Some(&at("text"))),
        (Image::open(at("b.sqfs")).unwrap_err(), ErrorKind::WrongFormat, Some(&at("b.sqfs"))),
        (image.open_file("d").unwrap_err(), ErrorKind::Invalid, Some(&at("a.sqfs"))),
        (image.open_file("loop").unwrap_err(), ErrorKind::Invalid, Some(&at("a.sqfs"))),
    ];
    for (error, kind, path) in &kinds {
        assert_eq!((error.kind(), error.path()), (*kind, *path), "{error}");
    }
    for error in [
        image.entry("none").unwrap_err(),
        image.open_file("none").unwrap_err(),
        image.read_dir("none").err().unwrap(),
        image.read("none", &mut Vec::new()).unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.entry()), (ErrorKind::NotFound, Some(&b"none"[..])), "{error}");
    }
    assert_eq!(image.read_dir("d/text").err().unwrap().kind(), ErrorKind::Invalid);
}

#[test]
fn damage_has_an_offset_and_an_entry() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.sqfs");
    let mut tree = Tree::new();
    tree.file("text", Random::new(2).prose(400_000)).unwrap();
    Packer::new(tree).codec("xz").write_to(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[96..20_000].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    let image = Image::open(&path).unwrap();

    let error = image.open_file("text").unwrap().read_at(10, &mut [0; 100]).unwrap_err();
    assert_eq!((error.kind(), error.path(), error.entry()), (ErrorKind::Corrupt, Some(&*path), Some(&b"text"[..])));
    let damage = error.corruption().unwrap();
    assert!(damage.offset == 96 && !damage.what.is_empty(), "{damage:?}");
    let unpacked = Unpacker::new(&path).select(Selection::all()).to_directory(top.path().join("d")).unwrap_err();
    assert_eq!((unpacked.kind(), unpacked.corruption().unwrap().offset), (ErrorKind::Corrupt, 96));
    let packed = Packer::new(Source::image(image)).write_to(top.path().join("b.sqfs")).unwrap_err();
    assert_eq!(
        (packed.kind(), packed.entry(), packed.corruption().unwrap().offset),
        (ErrorKind::Corrupt, Some(&b"text"[..]), 96)
    );
}

#[cfg(feature = "encryption")]
#[test]
fn a_file_without_its_key_is_a_kind_of_its_own() {
    use packline::{Container, Input, Output, Recipients, StreamOptions, Unobserved, compress, decompress};

    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let mut options = StreamOptions::new();
    let mut recipients = Recipients::default();
    recipients.add_key("age1j7m7v2r9hlr6gqdthwh2eeg804lmxgtkr2g4sc6cgkea9c83uf7sskpzat").unwrap();
    options.recipients = Some(recipients.into());
    let text = Input::bytes("text", b"text".repeat(1000));
    compress(text, Container::Pln, &options, Output::file(&path), &mut Unobserved).unwrap();
    let output = Output::writer("sink", std::io::sink());
    let error = decompress(Input::file(&path), .., &StreamOptions::new(), output, &mut Unobserved).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::WrongKey, Some(&*path)), "{error}");
}
