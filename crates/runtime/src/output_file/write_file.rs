//! A small file that gets its name only when it is complete.

use std::path::Path;

use crate::{Error, OutputFile, Sink, Temporaries, Unobserved};

/// Writes a file like an image: it gets its name when it is complete and on the medium. Replaces an existing file only with
/// `force`. Does not report whether its directory could be synced. After an error an existing file is unchanged.
pub fn write_file(path: &Path, bytes: &[u8], force: bool, temporaries: &Temporaries) -> Result<(), Error> {
    let output = OutputFile::open(path, force, temporaries)?;
    let mut sink = output.sink()?;
    sink.append(bytes).and_then(|()| sink.flush()).map_err(|cause| Error::output(path, "cannot write", cause))?;
    output.finish(&mut Unobserved)
}

/// Checks whether [`write_file`] could write this file now, and leaves no file behind: the directory must accept files, and an
/// existing file must be replaceable.
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
    fn check_writable_fails_where_write_file_would() {
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
