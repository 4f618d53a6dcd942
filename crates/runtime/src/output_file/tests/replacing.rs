//! Attributes of replaced files, and files that are written in place.

use std::fs::{File, Permissions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, chown};
use std::sync::mpsc;

use packline_testkit::tools;
use rustix::fs::XattrFlags;

use super::*;
use crate::{FileStamp, Observer};

#[derive(Default)]
struct Warnings(Vec<String>);

impl Observer for Warnings {
    fn warning(&mut self, message: &str) {
        self.0.push(message.to_string());
    }
}

/// Replaces a file and returns the warnings.
fn replace(path: &Path, content: &[u8], list: &Temporaries) -> Result<Vec<String>, Error> {
    let output = OutputFile::open(path, true, list)?;
    write(&output, 0, content);
    let mut warnings = Warnings::default();
    output.finish(&mut warnings)?;
    assert_eq!(fs::read(path).unwrap(), content);
    Ok(warnings.0)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// An access control list: owner rw, user 77 r, owning group none, mask r, others none.
fn list_of_rights() -> Vec<u8> {
    let entries = [(1u16, 6u16, u32::MAX), (2, 4, 77), (4, 0, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let entries = entries
        .iter()
        .flat_map(|(tag, rights, id)| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat());
    2u32.to_le_bytes().into_iter().chain(entries).collect()
}

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 4096];
    let size = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(size);
    Some(value)
}

#[test]
fn keeps_the_mode_of_a_replaced_file_from_the_first_byte() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let path = top.path().join("image");
    for wanted in [0o600, 0o640, 0o444, 0o777] {
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(wanted)).unwrap();
        let output = OutputFile::open(&path, true, &list).unwrap();
        assert_eq!(output.file().unwrap().metadata().unwrap().mode() & 0o7777, wanted);
        drop(output);
        assert_eq!(replace(&path, b"new", &list).unwrap(), Vec::<String>::new());
        assert_eq!(mode(&path), wanted);
        fs::remove_file(&path).unwrap();
    }
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
    replace(&path, b"new", &list).unwrap();
    assert_eq!(mode(&path), 0o755, "other content does not run with the rights of the owner");
}

#[test]
fn keeps_owner_and_extended_attributes_of_a_replaced_file() {
    if !tools::root() {
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let path = top.path().join("image");
    fs::write(&path, "old").unwrap();
    chown(&path, Some(1234), Some(1235)).unwrap();
    for (name, value) in [("user.origin", b"here"), ("trusted.more", b"more")] {
        if rustix::fs::setxattr(&path, name, value, XattrFlags::empty()).is_err() {
            tools::skip("needs a file system with extended attributes");
            return;
        }
    }
    let acl = list_of_rights();
    let with_acl = rustix::fs::setxattr(&path, "system.posix_acl_access", &acl, XattrFlags::empty()).is_ok();
    let before = mode(&path);
    assert_eq!(replace(&path, b"new", &list).unwrap(), Vec::<String>::new());
    let about = fs::metadata(&path).unwrap();
    assert_eq!((about.uid(), about.gid(), mode(&path)), (1234, 1235, before));
    assert_eq!(xattr(&path, "user.origin").as_deref(), Some(&b"here"[..]));
    assert_eq!(xattr(&path, "trusted.more").as_deref(), Some(&b"more"[..]));
    assert_eq!(xattr(&path, "system.posix_acl_access"), with_acl.then_some(acl));
}

#[test]
fn a_new_output_has_the_access_control_list_of_its_source_and_not_its_mask_as_rights_of_the_group() {
    let top = tempfile::tempdir().unwrap();
    let source = top.path().join("source");
    let path = top.path().join("copy");
    fs::write(&source, "content").unwrap();
    let acl = list_of_rights();
    if rustix::fs::setxattr(&source, "system.posix_acl_access", &acl, XattrFlags::empty()).is_err() {
        tools::skip("needs a file system with access control lists");
        return;
    }
    let attributes = FileAttributes::of_source(&File::open(&source).unwrap()).unwrap();
    let mut output = open(&path, false).unwrap();
    output.take_attributes(&attributes).unwrap();
    output.finish(&mut Unobserved).unwrap();
    assert_eq!(xattr(&path, "system.posix_acl_access"), Some(acl));
    assert_eq!(mode(&path), 0o640);
}

#[test]
fn a_replaced_file_keeps_its_mode_though_the_source_has_another() {
    let top = tempfile::tempdir().unwrap();
    let source = top.path().join("source");
    let path = top.path().join("copy");
    [&source, &path].into_iter().for_each(|path| fs::write(path, "content").unwrap());
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let attributes = FileAttributes::of_source(&File::open(&source).unwrap()).unwrap();
    let mut output = open(&path, true).unwrap();
    output.take_attributes(&attributes).unwrap();
    output.finish(&mut Unobserved).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(fs::metadata(&path).unwrap().mtime_nsec(), fs::metadata(&source).unwrap().mtime_nsec());
}

#[test]
fn a_file_with_a_temporary_name_is_private_until_it_is_whole() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let list = Temporaries::default();
    let usual = {
        File::create(&path).unwrap();
        mode(&path) & 0o644
    };
    fs::remove_file(&path).unwrap();
    let file = create_named(&path, false, &list);
    assert_eq!(mode(file.name().unwrap()), 0o600);
    file.finish(&mut Unobserved).unwrap();
    assert_eq!(mode(&path), usual);
}

