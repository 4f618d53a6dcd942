//! Layers as one source: hidden entries, contents from each kind of layer, and limits.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use packline_archives::tar::{TarOptions, TarSource};
use packline_archives::{Layer, StackOptions, StackSource, Whiteouts};
use packline_testkit::model::{Node, NodeKind};
use packline_testkit::tar::to_bytes;
use packline_tree::{
    Bookmark, Device, DirectoryOptions, DirectorySource, Extent, Keep, Kind, ListedDirectory, Meta, Source,
};

const META: Meta = Meta::new(0o755, 1, 2, 3);
const WHITEOUT: NodeKind = NodeKind::CharDevice(0, 0);

fn node(path: &str, kind: NodeKind) -> Node {
    Node::new(path, kind)
}

fn file(path: &str, content: &str) -> Node {
    Node::file(path, content)
}

fn dir(path: &str) -> Node {
    Node::dir(path)
}

fn link(path: &str, target: &str) -> Node {
    node(path, NodeKind::HardLink(target.into()))
}

fn symlink(path: &str, target: &str) -> Node {
    node(path, NodeKind::Symlink(target.into()))
}

fn with(node: Node, name: &str, value: &str) -> Node {
    node.xattr(name, value)
}

fn opaque(path: &str) -> Node {
    with(dir(path), "trusted.overlay.opaque", "y")
}

/// Layers that are tars. Every second one can only be read forward.
fn layers(of: &[&[Node]]) -> Vec<Layer> {
    let layer = |(number, nodes): (usize, &&[Node])| {
        let bytes = Cursor::new(to_bytes(nodes));
        let options = TarOptions::named(format!("layer {number}"));
        let source: Box<dyn Source> = match number % 2 {
            0 => Box::new(TarSource::seekable(bytes, options).unwrap()),
            _ => Box::new(TarSource::new(bytes, options)),
        };
        Layer { name: format!("layer {number}"), source }
    };
    of.iter().enumerate().map(layer).collect()
}

fn content(source: &mut dyn Source) -> Result<String, String> {
    let mut content = Vec::new();
    let mut buffer = [0; 3];
    loop {
        match source.read(&mut buffer).map_err(|error| error.to_string())? {
            Extent::Data(count) => content.extend_from_slice(&buffer[..count]),
            Extent::Hole(count) => content.resize(content.len() + count as usize, 0),
            Extent::End => return Ok(String::from_utf8(content).unwrap()),
        }
    }
}

/// One line for each entry: `path/`, `path=content`, `path->target`, `path=>link`, `path!` for a whiteout; and the names of
/// attributes.
fn lines(source: &mut dyn Source) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    while let Some(entry) = source.next_entry().map_err(|error| error.to_string())? {
        let path = String::from_utf8(entry.path).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let mut line = match entry.kind {
            Kind::Dir => format!("{path}/"),
            Kind::File { .. } => format!("{path}={}", content(source)?),
            Kind::Symlink(target) => format!("{path}->{}", text(target)),
            Kind::HardLink(target) => format!("{path}=>{}", text(target)),
            Kind::CharDevice(Device { major: 0, minor: 0 }) => format!("{path}!"),
            other => format!("{path} {other:?}"),
        };
        for xattr in entry.xattrs {
            line = format!("{line} {}", text(xattr.name));
        }
        lines.push(line);
    }
    Ok(lines)
}

fn options(whiteouts: Whiteouts) -> StackOptions {
    let mut options = StackOptions::new(META);
    options.whiteouts = whiteouts;
    options
}

fn stack(of: &[&[Node]], whiteouts: Whiteouts) -> Result<Vec<String>, String> {
    lines(&mut StackSource::new(layers(of), options(whiteouts)))
}

fn applied(of: &[&[Node]]) -> Vec<String> {
    stack(of, Whiteouts::Apply).unwrap()
}

#[test]
fn entries_come_in_the_order_of_a_directory() {
    let found = applied(&[
        &[file("b/x", "1"), file("b.c", "2"), dir("z"), file("a", "3")],
        &[file("b-", "4"), file("b/w", "5"), symlink("z/l", "t")],
        &[file("a", "6"), link("c", "b/x")],
    ]);
    assert_eq!(found, ["/", "a=6", "b/", "b/w=5", "b/x=1", "b-=4", "b.c=2", "c=>b/x", "z/", "z/l->t"]);
}

