//! Links placed in a destination are never followed.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use rustix::io::Errno;

use super::*;
use crate::{Device, Kind, Time, Xattr};

/// A destination, and next to it a file that no link may reach.
struct Sandbox {
    top: tempfile::TempDir,
    root: Directory,
}

impl Sandbox {
    fn new() -> Sandbox {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir(top.path().join("outside")).unwrap();
        fs::write(top.path().join("outside/secret"), "secret").unwrap();
        fs::create_dir(top.path().join("root")).unwrap();
        let root = Directory::root(&top.path().join("root")).unwrap();
        Sandbox { top, root }
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
fn only_the_root_may_be_a_link() {
    let sandbox = Sandbox::new();
    symlink(sandbox.top.path().join("root"), sandbox.top.path().join("alias")).unwrap();
    Directory::root(&sandbox.top.path().join("alias")).unwrap().make(b"d").unwrap();
    assert!(sandbox.at("d").is_dir());
    sandbox.plant_link("link", "outside");
    assert!(matches!(errno(sandbox.root.open(b"link")), Some(Errno::NOTDIR | Errno::LOOP)));
    assert_eq!(errno(sandbox.root.make(b"link")), Some(Errno::EXIST));
    sandbox.outside_is_untouched();
}

#[test]
fn names_are_single_components() {
    let sandbox = Sandbox::new();
    for name in [&b""[..], b".", b"..", b"a/b", b"/etc", b"a\0b", &[b'n'; 256]] {
        assert_eq!(sandbox.root.create(name).unwrap_err(), Refusal::Name, "{name:?}");
        assert_eq!(sandbox.root.make(name).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.open(name).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.symlink(name, b"t").unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.special(name, &Kind::Fifo).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.unlink(name).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.remove_directory(name).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.link(b"x", &sandbox.root, name).unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.rename(name, &sandbox.root, b"x").unwrap_err(), Refusal::Name);
        assert_eq!(sandbox.root.rename(b"x", &sandbox.root, name).unwrap_err(), Refusal::Name);
    }
    sandbox.root.create(&[b'n'; 255]).unwrap();
}

#[test]
fn does_not_write_through_planted_links() {
    let sandbox = Sandbox::new();
    sandbox.plant_link("to-file", "outside/secret");
    sandbox.plant_link("to-nothing", "outside/new");
    fs::hard_link(sandbox.top.path().join("outside/secret"), sandbox.at("second-name")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, sandbox.at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    for name in ["to-file", "to-nothing", "second-name", "pipe"] {
        assert_eq!(errno(sandbox.root.create(name.as_bytes())), Some(Errno::EXIST), "{name}");
        assert_eq!(errno(sandbox.root.symlink(name.as_bytes(), b"x").map(drop)), Some(Errno::EXIST));
        assert_eq!(errno(sandbox.root.special(name.as_bytes(), &Kind::Socket).map(drop)), Some(Errno::EXIST));
    }
    sandbox.outside_is_untouched();
}

#[test]
fn does_not_reopen_a_replaced_file() {
    let sandbox = Sandbox::new();
    let id = sandbox.root.create(b"file").unwrap().id().unwrap();
    sandbox.root.reopen(b"file", id).unwrap().write_at(b"more", 2).unwrap();
    assert_eq!(fs::read(sandbox.at("file")).unwrap(), b"\0\0more");
    type Plant = fn(&Sandbox);
    let plants: [Plant; 5] = [
        |sandbox| sandbox.plant_link("file", "outside/secret"),
        |sandbox| fs::hard_link(sandbox.top.path().join("outside/secret"), sandbox.at("file")).unwrap(),
        |sandbox| drop(sandbox.root.special(b"file", &Kind::Fifo).unwrap()),
        |sandbox| drop(sandbox.root.make(b"file").unwrap()),
        |_| {},
    ];
    // Keeps the first inode, so that its number is not reused.
    fs::rename(sandbox.at("file"), sandbox.at("kept")).unwrap();
    for plant in plants {
        plant(&sandbox);
        assert_eq!(sandbox.root.reopen(b"file", id).unwrap_err(), Refusal::Replaced);
        let _: Result<(), Refusal> = sandbox.root.unlink(b"file").or_else(|_| sandbox.root.remove_directory(b"file"));
    }
    sandbox.outside_is_untouched();
}

#[test]
fn renaming_replaces_a_link_and_not_what_it_leads_to() {
    let sandbox = Sandbox::new();
    sandbox.plant_link("name", "outside/secret");
    sandbox.root.create(b"new").unwrap().write_at(b"new", 0).unwrap();
    assert_eq!(errno(sandbox.root.rename_new(b"new", &sandbox.root, b"name")), Some(Errno::EXIST));
    sandbox.root.rename(b"new", &sandbox.root, b"name").unwrap();
    assert!(fs::symlink_metadata(sandbox.at("name")).unwrap().is_file());
    sandbox.root.make(b"directory").unwrap();
    sandbox.root.create(b"new").unwrap();
    assert_eq!(errno(sandbox.root.rename(b"new", &sandbox.root, b"directory")), Some(Errno::ISDIR));
    sandbox.outside_is_untouched();
}

#[test]
fn attributes_of_links_and_specials_are_their_own() {
    let sandbox = Sandbox::new();
    let target = sandbox.top.path().join("outside/secret");
    let before = fs::metadata(&target).unwrap();
    let link = sandbox.root.symlink(b"link", target.as_os_str().as_encoded_bytes()).unwrap();
    link.attributes().set_time(Time::from_seconds(1_000)).unwrap();
    link.attributes().set_mode(0o777).unwrap_err();
    let pipe = sandbox.root.special(b"pipe", &Kind::Fifo).unwrap();
    pipe.attributes().set_mode(0o6751).unwrap();
    pipe.attributes().set_time(Time::new(2_000, 7)).unwrap();
    assert_eq!(mode(&sandbox.at("pipe")), 0o6751);
    assert_eq!(Time::of_metadata(&fs::symlink_metadata(sandbox.at("pipe")).unwrap()), Time::new(2_000, 7));
    assert_eq!(fs::symlink_metadata(sandbox.at("link")).unwrap().mtime(), 1_000);
    if rustix::process::geteuid().is_root() {
        link.attributes().set_owner(7, 8).unwrap();
        let found = fs::symlink_metadata(sandbox.at("link")).unwrap();
        assert_eq!((found.uid(), found.gid()), (7, 8));
        let device = Kind::CharDevice(Device { major: 1, minor: 3 });
        sandbox.root.special(b"null", &device).unwrap().attributes().set_mode(0o666).unwrap();
        assert_eq!(fs::symlink_metadata(sandbox.at("null")).unwrap().rdev(), rustix::fs::makedev(1, 3));
    }
    let after = fs::metadata(&target).unwrap();
    assert_eq!(
        (Time::of_metadata(&after), after.uid(), after.mode()),
        (Time::of_metadata(&before), before.uid(), before.mode())
    );
}

#[test]
fn attributes_that_a_link_cannot_have_do_not_reach_its_target() {
    let sandbox = Sandbox::new();
    let target = sandbox.top.path().join("outside/secret");
    let link = sandbox.root.symlink(b"link", target.as_os_str().as_encoded_bytes()).unwrap();
    let xattr = Xattr { name: b"user.planted".to_vec(), value: b"x".to_vec() };
    assert!(link.attributes().set_xattr(&xattr).is_err());
    let mut names = [0; 256];
    let length = rustix::fs::listxattr(&target, &mut names[..]).unwrap_or(0);
    assert!(!String::from_utf8_lossy(&names[..length]).contains("planted"));
}

#[test]
fn rejects_an_owner_of_all_ones() {
    let sandbox = Sandbox::new();
    let file = sandbox.root.create(b"file").unwrap();
    assert_eq!(file.attributes().set_owner(u32::MAX, 0), Err(Refusal::Owner(u32::MAX)));
    assert_eq!(file.attributes().set_owner(0, u32::MAX), Err(Refusal::Owner(u32::MAX)));
    let error = Refusal::Owner(u32::MAX).at(Path::new("some/file")).to_string();
    assert!(error.starts_with("some/file: cannot set the owner: 4294967295"), "{error}");
}

#[test]
fn hard_links_of_links_are_links() {
    let sandbox = Sandbox::new();
    sandbox.plant_link("link", "outside/secret");
    sandbox.root.link(b"link", &sandbox.root, b"again").unwrap();
    assert!(fs::symlink_metadata(sandbox.at("again")).unwrap().is_symlink());
    assert_eq!(errno(sandbox.root.link(b"link", &sandbox.root, b"again")), Some(Errno::EXIST));
}

#[test]
fn holes_stay_holes() {
    let sandbox = Sandbox::new();
    let file = sandbox.root.create(b"file").unwrap();
    file.write_at(&[7; 4096], 1 << 30).unwrap();
    file.set_size(1 << 40).unwrap();
    let found = fs::metadata(sandbox.at("file")).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() < 100, "{} blocks", found.blocks());
    let copy = sandbox.root.create(b"copy").unwrap();
    if !copy.share(&file).unwrap() {
        copy.copy(&file, 1 << 40).unwrap();
    }
    let found = fs::metadata(sandbox.at("copy")).unwrap();
    assert!(found.len() == 1 << 40 && found.blocks() < 100, "{} blocks", found.blocks());
}

#[test]
fn clearing_follows_nothing_and_reaches_any_depth() {
    let sandbox = Sandbox::new();
    sandbox.plant_link("link", "outside");
    let mut directory = sandbox.root.make(b"deep").unwrap();
    for level in 0..600 {
        directory.create(b"file").unwrap();
        directory.symlink(b"out", b"/").unwrap();
        if level % 100 == 7 {
            directory.make(b"e").unwrap().create(b"f").unwrap();
        }
        directory = directory.make(b"d").unwrap();
    }
    directory.attributes().set_mode(0).unwrap();
    assert!(!sandbox.root.is_empty_but(b"deep").unwrap());
    sandbox.root.clear().unwrap();
    assert!(sandbox.root.is_empty_but(b"").unwrap());
    sandbox.outside_is_untouched();
}

#[test]
fn removes_one_tree_and_keeps_its_neighbours() {
    let sandbox = Sandbox::new();
    sandbox.root.make(b"a").unwrap().make(b"b").unwrap().attributes().set_mode(0o500).unwrap();
    sandbox.root.create(b"c").unwrap();
    sandbox.root.remove_tree(b"a").unwrap();
    assert!(!sandbox.at("a").exists() && sandbox.at("c").exists());
    assert!(sandbox.root.is_empty_but(b"c").unwrap());
    sandbox.plant_link("link", "outside");
    sandbox.root.remove_tree(b"link").unwrap_err();
    sandbox.outside_is_untouched();
}

#[test]
fn a_lock_excludes_a_second_one() {
    let sandbox = Sandbox::new();
    let again = Directory::root(&sandbox.at("")).unwrap();
    assert!(sandbox.root.lock().unwrap());
    assert!(!again.lock().unwrap());
    drop(sandbox.root);
    assert!(again.lock().unwrap());
}

#[test]
fn opens_a_path_in_one_call_and_never_through_a_link() {
    let sandbox = Sandbox::new();
    let mut at = sandbox.root.again().unwrap();
    let mut names = Vec::new();
    for level in 0..200 {
        names.push(format!("{level:0>100}").into_bytes());
        at = at.make(&names[level]).unwrap();
    }
    at.create(b"deep").unwrap();
    // 20,000 bytes: more than one call accepts.
    let way: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
    assert_eq!(sandbox.root.open_way(&way).unwrap().unwrap().id(), at.id());
    assert_eq!(sandbox.root.open_way(&way[..1]).unwrap().unwrap().id(), sandbox.root.open(way[0]).unwrap().id());
    assert!(sandbox.root.open_way(&[]).unwrap().is_none());
    assert_eq!(errno(sandbox.root.open_way(&[way[0], b"nowhere", b"x"])), Some(Errno::NOENT));
    sandbox.plant_link("link", "outside");
    fs::create_dir(sandbox.top.path().join("outside/d")).unwrap();
    for way in [&[b"link".as_slice(), b"d"][..], &[b"link"]] {
        assert!(matches!(errno(sandbox.root.open_way(way)), Some(Errno::NOTDIR | Errno::LOOP)));
    }
    for name in [&b".."[..], b".", b"", b"a/b"] {
        assert_eq!(sandbox.root.open_way(&[way[0], name]).unwrap_err(), Refusal::Name);
    }
}

/// A destination with links in `root`, and the paths that they lead to when all of them are followed.
#[test]
fn resolves_links_within_the_root() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.at("usr/lib/deep")).unwrap();
    fs::create_dir_all(sandbox.at("outside")).unwrap();
    let links = [
        ("lib", "usr/lib"),
        ("absolute", "/usr/lib"),
        ("up", ".."),
        ("far", "../../../outside"),
        ("root", "/"),
        ("usr/lib/back", "../../absolute/./deep//"),
        ("chain", "other"),
        ("other", "up/chained"),
        ("chained", "lib"),
        ("missing", "none"),
        ("file-below", "outside/file/.."),
        ("a", "b"),
        ("b", "a"),
        ("self", "self/x"),
    ];
    for (name, target) in links {
        symlink(target, sandbox.at(name)).unwrap();
    }
    fs::write(sandbox.at("outside/file"), "").unwrap();
    let resolve = |path: &str| sandbox.root.resolve(path.as_bytes(), &|_| true);
    let cases = [
        ("", ""),
        ("usr/lib", "usr/lib"),
        ("lib/deep", "usr/lib/deep"),
        ("absolute/new/names", "usr/lib/new/names"),
        ("up/up/usr", "usr"),
        ("far/x", "outside/x"),
        ("root/root/lib", "usr/lib"),
        ("lib/back", "usr/lib/deep"),
        ("chain/deep", "usr/lib/deep"),
        ("none/at/all", "none/at/all"),
    ];
    for (path, expected) in cases {
        assert_eq!(resolve(path).unwrap(), expected.as_bytes(), "{path}");
    }
    let faults =
        [("missing/x", Errno::NOENT), ("file-below", Errno::NOTDIR), ("a/x", Errno::LOOP), ("self", Errno::LOOP)];
    for (path, expected) in faults {
        assert_eq!(errno(resolve(path)), Some(expected), "{path}");
    }
    sandbox.outside_is_untouched();
}

