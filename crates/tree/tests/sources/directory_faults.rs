//! Errors and changes of files. The results are the same for any number of readers.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::directory_common::{drain, options};
use packline_testkit::tools;
use packline_tree::{
    ContentEnd, DirectoryOptions, DirectorySource, Entry, Extent, HostFile, Kind, ListSource, Meta, Names, Source, scan,
};
use rustix::fs::FileType;

fn set_size(path: &Path, size: u64) {
    OpenOptions::new().write(true).create(true).truncate(false).open(path).unwrap().set_len(size).unwrap();
}

fn file(path: &Path, size: u64) -> (Entry, Option<HostFile>) {
    let meta = Meta::new(0o644, 0, 0, 0);
    (Entry { path: b"x".to_vec(), kind: Kind::File { size }, meta, xattrs: vec![] }, Some(path.to_owned().into()))
}

/// The message without the directory's own path.
fn list_error(root: &Path, entries: &[(Entry, Option<HostFile>)], readers: usize) -> String {
    let mut source = ListSource::new(entries.to_vec(), None, readers, 1 << 20);
    let error = drain(&mut source, 10_000).expect_err("an error");
    error.to_string().replace(&format!("{}/", root.display()), "")
}

/// The sizes of the entry and of its content, and the warnings without the directory's own path.
fn changed(source: &mut impl Source, root: &Path) -> (Vec<usize>, Vec<String>) {
    let entries = drain(source, 10_000).unwrap();
    let warnings = source.take_warnings();
    let names = warnings.iter().map(|text| text.replace(&format!("{}/", root.display()), ""));
    (entries.iter().filter_map(|(_, content)| content.as_ref().map(Vec::len)).collect(), names.collect())
}

const CHANGED: &str = "f: file changed as we read it";

