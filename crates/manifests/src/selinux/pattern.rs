//! Translates Perl's regular expressions in file_contexts files for the `regex` crate.
//!
//! Characters that are literal in Perl but special in the crate are escaped: in a class, these are `[`, `&`, `~` and a dash after a dash;
//! elsewhere, a `{` that does not start a count. A repeat of a repeat is rejected, because it is possessive in Perl but not in the crate. The
//! crate rejects syntax that it does not know.

use packline_tree::Bytes;
use regex::bytes::{Regex, RegexBuilder};

/// Memory limit in bytes of a compiled expression. It is the default of the crate, and far more than the expression of a path needs.
const COMPILED_MAX: usize = 10 << 20;
/// Maximum nesting of groups. It bounds the recursion of the crate's parser.
const NESTING_MAX: u32 = 100;
/// The named classes of Perl and the crate.
const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The expression for the crate, anchored at both ends.
    regex: String,
    /// The bytes with which every match starts.
    pub prefix: Bytes,
    /// Whether the expression matches only the prefix.
    pub is_literal: bool,
}

impl Pattern {
    /// Translates an expression of ASCII characters. The error names the rejected syntax.
    pub fn translate(perl: &str) -> Result<Pattern, &'static str> {
        let mut translator = Translator { rest: perl.as_bytes(), ..Translator::default() };
        translator.run()?;
        let Translator { regex, prefix, prefix_ends, .. } = translator;
        Ok(Pattern { regex: format!("^(?:{regex})$"), prefix, is_literal: !prefix_ends })
    }

    /// Checks whether the crate accepts the expression. This is cheaper than compiling it.
    pub fn check(&self) -> Result<(), String> {
        let mut parser = regex_syntax::ParserBuilder::new();
        let parser = parser.unicode(false).utf8(false).dot_matches_new_line(true).nest_limit(NESTING_MAX);
        parser.build().parse(&self.regex).map(drop).map_err(|error| one_line(&error))
    }

    pub fn compile(&self) -> Result<Regex, regex::Error> {
        let mut builder = RegexBuilder::new(&self.regex);
        let builder = builder.unicode(false).dot_matches_new_line(true).nest_limit(NESTING_MAX);
        builder.size_limit(COMPILED_MAX).build()
    }
}

/// The message of a syntax error without the marked-up pattern.
fn one_line(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => error.kind().to_string(),
        regex_syntax::Error::Translate(error) => error.kind().to_string(),
        other => other.to_string(),
    }
}

#[derive(Default)]
struct Translator<'a> {
    rest: &'a [u8],
    regex: String,
    prefix: Bytes,
    prefix_ends: bool,
    /// The number of signs of the previous repeat: one, or two if it is lazy. Another sign is rejected.
    repeats: u8,
    depth: u32,
}

