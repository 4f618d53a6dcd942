//! Directories as sources, compared with a plain walk: every kind of file, any number of readers, holes, excludes, mounts.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::directory_common::{drain, options, paths, read, walk};
use packline_testkit::tools;
use packline_tree::{
    DirectoryOptions, DirectorySource, Extent, Kind, ListSource, MountPoints, Pattern, Patterns, Source, scan,
};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, XattrFlags};

fn write(path: impl AsRef<Path>, size: usize) {
    let bytes: Vec<u8> = (0..size).map(|at| (at * 31 + at / 251 + size) as u8 | 1).collect();
    fs::write(path, bytes).unwrap();
}

fn set_xattr(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
}

fn node(path: &Path, kind: FileType, device: u64) {
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o640), device).unwrap();
}

fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Sizes around all limits, in directories with few and many files, empty ones, links.
fn forest(root: &Path) {
    for (place, size) in [0, 1, 4095, 65_536, 131_071, 131_072, 131_073, 400_000, 1_000_000].into_iter().enumerate() {
        let directory = root.join(format!("d{}", place % 4));
        fs::create_dir_all(&directory).unwrap();
        write(directory.join(format!("size{size}")), size);
    }
    fs::create_dir_all(root.join("many/empty")).unwrap();
    (0..1_500).for_each(|n| write(root.join(format!("many/{n}")), n * 7 % 3_000));
    for n in 0..300 {
        fs::create_dir_all(root.join(format!("narrow/{n}/x"))).unwrap();
        write(root.join(format!("narrow/{n}/x/f")), n);
        fs::hard_link(root.join(format!("many/{n}")), root.join(format!("narrow/{n}/link"))).unwrap();
        symlink("..", root.join(format!("narrow/{n}/up"))).unwrap();
    }
}

#[test]
fn every_kind_of_file_equals_a_plain_walk() {
    if !tools::root() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path();
    let at = |name: &str| root.join(name);
    write(at("file"), 5_000);
    write(at("large"), 300_000);
    fs::set_permissions(at("file"), fs::Permissions::from_mode(0o6751)).unwrap();
    fs::create_dir(at("dir")).unwrap();
    fs::set_permissions(at("dir"), fs::Permissions::from_mode(0o1777)).unwrap();
    write(root.join(OsStr::from_bytes(b"dir/\xff\xfe new\nline")), 3);
    symlink("/nowhere/at all", at("symlink")).unwrap();
    fs::hard_link(at("symlink"), at("symlink again")).unwrap();
    fs::hard_link(at("large"), at("dir/large again")).unwrap();
    node(&at("fifo"), FileType::Fifo, 0);
    node(&at("char"), FileType::CharacterDevice, rustix::fs::makedev(511, 70_000));
    node(&at("block"), FileType::BlockDevice, rustix::fs::makedev(8, 1));
    fs::hard_link(at("block"), at("block again")).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    chown(at("file"), Some(4_000_000_000), Some(70_000)).unwrap();
    lchown(at("symlink"), Some(12), Some(13)).unwrap();
    set_time(&at("file"), -7, 500_000_000);
    set_time(&at("symlink"), 3_000_000_000, 1);
    for name in ["file", "large", "dir", "."] {
        set_xattr(&at(name), "user.long", &vec![b'x'; 3_000]);
        set_xattr(&at(name), "user.empty", b"");
    }
    // Their list is longer than the buffer of the first call.
    for name in ["file", "dir", "."] {
        set_xattr(&at(name), &format!("user.{}", "n".repeat(240)), b"value");
    }
    for name in ["symlink", "fifo", "char", "block", "socket", "file"] {
        set_xattr(&at(name), "trusted.binary", b"\0\xff");
    }
    let expected = walk(root);
    assert_eq!(expected.iter().filter(|(entry, _)| !entry.xattrs.is_empty()).count(), 9);
    for readers in [0, 1, 3] {
        assert_eq!(read(root, options(readers)), expected, "{readers} readers");
    }
    let mut bare = options(1);
    bare.xattrs = false;
    let bare = read(root, bare);
    assert!(bare.iter().all(|(entry, _)| entry.xattrs.is_empty()) && bare.len() == expected.len());
}

