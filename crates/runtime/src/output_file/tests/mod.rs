//! Tests of outputs: no file has the name before the end, and no temporary file remains afterwards.

mod replacing;

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::process::Command;

use packline_engine::Permit;

use crate::{Buffers, Exists, SharedBytes, Sink};

use super::unfinished::create_named;
use super::*;
use crate::Unobserved;

fn open(path: &Path, force: bool) -> Result<OutputFile, Error> {
    OutputFile::open(path, force, &Temporaries::default())
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write(output: &OutputFile, offset: u64, bytes: &[u8]) {
    let mut sink = output.sink().unwrap();
    sink.write_at(offset, bytes).unwrap();
    sink.flush().unwrap();
}

#[test]
fn a_file_has_its_name_only_when_it_is_complete() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let output = open(&path, false).unwrap();
    write(&output, 3, b"abc");
    assert!(!path.exists());
    assert_eq!(output.size(), 6);
    output.finish(&mut Unobserved).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"\0\0\0abc");
    assert_eq!(names_in(top.path()), ["image"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7133, 0);
}

#[test]
fn a_dropped_output_keeps_the_old_file() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    write(&open(&path, false).unwrap(), 0, b"new");
    assert_eq!(names_in(top.path()), Vec::<String>::new());
    fs::write(&path, "old").unwrap();
    write(&open(&path, true).unwrap(), 0, b"new");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names_in(top.path()), ["image"]);
}

#[test]
fn an_existing_file_needs_force() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    fs::write(&path, "old").unwrap();
    let error = open(&path, false).unwrap_err();
    assert!(matches!(&error, Error::Exists(Exists::File(found)) if *found == path), "{error}");
    assert!(error.to_string().contains("already exists"), "{error}");
    let output = open(&path, true).unwrap();
    write(&output, 0, b"new");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    output.finish(&mut Unobserved).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names_in(top.path()), ["image"]);
}

#[test]
fn a_file_that_appears_during_writing_stays() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let output = open(&path, false).unwrap();
    fs::write(&path, "other").unwrap();
    assert!(output.finish(&mut Unobserved).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"other");
    assert_eq!(names_in(top.path()), ["image"]);
}

#[test]
fn uses_a_hidden_name_without_unnamed_files() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let list = Temporaries::default();
    drop(create_named(&path, false, &list));
    assert_eq!(names_in(top.path()), Vec::<String>::new());
    let kept = create_named(&path, false, &list);
    assert_eq!(names_in(top.path()).len(), 1);
    assert!(kept.name().is_some());
    kept.finish(&mut Unobserved).unwrap();
    assert_eq!(names_in(top.path()), ["image"]);
    assert!(create_named(&path, false, &list).finish(&mut Unobserved).is_err());
    assert_eq!(names_in(top.path()), ["image"]);
    create_named(&path, true, &list).finish(&mut Unobserved).unwrap();
    let stopped = create_named(&path, true, &list);
    list.remove_for_good();
    assert_eq!(names_in(top.path()), ["image"]);
    std::mem::forget(stopped);
}