#[test]
fn whiteouts_hide_only_lower_layers() {
    let base: &[Node] = &[file("a", "1"), file("d/x", "2"), file("d/y/z", "3"), file("e/x", "4")];
    for (upper, expected) in [
        (vec![file(".wh.a", ""), node("d/x", WHITEOUT)], vec!["/", "d/", "d/y/", "d/y/z=3", "e/", "e/x=4"]),
        (
            vec![file(".wh.d", ""), file(".wh.none", ""), file("none/.wh.x", ""), file("a/.wh.x", "")],
            vec!["/", "a=1", "e/", "e/x=4"],
        ),
        // The same layer: before, after, around.
        (
            vec![file(".wh.a", ""), file("a", "new"), file(".wh.e", "")],
            vec!["/", "a=new", "d/", "d/x=2", "d/y/", "d/y/z=3"],
        ),
        (
            vec![file("a", "new"), file(".wh.a", ""), file(".wh.e", "")],
            vec!["/", "a=new", "d/", "d/x=2", "d/y/", "d/y/z=3"],
        ),
        (vec![file("d/y/new", "5"), file(".wh.d", ""), file(".wh.e", "")], vec!["/", "a=1", "d/", "d/y/", "d/y/new=5"]),
        (
            vec![file("d/y/new", "5"), file("d/.wh..wh..opq", "")],
            vec!["/", "a=1", "d/", "d/y/", "d/y/new=5", "e/", "e/x=4"],
        ),
        (
            vec![file("d/.wh..wh..opq", ""), file("d/y/new", "5")],
            vec!["/", "a=1", "d/", "d/y/", "d/y/new=5", "e/", "e/x=4"],
        ),
        (
            vec![opaque("d"), file(".wh..wh.plnk/1", ""), file(".wh..wh.aufs", "")],
            vec!["/", "a=1", "d/", "e/", "e/x=4"],
        ),
        (vec![file(".wh..wh..opq", ""), file("n", "6")], vec!["/", "n=6"]),
        (
            vec![link(".wh.a", "d/x"), node("d/x", WHITEOUT), link("e/x", "d/x")],
            vec!["/", "d/", "d/y/", "d/y/z=3", "e/"],
        ),
    ] {
        assert_eq!(applied(&[base, &upper]), expected, "{upper:?}");
    }
}

#[test]
fn what_replaces_what() {
    let lower = [
        file("f", "1"),
        dir("d"),
        file("d/x", "2"),
        symlink("l", "m"),
        with(dir("m"), "user.a", "1"),
        file("m/x", "3"),
        symlink("s", "m"),
    ];
    let upper = [dir("f"), file("d", "4"), file("l/y", "5"), with(dir("m"), "user.b", "1"), dir("s"), file("s/z", "6")];
    let expected = ["/", "d=4", "f/", "l->m", "m/ user.b", "m/x=3", "m/y=5", "s/", "s/z=6"];
    assert_eq!(applied(&[&lower, &upper]), expected);
    let error = stack(&[&lower, &[file("d", ""), file("d/x", "")]], Whiteouts::Apply).unwrap_err();
    assert_eq!(error, "layer 1: d/x: parent d is not a directory (expected a directory)");
}

#[test]
fn hard_links_reach_into_lower_layers_and_outlive_the_name() {
    let base = [with(file("bin/a", "old"), "security.capability", "c"), link("bin/b", "bin/a")];
    let found =
        applied(&[&base, &[link("c", "bin/a"), file("bin/a", "new"), file("bin/.wh.b", "")], &[link("d", "c")]]);
    assert_eq!(found, ["/", "bin/", "bin/a=new", "c=old security.capability", "d=>c"]);
    let error = stack(&[&base, &[file(".wh.bin", ""), link("c", "bin/a")]], Whiteouts::Apply).unwrap_err();
    assert!(error.starts_with("layer 1: c: hard link to bin/a, which is missing"), "{error}");
}

