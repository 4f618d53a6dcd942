//! Pack files: one line for each entry, with the file of the host that has its content.
//!
//! The format is that of `gensquashfs` of squashfs-tools-ng 1.3 (gensquashfs(1), "PACK FILE FORMAT"), which follows `gen_init_cpio` of the
//! Linux kernel:
//!
//! ```text
//! # a comment
//! file <path> <mode> <uid> <gid> [<location>]
//! dir <path> <mode> <uid> <gid>
//! nod <path> <mode> <uid> <gid> <b|c> <major> <minor>
//! slink <path> <mode> <uid> <gid> <target>
//! link <path> <dummy> <dummy> <dummy> <target>
//! pipe <path> <mode> <uid> <gid>
//! sock <path> <mode> <uid> <gid>
//! glob <path> <mode|*> <uid|*> <gid|*> [OPTIONS...] [--] [<location>]
//! ```

mod glob_line;
mod listing;
pub(crate) mod words;

use packline_tree::text::{TextLine, lines, quote};
use packline_tree::{Bytes, Device, Error, Kind};

pub use glob_line::{GlobPattern, PackGlob, TypeSet};
pub use listing::list_pack_file;
use words::{Fields, Words, number};

/// The entry that a line adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackKind {
    File {
        /// Path of the content on the host, relative to the pack directory.
        location: Bytes,
    },
    /// Any entry except a regular file.
    Entry(Kind),
    /// The entries below a directory of the host.
    Glob(PackGlob),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackLine {
    /// Line number, from 1.
    pub line: u64,
    /// Canonical path in the image.
    pub path: Bytes,
    /// Permissions, 0 to 0o7777; `None` if a glob uses the permissions of the host.
    pub mode: Option<u16>,
    /// Owner; `None` if a glob uses the owner of the host.
    pub uid: Option<u32>,
    /// Group; `None` if a glob uses the group of the host.
    pub gid: Option<u32>,
    pub kind: PackKind,
}

/// Parses the text of a pack file. `input` is the name of the file for errors.
///
/// # Errors
/// [`Error::Line`] for the first malformed line.
pub fn parse_pack_file(input: &str, text: &[u8]) -> Result<Vec<PackLine>, Error> {
    lines(input, text).map(|(place, line)| parse_line(place, line)).collect()
}

fn parse_line(place: TextLine<'_>, line: &[u8]) -> Result<PackLine, Error> {
    let mut words = Words::new(place, line);
    let keyword = known_keyword(place, &words.require("entry type")?)?;
    let fields = Fields::read(place, &mut words, keyword)?;
    if fields.path.is_empty() && !matches!(keyword, "dir" | "glob") {
        return Err(place.error(format!("'{keyword}' for the root"), "'dir' or 'glob'"));
    }
    let kind = parse_kind(place, keyword, &fields.path, &mut words)?;
    words.end(keyword)?;
    Ok(PackLine { line: place.line, path: fields.path, mode: fields.mode, uid: fields.uid, gid: fields.gid, kind })
}

const KEYWORDS: [&str; 8] = ["file", "dir", "nod", "slink", "link", "pipe", "sock", "glob"];