#[test]
fn a_link_is_followed() {
    let top = tempfile::tempdir().unwrap();
    let real = top.path().join("real");
    let link = top.path().join("link");
    fs::write(&real, "old").unwrap();
    symlink("real", &link).unwrap();
    assert!(open(&link, false).is_err());
    let output = open(&link, true).unwrap();
    write(&output, 0, b"new");
    output.finish(&mut Unobserved).unwrap();
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn creates_the_file_that_a_chain_of_links_names() {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir(top.path().join("other")).unwrap();
    symlink("other/second", top.path().join("first")).unwrap();
    symlink(top.path().join("third"), top.path().join("other/second")).unwrap();
    symlink("new", top.path().join("third")).unwrap();
    for force in [false, true] {
        let output = open(&top.path().join("first"), force).unwrap();
        write(&output, 0, b"content");
        output.finish(&mut Unobserved).unwrap();
        assert_eq!(fs::read(top.path().join("new")).unwrap(), b"content");
        assert!(fs::symlink_metadata(top.path().join("third")).unwrap().is_symlink());
        assert_eq!(names_in(top.path()), ["first", "new", "other", "third"]);
        fs::remove_file(top.path().join("new")).unwrap();
    }
}

#[test]
fn rejects_links_whose_target_cannot_be_created() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("link");
    for (target, part) in [
        ("none/new", "link: cannot create the link's target: "),
        ("none/new", "none/new: No such file"),
        ("link", "Too many levels of symbolic links"),
        ("new/", "is not the name of a file"),
    ] {
        symlink(target, &path).unwrap();
        let refused = open(&path, true).unwrap_err().to_string();
        assert!(refused.contains(part), "{refused}");
        assert_eq!(names_in(top.path()), ["link"]);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn rejects_pipes_sockets_directories_and_character_devices() {
    let top = tempfile::tempdir().unwrap();
    let pipe = top.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    for (path, what) in
        [(pipe.as_path(), "pipe"), (top.path(), "directory"), (Path::new("/dev/null"), "character device")]
    {
        let message = open(path, true).unwrap_err().to_string();
        assert!(message.contains(what) && message.contains(&path.display().to_string()), "{message}");
    }
    assert!(open(Path::new("/"), true).is_err());
    assert!(open(Path::new(""), true).is_err());
    assert!(open(&top.path().join("none/image"), false).unwrap_err().to_string().contains("cannot create"));
}

/// A sink for a plain file, for tests of the buffer alone.
fn sink_over(path: &Path, limit: Option<u64>) -> WriteBehind {
    let file = fs::File::options().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    WriteBehind::new(file, limit, Arc::default())
}

#[test]
fn small_writes_are_held_back_and_read_back() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("x");
    let mut sink = sink_over(&path, None);
    sink.write_at(0, b"abc").unwrap();
    sink.write_at(3, b"def").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    let mut back = [0; 4];
    sink.read_at(1, &mut back).unwrap();
    assert_eq!(&back, b"bcde");
    sink.write_at(1, b"X").unwrap();
    sink.write_at(6, &[7; 600_000]).unwrap();
    sink.flush().unwrap();
    let written = fs::read(&path).unwrap();
    assert_eq!((&written[..6], written.len()), (&b"aXcdef"[..], 600_006));
}

#[test]
fn an_empty_append_does_not_shorten_a_file_that_ends_in_a_hole() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("x");
    let mut sink = sink_over(&path, None);
    sink.append(b"abc").unwrap();
    assert!(sink.skip_zeros(5000).unwrap());
    sink.append(b"").unwrap();
    sink.write_at(9000, b"").unwrap();
    sink.flush().unwrap();
    sink.end_hole().unwrap();
    assert_eq!(fs::read(&path).unwrap(), [&b"abc"[..], &[0; 5000]].concat());
}

#[test]
fn any_order_of_writes_equals_unbuffered_writes() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("x");
    write_in_any_order(sink_over(&path, None), &path);
    let mut threaded = sink_over(&path, None);
    threaded.start_thread(300_000, None);
    write_in_any_order(threaded, &path);
}

fn write_in_any_order(mut sink: WriteBehind, path: &Path) {
    fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    let buffers = Buffers::new(200_000, 1 << 20);
    let mut plain: Vec<u8> = Vec::new();
    let mut state = 1u64;
    for step in 0..400u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = if step % 50 == 0 { 200_000 } else { (state >> 50) as usize };
        let offset = if step % 7 == 0 { (state >> 40) % 500_000 } else { plain.len() as u64 };
        let bytes = vec![step as u8; length];
        if step % 3 == 0 {
            let mut buffer = buffers.take(Permit::detached(0));
            buffer.bytes_mut()[..length].copy_from_slice(&bytes);
            sink.write_shared(offset, SharedBytes { buffer: Arc::new(buffer), range: 0..length }).unwrap();
        } else {
            sink.write_at(offset, &bytes).unwrap();
        }
        plain.write_at(offset, &bytes).unwrap();
        if step % 5 == 0 {
            let mut back = vec![0; length];
            sink.read_at(offset, &mut back).unwrap();
            assert_eq!(back, bytes);
        }
    }
    sink.flush().unwrap();
    assert!(fs::read(path).unwrap() == plain);
}

#[test]
fn an_error_of_the_thread_is_returned_once_and_nothing_is_written_after_it() {
    let full = fs::File::options().read(true).write(true).open("/dev/full").unwrap();
    let mut sink = WriteBehind::new(full, None, Arc::default());
    sink.start_thread(1 << 20, None);
    let written = (0..100u64).try_for_each(|step| sink.write_at(step * 20_000, &[1; 20_000]).map(drop));
    let refusal = written.and_then(|()| sink.flush()).unwrap_err();
    assert_eq!(refusal.kind(), std::io::ErrorKind::StorageFull);
    assert!(refusal.to_string().contains("writing 20000 bytes at byte"), "{refusal}");
    assert!(sink.settle().is_ok() && sink.flush().is_err());
}