#[test]
fn files_that_change_size_are_stored_with_a_warning() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    for (listed, found, stored) in [
        (10, 20, 10),
        (20, 10, 10),
        (0, 1, 1),
        (1, 0, 0),
        (0, 200_000, 200_000),
        (100_000, 200_000, 100_000),
        (300_000, 299_999, 299_999),
        (299_999, 300_000, 299_999),
        (200_000, 5, 5),
    ] {
        set_size(&path, found);
        let what = if listed == 0 {
            CHANGED.to_string()
        } else if found < listed {
            format!("{CHANGED}: it shrank from {listed} to {found} bytes; it was read again")
        } else {
            format!("{CHANGED}: it grew from {listed} to {found} bytes; the first {listed} are stored")
        };
        for readers in [0, 1, 3] {
            let mut source = ListSource::new([file(&path, listed)], None, readers, 1 << 20);
            let expected = (vec![stored], vec![what.clone()]);
            assert_eq!(changed(&mut source, temp.path()), expected, "{readers} readers");
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_ends_with_zeros_or_is_read_again() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    for (later, again) in [(150_000, false), (150_000, true), (600_000, true), (5_000, true), (0, true)] {
        fs::write(&path, vec![1; 500_000]).unwrap();
        let mut source = DirectorySource::open(temp.path(), options(2)).unwrap();
        source.next_entry().unwrap();
        source.next_entry().unwrap();
        let mut buffer = vec![0; 100_000];
        source.read(&mut buffer).unwrap();
        set_size(&path, later);
        let rest = rest(&mut source);
        assert_eq!(rest.len(), 400_000);
        let shorter = later < 500_000;
        if shorter {
            let whole = (later as usize).saturating_sub(100_000);
            assert!(rest[..whole].iter().all(|byte| *byte == 1) && rest[whole..].iter().all(|byte| *byte == 0));
        }
        if again {
            assert_eq!(source.read_again(), shorter.then_some(later));
            let content = if shorter { self::rest(&mut source) } else { Vec::new() };
            assert!(content == vec![1; if shorter { later as usize } else { 0 }]);
            assert_eq!(source.read_again(), None);
        }
        assert!(source.next_entry().unwrap().is_none());
        let warnings = source.take_warnings();
        let expected = match (shorter, again) {
            (false, _) => format!("it grew from 500000 to {later} bytes; the first 500000 are stored"),
            (true, true) => format!("it shrank from 500000 to {later} bytes; it was read again"),
            (true, false) => format!("it shrank from 500000 to {later} bytes; the rest is stored as zeros"),
        };
        assert!(warnings.len() == 1 && warnings[0].ends_with(&format!("{CHANGED}: {expected}")), "{warnings:?}");
    }
}

#[test]
fn a_file_that_changes_while_other_threads_read_it_is_read_again_or_named() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    for later in [500_000, 600_000, 150_000, 0] {
        fs::write(&path, vec![1; 500_000]).unwrap();
        let mut source = DirectorySource::open(temp.path(), options(2)).unwrap();
        source.next_entry().unwrap();
        source.next_entry().unwrap();
        let first = source.read_later(100_000).unwrap().unwrap();
        let second = source.read_later(usize::MAX).unwrap().unwrap();
        assert_eq!((first.bytes, second.bytes, second.offset), (100_000, 400_000, 100_000));
        assert!(source.read_later(1).unwrap().is_none());
        assert_eq!((source.read(&mut [0]).unwrap(), source.read_again()), (Extent::End, None));
        assert!(source.next_entry().unwrap().is_none());
        if later != 500_000 {
            set_size(&path, later);
        }
        let mut buffer = vec![0; 500_000];
        let (one, other) = buffer.split_at_mut(100_000);
        let count = second.content.read_at(second.offset, other).unwrap() + first.content.read_at(0, one).unwrap();
        assert_eq!(count as u64, later.min(500_000));
        match (later, second.content.end().unwrap()) {
            (500_000, ContentEnd::Unchanged) => {}
            (600_000, ContentEnd::Changed(warning)) => {
                let expected = "it grew from 500000 to 600000 bytes; the first 500000 are stored";
                assert!(warning.ends_with(&format!("{CHANGED}: {expected}")), "{warning}");
            }
            (150_000 | 0, ContentEnd::Again(mut again)) => {
                assert_eq!(again.read_again(), Some(later));
                assert!(rest(&mut *again) == vec![1; later as usize]);
                assert_eq!(again.read_again(), None);
                let warnings = again.take_warnings();
                let expected = format!("it shrank from 500000 to {later} bytes; it was read again");
                assert!(
                    warnings.len() == 1 && warnings[0].ends_with(&format!("{CHANGED}: {expected}")),
                    "{warnings:?}"
                );
            }
            (_, ContentEnd::Unchanged) => panic!("{later}: unchanged"),
            (_, ContentEnd::Changed(warning)) => panic!("{later}: {warning}"),
            (_, ContentEnd::Again(_)) => panic!("{later}: read again"),
        }
        assert_eq!(source.take_warnings(), Vec::<String>::new());
    }
}

#[test]
fn a_file_that_is_truncated_and_written_again_while_it_is_read_is_read_again() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    fs::write(&path, vec![1; 500_000]).unwrap();
    let mut source = DirectorySource::open(temp.path(), options(2)).unwrap();
    source.next_entry().unwrap();
    source.next_entry().unwrap();
    let mut buffer = vec![0; 100_000];
    source.read(&mut buffer).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    set_size(&path, 0);
    source.read(&mut buffer).unwrap();
    fs::write(&path, vec![2; 500_000]).unwrap();
    rest(&mut source);
    assert_eq!(source.read_again(), Some(500_000));
    assert!(rest(&mut source) == vec![2; 500_000]);
    assert_eq!(source.read_again(), None);
    assert!(source.next_entry().unwrap().is_none());
    let warnings = source.take_warnings();
    let expected = format!("{CHANGED}: it shrank from 500000 to 100000 bytes; it was read again");
    assert!(warnings.len() == 1 && warnings[0].ends_with(&expected), "{warnings:?}");
}

