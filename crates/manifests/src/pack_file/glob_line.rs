//! The options of a `glob` line: which entries of a directory of the host it adds, and with which attributes.

use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error, Kind};

use super::words::Words;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TypeSet(u8);

/// Letters of the types, in the order of their bits.
const TYPE_LETTERS: [u8; 7] = *b"fdlbcps";

impl TypeSet {
    pub const ALL: TypeSet = TypeSet(0x7f);

    /// Whether the set has entries of this kind. A hard link is treated as a regular file.
    pub fn contains(self, kind: &Kind) -> bool {
        let bit = match kind {
            Kind::File { .. } | Kind::HardLink(_) => 0,
            Kind::Dir => 1,
            Kind::Symlink(_) => 2,
            Kind::BlockDevice(_) => 3,
            Kind::CharDevice(_) => 4,
            Kind::Fifo => 5,
            Kind::Socket => 6,
        };
        self.0 & (1 << bit) != 0
    }

    /// Adds a type by its letter in either case. Returns false for an unknown letter.
    fn add(&mut self, word: &[u8]) -> bool {
        let [letter] = word else { return false };
        let bit = TYPE_LETTERS.iter().position(|known| *known == letter.to_ascii_lowercase());
        self.0 |= bit.map_or(0, |bit| 1 << bit);
        bit.is_some()
    }
}

/// A shell pattern that entries must match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GlobPattern {
    /// Matches only the name.
    Name(Bytes),
    /// Matches the complete path in the image. Only a slash matches a slash.
    Path(Bytes),
}

/// A parsed `glob` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackGlob {
    pub types: TypeSet,
    /// Whether mount points and everything below them are skipped.
    pub one_file_system: bool,
    /// Whether the host's times are used.
    pub keep_time: bool,
    /// Whether hard links are detected.
    pub hard_links: bool,
    /// Whether directories are entered.
    pub recurse: bool,
    /// The last pattern of the line, if there is one.
    pub pattern: Option<GlobPattern>,
    /// The directory of the host, relative to the pack directory; `None` for the pack directory itself.
    pub location: Option<Bytes>,
}

impl Default for PackGlob {
    fn default() -> PackGlob {
        PackGlob {
            types: TypeSet::ALL,
            one_file_system: false,
            keep_time: false,
            hard_links: true,
            recurse: true,
            pattern: None,
            location: None,
        }
    }
}

const OPTIONS: &str = "-type, -xdev, -mount, -keeptime, -nohardlinks, -nonrecursive, -name, -path or --";

impl PackGlob {
    /// Parses the words after the four common fields, including the location.
    pub(super) fn read(place: TextLine<'_>, words: &mut Words<'_>) -> Result<PackGlob, Error> {
        let mut glob = PackGlob::default();
        let mut types: Option<TypeSet> = None;
        while let Some(word) = words.next()? {
            match &word[..] {
                b"--" => {
                    glob.location = words.next()?;
                    break;
                }
                b"-type" => types.get_or_insert_default().add_or_refuse(place, words)?,
                [b'-', ..] => glob.option(place, &word, words)?,
                _ => {
                    glob.location = Some(word);
                    break;
                }
            }
        }
        glob.types = types.unwrap_or(TypeSet::ALL);
        Ok(glob)
    }

    fn option(&mut self, place: TextLine<'_>, word: &[u8], words: &mut Words<'_>) -> Result<(), Error> {
        match word {
            b"-xdev" | b"-mount" => self.one_file_system = true,
            b"-keeptime" => self.keep_time = true,
            b"-nohardlinks" => self.hard_links = false,
            b"-nonrecursive" => self.recurse = false,
            b"-name" => self.pattern = Some(GlobPattern::Name(pattern(place, "-name", words)?)),
            b"-path" => self.pattern = Some(GlobPattern::Path(pattern(place, "-path", words)?)),
            _ => return Err(place.error(format!("glob option {}", quote(word)), OPTIONS)),
        }
        Ok(())
    }
}

impl TypeSet {
    fn add_or_refuse(&mut self, place: TextLine<'_>, words: &mut Words<'_>) -> Result<(), Error> {
        let word = words.require("type after '-type'")?;
        if self.add(&word) {
            return Ok(());
        }
        Err(place.error(format!("file type {}", quote(&word)), "one of b, c, d, f, l, p, s"))
    }
}

fn pattern(place: TextLine<'_>, option: &str, words: &mut Words<'_>) -> Result<Bytes, Error> {
    let missing = || place.error(format!("the line ends after '{option}'"), "a pattern");
    words.next_pattern()?.ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_file::{PackKind, PackLine, parse_pack_file};

    fn parse(options: &str) -> Result<PackLine, String> {
        let line = format!("glob /usr {options}");
        parse_pack_file("list", line.as_bytes()).map(|mut lines| lines.remove(0)).map_err(|error| error.to_string())
    }

    fn glob(options: &str) -> PackGlob {
        match parse(&format!("* * * {options}")).unwrap().kind {
            PackKind::Glob(glob) => glob,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn stars_use_the_attributes_of_the_host() {
        let line = parse("0644 * 7 lib").unwrap();
        assert_eq!((line.mode, line.uid, line.gid), (Some(0o644), None, Some(7)));
    }

    #[test]
    fn reads_options_in_any_order() {
        let found = glob("-xdev -type f -keeptime -type L -nohardlinks -nonrecursive -name \"*.so .*\" ./lib");
        assert!(found.one_file_system && found.keep_time && !found.hard_links && !found.recurse);
        assert_eq!(found.pattern, Some(GlobPattern::Name(b"*.so .*".into())));
        assert_eq!(found.location.as_deref(), Some(&b"./lib"[..]));
        assert!(found.types.contains(&Kind::File { size: 0 }) && found.types.contains(&Kind::Symlink(vec![])));
        assert!(!found.types.contains(&Kind::Dir) && !found.types.contains(&Kind::Fifo));
        assert_eq!(glob("-mount -path 'a b' x").pattern, Some(GlobPattern::Path(b"a b".into())));
        assert!(glob("-mount").one_file_system);
    }

    #[test]
    fn without_options_adds_all_entries() {
        assert_eq!(glob(""), PackGlob::default());
        assert_eq!(glob("-- -x").location.as_deref(), Some(&b"-x"[..]));
        assert_eq!(glob("--").location, None);
        for kind in [Kind::Dir, Kind::Fifo, Kind::Socket, Kind::File { size: 1 }] {
            assert!(TypeSet::ALL.contains(&kind));
        }
    }

    #[test]
    fn rejects_malformed_options() {
        for (options, part) in [
            ("-type", "ends before the type after '-type'"),
            ("-type x y", "file type 'x' (expected one of b, c, d, f, l, p, s)"),
            ("-type fd y", "file type 'fd'"),
            ("-name", "ends after '-name'"),
            ("-foo", "glob option '-foo' (expected -type,"),
            ("a b", "'b' after the last argument of 'glob'"),
        ] {
            let found = parse(&format!("* * * {options}")).unwrap_err();
            assert!(found.contains(part), "{options}: {found}");
        }
        assert!(parse("0888 0 0 x").unwrap_err().contains("mode '0888'"));
    }
}
