//! Xattr files: the extended attributes of paths in the image, as printed by `getfattr --dump`.
//!
//! ```text
//! # file: dev/rfkill
//! security.selinux="system_u:object_r:wireless_device_t:s0"
//! user.raw=0xCAFE
//! user.other=0sSGVsbG8=
//! ```
//!
//! The format is that of getfattr(1) and setfattr(1) of the attr project. `# file: ` precedes a path, and the attributes of the path follow.
//! A value is hexadecimal after `0x`, base64 after `0s`, or text in quotes with the escapes `\"`, `\\` and `\` with up to three octal digits.
//! In paths and names, `\` with three octal digits is a byte. If a path has a name twice, the first is used, as in squashfs-tools-ng.

pub(crate) mod value;

use std::collections::BTreeMap;

use packline_tree::text::{TextLine, numbered, quote, trim_end};
use packline_tree::{Bytes, Error, Xattr};

pub use value::attribute_value;
use value::{decode, unquote_octal};

/// The attributes in a file, by path.
#[derive(Debug, Clone, Default)]
pub struct XattrFile {
    input: String,
    paths: BTreeMap<Bytes, PathAttributes>,
}

#[derive(Debug, Clone)]
struct PathAttributes {
    line: u64,
    xattrs: Vec<Xattr>,
    used: bool,
}

const FILE_MARK: &[u8] = b"# file: ";

impl XattrFile {
    /// Parses the text of an xattr file. `input` is the name of the file for errors.
    ///
    /// # Errors
    /// [`Error::Line`] for the first malformed line.
    pub fn parse(input: &str, text: &[u8]) -> Result<XattrFile, Error> {
        let mut file = XattrFile { input: input.to_owned(), paths: BTreeMap::new() };
        let mut path: Option<Bytes> = None;
        for (place, line) in numbered(input, text) {
            let line = trim_end(line);
            if let Some(name) = line.strip_prefix(FILE_MARK) {
                path = Some(file.begin(place, name)?);
            } else if !line.is_empty() && line[0] != b'#' {
                let xattr = attribute(place, line)?;
                let path = path.as_ref().ok_or_else(|| no_path(place, line))?;
                file.add(path, xattr);
            }
        }
        Ok(file)
    }

    /// Returns the attributes of a canonical path and marks the path as used.
    pub fn use_path(&mut self, path: &[u8]) -> &[Xattr] {
        self.paths.get_mut(path).map_or(&[], |listed| {
            listed.used = true;
            &listed.xattrs
        })
    }

    /// Whether a canonical path is listed.
    pub fn lists(&self, path: &[u8]) -> bool {
        self.paths.contains_key(path)
    }

    /// For warnings, the unused paths in order, each with its position.
    pub fn unused(&self) -> impl Iterator<Item = String> {
        let unused = self.paths.iter().filter(|(_, listed)| !listed.used);
        unused.map(|(path, listed)| format!("{}: line {}: {}", self.input, listed.line, quote(path)))
    }

    fn begin(&mut self, place: TextLine<'_>, name: &[u8]) -> Result<Bytes, Error> {
        let path = place.canonical(&unquote_octal(name))?;
        self.paths.entry(path.clone()).or_insert(PathAttributes { line: place.line, xattrs: Vec::new(), used: false });
        Ok(path)
    }

    fn add(&mut self, path: &[u8], xattr: Xattr) {
        let Some(listed) = self.paths.get_mut(path) else { return };
        if !listed.xattrs.iter().any(|known| known.name == xattr.name) {
            listed.xattrs.push(xattr);
        }
    }
}

fn attribute(place: TextLine<'_>, line: &[u8]) -> Result<Xattr, Error> {
    let Some(equals) = memchr::memchr(b'=', line) else {
        return Err(place.error(format!("{} has no '='", quote(line)), "name=value or '# file: PATH'"));
    };
    let name = unquote_octal(trim_end(&line[..equals]));
    if name.is_empty() {
        return Err(place.error(format!("{} has no name before its '='", quote(line)), "name=value"));
    }
    Ok(Xattr { name, value: decode(place, &line[equals + 1..])? })
}

fn no_path(place: TextLine<'_>, line: &[u8]) -> Error {
    place.error(format!("{} before any path", quote(line)), "a line '# file: PATH' first")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn xattr(name: &str, value: &[u8]) -> Xattr {
        Xattr { name: name.into(), value: value.into() }
    }

    fn error(text: &str) -> String {
        XattrFile::parse("attrs", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn reads_the_output_of_getfattr() {
        let text = concat!(
            "# file: dev/\n",
            "security.selinux=\"system_u:object_r:device_t:s0\"\n",
            "user.beverage=0xCAFEcafe\n\n",
            "# file: /dev/back\\134slash\r\n",
            "user.a\\075b=\"1\"\r\n",
            "user.bin=0sAP8=\n",
            "user.empty=\"\"\n",
            "# a comment = none\n",
            "# file: .\n",
            "user.bare=text\n",
        );
        let mut file = XattrFile::parse("attrs", text.as_bytes()).unwrap();
        let device =
            [xattr("security.selinux", b"system_u:object_r:device_t:s0"), xattr("user.beverage", b"\xca\xfe\xca\xfe")];
        assert_eq!(file.use_path(b"dev"), device);
        let slash = [xattr("user.a=b", b"1"), xattr("user.bin", b"\x00\xff"), xattr("user.empty", b"")];
        assert_eq!(file.use_path(b"dev/back\\slash"), slash);
        assert_eq!(file.use_path(b""), [xattr("user.bare", b"text")]);
        assert!(file.use_path(b"dev/none").is_empty());
        assert!(file.lists(b"dev") && !file.lists(b"dev/none"));
        assert_eq!(file.unused().count(), 0);
    }

    #[test]
    fn unused_paths_are_listed() {
        let mut file = XattrFile::parse("attrs", b"# file: b\n# file: a\nuser.k=\"v\"\n# file: b\n").unwrap();
        assert_eq!(file.unused().collect::<Vec<_>>(), ["attrs: line 2: 'a'", "attrs: line 1: 'b'"]);
        file.use_path(b"a");
        assert_eq!(file.unused().collect::<Vec<_>>(), ["attrs: line 1: 'b'"]);
    }

    #[test]
    fn uses_the_first_of_two_values() {
        let mut file =
            XattrFile::parse("attrs", b"# file: a\nuser.k=1\nuser.k=2\n# file: b\n# file: /a\nuser.k=3\nuser.l=4")
                .unwrap();
        assert_eq!(file.use_path(b"a"), [xattr("user.k", b"1"), xattr("user.l", b"4")]);
    }

    #[test]
    fn rejects_malformed_lines() {
        for (text, part) in [
            ("user.k=1", "attrs: line 1: 'user.k=1' before any path (expected a line '# file: PATH' first)"),
            ("# file: a\n\nuser.k", "line 3: 'user.k' has no '='"),
            ("# file: a\n=1", "line 2: '=1' has no name"),
            ("# file: a/../b", "line 1: 'a/../b' is not a path in an image"),
            ("# file: a\\000b", "holds a NUL byte"),
            ("# file: a\nuser.k=0xabc", "line 2: value '0xabc'"),
            ("# file: a\nuser.k=0sA", "line 2: value '0sA'"),
            ("# file: a\nuser.k=\"abc", "line 2: value '\"abc'"),
        ] {
            let found = error(text);
            assert!(found.contains(part), "{text}: {found}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_attributes_or_an_error(text: Vec<u8>) {
            let _ = XattrFile::parse("attrs", &text);
        }
    }
}
