//! Chooses the container of an output: by its name, or as requested.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use packline_runtime::escape::Escape;

use super::file_kind::FileKind;
use crate::error::Error;

/// A container that is written and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container {
    /// SquashFS 4.0, a file system that Linux mounts.
    SquashFs,
    /// EROFS, a file system that Linux mounts.
    Erofs,
    /// A tar of a tree, plain or compressed with gzip, xz, zstd or bzip2.
    Tar,
    /// lrzip's format: one file or stream, or a tree as a tar.
    Lrz,
    /// The record container: one file or stream, any part of which can be read by itself.
    Pln,
}

/// Returns the containers of trees and the endings of their names, for messages.
fn containers_of_trees() -> String {
    let kinds = [("squashfs", FileKind::SquashFs), ("erofs", FileKind::Erofs), ("lrz", FileKind::Lrz)];
    let kinds = kinds.map(|(name, kind)| format!("{name} ({})", kind.endings())).join(", ");
    format!("{kinds}, tar (.tar, .tar.gz, .tar.xz, .tar.zst, .tar.bz2)")
}

impl Container {
    /// The name that [`Container::for_tree`] takes.
    pub fn name(self) -> &'static str {
        match self {
            Container::SquashFs => "squashfs",
            Container::Erofs => "erofs",
            Container::Tar => "tar",
            Container::Lrz => "lrz",
            Container::Pln => "pln",
        }
    }

    /// The container of trees with this name.
    ///
    /// # Errors
    /// [`Error::Request`] for an unknown name, and for a container that cannot hold a tree.
    pub fn for_tree(name: &str) -> Result<Container, Error> {
        match name {
            "squashfs" => Ok(Container::SquashFs),
            "erofs" => Ok(Container::Erofs),
            "tar" => Ok(Container::Tar),
            "lrz" => Ok(Container::Lrz),
            "pln" => Err(Container::no_tree(name)),
            _ => Err(Error::Request { what: format!("unknown container '{name}'"), expected: containers_of_trees() }),
        }
    }

    /// The container for a tree that is packed into this file, by the ending of its name. A file without an ending and a block device
    /// become a SquashFS image.
    ///
    /// # Errors
    /// [`Error::Request`] for an unknown ending, and for the ending of a format that cannot hold a tree.
    pub fn for_tree_at(path: &Path) -> Result<Container, Error> {
        match FileKind::of_path(path) {
            Some(FileKind::SquashFs) => Ok(Container::SquashFs),
            Some(FileKind::Erofs) => Ok(Container::Erofs),
            Some(FileKind::Tar(_)) => Ok(Container::Tar),
            Some(FileKind::Lrz) => Ok(Container::Lrz),
            Some(FileKind::Pln) => Err(Container::no_tree("pln")),
            Some(kind) => Err(Error::Request {
                what: format!("{}: the name suggests {kind}, which pack does not write", path.escaped()),
                expected: containers_of_trees(),
            }),
            None => match path.extension().filter(|_| !is_block_device(path)) {
                None => Ok(Container::SquashFs),
                Some(ending) => Err(Error::Request {
                    what: format!("{}: no container has the ending '.{}'", path.escaped(), ending.escaped()),
                    expected: format!("{}, or no ending for squashfs", containers_of_trees()),
                }),
            },
        }
    }

    /// The error for a container that this build leaves out.
    #[cfg(not(all(feature = "lrz", feature = "pln")))]
    pub(crate) fn left_out(self) -> Error {
        Error::Request {
            what: format!(
                "this build has no .{name} files; build it with the feature '{name}' of the crate packline",
                name = self.name()
            ),
            expected: String::new(),
        }
    }

    /// The error for a container that holds no trees.
    pub(crate) fn no_tree(name: &str) -> Error {
        Error::Request {
            what: format!(
                "the container '{name}' holds one file or stream, not a tree (expected {}); packline compress writes .pln \
                 files, also from a tar",
                containers_of_trees()
            ),
            expected: String::new(),
        }
    }
}

fn is_block_device(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::by_magic::ContentKind;

    #[test]
    fn containers_are_recognised_by_what_their_writers_write() {
        assert_eq!(ContentKind::of_head(packline_lrz::format::MARK), Some(ContentKind::Lrz));
        assert_eq!(ContentKind::of_head(&packline_pln::MAGIC), Some(ContentKind::Pln));
        #[cfg(feature = "encryption")]
        assert_eq!(ContentKind::of_head(&packline_encryption::MAGIC), Some(ContentKind::Encrypted));
        assert_eq!(ContentKind::of_head(&packline_delta::MAGIC), Some(ContentKind::Delta));
    }

    #[test]
    fn the_name_decides() {
        for name in ["a.sqfs", "a.SquashFS", "a.sfs", "a.sqsh", "a.sqs", "a.img", "a", "/dev/loop0", "lrz"] {
            assert_eq!(Container::for_tree_at(Path::new(name)).unwrap(), Container::SquashFs, "{name}");
        }
        assert_eq!(Container::for_tree_at(Path::new("a.Lrz")).unwrap(), Container::Lrz);
        for name in ["a.erofs", "a.EROFS.IMG"] {
            assert_eq!(Container::for_tree_at(Path::new(name)).unwrap(), Container::Erofs, "{name}");
        }
        let message = Container::for_tree_at(Path::new("a.PLN")).unwrap_err().to_string();
        assert!(message.contains("not a tree") && message.contains("squashfs"), "{message}");
        for name in ["a.tar", "a.tar.zst", "a.TGZ"] {
            assert_eq!(Container::for_tree_at(Path::new(name)).unwrap(), Container::Tar, "{name}");
        }
        for name in ["a.ZIP", "a.gz", "a.iso", "a.tar.lz4"] {
            let message = Container::for_tree_at(Path::new(name)).unwrap_err().to_string();
            assert!(message.starts_with(&format!("{name}: the name suggests a")), "{message}");
        }
        let message = Container::for_tree_at(Path::new("a.xyz")).unwrap_err().to_string();
        assert!(message.starts_with("a.xyz: no container has the ending '.xyz' (expected squashfs"), "{message}");
        for format in [Container::SquashFs, Container::Erofs, Container::Tar, Container::Lrz] {
            assert_eq!(Container::for_tree(format.name()).unwrap(), format);
        }
        assert!(Container::for_tree("pln").is_err() && Container::for_tree("").is_err());
    }
}
