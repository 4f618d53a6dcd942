//! Which container an output gets: by its name, or as asked.

use std::path::Path;

use packline_runtime::escape::Escape;

use crate::{Error, FileKind};

/// A container that a tree can be packed into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// SquashFS 4.0, which the Linux kernel mounts.
    SquashFs,
    /// lrzip's, around a tar.
    Lrz,
}

/// What trees are packed into, for messages.
const WRITTEN: &str = "squashfs (.sqfs, .squashfs, .sfs, .snap, .img), lrz (.lrz)";

impl Format {
    /// Its name, as [`Format::named`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::SquashFs => "squashfs",
            Format::Lrz => "lrz",
        }
    }

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

    /// The container that a file's name asks for by its ending; SquashFS for an ending that is of no known format.
    ///
    /// # Errors
    /// [`Error::Request`] for the ending of a format that trees are not packed into.
    pub fn of_path(path: &Path) -> Result<Format, Error> {
        match FileKind::of_path(path) {
            None | Some(FileKind::SquashFs) => Ok(Format::SquashFs),
            Some(FileKind::Lrz) => Ok(Format::Lrz),
            Some(FileKind::Pln) => Err(no_tree("pln")),
            Some(kind) => Err(Error::Request {
                what: format!("{}: the name is that of {kind}, which trees are not packed into", path.escaped()),
                expected: WRITTEN.to_string(),
            }),
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
    use packline_image::Container;

    #[test]
    fn containers_are_recognised_by_what_their_writers_write() {
        assert_eq!(Container::of_head(packline_lrz::format::MARK), Some(Container::Lrz));
        assert_eq!(Container::of_head(&packline_pln::MAGIC), Some(Container::Pln));
    }

    #[test]
    fn the_name_decides() {
        for name in ["a.sqfs", "a.SquashFS", "a.sfs", "a.img", "a", "/dev/loop0", "lrz"] {
            assert_eq!(Format::of_path(Path::new(name)).unwrap(), Format::SquashFs, "{name}");
        }
        assert_eq!(Format::of_path(Path::new("a.Lrz")).unwrap(), Format::Lrz);
        let message = Format::of_path(Path::new("a.PLN")).unwrap_err().to_string();
        assert!(message.contains("not a tree") && message.contains("squashfs"), "{message}");
        for name in ["a.tar", "a.tar.zst", "a.tgz", "a.ZIP", "a.gz", "a.iso", "a.tar.lz4"] {
            let message = Format::of_path(Path::new(name)).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{name}: the name is that of a")), "{message}");
        }
        assert_eq!(Format::of_path(Path::new("a.xyz")).unwrap(), Format::SquashFs);
        for format in [Format::SquashFs, Format::Lrz] {
            assert_eq!(Format::named(format.name()).unwrap(), format);
        }
        assert!(Format::named("pln").is_err() && Format::named("").is_err());
    }
}
