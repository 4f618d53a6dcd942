//! The container of an output, by its name or by request.

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

/// Containers for trees, for messages.
const WRITTEN: &str = "squashfs (.sqfs, .squashfs, .sfs, .snap, .img), lrz (.lrz)";

impl Format {
    /// Its name, accepted by [`Format::named`].
    pub fn name(self) -> &'static str {
        match self {
            Format::SquashFs => "squashfs",
            Format::Lrz => "lrz",
        }
    }

    /// The container with this name.
    ///
    /// # Errors
    /// [`Error::Request`] for a name that is unknown or of a container that does not hold trees.
    pub fn named(name: &str) -> Result<Format, Error> {
        match name {
            "squashfs" => Ok(Format::SquashFs),
            "lrz" => Ok(Format::Lrz),
            "pln" => Err(no_tree(name)),
            _ => Err(Error::Request { what: format!("unknown container '{name}'"), expected: WRITTEN.to_string() }),
        }
    }

    /// The container for a file name extension; SquashFS for unknown extensions.
    ///
    /// # Errors
    /// [`Error::Request`] for the extension of a format that does not hold trees.
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