#[test]
fn warns_about_other_names_of_a_replaced_file() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let (path, other) = (top.path().join("image"), top.path().join("other"));
    fs::write(&path, "old").unwrap();
    fs::hard_link(&path, &other).unwrap();
    let warnings = replace(&path, b"new", &list).unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("hard links"), "{warnings:?}");
    assert_eq!(fs::read(&other).unwrap(), b"old");
}

/// Files without data: an empty file and a hole.
fn blanks(directory: &Path) -> Vec<(PathBuf, u64)> {
    let sizes = [("empty", 0), ("hole", 1 << 20)];
    let made = sizes.map(|(name, size)| {
        let path = directory.join(name);
        File::create(&path).unwrap().set_len(size).unwrap();
        (path, size)
    });
    made.to_vec()
}

#[test]
fn a_file_without_data_is_written_in_place() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    for (path, _) in blanks(top.path()) {
        let other = path.with_extension("link");
        fs::hard_link(&path, &other).unwrap();
        let mut open = File::open(&path).unwrap();
        let before = fs::metadata(&path).unwrap();
        assert_eq!(replace(&path, b"content", &list).unwrap(), Vec::<String>::new());
        assert_eq!(fs::metadata(&path).unwrap().ino(), before.ino());
        assert_eq!(fs::read(&other).unwrap(), b"content");
        let mut seen = String::new();
        open.seek(SeekFrom::Start(0)).unwrap();
        open.read_to_string(&mut seen).unwrap();
        assert_eq!(seen, "content", "a descriptor that was open before");
    }
}

#[test]
fn restores_a_file_without_data_after_an_error_and_a_signal() {
    for stopped in [false, true] {
        let top = tempfile::tempdir().unwrap();
        for (path, size) in blanks(top.path()) {
            let list = Temporaries::default();
            let output = OutputFile::open(&path, true, &list).unwrap();
            write(&output, 100, &vec![7; 100_000]);
            assert_eq!(fs::metadata(&path).unwrap().len(), 100_100);
            if stopped {
                list.remove_for_good();
                // The list is locked for good, so no drop may run.
                std::mem::forget(output);
            } else {
                drop(output);
            }
            let about = fs::metadata(&path).unwrap();
            assert_eq!((about.len(), about.blocks()), (size, 0));
        }
    }
}

#[test]
fn two_runs_that_write_a_file_without_data_leave_a_complete_file() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let path = top.path().join("image");
    File::create(&path).unwrap();
    let first = OutputFile::open(&path, true, &list).unwrap();
    let second = OutputFile::open(&path, true, &Temporaries::default()).unwrap();
    write(&first, 0, b"first");
    write(&second, 0, b"2nd");
    second.finish(&mut Unobserved).unwrap();
    first.finish(&mut Unobserved).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"2nd");
}

/// A file with another file mounted over it: no rename can replace it.
fn mounted(directory: &Path) -> Option<Mount> {
    let real = directory.join("real");
    let path = directory.join("image");
    fs::write(&real, "old and longer").unwrap();
    fs::write(&path, "covered").unwrap();
    let bound = Command::new("mount").arg("--bind").arg(&real).arg(&path).status();
    match bound {
        Ok(status) if status.success() => Some(Mount(path)),
        _ => {
            tools::skip("mounting needs root");
            None
        }
    }
}

