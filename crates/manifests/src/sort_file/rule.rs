//! Parses a line of a sort file: priority, flags, path.

use packline_tree::text::{TextLine, is_blank, quote, trim_end, trim_start};
use packline_tree::{Bytes, Error};

use super::{FileFlags, Matching, SortRule, SortSettings};
use crate::pack_file::words::unquote;

/// Parses a line that is neither empty nor a comment.
pub(super) fn parse(place: TextLine<'_>, line: &[u8]) -> Result<SortRule, Error> {
    let (priority, rest) = priority(place, trim_end(line))?;
    let (flags, matching, rest) = flags(place, rest)?;
    let path = place.canonical(&path(place, rest)?)?;
    Ok(SortRule { line: place.line, settings: SortSettings { priority, flags }, path, matching })
}

fn priority<'a>(place: TextLine<'_>, line: &'a [u8]) -> Result<(i64, &'a [u8]), Error> {
    let end = line.iter().position(|&byte| is_blank(byte)).unwrap_or(line.len());
    let word = &line[..end];
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let text = std::str::from_utf8(word).ok().filter(|_| digits.first().is_some_and(u8::is_ascii_digit));
    let number = text.and_then(|text| text.parse().ok());
    let wrong = || place.error(format!("priority {}", quote(word)), "a whole number of 64 bits, then a path");
    Ok((number.ok_or_else(wrong)?, after_blanks(place, &line[end..], "priority")?))
}

/// Returns the text after the blanks that follow a part of the line.
fn after_blanks<'a>(place: TextLine<'_>, rest: &'a [u8], part: &str) -> Result<&'a [u8], Error> {
    let next = trim_start(rest);
    if next.is_empty() {
        return Err(place.error(format!("the line ends after the {part}"), "a path"));
    }
    if next.len() == rest.len() {
        return Err(place.error(format!("{} right after the {part}", quote(rest)), "a blank, then a path"));
    }
    Ok(next)
}

fn flags<'a>(place: TextLine<'_>, text: &'a [u8]) -> Result<(FileFlags, Matching, &'a [u8]), Error> {
    let mut flags = FileFlags::default();
    let mut matching = Matching::Literal;
    let Some(list) = text.strip_prefix(b"[") else { return Ok((flags, matching, text)) };
    let Some(end) = memchr::memchr(b']', list) else {
        return Err(place.error(format!("unclosed '[' in {}", quote(text)), "a list of flags in brackets"));
    };
    for word in list[..end].split(|&byte| byte == b',') {
        set_flag(place, trim_end(trim_start(word)), &mut flags, &mut matching)?;
    }
    Ok((flags, matching, after_blanks(place, &list[end + 1..], "list of flags")?))
}

const FLAGS: &str = "glob, glob_no_path, align, dont_fragment, dont_compress, dont_deduplicate or nosparse";

fn set_flag(place: TextLine<'_>, word: &[u8], flags: &mut FileFlags, matching: &mut Matching) -> Result<(), Error> {
    match word {
        b"" => {}
        b"glob" => *matching = Matching::Glob,
        b"glob_no_path" => *matching = Matching::GlobAcross,
        b"align" => flags.align = true,
        b"dont_fragment" => flags.no_fragment = true,
        b"dont_compress" => flags.no_compress = true,
        b"dont_deduplicate" => flags.no_deduplicate = true,
        b"nosparse" => flags.no_sparse = true,
        _ => return Err(place.error(format!("flag {}", quote(word)), FLAGS)),
    }
    Ok(())
}

fn path(place: TextLine<'_>, text: &[u8]) -> Result<Bytes, Error> {
    if text[0] != b'"' {
        return Ok(text.to_vec());
    }
    let (path, length) = unquote(place, text)?;
    if length < text.len() {
        return Err(place.error(format!("{} after the path", quote(&text[length..])), "the end of the line"));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SortFile;

    fn rules(text: &str) -> Vec<SortRule> {
        SortFile::parse("order", text.as_bytes()).unwrap().rules().to_vec()
    }

    #[test]
    fn reads_the_example_of_the_manual_page() {
        let found = rules(concat!(
            "# Specify a packing order with file globbing\n",
            "  -8000  [glob]          bin/*  \n",
            "-1000\t[glob_no_path]  share/*\n\n",
            "-100000  [dont_compress,dont_fragment,nosparse]  boot/vmlinuz\n",
            "1337  \"usr/share/my \\\"special\\\" file  \"\n",
            "5 [ align , dont_deduplicate ] a b\n",
            "9223372036854775807 [] /x\n-9223372036854775808 y",
        ));
        let lines: Vec<_> = found.iter().map(|rule| (rule.line, rule.settings.priority, rule.matching)).collect();
        use Matching::*;
        let expected = [
            (2, -8000, Glob),
            (3, -1000, GlobAcross),
            (5, -100_000, Literal),
            (6, 1337, Literal),
            (7, 5, Literal),
            (8, i64::MAX, Literal),
            (9, i64::MIN, Literal),
        ];
        assert_eq!(lines, expected);
        let paths: Vec<_> = found.iter().map(|rule| String::from_utf8_lossy(&rule.path).into_owned()).collect();
        assert_eq!(paths, ["bin/*", "share/*", "boot/vmlinuz", "usr/share/my \"special\" file  ", "a b", "x", "y"]);
        let boot = FileFlags { no_compress: true, no_fragment: true, no_sparse: true, ..FileFlags::default() };
        assert_eq!(found[2].settings.flags, boot);
        assert_eq!(found[4].settings.flags, FileFlags { align: true, no_deduplicate: true, ..FileFlags::default() });
    }

    #[test]
    fn rejects_malformed_lines() {
        for (text, part) in [
            ("\nfoo bar", "order: line 2: priority 'foo' (expected a whole number of 64 bits"),
            ("9223372036854775808 a", "priority '9223372036854775808'"),
            ("+1 a", "priority '+1'"),
            ("- a", "priority '-'"),
            ("5", "the line ends after the priority"),
            ("5 [glob]", "the line ends after the list of flags"),
            ("5 [glob]a", "'a' right after the list of flags"),
            ("5 [glob a", "unclosed '[' in '[glob a'"),
            ("5 [glob,fast] a", "flag 'fast' (expected glob, glob_no_path, align,"),
            ("5 \"a", "unclosed quote"),
            ("5 \"a\\t\"", "escape sequence '\\t'"),
            ("5 \"a\" b", "' b' after the path"),
            ("5 ../a", "contains '..'"),
        ] {
            let found = SortFile::parse("order", text.as_bytes()).unwrap_err().to_string();
            assert!(found.contains(part), "{text}: {found}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_rules_or_an_error(text: Vec<u8>) {
            let _ = SortFile::parse("order", &text);
        }
    }
}
