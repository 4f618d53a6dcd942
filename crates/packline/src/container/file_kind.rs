//! The table of the endings of file names, and the kind of content that each ending stands for.

use std::fmt;
use std::path::Path;

use packline_codec::StreamFormat;

/// The kind of file that the ending of a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A SquashFS image.
    SquashFs,
    /// An EROFS image.
    Erofs,
    /// lrzip's format.
    Lrz,
    /// The record container.
    Pln,
    /// A tar that can be written: plain, or compressed.
    Tar(Option<StreamFormat>),
    /// A tar compressed with something, by its name, that is read but not written.
    OtherTar(&'static str),
    /// A compressed file.
    Stream(StreamFormat),
    /// A zip archive, which is read but not written.
    Zip,
    /// A format that is not written: an archive, an image or a compressed file, with its article.
    Other(&'static str),
}

use FileKind::{Other, OtherTar, Stream, Tar, Zip};

/// Endings in lower case. The longest match applies. Messages and help list the endings in this order.
const ENDINGS: &[(&str, FileKind)] = &[
    (".sqfs", FileKind::SquashFs),
    (".squashfs", FileKind::SquashFs),
    (".sqsh", FileKind::SquashFs),
    (".sqs", FileKind::SquashFs),
    (".sfs", FileKind::SquashFs),
    (".snap", FileKind::SquashFs),
    (".img", FileKind::SquashFs),
    (".erofs", FileKind::Erofs),
    (".erofs.img", FileKind::Erofs),
    (".lrz", FileKind::Lrz),
    (".pln", FileKind::Pln),
    (".tar", Tar(None)),
    (".tar.gz", Tar(Some(StreamFormat::Gzip))),
    (".tgz", Tar(Some(StreamFormat::Gzip))),
    (".tar.xz", Tar(Some(StreamFormat::Xz))),
    (".txz", Tar(Some(StreamFormat::Xz))),
    (".tar.zst", Tar(Some(StreamFormat::Zstd))),
    (".tzst", Tar(Some(StreamFormat::Zstd))),
    (".tar.bz2", Tar(Some(StreamFormat::Bzip2))),
    (".tbz", Tar(Some(StreamFormat::Bzip2))),
    (".tbz2", Tar(Some(StreamFormat::Bzip2))),
    (".tar.lz4", OtherTar("lz4")),
    (".tar.lz", OtherTar("lzip")),
    (".tlz", OtherTar("lzip")),
    (".tar.lzma", OtherTar("lzma")),
    (".tar.lzo", OtherTar("lzop")),
    (".tar.z", OtherTar("compress")),
    (".tar.br", OtherTar("brotli")),
    (".gz", Stream(StreamFormat::Gzip)),
    (".xz", Stream(StreamFormat::Xz)),
    (".zst", Stream(StreamFormat::Zstd)),
    (".bz2", Stream(StreamFormat::Bzip2)),
    (".lz4", Other("a file compressed with lz4")),
    (".lz", Other("a file compressed with lzip")),
    (".lzma", Other("a file compressed with lzma")),
    (".lzo", Other("a file compressed with lzop")),
    (".zip", Zip),
    (".7z", Other("a 7z archive")),
    (".rar", Other("a rar archive")),
    (".cpio", Other("a cpio archive")),
    (".ar", Other("an ar archive")),
    (".deb", Other("a Debian package")),
    (".rpm", Other("an RPM package")),
    (".zpaq", Other("a zpaq archive")),
    (".wim", Other("a WIM image")),
    (".iso", Other("an ISO 9660 image")),
    (".dwarfs", Other("a DwarFS image")),
    (".cramfs", Other("a cramfs image")),
    (".ext2", Other("an ext2 image")),
    (".ext3", Other("an ext3 image")),
    (".ext4", Other("an ext4 image")),
];

impl FileKind {
    /// Returns the kind of a file by the ending of its name, in upper or lower case; `None` if the ending is not in the table.
    pub fn of_path(path: &Path) -> Option<FileKind> {
        let name = path.file_name()?.as_encoded_bytes().to_ascii_lowercase();
        let fits = |ending: &str| name.len() > ending.len() && name.ends_with(ending.as_bytes());
        let longest = ENDINGS.iter().filter(|(ending, _)| fits(ending)).max_by_key(|(ending, _)| ending.len());
        longest.map(|&(_, kind)| kind)
    }

    /// The endings of this kind, as messages and help list them.
    pub fn endings(self) -> String {
        let of_kind = ENDINGS.iter().filter(|(_, kind)| *kind == self);
        of_kind.map(|&(ending, _)| ending).collect::<Vec<_>>().join(", ")
    }

    /// Whether it is a tar, compressed or not.
    pub fn is_tar(self) -> bool {
        matches!(self, Tar(_) | OtherTar(_))
    }

    /// Whether it is an image or an archive whose entries are packed: a file that has the name and is damaged is an error, not a file
    /// to pack.
    pub(crate) fn holds_tree(self) -> bool {
        matches!(self, FileKind::SquashFs | FileKind::Erofs | FileKind::Lrz | FileKind::Pln | Zip) || self.is_tar()
    }

    /// Whether it is a compressed tar or file.
    pub fn is_compressed(self) -> bool {
        self.stream().is_some() || matches!(self, OtherTar(_))
    }

    /// The compression, if it can be written.
    pub fn stream(self) -> Option<StreamFormat> {
        match self {
            Tar(stream) => stream,
            Stream(stream) => Some(stream),
            _ => None,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FileKind::SquashFs => out.write_str("a SquashFS image"),
            FileKind::Erofs => out.write_str("an EROFS image"),
            FileKind::Lrz => out.write_str("a .lrz file"),
            FileKind::Pln => out.write_str("a .pln file"),
            Tar(None) => out.write_str("a tar"),
            Tar(Some(stream)) => write!(out, "a tar compressed with {}", stream.name()),
            OtherTar(name) => write!(out, "a tar compressed with {name}"),
            Stream(stream) => write!(out, "a file compressed with {}", stream.name()),
            Zip => out.write_str("a zip archive"),
            Other(name) => out.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<FileKind> {
        FileKind::of_path(Path::new(name))
    }

    #[test]
    fn the_longest_ending_decides_in_any_case() {
        assert_eq!(kind("a/x.tar.gz"), Some(Tar(Some(StreamFormat::Gzip))));
        assert_eq!(kind("X.TAR.ZST"), Some(Tar(Some(StreamFormat::Zstd))));
        assert_eq!(kind("x.gz"), Some(Stream(StreamFormat::Gzip)));
        assert_eq!(kind("x.tar.lz4"), Some(OtherTar("lz4")));
        assert_eq!(kind("x.tar.lrz"), Some(FileKind::Lrz));
        assert_eq!(kind("x.tar.sqfs"), Some(FileKind::SquashFs));
        assert_eq!((kind("root.sqsh"), kind("root.SQS")), (Some(FileKind::SquashFs), Some(FileKind::SquashFs)));
        assert_eq!(kind("x.Zip"), Some(Zip));
        assert!(kind("x.zip").unwrap().holds_tree() && !kind("x.7z").unwrap().holds_tree());
        assert_eq!((kind("x.erofs"), kind("x.erofs.img")), (Some(FileKind::Erofs), Some(FileKind::Erofs)));
        for name in ["x", "tar", ".tar", "x.tar/y", "x.tar.d", "x.data", "x.", ".", "..", "/", ""] {
            assert_eq!(kind(name), None, "{name}");
        }
    }

    #[test]
    fn endings_are_in_lower_case_and_not_listed_twice() {
        for (at, (ending, _)) in ENDINGS.iter().enumerate() {
            assert!(ending.starts_with('.') && *ending == ending.to_ascii_lowercase(), "{ending}");
            assert!(ENDINGS[..at].iter().all(|(other, _)| other != ending), "{ending}");
        }
    }

    #[test]
    fn kinds_have_names_and_compressions() {
        let words = |name| kind(name).unwrap().to_string();
        assert_eq!(words("x.tbz"), "a tar compressed with bzip2");
        assert_eq!(words("x.tlz"), "a tar compressed with lzip");
        assert_eq!(words("x.xz"), "a file compressed with xz");
        assert_eq!(words("x.img"), "a SquashFS image");
        assert_eq!(kind("x.xz").unwrap().stream(), Some(StreamFormat::Xz));
        assert_eq!(FileKind::SquashFs.endings(), ".sqfs, .squashfs, .sqsh, .sqs, .sfs, .snap, .img");
        assert_eq!((kind("x.tar").unwrap().stream(), kind("x.tar.lz").unwrap().stream()), (None, None));
        assert!(kind("x.tar.lz").unwrap().is_compressed() && !kind("x.tar").unwrap().is_compressed());
        assert!(
            kind("x.tar.lz").unwrap().is_tar() && kind("x.tar").unwrap().is_tar() && !kind("x.xz").unwrap().is_tar()
        );
    }
}