#[test]
fn overwrites_a_mount_point_with_a_warning() {
    let top = tempfile::tempdir().unwrap();
    let Some(mount) = mounted(top.path()) else { return };
    let list = Temporaries::default().with_scratch(top.path());
    let warnings = replace(&mount.0, b"new", &list).unwrap();
    assert!(warnings.len() == 1 && warnings[0].contains("was overwritten in place"), "{warnings:?}");
    assert_eq!(fs::read(top.path().join("real")).unwrap(), b"new");
    assert_eq!(names_in(top.path()), ["image", "real"]);
    // The overwriting can be undone.
    let output = OutputFile::open(&mount.0, true, &list).unwrap();
    write(&output, 0, b"newer");
    drop(output.finish_revocably(&mut Unobserved).unwrap());
    assert_eq!(fs::read(&mount.0).unwrap(), b"new");
    assert_eq!(names_in(top.path()), ["image", "real"]);
}

#[test]
fn a_mount_point_on_a_full_file_system_keeps_its_content() {
    let top = tempfile::tempdir().unwrap();
    let small = tempfile::tempdir().unwrap();
    let filled = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(small.path()).status();
    if !filled.is_ok_and(|status| status.success()) {
        tools::skip("mounting needs root");
        return;
    }
    let _small = Mount(small.path().to_path_buf());
    let real = small.path().join("real");
    let path = top.path().join("image");
    fs::write(&real, "old").unwrap();
    fs::write(&path, "covered").unwrap();
    assert!(Command::new("mount").arg("--bind").arg(&real).arg(&path).status().unwrap().success());
    let _mount = Mount(path.clone());
    let output = OutputFile::open(&path, true, &Temporaries::default().with_scratch(top.path())).unwrap();
    write(&output, 0, &[7; 100_000]);
    let refused = output.finish(&mut Unobserved).unwrap_err().to_string();
    assert!(refused.contains("No space left"), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn an_input_that_is_replaced_is_locked_and_must_not_have_changed() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let path = top.path().join("image");
    fs::write(&path, "old").unwrap();
    let stamp = FileStamp::of_path(&path).unwrap();
    let begun = || {
        let mut output = OutputFile::open(&path, true, &list).unwrap();
        write(&output, 0, b"new");
        output.replaces_input(stamp).map(|()| output)
    };
    let first = begun().unwrap();
    let refused = begun().unwrap_err().to_string();
    assert!(refused.contains("is locked by another run"), "{refused}");
    drop(first);
    let output = begun().unwrap();
    // The clock of some file systems ticks every 4 ms.
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, "old and new").unwrap();
    let refused = output.finish(&mut Unobserved).unwrap_err().to_string();
    assert!(refused.contains("another program changed it since it was read"), "{refused}");
    assert!(begun().is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old and new");
    assert_eq!(names_in(top.path()), ["image"]);
}

#[test]
fn a_file_does_not_get_its_name_once_the_process_has_to_stop() {
    let top = tempfile::tempdir().unwrap();
    let list = Temporaries::default();
    let path = top.path().join("image");
    let ((ready, opened), (stopped, go)) = (mpsc::channel(), mpsc::channel());
    let list_there = list.clone();
    let path_there = path.clone();
    let finishing = std::thread::Builder::new().spawn(move || {
        let output = OutputFile::open(&path_there, false, &list_there).unwrap();
        write(&output, 0, b"new");
        ready.send(()).unwrap();
        go.recv().unwrap();
        output.finish(&mut Unobserved)
    });
    opened.recv().unwrap();
    assert!(!list.is_settled());
    list.remove_for_good();
    stopped.send(()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!finishing.unwrap().is_finished() && !path.exists());
    let path = top.path().join("other");
    let list = Temporaries::default();
    OutputFile::open(&path, false, &list).unwrap().finish(&mut Unobserved).unwrap();
    assert!(list.is_settled());
    drop(OutputFile::open(&top.path().join("third"), false, &list).unwrap());
    assert!(!list.is_settled());
}
