//! Links placed in a destination are never followed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use rustix::io::Errno;

use super::*;
use crate::{Device, Kind, Xattr};

/// A destination, and beside it a file that no link may lead to.
struct Place {
    top: tempfile::TempDir,
    root: Directory,
}

impl Place {
    fn new() -> Place {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("outside")).unwrap();
        fs::write(top.path().join("outside/secret"), "secret").unwrap();
        fs::create_dir(top.path().join("root")).unwrap();
        let root = Directory::root(&top.path().join("root")).unwrap();
        Place { top, root }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.top.path().join("root").join(name)
    }

    fn plant_link(&self, name: &str, target: &str) {
        symlink(self.top.path().join(target), self.at(name)).unwrap();
    }

    fn outside_is_untouched(&self) {
        let outside = self.top.path().join("outside");
        let names: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["secret"]);
        assert_eq!(fs::read(outside.join("secret")).unwrap(), b"secret");
        assert_eq!(fs::metadata(outside.join("secret")).unwrap().mode() & 0o777, 0o644);
    }
}

fn errno<T: std::fmt::Debug>(result: Result<T, Refusal>) -> Option<Errno> {
    result.unwrap_err().errno()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn the_root_may_be_a_link_and_nothing_below() {
    let place = Place::new();
    symlink(place.top.path().join("root"), place.top.path().join("alias")).unwrap();
    Directory::root(&place.top.path().join("alias")).unwrap().make(b"d").unwrap();
    assert!(place.at("d").is_dir());
    place.plant_link("link", "outside");
    assert!(matches!(errno(place.root.open(b"link")), Some(Errno::NOTDIR | Errno::LOOP)));
    assert_eq!(errno(place.root.make(b"link")), Some(Errno::EXIST));
    place.outside_is_untouched();
}

#[test]
fn names_are_single_components() {
    let place = Place::new();
    for name in [&b""[..], b".", b"..", b"a/b", b"/etc", b"a\0b", &[b'n'; 256]] {
        assert_eq!(place.root.create(name).unwrap_err(), Refusal::Name, "{name:?}");
        assert_eq!(place.root.make(name).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.open(name).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.symlink(name, b"t").unwrap_err(), Refusal::Name);
        assert_eq!(place.root.special(name, &Kind::Fifo).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.unlink(name).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.remove_directory(name).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.link(b"x", &place.root, name).unwrap_err(), Refusal::Name);
        assert_eq!(place.root.rename(name, &place.root, b"x").unwrap_err(), Refusal::Name);
        assert_eq!(place.root.rename(b"x", &place.root, name).unwrap_err(), Refusal::Name);
    }
    place.root.create(&[b'n'; 255]).unwrap();
}

#[test]
fn a_file_is_not_written_through_what_was_planted() {
    let place = Place::new();
    place.plant_link("to-file", "outside/secret");
    place.plant_link("to-nothing", "outside/new");
    fs::hard_link(place.top.path().join("outside/secret"), place.at("second-name")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, place.at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    for name in ["to-file", "to-nothing", "second-name", "pipe"] {
        assert_eq!(errno(place.root.create(name.as_bytes())), Some(Errno::EXIST), "{name}");
        assert_eq!(errno(place.root.symlink(name.as_bytes(), b"x").map(drop)), Some(Errno::EXIST));
        assert_eq!(errno(place.root.special(name.as_bytes(), &Kind::Socket).map(drop)), Some(Errno::EXIST));
    }
    place.outside_is_untouched();
}

#[test]
fn a_file_that_was_swapped_is_not_opened_again() {
    let place = Place::new();
    let id = place.root.create(b"file").unwrap().id().unwrap();
    place.root.reopen(b"file", id).unwrap().write_at(b"more", 2).unwrap();
    assert_eq!(fs::read(place.at("file")).unwrap(), b"\0\0more");
    type Plant = fn(&Place);
    let plants: [Plant; 5] = [
        |place| place.plant_link("file", "outside/secret"),
        |place| fs::hard_link(place.top.path().join("outside/secret"), place.at("file")).unwrap(),
        |place| drop(place.root.special(b"file", &Kind::Fifo).unwrap()),
        |place| drop(place.root.make(b"file").unwrap()),
        |_| {},
    ];
    // Keeps the first inode, so that its number is not reused.
    fs::rename(place.at("file"), place.at("kept")).unwrap();
    for plant in plants {
        plant(&place);
        assert_eq!(place.root.reopen(b"file", id).unwrap_err(), Refusal::Replaced);
        let _: Result<(), Refusal> = place.root.unlink(b"file").or_else(|_| place.root.remove_directory(b"file"));
    }
    place.outside_is_untouched();
}

#[test]
fn renaming_replaces_a_link_and_not_what_it_leads_to() {
    let place = Place::new();
    place.plant_link("name", "outside/secret");
    place.root.create(b"new").unwrap().write_at(b"new", 0).unwrap();
    assert_eq!(errno(place.root.rename_new(b"new", &place.root, b"name")), Some(Errno::EXIST));
    place.root.rename(b"new", &place.root, b"name").unwrap();
    assert!(fs::symlink_metadata(place.at("name")).unwrap().is_file());
    place.root.make(b"directory").unwrap();
    place.root.create(b"new").unwrap();
    assert_eq!(errno(place.root.rename(b"new", &place.root, b"directory")), Some(Errno::ISDIR));
    place.outside_is_untouched();
}

#[test]
fn attributes_of_links_and_specials_are_their_own() {
    let place = Place::new();
    let target = place.top.path().join("outside/secret");
    let before = fs::metadata(&target).unwrap();
    let link = place.root.symlink(b"link", target.as_os_str().as_encoded_bytes()).unwrap();
    link.attributes().set_time(1_000).unwrap();
    link.attributes().set_mode(0o777).unwrap_err();
    let pipe = place.root.special(b"pipe", &Kind::Fifo).unwrap();
    pipe.attributes().set_mode(0o6751).unwrap();
    pipe.attributes().set_time(2_000).unwrap();
    assert_eq!(mode(&place.at("pipe")), 0o6751);
    assert_eq!(fs::symlink_metadata(place.at("pipe")).unwrap().mtime(), 2_000);
    assert_eq!(fs::symlink_metadata(place.at("link")).unwrap().mtime(), 1_000);
    if rustix::process::geteuid().is_root() {
        link.attributes().set_owner(7, 8).unwrap();
        let found = fs::symlink_metadata(place.at("link")).unwrap();
        assert_eq!((found.uid(), found.gid()), (7, 8));
        let device = Kind::CharDevice(Device { major: 1, minor: 3 });
        place.root.special(b"null", &device).unwrap().attributes().set_mode(0o666).unwrap();
        assert_eq!(fs::symlink_metadata(place.at("null")).unwrap().rdev(), rustix::fs::makedev(1, 3));
    }
    let after = fs::metadata(&target).unwrap();
    assert_eq!((after.mtime(), after.uid(), after.mode()), (before.mtime(), before.uid(), before.mode()));
}

#[test]
fn attributes_that_a_link_cannot_have_do_not_reach_its_target() {
    let place = Place::new();
    let target = place.top.path().join("outside/secret");
    let link = place.root.symlink(b"link", target.as_os_str().as_encoded_bytes()).unwrap();
    let xattr = Xattr { name: b"user.planted".to_vec(), value: b"x".to_vec() };
    assert!(link.attributes().set_xattr(&xattr).is_err());
    let mut names = [0; 256];
    let length = rustix::fs::listxattr(&target, &mut names[..]).unwrap_or(0);
    assert!(!String::from_utf8_lossy(&names[..length]).contains("planted"));
}

#[test]
fn an_owner_of_all_ones_is_refused() {
    let place = Place::new();
    let file = place.root.create(b"file").unwrap();
    assert_eq!(file.attributes().set_owner(u32::MAX, 0), Err(Refusal::Owner(u32::MAX)));
    assert_eq!(file.attributes().set_owner(0, u32::MAX), Err(Refusal::Owner(u32::MAX)));
    let error = Refusal::Owner(u32::MAX).at(Path::new("some/file")).to_string();
    assert!(error.starts_with("some/file: cannot set the owner: 4294967295"), "{error}");
}

#[test]
fn hard_links_of_links_are_links() {
    let place = Place::new();
    place.plant_link("link", "outside/secret");
    place.root.link(b"link", &place.root, b"again").unwrap();
    assert!(fs::symlink_metadata(place.at("again")).unwrap().is_symlink());
    assert_eq!(errno(place.root.link(b"link", &place.root, b"again")), Some(Errno::EXIST));
}

#[test]
fn holes_stay_holes() {
    let place = Place::new();
    let file = place.root.create(b"file").unwrap();
    file.write_at(&[7; 4096], 1 << 30).unwrap();
    file.set_size(1 << 40).unwrap();
    let found = fs::metadata(place.at("file")).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() < 100, "{} blocks", found.blocks());
    let copy = place.root.create(b"copy").unwrap();
    if !copy.share(&file).unwrap() {
        copy.copy(&file, 1 << 40).unwrap();
    }
    let found = fs::metadata(place.at("copy")).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() < 100, "{} blocks", found.blocks());
}