#[test]
fn resolves_only_links_that_are_accepted_and_a_bounded_number() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.at("d")).unwrap();
    symlink("d", sandbox.at("planted")).unwrap();
    let mine = sandbox.root.symlink(b"mine", b"d").unwrap().id().unwrap();
    let mine_only = |id: FileId| id == mine;
    assert_eq!(sandbox.root.resolve(b"mine/x", &mine_only).unwrap(), b"d/x");
    assert_eq!(errno(sandbox.root.resolve(b"planted/x", &mine_only)), Some(Errno::NOTDIR));
    // Another link replaces it.
    fs::rename(sandbox.at("planted"), sandbox.at("mine")).unwrap();
    assert_eq!(errno(sandbox.root.resolve(b"mine/x", &mine_only)), Some(Errno::NOTDIR));
    for number in 0..41 {
        symlink(format!("l{}", number + 1), sandbox.at(&format!("l{number}"))).unwrap();
    }
    fs::create_dir(sandbox.at("l41")).unwrap();
    assert_eq!(sandbox.root.resolve(b"l1/x", &|_| true).unwrap(), b"l41/x");
    assert_eq!(errno(sandbox.root.resolve(b"l0/x", &|_| true)), Some(Errno::LOOP));
    symlink("d/../".repeat(520), sandbox.at("long")).unwrap();
    assert_eq!(errno(sandbox.root.resolve(b"long/x", &|_| true)), Some(Errno::LOOP));
}
