//! Trees that a program builds.

use std::fs;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use packline::{
    Container, Content, ContentOrder, Device, ErrorKind, FileList, Image, Kind, Packed, Packer, Resources, RestOrder,
    Selection, Source, Time, Tree,
};
use packline_testkit::Random;

/// The image of a source, packed with fixed owners and times.
fn packed(source: impl Into<Source>, container: Container, resources: Resources) -> Vec<u8> {
    let mut image = Cursor::new(Vec::new());
    let packer = Packer::new(source).container(container).owner(0, 0).mtime(0).resources(resources);
    packer.write_into(&mut image).unwrap();
    image.into_inner()
}

fn files() -> [(&'static str, Vec<u8>); 5] {
    let mut random = Random::new(1);
    [
        ("a", random.prose(300_000)),
        ("d/b", random.noise(150_000)),
        ("d/e/c", random.prose(500)),
        ("d/e.d", Vec::new()),
        ("z", vec![0; 200_000]),
    ]
}

/// A directory with the files and a few other entries.
fn directory(top: &Path) {
    for (path, content) in files() {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    symlink("../a", top.join("d/link")).unwrap();
    fs::hard_link(top.join("d/b"), top.join("other")).unwrap();
    for path in ["", "d", "d/e"] {
        fs::set_permissions(top.join(path), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// The same tree, in an order of its own.
fn built(content: impl Fn(&str, Vec<u8>) -> Content) -> Tree {
    let mut tree = Tree::new();
    tree.hard_link("other", "/d/b").unwrap();
    for (path, bytes) in files().into_iter().rev() {
        let content = content(path, bytes);
        tree.file(path, content).unwrap().mode(0o100_640);
    }
    tree.symlink("d/./link", "../a").unwrap();
    tree.directory("d/e").unwrap();
    tree
}

#[test]
fn a_tree_is_packed_as_the_same_directory() {
    let top = tempfile::tempdir().unwrap();
    let place = top.path().join("tree");
    directory(&place);
    for container in [Container::SquashFs, Container::Erofs] {
        let expected = packed(Source::directory(&place), container, Resources::new(2));
        for workers in [0, 2] {
            // 8 MiB allow copies of 256 KiB in memory.
            let resources = || Resources::new(workers).memory_limit(64 << 20).scratch_in(top.path());
            let same = |content: &dyn Fn(&str, Vec<u8>) -> Content| {
                assert!(packed(built(content), container, resources()) == expected, "{container:?}, {workers} workers");
            };
            same(&|_, bytes| bytes.into());
            same(&|path, _| Content::path(place.join(path)));
            same(&|_, bytes| Content::reader(Cursor::new(bytes)));
            same(&|_, bytes| Content::sized(Cursor::new(bytes.clone()), bytes.len() as u64));
        }
    }
}

#[test]
fn a_layer_reads_each_content_once_and_later() {
    let top = tempfile::tempdir().unwrap();
    let place = top.path().join("tree");
    directory(&place);
    let mut over = Tree::new();
    over.file("d/b", "new").unwrap();
    let expected = packed(Source::directory(&place).with(over), Container::SquashFs, Resources::new(2));
    for limit in [None, Some(64 << 20)] {
        let mut over = Tree::new();
        over.file("d/b", Content::reader(&b"new"[..])).unwrap();
        let below = built(|_, bytes| Content::reader(Cursor::new(bytes)));
        let resources = Resources::new(2).memory_limit(limit).scratch_in(top.path());
        assert!(packed(Source::from(below).with(over), Container::SquashFs, resources) == expected, "{limit:?}");
    }
}

#[test]
fn similar_contents_of_readers_are_read_twice() {
    let order = || ContentOrder::new(FileList::default(), RestOrder::Similar);
    let image = |tree: Tree| {
        let mut image = Cursor::new(Vec::new());
        Packer::new(tree).order(order()).write_into(&mut image).unwrap();
        image.into_inner()
    };
    let expected = image(built(|_, bytes| bytes.into()));
    assert!(image(built(|_, bytes| Content::reader(Cursor::new(bytes)))) == expected);
    assert!(image(built(|_, bytes| Content::sized(Cursor::new(bytes.clone()), bytes.len() as u64))) == expected);
}

#[test]
fn two_files_of_an_image_are_replaced() -> Result<(), packline::Error> {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    Packer::new(built(|_, bytes| bytes.into())).write_to(at("old.sqfs"))?;

    let mut changes = Tree::new();
    changes.file("d/e/c", "one\n")?;
    changes.file("new/file", "two\n")?.mode(0o600);
    let source = Source::image(Image::open(at("old.sqfs"))?).with(changes);
    let packed = Packer::new(source).write_to(at("new.sqfs"))?;
    // The two whole blocks of a, at least: the block with the tail ends is new.
    assert!(packed.copied_blocks >= 2, "{packed:?}");

    let image = Image::open(at("new.sqfs"))?;
    let read = |path: &str| {
        let mut content = Vec::new();
        image.read(path, &mut content).map(|()| content)
    };
    assert_eq!((read("d/e/c")?, read("new/file")?), (b"one\n".to_vec(), b"two\n".to_vec()));
    assert!(read("a")? == files()[0].1 && read("other")? == files()[1].1);
    assert_eq!(image.entry("d/b")?.id(), image.entry("other")?.id());
    assert_eq!(image.verify(&Resources::new(2))?, []);
    Ok(())
}

#[test]
fn attributes_are_stored() -> Result<(), packline::Error> {
    let top = tempfile::tempdir().unwrap();
    let mut tree = Tree::new();
    tree.special("dev/null", Kind::CharDevice(Device { major: 1, minor: 3 }))?.mode(0o666);
    tree.special("run/pipe", Kind::Fifo)?;
    tree.directory("/")?.owner(1, 2).mode(0o700);
    tree.file("f", "text")?.owner(70_000, 5).time(Time::new(9, 500)).xattr("user.a", "1").xattr("user.a", [2]);
    Packer::new(tree).write_to(top.path().join("a.erofs"))?;

    let image = Image::open(top.path().join("a.erofs"))?;
    let file = image.entry("/f")?;
    let meta = file.meta();
    assert_eq!((meta.mode, meta.uid, meta.gid, meta.mtime), (0o644, 70_000, 5, Time::new(9, 500)));
    let xattrs = file.xattrs()?;
    assert_eq!(xattrs.len(), 1);
    assert_eq!((xattrs[0].name.as_slice(), xattrs[0].value.as_slice()), (&b"user.a"[..], &[2][..]));
    assert_eq!(image.entry("dev/null")?.kind(), Kind::CharDevice(Device { major: 1, minor: 3 }));
    assert_eq!((image.entry("dev")?.meta().mode, image.entry("run/pipe")?.kind()), (0o755, Kind::Fifo));
    let root = image.entry("")?.meta();
    assert_eq!((root.mode, root.uid, root.gid), (0o700, 1, 2));
    assert_eq!(image.entries(&Selection::all()).count(), 6);
    Ok(())
}

fn failed(path: &str, content: Content, resources: Resources) -> packline::Error {
    let mut tree = Tree::new();
    tree.file(path, content).unwrap();
    let result: Result<Packed, _> = Packer::new(tree).resources(resources).write_into(&mut Cursor::new(Vec::new()));
    result.unwrap_err()
}

#[test]
fn rejects_contents_that_are_not_as_described() {
    let two = || Resources::new(2);
    let error = failed("f", Content::path("/missing/file"), two());
    assert_eq!((error.kind(), error.path()), (ErrorKind::NotFound, Some(Path::new("/missing/file"))));
    let error = failed("f", Content::path("/"), two());
    assert_eq!((error.kind(), error.entry()), (ErrorKind::Invalid, Some(&b"f"[..])));
    for (size, words) in [(5, "4 of 5 bytes"), (3, "more than 3 bytes")] {
        let error = failed("d/f", Content::sized(&b"text"[..], size), two());
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!((error.kind(), error.entry()), (ErrorKind::Invalid, Some(&b"d/f"[..])));
    }
    let large = || Content::reader(io::repeat(7).take(3 << 20));
    let limited = two().memory_limit(64 << 20);
    let error = failed("f", large(), limited.clone());
    assert!(error.to_string().contains("a content of unknown size is larger than 2097152 bytes"), "{error}");
    let top = tempfile::tempdir().unwrap();
    let mut tree = Tree::new();
    tree.file("f", large()).unwrap();
    Packer::new(tree).resources(limited.scratch_in(top.path())).write_into(&mut Cursor::new(Vec::new())).unwrap();
}

/// Fails after some bytes.
struct Failing(usize);

impl Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::PermissionDenied)?;
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn an_error_of_a_reader_keeps_its_kind_and_names_the_entry() {
    for content in [Content::reader(Failing(1)), Content::sized(Failing(1), 10 << 20)] {
        let error = failed("d/f", content, Resources::new(2));
        assert_eq!((error.kind(), error.path()), (ErrorKind::Permission, Some(Path::new("d/f"))), "{error}");
    }
}

#[test]
fn a_hard_link_to_nothing_is_an_error() {
    let mut tree = Tree::new();
    tree.hard_link("a", "missing").unwrap();
    let error = Packer::new(tree).write_into(&mut Cursor::new(Vec::new())).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}