fn known_keyword(place: TextLine<'_>, word: &[u8]) -> Result<&'static str, Error> {
    let known = KEYWORDS.iter().find(|known| known.as_bytes() == word);
    known.copied().ok_or_else(|| place.error(format!("entry type {}", quote(word)), KEYWORDS.join(", ")))
}

fn parse_kind(place: TextLine<'_>, keyword: &str, path: &[u8], words: &mut Words<'_>) -> Result<PackKind, Error> {
    Ok(match keyword {
        "file" => PackKind::File { location: words.next()?.unwrap_or_else(|| path.to_vec()) },
        "glob" => PackKind::Glob(PackGlob::read(place, words)?),
        "dir" => PackKind::Entry(Kind::Dir),
        "nod" => PackKind::Entry(device(place, words)?),
        "slink" => PackKind::Entry(Kind::Symlink(words.require("target of the symbolic link")?)),
        "link" => PackKind::Entry(Kind::HardLink(place.canonical(&words.require("target of the hard link")?)?)),
        "pipe" => PackKind::Entry(Kind::Fifo),
        _ => PackKind::Entry(Kind::Socket),
    })
}

fn device(place: TextLine<'_>, words: &mut Words<'_>) -> Result<Kind, Error> {
    let kind = words.require("device type")?;
    let wrap = match &kind[..] {
        b"b" | b"B" => Kind::BlockDevice,
        b"c" | b"C" => Kind::CharDevice,
        _ => return Err(place.error(format!("device type {}", quote(&kind)), "'b' or 'c'")),
    };
    let major = number(place, "major number", &words.require("major number")?)?;
    let minor = number(place, "minor number", &words.require("minor number")?)?;
    Ok(wrap(Device { major, minor }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<PackLine> {
        parse_pack_file("list", text.as_bytes()).unwrap()
    }

    fn error(text: &str) -> String {
        parse_pack_file("list", text.as_bytes()).unwrap_err().to_string()
    }

    fn line(line: u64, path: &str, mode: u16, uid: u32, gid: u32, kind: Kind) -> PackLine {
        let kind = PackKind::Entry(kind);
        PackLine { line, path: path.into(), mode: Some(mode), uid: Some(uid), gid: Some(gid), kind }
    }

    #[test]
    fn every_entry_type_is_read() {
        let text = "# comment line\nslink /slink 0644 2 3 slinktarget\r\ndir /dir 0755 4 5\nnod /c 0600 6 7 c 13 37\n\
                    nod /b 0600 8 9 B 42 21\n\npipe /pipe 0644 10 11\ndir / 0755 1000 100\n\
                    dir \"/foo bar/ test \\\"/\" 07777 0 4294967295\n  sock  /sock  0555  12  13  \n\
                    link /l x y z //dir/../no\n";
        let (good, bad) = text.rsplit_once("link").unwrap();
        let expected = [
            line(2, "slink", 0o644, 2, 3, Kind::Symlink(b"slinktarget".into())),
            line(3, "dir", 0o755, 4, 5, Kind::Dir),
            line(4, "c", 0o600, 6, 7, Kind::CharDevice(Device { major: 13, minor: 37 })),
            line(5, "b", 0o600, 8, 9, Kind::BlockDevice(Device { major: 42, minor: 21 })),
            line(7, "pipe", 0o644, 10, 11, Kind::Fifo),
            line(8, "", 0o755, 1000, 100, Kind::Dir),
            line(9, "foo bar/ test \"", 0o7777, 0, u32::MAX, Kind::Dir),
            line(10, "sock", 0o555, 12, 13, Kind::Socket),
        ];
        assert_eq!(parse(good), expected);
        assert_eq!(
            error(&format!("link{bad}")),
            "list: line 1: '//dir/../no' is not a path in an image: the path contains '..' (expected a path that stays inside the tree)"
        );
    }

    #[test]
    fn finds_files_at_their_location_or_path() {
        let found =
            parse("file /sbin/init 0755 0 0 ../init/sbin/init\nfile //bin//bash 0755 0 0\nlink /a 0 0 0 /b/./c");
        assert_eq!(found[0].kind, PackKind::File { location: b"../init/sbin/init".into() });
        assert_eq!(found[1].kind, PackKind::File { location: b"bin/bash".into() });
        assert_eq!(found[2].kind, PackKind::Entry(Kind::HardLink(b"b/c".into())));
    }

    #[test]
    fn rejects_malformed_lines_with_the_missing_part() {
        for (text, part) in [
            ("\nfoo /a 0755 0 0", "list: line 2: entry type 'foo' (expected file, dir,"),
            ("dir", "line 1: the line ends before the path"),
            ("dir /a", "the line ends before the mode"),
            ("dir /a 0755 0", "the line ends before the gid"),
            ("dir /a 0788 0 0", "mode '0788' (expected an octal number"),
            ("dir /a 10000 0 0", "mode '10000'"),
            ("dir /a * 0 0", "mode '*'"),
            ("dir /a 0755 root 0", "uid 'root' (expected a number from 0 to 4294967295"),
            ("dir /a 0755 0 4294967296", "gid '4294967296'"),
            ("dir /a 0755 0 0 x", "'x' after the last argument of 'dir'"),
            ("dir /a/../b 0755 0 0", "contains '..'"),
            ("dir \"\" 0755 0 0", "the name is empty"),
            ("file / 0755 0 0 x", "'file' for the root"),
            ("slink /a 0777 0 0", "before the target of the symbolic link"),
            ("link /a 0777 0 0", "before the target of the hard link"),
            ("nod /a 0600 0 0", "before the device type"),
            ("nod /a 0600 0 0 x 1 2", "device type 'x'"),
            ("nod /a 0600 0 0 c 1", "before the minor number"),
            ("nod /a 0600 0 0 c 1 2 3", "'3' after the last argument"),
            ("nod /a 0600 0 0 c -1 2", "major number '-1'"),
            ("file \"/a 0755 0 0", "unclosed quote"),
        ] {
            let found = error(text);
            assert!(found.contains(part), "{text}: {found}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_lines_or_an_error(text: Vec<u8>) {
            let _ = parse_pack_file("list", &text);
        }

        #[test]
        fn quoted_paths_come_back(path in "[ -~&&[^/]]{1,20}") {
            let escaped = path.replace('\\', "\\\\").replace('"', "\\\"");
            let found = parse_pack_file("list", format!("dir \"x{escaped}\" 0 0 0").as_bytes()).unwrap();
            let expected = format!("x{path}");
            proptest::prop_assert_eq!(&found[0].path, expected.as_bytes());
        }
    }
}