#[test]
fn whiteouts_that_are_kept_have_the_form_of_overlayfs() {
    let base = [file("a", "1"), file("d/x", "2"), file("e", "3"), file("g/x", "")];
    let upper = [file(".wh.a", ""), file("d/.wh..wh..opq", ""), file("d/n", "4"), node("none/n", WHITEOUT), dir("e")];
    let found = stack(&[&base, &upper], Whiteouts::Keep).unwrap();
    let opaque = " trusted.overlay.opaque";
    // Of directories with whiteouts.
    let origin = " trusted.overlay.origin";
    assert_eq!(
        found,
        [
            &format!("/{origin}"),
            "a!",
            &format!("d/{opaque}"),
            "d/n=4",
            &format!("e/{opaque}"),
            "g/",
            "g/x=",
            &format!("none/{origin}"),
            "none/n!"
        ]
    );
    // The entry is kept, and hides the entries below like a whiteout in the same layer.
    let upper = [file(".wh.g", ""), file("g/n", "5"), file("a", "6"), file(".wh.a", ""), file("a/.wh.x", "")];
    let found = stack(&[&base, &upper, &[file("d", ""), file(".wh.d", "")]], Whiteouts::Keep).unwrap();
    assert_eq!(found, ["/", "a=6", "d=", "e=3", &format!("g/{opaque}"), "g/n=5"]);
    // In the form of the layers.
    let found = stack(&[&[with(dir("d"), "user.overlay.opaque", "y")]], Whiteouts::Keep).unwrap();
    assert_eq!(found, ["/", "d/ user.overlay.opaque"]);
    let upper = [with(dir("d"), "user.overlay.opaque", "y"), node("d/n", WHITEOUT)];
    let found = stack(&[&upper], Whiteouts::Keep).unwrap();
    assert_eq!(found, ["/", "d/ user.overlay.opaque user.overlay.origin", "d/n!"]);
    let found = stack(&[&[file("x", "")], &[file(".wh.x", "")], &[dir("x")]], Whiteouts::Keep).unwrap();
    assert_eq!(found, ["/", &format!("x/{opaque}")]);
}

#[test]
fn whiteouts_that_are_ignored_are_entries() {
    let upper = [file(".wh.a", "w"), node("b", WHITEOUT), with(dir("d"), "trusted.overlay.redirect", "x")];
    let found = stack(&[&[file("a", "1"), file("b", "2")], &upper], Whiteouts::Ignore).unwrap();
    assert_eq!(found, ["/", ".wh.a=w", "a=1", "b!", "d/ trusted.overlay.redirect"]);
}