#[test]
fn clearing_follows_nothing_and_reaches_any_depth() {
    let place = Place::new();
    place.plant_link("link", "outside");
    let mut directory = place.root.make(b"deep").unwrap();
    for level in 0..600 {
        directory.create(b"file").unwrap();
        directory.symlink(b"out", b"/").unwrap();
        if level % 100 == 7 {
            directory.make(b"e").unwrap().create(b"f").unwrap();
        }
        directory = directory.make(b"d").unwrap();
    }
    directory.attributes().set_mode(0).unwrap();
    assert!(!place.root.is_empty_but(b"deep").unwrap());
    place.root.clear().unwrap();
    assert!(place.root.is_empty_but(b"").unwrap());
    place.outside_is_untouched();
}

#[test]
fn one_tree_is_removed_and_its_neighbours_stay() {
    let place = Place::new();
    place.root.make(b"a").unwrap().make(b"b").unwrap().attributes().set_mode(0o500).unwrap();
    place.root.create(b"c").unwrap();
    place.root.remove_tree(b"a").unwrap();
    assert!(!place.at("a").exists() && place.at("c").exists());
    assert!(place.root.is_empty_but(b"c").unwrap());
    place.plant_link("link", "outside");
    place.root.remove_tree(b"link").unwrap_err();
    place.outside_is_untouched();
}

