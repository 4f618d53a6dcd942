//! Errors of files, the same with any number of readers.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::directory_common::{drain, options};
use packline_testkit::tools;
use packline_tree::{DirectoryOptions, DirectorySource, Entry, HostFile, Kind, ListSource, Meta, Source, scan};
use rustix::fs::FileType;

fn set_size(path: &Path, size: u64) {
    OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap().set_len(size).unwrap();
}

fn file(path: &Path, size: u64) -> (Entry, Option<HostFile>) {
    let meta = Meta { mode: 0o644, uid: 0, gid: 0, mtime: 0 };
    (Entry { path: b"x".to_vec(), kind: Kind::File { size }, meta, xattrs: vec![] }, Some(path.to_owned().into()))
}

/// The message without the directory's own path.
fn list_error(root: &Path, entries: &[(Entry, Option<HostFile>)], readers: usize) -> String {
    let mut source = ListSource::new(entries.to_vec(), None, readers, 1 << 20);
    let error = drain(&mut source, 10_000).expect_err("an error");
    error.to_string().replace(&format!("{}/", root.display()), "")
}

#[test]
fn files_that_change_size_are_reported() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    for (listed, found) in
        [(10, 20), (20, 10), (0, 1), (1, 0), (100_000, 200_000), (300_000, 299_999), (299_999, 300_000), (200_000, 5)]
    {
        set_size(&path, found);
        let verb = if found < listed { "shrank" } else { "grew" };
        let expected = format!(
            "f: cannot read: it {verb} to {found} bytes while the tree was read (expected {listed}, as when it was listed)"
        );
        for readers in [0, 1, 3] {
            assert_eq!(list_error(temp.path(), &[file(&path, listed)], readers), expected, "{readers} readers");
        }
    }
}

#[test]
fn a_file_that_shrinks_while_read_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    for (later, verb) in [(150_000, "shrank"), (600_000, "grew"), (5_000, "shrank")] {
        fs::write(&path, vec![1; 500_000]).unwrap();
        let mut source = DirectorySource::open(temp.path(), options(2)).unwrap();
        source.next_entry().unwrap();
        source.next_entry().unwrap();
        let mut buffer = vec![0; 100_000];
        source.read(&mut buffer).unwrap();
        set_size(&path, later);
        let error =
            std::iter::repeat_with(|| source.read(&mut buffer)).take(9).find_map(Result::err).unwrap().to_string();
        assert!(error.contains(&format!("/f: cannot read: it {verb} to {later} bytes")), "{error}");
    }
}

#[test]
fn a_small_file_that_changes_before_it_is_read_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    fs::write(&path, "1234").unwrap();
    let mut source = DirectorySource::open(temp.path(), options(0)).unwrap();
    source.next_entry().unwrap();
    source.next_entry().unwrap();
    fs::write(&path, "123").unwrap();
    let mut buffer = [0; 10];
    let error = std::iter::repeat_with(|| source.read(&mut buffer)).take(3).find_map(Result::err).unwrap().to_string();
    assert!(error.contains("it shrank to 3 bytes while the tree was read (expected 4"), "{error}");
}

#[test]
fn a_replaced_file_is_reported() {
    let temp = tempfile::tempdir().unwrap();
    for size in [10, 500_000] {
        let path = temp.path().join("f");
        set_size(&path, size);
        let entries = scan(temp.path(), DirectoryOptions::default(), &mut |_| {}).unwrap();
        set_size(&temp.path().join("other"), size);
        fs::rename(temp.path().join("other"), &path).unwrap();
        for readers in [0, 1] {
            let error = list_error(temp.path(), &entries, readers);
            assert_eq!(error, "f: cannot read: another file took its place while the tree was read");
        }
    }
}

#[test]
fn what_is_in_place_of_a_file_is_named_and_does_not_hang() {
    let kinds = [
        (FileType::Fifo, "a named pipe"),
        (FileType::Socket, "a socket"),
        (FileType::Directory, "a directory"),
        (FileType::Symlink, "a symbolic link"),
    ];
    for (size, (kind, name)) in [0, 10, 500_000].into_iter().flat_map(|size| kinds.map(|kind| (size, kind))) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        set_size(&path, size);
        let entries = scan(temp.path(), DirectoryOptions::default(), &mut |_| {}).unwrap();
        // With a reader the directory is listed ahead of what is read; a large file is left to the caller.
        let mut source = DirectorySource::open(temp.path(), options(1)).unwrap();
        source.next_entry().unwrap();
        fs::remove_file(&path).unwrap();
        make(kind, &path);
        let expected =
            format!("f: cannot read: it changed while the tree was read: it was a regular file and is {name} now");
        if size > 200_000 {
            let error = drain(&mut source, 10_000).unwrap_err().to_string();
            assert!(error.ends_with(&expected), "{error}");
        }
        // A list's files may be links to files.
        for readers in [0, 1].into_iter().filter(|_| kind != FileType::Symlink) {
            assert_eq!(list_error(temp.path(), &entries, readers), expected, "{size} bytes");
        }
    }
}