#[test]
fn rejects_meaningless_marks_with_their_layer() {
    for (node, expected) in [
        (file("d/.wh.", ""), "layer 1: d/.wh.: a whiteout without a name (expected .wh.NAME, or"),
        (file(".wh...", ""), "layer 1: .wh...: a whiteout without a name (expected"),
        (file(".wh.a/b", ""), "layer 1: .wh.a/b: an entry below the whiteout .wh.a (expected whiteouts with nothing"),
        (
            with(dir("d"), "trusted.overlay.redirect", "x"),
            "layer 1: d: attribute trusted.overlay.redirect: the entry is",
        ),
        (
            with(file("f", "x"), "user.overlay.metacopy", ""),
            "layer 1: f: attribute user.overlay.metacopy: the entry is",
        ),
        (link("l", "none"), "layer 1: l: hard link to none, which is missing (expected"),
        (file("loop/x", ""), "layer 1: loop/x: too many symbolic links on the way (expected at most 40)"),
        (file("loop/.wh.x", ""), "layer 1: loop/x: too many symbolic links on the way (expected at most 40)"),
        (file("loop/.wh..wh..opq", ""), "layer 1: loop: too many symbolic links on the way (expected at most 40)"),
    ] {
        let error = stack(&[&[symlink("loop", "loop")], &[node]], Whiteouts::Apply).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn the_first_kept_name_becomes_the_file() {
    let mut options = options(Whiteouts::Apply);
    options.rule = Rc::new(|path, _| match path {
        b"a" => Keep::Prune,
        b"d" => Keep::No,
        _ => Keep::Yes,
    });
    let of: &[&[Node]] =
        &[&[file("a/x", "1"), link("b", "a/x"), link("c", "b")], &[link("d/y", "b"), file("a/z", "2")]];
    let found = lines(&mut StackSource::new(layers(of), options)).unwrap();
    assert_eq!(found, ["/", "b=1", "c=>b", "d/y=>b"]);
}

#[test]
fn recalls_contents_in_any_order() {
    let of: &[&[Node]] = &[&[file("a", "12345"), file("b", "")], &[file("c", "6789"), file("d", "x")]];
    let mut source = StackSource::new(layers(of), options(Whiteouts::Apply));
    let mut bookmarks: Vec<(Vec<u8>, Bookmark)> = Vec::new();
    while let Some(entry) = source.next_entry().unwrap() {
        bookmarks.extend(source.bookmark().map(|bookmark| (entry.path, bookmark)));
    }
    let mut found = Vec::new();
    for (path, bookmark) in bookmarks.iter().rev() {
        source.recall(bookmark, path).unwrap();
        found.push(content(&mut source).unwrap());
    }
    assert_eq!(found, ["x", "6789", "", "12345"]);
    assert!(source.recall(&Bookmark::Number(9), b"p").is_err());
    assert_eq!(source.progress(), (10, Some(10)));
}

#[test]
fn rejects_too_large_a_tree() {
    let names: Vec<Node> = (0..2_000).map(|n| file(&format!("directory/file {n:06}"), "")).collect();
    let mut options = options(Whiteouts::Apply);
    options.memory = 200_000;
    let error = lines(&mut StackSource::new(layers(&[&names]), options)).unwrap_err();
    assert!(error.starts_with("layer 0: directory/file 00"), "{error}");
    assert!(error.ends_with("but only 195K is available; raise the memory limit"), "{error}");
}

/// A directory with files below and above the size that readers read completely, holes, links and a deep path.
fn directory() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    let at = |path: &str| top.path().join(path);
    fs::create_dir_all(at("a/b/c")).unwrap();
    fs::create_dir_all(at("d").join("e/".repeat(100))).unwrap();
    fs::write(at("d").join("e/".repeat(100)).join("deep"), "deep").unwrap();
    for n in 0..300 {
        fs::write(at(&format!("a/b/{n}")), format!("content {n}")).unwrap();
    }
    fs::write(at("a/large"), "large ".repeat(50_000)).unwrap();
    fs::File::create(at("a/sparse")).unwrap().set_len(1 << 20).unwrap();
    fs::hard_link(at("a/large"), at("linked")).unwrap();
    fs::write(at("a/b/c/empty"), "").unwrap();
    std::os::unix::fs::symlink("a/b", at("to")).unwrap();
    top
}

fn listed(top: &tempfile::TempDir, options: &DirectoryOptions) -> Box<dyn Source> {
    Box::new(ListedDirectory::open(top.path(), options.clone()).unwrap())
}

#[test]
fn a_directory_that_is_listed_first_is_the_same() {
    let top = directory();
    for symlinks in [packline_tree::Symlinks::Kept, packline_tree::Symlinks::Followed(packline_tree::NotFollowed::Kept)]
    {
        for readers in [0, 3] {
            let mut read = DirectoryOptions::new(readers);
            read.symlinks = symlinks;
            let expected = lines(&mut DirectorySource::open(top.path(), read.clone()).unwrap()).unwrap();
            assert!(expected.len() > 400);
            assert_eq!(lines(listed(&top, &read).as_mut()).unwrap(), expected);
            let layers = vec![Layer { name: "top".to_string(), source: listed(&top, &read) }];
            assert_eq!(lines(&mut StackSource::new(layers, options(Whiteouts::Apply))).unwrap(), expected);
        }
    }
}

#[test]
fn a_file_of_a_layer_keeps_the_size_that_was_listed() {
    for (text, stored, warning) in [
        ("1234", "123", "it grew from 3 to 4 bytes; the first 3 are stored"),
        ("1", "1\0\0", "it shrank from 3 to 1 bytes; the rest is stored as zeros"),
    ] {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("f"), "123").unwrap();
        let layers = vec![Layer { name: "top".to_string(), source: listed(&top, &DirectoryOptions::new(2)) }];
        let mut source = StackSource::new(layers, options(Whiteouts::Apply));
        source.list(&mut |_, _| {}).unwrap();
        fs::write(top.path().join("f"), text).unwrap();
        assert_eq!(lines(&mut source).unwrap(), ["/".to_string(), format!("f={stored}")]);
        let warnings = source.take_warnings();
        assert!(
            warnings.len() == 1 && warnings[0].ends_with(&format!("f: file changed as we read it: {warning}")),
            "{warnings:?}"
        );
    }
}