#[test]
fn readers_change_nothing() {
    let temp = tempfile::tempdir().unwrap();
    forest(temp.path());
    let expected = walk(temp.path());
    for (readers, ahead_bytes, buffer) in
        [(0, 0, 1 << 20), (0, 0, 777), (1, 0, 131_072), (1, 4 << 20, 1000), (2, 1 << 20, 1 << 20), (4, 64 << 20, 4096)]
    {
        let mut options = options(readers);
        options.ahead_bytes = ahead_bytes;
        let mut source = DirectorySource::open(temp.path(), options).unwrap();
        let found = drain(&mut source, buffer).unwrap();
        assert!(found == expected, "{readers} readers, {ahead_bytes} bytes ahead");
        let bytes: usize = expected.iter().filter_map(|(_, content)| content.as_ref()).map(Vec::len).sum();
        assert_eq!(source.progress(), (bytes as u64, None));
    }
}

#[test]
fn contents_may_be_skipped_and_sources_dropped() {
    let temp = tempfile::tempdir().unwrap();
    forest(temp.path());
    let expected = walk(temp.path());
    for readers in [0, 2] {
        let mut source = DirectorySource::open(temp.path(), options(readers)).unwrap();
        for (place, (entry, content)) in expected.iter().enumerate() {
            assert_eq!(source.next_entry().unwrap().unwrap().path, entry.path);
            if let (Some(content), 0) = (content, place % 3) {
                let mut buffer = vec![0; 100];
                let count = content.len().min(100);
                let extent = if count == 0 { Extent::End } else { Extent::Data(count) };
                assert_eq!(source.read(&mut buffer).unwrap(), extent);
                assert_eq!(buffer[..count], content[..count]);
            }
        }
        assert_eq!(source.next_entry().unwrap(), None);
        assert_eq!(source.next_entry().unwrap(), None);
        let mut source = DirectorySource::open(temp.path(), options(readers)).unwrap();
        (0..20).for_each(|_| drop(source.next_entry().unwrap()));
    }
}

#[test]
fn hard_links_may_be_ignored() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path().join("a"), 10);
    (0..1_000).for_each(|n| fs::hard_link(temp.path().join("a"), temp.path().join(format!("b{n}"))).unwrap());
    let linked = read(temp.path(), options(0));
    assert_eq!(linked.iter().filter(|(entry, _)| entry.kind == Kind::HardLink(b"a".to_vec())).count(), 1_000);
    let mut apart = options(1);
    apart.hard_links = false;
    let apart = read(temp.path(), apart);
    assert_eq!(apart.iter().filter(|(entry, _)| entry.kind == Kind::File { size: 10 }).count(), 1_001);
}

#[test]
fn does_not_enter_excluded_directories() {
    let temp = tempfile::tempdir().unwrap();
    for path in ["src/a.c", "src/a.o", "src/deep/b.o", "build/x", "doc/build/y", "tmp/keep", "tmp/drop"] {
        fs::create_dir_all(temp.path().join(path).parent().unwrap()).unwrap();
        write(temp.path().join(path), 1);
    }
    let mut excludes = Patterns::new();
    [&b"*.o"[..], b"/build", b"tmp/d*", b"y/"].into_iter().for_each(|pattern| excludes.add(pattern).unwrap());
    let mut options = options(1);
    options.excludes = excludes.clone();
    let found = paths(&read(temp.path(), options));
    assert_eq!(excludes.unmatched().map(Pattern::text).collect::<Vec<_>>(), [b"y/"]);
    assert_eq!(found, ["", "doc", "doc/build", "doc/build/y", "src", "src/a.c", "src/deep", "tmp", "tmp/keep"]);
}

#[test]
fn holes_are_not_read() {
    let temp = tempfile::tempdir().unwrap();
    for (size, data) in [(20_u64 << 30, vec![0, 5 << 30, (20 << 30) - 1]), (1 << 40, vec![1 << 39]), (1 << 21, vec![])]
    {
        let path = temp.path().join("sparse");
        let file = File::create(&path).unwrap();
        file.set_len(size).unwrap();
        data.iter().for_each(|&at| file.write_all_at(b"x", at).unwrap());
        for readers in [0, 1] {
            assert_eq!(sparse(temp.path(), readers), (size, data.clone()));
        }
        fs::remove_file(path).unwrap();
    }
}