/// Creates something that is not a regular file; a link points to one.
fn make(kind: FileType, path: &Path) {
    match kind {
        FileType::Directory => fs::create_dir(path).unwrap(),
        FileType::Symlink => std::os::unix::fs::symlink("/etc/passwd", path).unwrap(),
        _ => rustix::fs::mknodat(rustix::fs::CWD, path, kind, rustix::fs::Mode::RWXU, 0).unwrap(),
    }
}

#[test]
fn missing_files_are_reported_in_order() {
    let temp = tempfile::tempdir().unwrap();
    set_size(&temp.path().join("good"), 5);
    let mut entries: Vec<_> = (0..500).map(|_| file(&temp.path().join("good"), 5)).collect();
    entries[300] = file(&temp.path().join("first"), 5);
    entries[301] = file(&temp.path().join("second"), 500_000);
    for readers in [0, 1, 4] {
        let error = list_error(temp.path(), &entries, readers);
        assert_eq!(error, "first: cannot open: No such file or directory (os error 2)");
        let mut source = ListSource::new(entries.clone(), None, readers, 1 << 20);
        assert!((0..300).all(|_| source.next_entry().is_ok()));
        assert!(source.next_entry().is_err());
    }
}

#[test]
fn a_list_needs_no_file_for_nothing() {
    let (entry, _) = file(Path::new("unused"), 0);
    let (full, _) = file(Path::new("unused"), 3);
    for readers in [0, 1] {
        let found = drain(&mut ListSource::new(vec![(entry.clone(), None)], None, readers, 0), 10).unwrap();
        assert_eq!(found, [(entry.clone(), Some(vec![]))]);
        let error = drain(&mut ListSource::new(vec![(full.clone(), None)], None, readers, 0), 10).unwrap_err();
        assert_eq!(error.to_string(), "x: cannot open: No such file or directory (os error 2)");
    }
}

#[test]
fn missing_and_vanished_files_are_reported() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("d/f");
    fs::create_dir(temp.path().join("d")).unwrap();
    File::create(&path).unwrap();
    let mut source = DirectorySource::open(temp.path(), options(0)).unwrap();
    (0..2).for_each(|_| drop(source.next_entry().unwrap()));
    fs::remove_file(&path).unwrap();
    let error = source.next_entry().unwrap_err().to_string();
    assert_eq!(error, format!("{}: cannot examine: No such file or directory (os error 2)", path.display()));
    let missing = DirectorySource::open(&path, options(0)).err().unwrap().to_string();
    assert_eq!(missing, format!("{}: cannot open: No such file or directory (os error 2)", path.display()));
    let file: PathBuf = temp.path().join("file");
    File::create(&file).unwrap();
    let error = DirectorySource::open(&file, options(0)).err().unwrap().to_string();
    assert_eq!(error, format!("{}: cannot open: Not a directory (os error 20)", file.display()));
}

/// Runs a function as an unprivileged user in a new thread; threads started by it are unprivileged too.
fn as_nobody<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    let nobody = Some(rustix::process::Uid::from_raw(65_534));
    let become_nobody = move || rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            become_nobody();
            run()
        });
        thread.join().unwrap()
    })
}

#[test]
fn unreadable_files_are_reported() {
    if !tools::root() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let set_mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    set_mode(temp.path(), 0o755);
    for size in [0, 10, 300_000] {
        let path = temp.path().join("f");
        set_size(&path, size);
        set_mode(&path, 0);
        for readers in [0, 2] {
            let read = || drain(&mut DirectorySource::open(temp.path(), options(readers)).unwrap(), 10_000);
            let error = as_nobody(read).unwrap_err().to_string();
            assert_eq!(error, format!("{}: cannot open: Permission denied (os error 13)", path.display()));
        }
    }
    fs::remove_file(temp.path().join("f")).unwrap();
    let closed = temp.path().join("closed");
    fs::create_dir(&closed).unwrap();
    set_mode(&closed, 0o711);
    let read = || drain(&mut DirectorySource::open(temp.path(), options(1)).unwrap(), 10_000);
    let error = as_nobody(read).unwrap_err().to_string();
    assert_eq!(error, format!("{}: cannot open: Permission denied (os error 13)", closed.display()));
}
