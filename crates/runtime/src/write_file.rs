//! A small file that appears under its name only when it is whole.

use std::path::Path;

use crate::{Error, OutputFile, Sink, Temporaries, Unobserved};

/// Writes a file as an image is written: it gets its name when it is whole and on the medium. An existing file is only replaced
/// with `force`. Whether its directory could be synced is not reported.
///
/// # Errors
/// [`Error::Output`], [`Error::Target`] and [`Error::Exists`]; under the name there is then what was there before.
pub fn write_file(path: &Path, bytes: &[u8], force: bool, temporaries: &Temporaries) -> Result<(), Error> {
    let output = OutputFile::open(path, force, temporaries)?;
    let mut sink = output.sink()?;
    sink.append(bytes).and_then(|()| sink.flush()).map_err(|cause| Error::output(path, "cannot write", cause))?;
    output.finish(&mut Unobserved)
}

/// Finds out whether [`write_file`] could write this file now: a directory that takes files, and nothing in the way that may not
/// be replaced. Nothing is left behind.
///
/// # Errors
/// Those of [`write_file`].
pub fn check_writable(path: &Path, force: bool, temporaries: &Temporaries) -> Result<(), Error> {
    OutputFile::open(path, force, temporaries).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_with_force() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("report");
        let write = |text: &str, force| write_file(&path, text.as_bytes(), force, &Temporaries::default());
        write("first", false).unwrap();
        assert!(write("second", false).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        write("2nd", true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2nd");
    }

    #[test]
    fn what_could_not_be_written_is_found_before() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("report");
        let check = |path: &Path, force| check_writable(path, force, &Temporaries::default());
        check(&path, false).unwrap();
        assert_eq!(std::fs::read_dir(top.path()).unwrap().count(), 0);
        assert!(check(&top.path().join("none/report"), true).is_err());
        assert!(check(top.path(), true).is_err());
        std::fs::write(&path, "old").unwrap();
        assert!(check(&path, false).is_err() && check(&path, true).is_ok());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}