/// The size, and the positions of bytes that are not zero. A small number of reads must be enough.
fn sparse(root: &Path, readers: usize) -> (u64, Vec<u64>) {
    let mut source = DirectorySource::open(root, options(readers)).unwrap();
    source.next_entry().unwrap();
    source.next_entry().unwrap();
    let mut at = 0;
    let mut data = Vec::new();
    let mut buffer = vec![0; 65_536];
    for _ in 0..100 {
        match source.read(&mut buffer).unwrap() {
            Extent::Data(count) => {
                data.extend((0..count).filter(|&place| buffer[place] != 0).map(|place| at + place as u64));
                at += count as u64;
            }
            Extent::Hole(count) => at += count,
            Extent::End => return (at, data),
        }
    }
    panic!("at {at} after 100 reads");
}

#[test]
fn paths_may_be_longer_than_the_system_takes() {
    let temp = tempfile::tempdir().unwrap();
    let name = "deep".repeat(20);
    let mut at = rustix::fs::open(temp.path(), rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    for _ in 0..200 {
        rustix::fs::mkdirat(&at, "z", Mode::RWXU).unwrap();
        rustix::fs::mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, name.as_str(), rustix::fs::OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
    File::from(rustix::fs::openat(&at, "file", flags, Mode::RWXU).unwrap()).write_all(b"content").unwrap();
    for readers in [0, 1] {
        let found = read(temp.path(), options(readers));
        assert_eq!(found.len(), 402);
        assert_eq!(found[201].1.as_deref(), Some(&b"content"[..]));
        assert_eq!((found[201].0.path.len(), &found[401].0.path[..]), (200 * 81 + 4, &b"z"[..]));
    }
}

#[test]
fn mount_points_are_entered_emptied_or_skipped() {
    if !packline_testkit::mount::allowed() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let mounted = temp.path().join("m");
    fs::create_dir(&mounted).unwrap();
    write(temp.path().join("z"), 1);
    assert!(
        Command::new("mount")
            .args(["-t", "tmpfs", "-o", "mode=0710", "none"])
            .arg(&mounted)
            .status()
            .unwrap()
            .success()
    );
    write(mounted.join("inside"), 1);
    write(temp.path().join("over"), 1);
    let bind = Command::new("mount").arg("--bind").arg(mounted.join("inside")).arg(temp.path().join("over")).status();
    let found: Vec<_> = [MountPoints::Enter, MountPoints::Empty, MountPoints::Skip]
        .map(|mount_points| {
            let mut options = options(1);
            options.mount_points = mount_points;
            read(temp.path(), options)
        })
        .into();
    assert!(
        Command::new("umount").arg(temp.path().join("over")).status().unwrap().success() && bind.unwrap().success()
    );
    assert!(Command::new("umount").arg(&mounted).status().unwrap().success());
    assert_eq!(paths(&found[0]), ["", "m", "m/inside", "over", "z"]);
    assert_eq!(paths(&found[1]), ["", "m", "z"]);
    assert_eq!(found[1][1].0.meta.mode, 0o710);
    assert_eq!(paths(&found[2]), ["", "z"]);
}

#[test]
fn a_list_of_a_scan_equals_the_directory() {
    let temp = tempfile::tempdir().unwrap();
    forest(temp.path());
    set_xattr(&temp.path().join("many/7"), "user.a", b"b");
    let expected = walk(temp.path());
    for readers in [0, 2] {
        let entries = scan(temp.path(), DirectoryOptions::default(), &mut |_| {}).unwrap();
        assert_eq!(entries.iter().filter(|(_, file)| file.is_some()).count(), 1_809);
        let mut list = ListSource::new(entries, Some(5), readers, 1 << 20);
        assert_eq!(drain(&mut list, 50_000).unwrap(), expected);
        assert_eq!(list.progress().1, Some(5));
    }
    let mut reversed = scan(temp.path(), DirectoryOptions::default(), &mut |_| {}).unwrap();
    reversed.reverse();
    let found = drain(&mut ListSource::new(reversed, None, 3, 1 << 20), 50_000).unwrap();
    assert!(found.into_iter().rev().eq(expected));
}

#[test]
fn a_root_may_be_a_symbolic_link() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("real")).unwrap();
    write(temp.path().join("real/f"), 1);
    symlink("real", temp.path().join("link")).unwrap();
    assert_eq!(paths(&read(&temp.path().join("link"), options(0))), ["", "f"]);
}