impl Translator<'_> {
    fn run(&mut self) -> Result<(), &'static str> {
        while let Some((&byte, rest)) = self.rest.split_first() {
            self.rest = rest;
            self.byte(byte)?;
        }
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> Result<(), &'static str> {
        match byte {
            b'\\' => self.escape()?,
            b'[' => self.class()?,
            b'*' | b'?' | b'+' => self.repeat(byte)?,
            b'{' if starts_count(self.rest) => self.count()?,
            b'|' => self.alternative(),
            b'(' | b')' | b'.' | b'^' | b'$' => self.meta(byte),
            _ => self.literal(byte),
        }
        Ok(())
    }

    fn meta(&mut self, byte: u8) {
        match byte {
            b'(' => self.depth += 1,
            b')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.end_prefix();
        self.regex.push(byte as char);
        self.repeats = 0;
        // The question mark of `(?:` is not a repeat.
        if byte == b'(' {
            self.take_if(b'?');
        }
    }

    /// Handles an alternative outside all groups. A match need not start with the prefix found so far.
    fn alternative(&mut self) {
        if self.depth == 0 {
            self.prefix.clear();
        }
        self.end_prefix();
        self.regex.push('|');
        self.repeats = 0;
    }

    fn literal(&mut self, byte: u8) {
        if regex_syntax::is_meta_character(byte as char) {
            self.regex.push('\\');
        }
        self.regex.push(byte as char);
        self.repeats = 0;
        if !self.prefix_ends {
            self.prefix.push(byte);
        }
    }

    fn end_prefix(&mut self) {
        self.prefix_ends = true;
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let (&byte, rest) = self.rest.split_first().ok_or("a backslash at the end")?;
        self.rest = rest;
        if !byte.is_ascii_alphanumeric() {
            self.literal(byte);
            return Ok(());
        }
        self.end_prefix();
        self.repeats = 0;
        self.regex.push('\\');
        self.regex.push(byte as char);
        Ok(())
    }

    fn repeat(&mut self, byte: u8) -> Result<(), &'static str> {
        let lazy = byte == b'?' && self.repeats == 1;
        if self.repeats > 0 && !lazy {
            return Err("a repeat of a repeat");
        }
        self.end_prefix_at_repeat(byte == b'+');
        self.regex.push(byte as char);
        self.repeats += 1;
        Ok(())
    }

    /// Ends the prefix at a repeat. The item before the repeat leaves the prefix unless it occurs at least once.
    fn end_prefix_at_repeat(&mut self, once_at_least: bool) {
        if !self.prefix_ends && !once_at_least {
            self.prefix.pop();
        }
        self.end_prefix();
    }

    fn count(&mut self) -> Result<(), &'static str> {
        if self.repeats > 0 {
            return Err("a repeat of a repeat");
        }
        self.end_prefix_at_repeat(false);
        let end = self.rest.iter().position(|&byte| byte == b'}').map_or(self.rest.len(), |end| end + 1);
        self.regex.push('{');
        self.regex.extend(self.rest[..end].iter().map(|&byte| byte as char));
        self.rest = &self.rest[end..];
        self.repeats = 1;
        Ok(())
    }

    fn class(&mut self) -> Result<(), &'static str> {
        self.end_prefix();
        self.repeats = 0;
        self.regex.push('[');
        self.take_if(b'^');
        // A bracket in the first position is literal.
        if self.take_if(b']') {
            self.regex.insert(self.regex.len() - 1, '\\');
        }
        loop {
            let (&byte, rest) = self.rest.split_first().ok_or("unclosed '[' in a class")?;
            self.rest = rest;
            match byte {
                b']' => break,
                b'[' if rest.first() == Some(&b':') => self.named_class()?,
                b'\\' => self.escape_in_class()?,
                b'[' | b'&' | b'~' => self.regex.extend(['\\', byte as char]),
                b'-' if self.regex.ends_with('-') => self.regex.push_str("\\-"),
                _ => self.regex.push(byte as char),
            }
        }
        self.regex.push(']');
        Ok(())
    }

    fn take_if(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
            self.regex.push(byte as char);
        }
        found
    }

    /// Handles `[:alpha:]` in a class. The crate would read an unknown name as a class of its letters.
    fn named_class(&mut self) -> Result<(), &'static str> {
        let end = self.rest.windows(2).position(|pair| pair == b":]").ok_or("no ':]' ends a named class")?;
        let name = self.rest[1..end.max(1)].strip_prefix(b"^").unwrap_or(&self.rest[1..end.max(1)]);
        if !CLASSES.iter().any(|known| known.as_bytes() == name) {
            return Err("an unknown named class");
        }
        self.regex.push('[');
        self.regex.extend(self.rest[..end + 2].iter().map(|&byte| byte as char));
        self.rest = &self.rest[end + 2..];
        Ok(())
    }

    fn escape_in_class(&mut self) -> Result<(), &'static str> {
        let (&byte, rest) = self.rest.split_first().ok_or("a backslash at the end")?;
        self.rest = rest;
        if byte.is_ascii_alphanumeric() || regex_syntax::is_escapeable_character(byte as char) {
            self.regex.push('\\');
        }
        self.regex.push(byte as char);
        Ok(())
    }
}

