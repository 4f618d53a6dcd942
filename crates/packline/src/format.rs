//! Which container an output gets: by its name, or as asked.

use std::path::Path;

use crate::Error;

/// A container that a tree can be packed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// SquashFS 4.0, which the Linux kernel mounts.
    SquashFs,
    /// lrzip's, around a tar.
    Lrz,
}

/// What trees are packed into, for messages.
const WRITTEN: &str = "squashfs (.sqfs, .squashfs, .sfs), lrz (.lrz)";

impl Format {
    /// The container with this name.
    ///
    /// # Errors
    /// [`Error::Request`] for a name that is unknown or stands for a container of no trees.
    pub fn named(name: &str) -> Result<Format, Error> {
        match name {
            "squashfs" => Ok(Format::SquashFs),
            "lrz" => Ok(Format::Lrz),
            "pln" => Err(no_tree(name)),
            _ => Err(Error::Request { what: format!("unknown container '{name}'"), expected: WRITTEN.to_string() }),
        }
    }

    /// The container that a file's name asks for by its ending; SquashFS for one that says nothing.
    ///
    /// # Errors
    /// [`Error::Request`] for the ending of a container of no trees.
    pub fn of_path(path: &Path) -> Result<Format, Error> {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase()).unwrap_or_default();
        match ending.to_str() {
            Some("lrz") => Ok(Format::Lrz),
            Some(name @ "pln") => Err(no_tree(name)),
            _ => Ok(Format::SquashFs),
        }
    }
}

fn no_tree(name: &str) -> Error {
    Error::Request {
        what: format!("the container '{name}' holds one file or stream, not a tree"),
        expected: format!("{WRITTEN}; packline compress makes .pln files, of a tar too"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        for name in ["a.sqfs", "a.SquashFS", "a.sfs", "a.img", "a", "/dev/loop0", "lrz"] {
            assert_eq!(Format::of_path(Path::new(name)).unwrap(), Format::SquashFs, "{name}");
        }
        assert_eq!(Format::of_path(Path::new("a.Lrz")).unwrap(), Format::Lrz);
        let message = Format::of_path(Path::new("a.PLN")).unwrap_err().to_string();
        assert!(message.contains("not a tree") && message.contains("squashfs"), "{message}");
        assert_eq!(Format::named("squashfs").unwrap(), Format::SquashFs);
        assert_eq!(Format::named("lrz").unwrap(), Format::Lrz);
        assert!(Format::named("pln").is_err() && Format::named("").is_err());
    }
}