/// `cp -a one/. two/. DEST` also turns common files of two directories into one file.
#[test]
fn a_file_with_names_in_several_layers_is_one_file() {
    let one = tempfile::tempdir().unwrap();
    let two = tempfile::tempdir_in(std::env::temp_dir()).unwrap();
    fs::write(one.path().join("a"), "x").unwrap();
    fs::write(one.path().join("gone"), "y").unwrap();
    fs::hard_link(one.path().join("a"), two.path().join("b")).unwrap();
    fs::hard_link(one.path().join("a"), two.path().join("c")).unwrap();
    fs::hard_link(one.path().join("gone"), two.path().join("z")).unwrap();
    fs::write(two.path().join("gone"), "other").unwrap();
    let merged = |hard_links| {
        let mut read = DirectoryOptions::new(0);
        read.hard_links = hard_links;
        let layer = |top| Layer { name: "layer".to_string(), source: listed(top, &read) };
        let mut source = StackSource::new(vec![layer(&one), layer(&two)], options(Whiteouts::Apply));
        (lines(&mut source).unwrap(), source.replaced())
    };
    let replaced = packline_tree::Replaced { count: 1, first: vec![b"gone".to_vec()] };
    let expected = ["/", "a=x", "b=>a", "c=>a", "gone=other", "z=y"].map(String::from).to_vec();
    assert_eq!(merged(true), (expected, replaced.clone()));
    let expected = ["/", "a=x", "b=x", "c=x", "gone=other", "z=y"].map(String::from).to_vec();
    assert_eq!(merged(false), (expected, replaced));
}

#[test]
fn rejects_files_and_directories_replaced_after_listing() {
    for (change, expected) in
        [("file", "a/f: cannot read: another file took its place"), ("directory", "a: cannot open")]
    {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("a")).unwrap();
        fs::write(top.path().join("a/f"), "123").unwrap();
        let before = fs::metadata(top.path().join("a/f")).unwrap().ino();
        let mut source = listed(&top, &DirectoryOptions::new(2));
        let mut bookmark = None;
        while source.next_entry().unwrap().is_some() {
            bookmark = bookmark.or(source.bookmark());
        }
        let bookmark = bookmark.unwrap();
        match change {
            "file" => {
                fs::write(top.path().join("a/g"), "123").unwrap();
                fs::rename(top.path().join("a/g"), top.path().join("a/f")).unwrap();
                assert_ne!(fs::metadata(top.path().join("a/f")).unwrap().ino(), before);
            }
            _ => {
                fs::rename(top.path().join("a"), top.path().join("b")).unwrap();
                std::os::unix::fs::symlink("b", top.path().join("a")).unwrap();
            }
        }
        source.expect(&mut [bookmark.clone()].into_iter());
        let found = source.recall(&bookmark, b"a/f").map_err(|error| error.to_string());
        let error = found.and_then(|()| content(source.as_mut())).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn names_of_one_file_can_be_separate_files() {
    let layer: &[Node] = &[file("a", "1"), link("b", "a"), dir("d"), link("d/c", "a")];
    let mut options = options(Whiteouts::Ignore);
    options.hard_links = false;
    let found = lines(&mut StackSource::new(layers(&[layer]), options)).unwrap();
    assert_eq!(found, ["/", "a=1", "b=1", "d/", "d/c=1"]);
}