/// Whether Perl reads a `{` before this text as a count: `{2}`, `{2,}`, `{2,3}`.
fn starts_count(rest: &[u8]) -> bool {
    let Some(end) = rest.iter().position(|&byte| byte == b'}') else { return false };
    let mut numbers = rest[..end].splitn(2, |&byte| byte == b',');
    let first = numbers.next().unwrap_or_default();
    let digits = |number: &[u8]| number.iter().all(u8::is_ascii_digit);
    !first.is_empty() && digits(first) && numbers.next().is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(perl: &str, path: &str) -> bool {
        Pattern::translate(perl).unwrap().compile().unwrap().is_match(path.as_bytes())
    }

    #[test]
    fn every_match_starts_with_the_prefix() {
        for (perl, prefix, literal) in [
            ("/usr/bin", "/usr/bin", true),
            (r"/usr/lib\.so\-1", "/usr/lib.so-1", true),
            ("/usr/.*", "/usr/", false),
            ("/usr/abc?", "/usr/ab", false),
            ("/usr/abc*", "/usr/ab", false),
            ("/usr/abc+", "/usr/abc", false),
            ("/usr/abc{2}", "/usr/ab", false),
            ("/usr{x}", "/usr{x}", true),
            ("/usr(/.*)?", "/usr", false),
            ("/a|/b", "", false),
            ("/a(x|y)", "/a", false),
            (r"/a\d", "/a", false),
            ("", "", true),
        ] {
            let found = Pattern::translate(perl).unwrap();
            assert_eq!((found.prefix, found.is_literal), (prefix.into(), literal), "{perl}");
        }
    }

    #[test]
    fn keeps_the_meaning_of_perl() {
        for (perl, path, expected) in [
            ("/a.*", "/a\nb", true),
            ("/a", "/ab", false),
            ("/a|/b", "/bc", false),
            (r"/a\_b\<c\/", "/a_b<c/", true),
            ("/[^/]*", "/a/b", false),
            ("/[]x]+", "/]x", true),
            ("/[^]x]+", "/]x", false),
            ("/[a[b&&]+", "/a[&", true),
            ("/[[:digit:]_-]+", "/1-_", true),
            (r"/[\.\-\d]+", "/.-7", true),
            ("/x{2,3}", "/xxx", true),
            ("/x{,3}", "/x{,3}", true),
            ("/(?:a|b)c", "/bc", true),
            ("/a*?b", "/aab", true),
            ("/[[:^digit:]]", "/a", true),
        ] {
            assert_eq!(matches(perl, path), expected, "{perl} on {path:?}");
        }
        assert!(Pattern::translate("/a.").unwrap().compile().unwrap().is_match(b"/a\xff"));
    }

    #[test]
    fn rejects_syntax_that_only_perl_has() {
        for perl in
            ["/a++b", "/a**", "/a{2}+", "/a*?+", "/a+??", "/a???", "/a{2}??", r"/a\", "/[a", "/[[:alpha]", "/[[:foo:]]"]
        {
            assert!(Pattern::translate(perl).is_err(), "{perl}");
        }
        for perl in ["/(?=a)", "/(?<!a)b", r"/(a)\1", r"/\Qa\E", "/(a", "/a)", "*a", "/[b-a]"] {
            assert!(Pattern::translate(perl).unwrap().check().is_err(), "{perl}");
        }
        let deep = "(".repeat(10_000) + &")".repeat(10_000);
        assert!(Pattern::translate(&deep).unwrap().check().is_err());
    }

    proptest::proptest! {
        #[test]
        fn a_match_starts_with_the_prefix(perl in "/[a-c.*+?|()/]{0,8}", path in "/[a-c/]{0,6}") {
            let Ok(pattern) = Pattern::translate(&perl) else { return Ok(()) };
            let Ok(regex) = pattern.compile() else { return Ok(()) };
            if regex.is_match(path.as_bytes()) {
                proptest::prop_assert!(path.as_bytes().starts_with(&pattern.prefix));
                proptest::prop_assert!(!pattern.is_literal || path.as_bytes() == pattern.prefix);
            }
        }

        #[test]
        fn any_ascii_is_translated_or_refused(perl in "[ -~]{0,40}") {
            if let Ok(pattern) = Pattern::translate(&perl) {
                proptest::prop_assert_eq!(pattern.check().is_ok(), pattern.compile().is_ok());
            }
        }
    }
}