/// The rest of the current file.
fn rest(source: &mut (impl Source + ?Sized)) -> Vec<u8> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 100_000];
    loop {
        match source.read(&mut buffer).unwrap() {
            Extent::Data(count) => all.extend_from_slice(&buffer[..count]),
            Extent::Hole(count) => all.resize(all.len() + count as usize, 0),
            Extent::End => return all,
        }
    }
}

/// With a reader, a directory is listed ahead of reading.
#[test]
fn files_that_are_written_or_replaced_before_they_are_read_are_stored_as_they_are_then() {
    for large in [false, true] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("f");
        let size = if large { 300_000 } else { 4 };
        fs::write(&path, vec![1; size]).unwrap();
        let mut source = DirectorySource::open(temp.path(), options(1)).unwrap();
        source.next_entry().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(&path, vec![2; size]).unwrap();
        let warned = changed(&mut source, temp.path());
        if large {
            assert_eq!(warned, (vec![size], vec![CHANGED.to_string()]));
        }
        let other = temp.path().join("g");
        let mut source = DirectorySource::open(temp.path(), options(1)).unwrap();
        source.next_entry().unwrap();
        fs::write(&other, vec![3; size + 1]).unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o600)).unwrap();
        fs::rename(&other, &path).unwrap();
        let entry = source.next_entry().unwrap().unwrap();
        let content = rest(&mut source);
        assert!(source.next_entry().unwrap().is_none());
        if large {
            assert!(entry.meta.mode == 0o600 && content == vec![3; size + 1]);
            let warnings = source.take_warnings();
            assert!(warnings.len() == 1 && warnings[0].ends_with("another file took its place, which is stored"));
        }
        let entries = scan(temp.path(), DirectoryOptions::default(), &mut |_| {}).unwrap();
        assert_eq!(changed(&mut ListSource::new(entries, None, 0, 0), temp.path()), (vec![size + 1], vec![]));
    }
}

/// These files have a size of 0 or of 4096.
#[test]
fn files_of_proc_and_sys_are_stored_up_to_their_end() {
    for (directory, name) in
        [("/proc/sys/kernel", "ostype"), ("/proc/sys/kernel", "panic"), ("/sys/kernel/mm/ksm", "run")]
    {
        let place = Path::new(directory).join(name);
        let Ok(content) = fs::read(&place) else {
            let _ = tools::skip(&format!("there is no {}", place.display()));
            continue;
        };
        let size = fs::metadata(&place).unwrap().len();
        for readers in [0, 2] {
            let mut only = options(readers);
            only.only = Some(Names::existing(Path::new(directory), "", [(1, name.as_bytes())]).unwrap());
            let mut source = DirectorySource::open(Path::new(directory), only.clone()).unwrap();
            let found = drain(&mut source, 100).unwrap();
            assert_eq!(found.last().unwrap().1.as_ref(), Some(&content), "{directory}/{name}");
            let read = content.len();
            let warning =
                format!("{directory}/{name}: its size is given as {size} bytes, but it has {read}; those are stored");
            assert_eq!(source.take_warnings(), [warning]);
            if size == 0 {
                let listed = packline_tree::ListedDirectory::open(Path::new(directory), only);
                let found = drain(&mut listed.unwrap(), 100).unwrap();
                assert_eq!(found.last().unwrap().1.as_ref(), Some(&content), "{directory}/{name}");
            }
        }
    }
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
fn names_what_replaced_a_file_and_does_not_hang() {
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
        // With a reader, the directory is listed ahead of reading. A large file is left to the caller.
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
        // The files of a list may be links to files.
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
fn a_list_needs_no_file_for_an_empty_content() {
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

/// Runs a function as an unprivileged user in a new thread. Threads that it starts are unprivileged too.
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