#[test]
fn reports_a_full_device_before_bytes_are_lost() {
    let top = tempfile::tempdir().unwrap();
    let mut sink = sink_over(&top.path().join("x"), Some(10));
    sink.write_at(0, b"0123456789").unwrap();
    let refusal = sink.write_at(8, b"abc").unwrap_err();
    assert!(refusal.to_string().contains("only 10 bytes"), "{refusal}");
}

/// Mounts of the tests, unmounted even after a panic.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_file_system_leaves_no_file_and_names_the_offset() {
    let top = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(top.path()).status();
    if !mounted.is_ok_and(|status| status.success()) {
        packline_testkit::tools::skip("mounting needs root");
        return;
    }
    let _mount = Mount(top.path().to_path_buf());
    let path = top.path().join("image");
    let output = open(&path, false).unwrap();
    let mut sink = output.sink().unwrap();
    sink.write_at(0, &[1; 4096]).unwrap();
    let refusal = sink.write_at(4096, &vec![1; 1 << 20]).unwrap_err();
    assert_eq!(refusal.kind(), std::io::ErrorKind::StorageFull);
    assert!(refusal.to_string().contains("at byte 4096"), "{refusal}");
    drop((sink, output));
    assert_eq!(names_in(top.path()), Vec::<String>::new());
}

/// A stream that accepts a number of bytes, after which its reader is gone.
struct Pipe(std::sync::Arc<std::sync::Mutex<Vec<u8>>>, usize);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut taken = self.0.lock().unwrap();
        let now = bytes.len().min(self.1 - taken.len());
        taken.extend_from_slice(&bytes[..now]);
        if now == 0 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(now) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stream_gets_all_bytes_at_the_end() {
    let top = tempfile::tempdir().unwrap();
    let taken = std::sync::Arc::<std::sync::Mutex<Vec<u8>>>::default();
    let spooled =
        |most| OutputFile::spooled(Path::new("pipe"), Box::new(Pipe(std::sync::Arc::clone(&taken), most)), top.path());
    let output = spooled(1 << 20).unwrap();
    write(&output, 300_000, b"end");
    write(&output, 0, b"start");
    assert!(taken.lock().unwrap().is_empty() && output.begins_empty() && output.names().count() == 0);
    output.finish(&mut Unobserved).unwrap();
    let expected = [&b"start"[..], &[0; 300_000 - 5], b"end"].concat();
    assert!(*taken.lock().unwrap() == expected);
    taken.lock().unwrap().clear();
    let output = spooled(200_000).unwrap();
    write(&output, 300_000, b"end");
    let refused = output.finish(&mut Unobserved).unwrap_err().to_string();
    assert!(
        refused.starts_with("pipe: cannot write: the reader closed the stream before the end (300003 bytes)"),
        "{refused}"
    );
    assert!(names_in(top.path()).is_empty());
}

#[test]
fn a_directory_of_temporary_files_is_named_in_errors() {
    let refused =
        OutputFile::spooled(Path::new("pipe"), Box::new(std::io::sink()), Path::new("/nonexistent")).unwrap_err();
    assert!(
        crate::ScratchError::is_cause_of(&refused) && refused.to_string().ends_with("files /nonexistent"),
        "{refused}"
    );
    assert!(!crate::ScratchError::is_cause_of(&open(Path::new("/"), false).unwrap_err()));
}

#[test]
fn restores_the_replaced_file_unless_the_new_file_is_kept() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    for old in [None, Some("old")] {
        for kept in [false, true] {
            let _: std::io::Result<()> = fs::remove_file(&path);
            old.iter().for_each(|old| fs::write(&path, old).unwrap());
            let output = open(&path, true).unwrap();
            write(&output, 0, b"new");
            let revocable = output.finish_revocably(&mut Unobserved).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            if kept {
                revocable.keep()
            } else {
                drop(revocable)
            }
            let expected = if kept { Some("new") } else { old };
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), expected);
            assert_eq!(names_in(top.path()).len(), usize::from(expected.is_some()));
        }
    }
}

#[test]
fn restores_the_replaced_file_when_the_process_must_stop() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let list = Temporaries::default();
    fs::write(&path, "old").unwrap();
    let output = OutputFile::open(&path, true, &list).unwrap();
    write(&output, 0, b"new");
    let revocable = output.finish_revocably(&mut Unobserved).unwrap();
    list.remove_for_good();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names_in(top.path()), ["image"]);
    // The list is locked for good, so no drop may run.
    std::mem::forget(revocable);
}

#[test]
fn a_failed_rename_keeps_the_old_file() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    let output = open(&path, true).unwrap();
    fs::create_dir(&path).unwrap();
    output.finish_revocably(&mut Unobserved).unwrap_err();
    assert!(path.is_dir());
    assert_eq!(names_in(top.path()), ["image"]);
}