#[test]
fn a_lock_excludes_a_second_one() {
    let place = Place::new();
    let again = Directory::root(&place.at("")).unwrap();
    assert!(place.root.lock().unwrap());
    assert!(!again.lock().unwrap());
    drop(place.root);
    assert!(again.lock().unwrap());
}

#[test]
fn a_way_is_gone_at_once_and_never_through_a_link() {
    let place = Place::new();
    let mut at = place.root.again().unwrap();
    let mut names = Vec::new();
    for level in 0..200 {
        names.push(format!("{level:0>100}").into_bytes());
        at = at.make(&names[level]).unwrap();
    }
    at.create(b"deep").unwrap();
    // 20,000 bytes: more than one call accepts.
    let way: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
    assert_eq!(place.root.open_way(&way).unwrap().unwrap().id(), at.id());
    assert_eq!(place.root.open_way(&way[..1]).unwrap().unwrap().id(), place.root.open(way[0]).unwrap().id());
    assert!(place.root.open_way(&[]).unwrap().is_none());
    assert_eq!(errno(place.root.open_way(&[way[0], b"nowhere", b"x"])), Some(Errno::NOENT));
    place.plant_link("link", "outside");
    fs::create_dir(place.top.path().join("outside/d")).unwrap();
    for way in [&[b"link".as_slice(), b"d"][..], &[b"link"]] {
        assert!(matches!(errno(place.root.open_way(way)), Some(Errno::NOTDIR | Errno::LOOP)));
    }
    for name in [&b".."[..], b".", b"", b"a/b"] {
        assert_eq!(place.root.open_way(&[way[0], name]).unwrap_err(), Refusal::Name);
    }
}
