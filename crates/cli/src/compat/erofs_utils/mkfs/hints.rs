//! `--compress-hints` and `--dsunit`: how single files are stored.

use std::fs;
use std::path::Path;

use packline::requests::Hints;
use packline_erofs::{Align, FileHints, Override};
use regex::bytes::Regex;

use super::compression::BLOCK;
use super::options::FormatOptions;
use crate::compat::squashfs_tools::posix_regex;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

/// Which files are compressed.
#[derive(Debug, Default)]
struct CompressHints(Vec<CompressHint>);

#[derive(Debug)]
struct CompressHint {
    paths: Regex,
    compresses: bool,
}

impl FormatOptions {
    /// Returns how single files are stored, if an option says so.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a file of hints that cannot be read or is malformed.
    pub fn hints(&self) -> Result<Option<Hints>, Failure> {
        let hints = self.compress_hints.as_deref().map(CompressHints::open).transpose()?;
        if hints.is_none() && self.dsunit <= 1 {
            return Ok(None);
        }
        let align = if self.dsunit > 1 { Align::Bytes(self.dsunit * BLOCK as u32) } else { Align::Any };
        Ok(Some(Box::new(move |entry| {
            let is_stored = hints.as_ref().is_some_and(|hints| !hints.compress(&entry.path));
            let compress = if is_stored { Override::Off } else { Override::None };
            FileHints { compress, align, ..FileHints::default() }
        })))
    }
}

impl CompressHints {
    fn open(path: &Path) -> Result<CompressHints, Failure> {
        let name = path.escaped();
        let text = fs::read(path).map_err(|cause| Failure::failed(format!("{name}: cannot read: {cause}")))?;
        CompressHints::parse(&text).map_err(|fault| Failure::failed(format!("{name}: {fault}")))
    }

    fn parse(text: &[u8]) -> Result<CompressHints, String> {
        let mut hints = CompressHints::default();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let hint = CompressHint::parse(line);
            hints.0.push(hint.map_err(|fault| format!("line {}: '{}': {fault}", index + 1, line.escaped()))?);
        }
        Ok(hints)
    }

    fn compress(&self, path: &[u8]) -> bool {
        self.0.iter().find(|hint| hint.paths.is_match(path)).is_none_or(|hint| hint.compresses)
    }
}

impl CompressHint {
    fn parse(line: &[u8]) -> Result<CompressHint, String> {
        let (size, rest) = first_word(line);
        let (second, rest) = first_word(rest);
        if second.is_empty() {
            return Err("no pattern (expected BYTES [NUMBER] REGEX)".into());
        }
        let size = number(size).filter(|size| size.is_multiple_of(BLOCK));
        let size = size.ok_or("invalid physical clustersize (expected 0 or a multiple of 4096)")?;
        let expression = match rest.trim_ascii() {
            b"" => second,
            rest if number(second) == Some(0) => rest,
            _ => return Err("several algorithms are not supported yet (expected algorithm 0)".into()),
        };
        let paths = posix_regex::compile(expression)?;
        Ok(CompressHint { paths, compresses: size > 0 })
    }
}

/// Returns the first word, and what follows it.
fn first_word(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.trim_ascii_start();
    line.split_at(line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len()))
}

fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_counts() {
        let hints = CompressHints::parse(b"# comment\n\n0 \\.(so|ko)$\n65536 0 ^bin/\n4096\tx\n").unwrap();
        let found = ["lib/a.so", "bin/b", "bin/b.so", "etc/c", "x.ko"].map(|path| hints.compress(path.as_bytes()));
        assert_eq!(found, [false, true, false, true, false]);
    }

    #[test]
    fn names_the_malformed_line() {
        for (text, expected) in [
            ("0 a\n4096", "line 2: '4096': no pattern"),
            ("5000 a", "line 1: '5000 a': invalid physical clustersize"),
            ("x a", "invalid physical clustersize"),
            ("4096 1 a", "several algorithms"),
            ("0 (", "line 1: '0 (': "),
        ] {
            let fault = CompressHints::parse(text.as_bytes()).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
