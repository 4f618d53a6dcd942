//! Shell patterns over bytes, as in POSIX fnmatch(3) in the C locale, matched without recursion.
//!
//! `*` matches any run of bytes and `?` any byte. `[a-z]` matches a byte of a set, and `[!a-z]` or `[^a-z]` a byte outside it; in
//! a set, `]` at the start and `-` at the start or end are literal, and there are classes like `[:digit:]`. `\x` matches the byte
//! `x`. A `[` without its `]` is literal. A pattern that ends in a single backslash matches nothing. Not supported: `[.x.]` and
//! `[=x=]`.
//!
//! Cost: at most the length of the pattern times the length of the text. Only the last `*` is tried again, with one more byte,
//! because it can match everything that an earlier `*` could. If `*` does not match `/`, each `/` of the pattern matches one `/`
//! of the text, so stars before a `/` do not affect the rest.

mod set;

pub(crate) use set::{Set, unknown_class};

/// How `*`, `?` and sets treat a `/` in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    /// They match `/` like any other byte (fnmatch without flags).
    Plain,
    /// Only a `/` in the pattern matches a `/` in the text (`FNM_PATHNAME`).
    Separates,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    tokens: Vec<Token>,
    slash: Slash,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    One,
    Run,
    Set(Box<Set>),
    Never,
}

impl Glob {
    /// Compiles a pattern. Every byte string is valid.
    pub fn new(pattern: &[u8], slash: Slash) -> Self {
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some((&byte, after)) = rest.split_first() {
            let (token, after) = token(byte, after);
            rest = after;
            if token != Token::Run || tokens.last() != Some(&Token::Run) {
                tokens.push(token);
            }
        }
        Self { tokens, slash }
    }

    /// Whether the complete text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        let mut token = 0;
        let mut at = 0;
        // State after the last star: the next token, and the position in the text that was tried last.
        let mut star: Option<(usize, usize)> = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Run) => {
                    token += 1;
                    star = Some((token, at));
                    continue;
                }
                Some(one) if at < text.len() && self.takes(one, text[at]) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            match star {
                Some((behind, tried)) if tried < text.len() && self.takes(&Token::One, text[tried]) => {
                    token = behind;
                    at = tried + 1;
                    star = Some((behind, at));
                }
                _ => return false,
            }
        }
    }

    fn takes(&self, token: &Token, byte: u8) -> bool {
        let special = self.slash == Slash::Plain || byte != b'/';
        match token {
            Token::Byte(wanted) => *wanted == byte,
            Token::One => special,
            Token::Set(set) => special && set.contains(byte),
            Token::Run | Token::Never => false,
        }
    }
}

/// The token that starts with `byte`, and the rest of the pattern.
fn token(byte: u8, after: &[u8]) -> (Token, &[u8]) {
    match (byte, after) {
        (b'*', _) => (Token::Run, after),
        (b'?', _) => (Token::One, after),
        (b'\\', [escaped, after @ ..]) => (Token::Byte(*escaped), after),
        (b'\\', []) => (Token::Never, after),
        (b'[', _) => match Set::read(after) {
            Some((set, after)) => (Token::Set(Box::new(set)), after),
            None => (Token::Byte(b'['), after),
        },
        _ => (Token::Byte(byte), after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pattern, text, and the results of fnmatch in glibc 2.35 without flags and with `FNM_PATHNAME`.
    const KNOWN: &[(&[u8], &[u8], bool, bool)] = &[
        (b"", b"", true, true),
        (b"", b"a", false, false),
        (b"*", b"", true, true),
        (b"*", b"a/b", true, false),
        (b"**", b"x", true, true),
        (b"*", b".x", true, true),
        (b"?", b"/", true, false),
        (b"?*?", b"a", false, false),
        (b"a*b*c", b"axxbyybc", true, true),
        (b"a*", b"a/", true, false),
        (b"*/b", b"a/b", true, true),
        (b"*/b", b"/b", true, true),
        (b"a/*", b"a/.x", true, true),
        (b"\\*", b"*", true, true),
        (b"\\*", b"a", false, false),
        (b"a\\/b", b"a/b", true, true),
        (b"a\\", b"a\\", false, false),
        (b"a\\", b"a", false, false),
        (b"[", b"[", true, true),
        (b"[a", b"[a", true, true),
        (b"[a", b"a", false, false),
        (b"x[", b"x[", true, true),
        (b"[]", b"[]", true, true),
        (b"[!]", b"[!]", true, true),
        (b"[[]", b"[", true, true),
        (b"[]a]", b"]", true, true),
        (b"[]a]", b"a", true, true),
        (b"[a]]", b"a]", true, true),
        (b"[!]a]", b"b", true, true),
        (b"[!]a]", b"]", false, false),
        (b"[^a]", b"b", true, true),
        (b"[^a]", b"a", false, false),
        (b"[a-c]", b"b", true, true),
        (b"[c-a]", b"b", false, false),
        (b"[a-]", b"-", true, true),
        (b"[-a]", b"-", true, true),
        (b"[--0]", b".", true, true),
        (b"[a-c-e]", b"d", false, false),
        (b"[a-c-e]", b"-", true, true),
        (b"[\\]]", b"]", true, true),
        (b"[\\a-c]", b"b", true, true),
        (b"[\xe0-\xff]", b"\xe9", true, true),
        (b"[/]", b"/", true, false),
        (b"a[/]b", b"a/b", true, false),
        (b"a[!x]b", b"a/b", true, false),
        (b"[[:digit:]]", b"5", true, true),
        (b"[[:digit:]x]", b"x", true, true),
        (b"[[:nope:]]", b":", false, false),
        (b"*.[ch]", b"x.c", true, true),
        (b"[.]x", b".x", true, true),
    ];

    #[test]
    fn answers_as_the_c_library_does() {
        for &(pattern, text, plain, separates) in KNOWN {
            let texts = (String::from_utf8_lossy(pattern), String::from_utf8_lossy(text));
            assert_eq!(Glob::new(pattern, Slash::Plain).matches(text), plain, "{texts:?}");
            assert_eq!(Glob::new(pattern, Slash::Separates).matches(text), separates, "{texts:?} with separators");
        }
    }

    #[test]
    fn many_stars_stay_cheap() {
        let pattern = b"a*".repeat(2_000);
        let mut text = vec![b'a'; 20_000];
        assert!(Glob::new(&pattern, Slash::Plain).matches(&text));
        let pattern = [&pattern[..], b"b"].concat();
        assert!(!Glob::new(&pattern, Slash::Plain).matches(&text));
        text.push(b'b');
        assert!(Glob::new(&pattern, Slash::Plain).matches(&text));
    }

    /// Matches by the definition, by trying all possibilities.
    fn naive(pattern: &[u8], text: &[u8], slash: Slash) -> bool {
        let special = |byte: u8| slash == Slash::Plain || byte != b'/';
        match (pattern.split_first(), text.split_first()) {
            (None, first) => first.is_none(),
            (Some((b'*', after)), Some((&byte, rest))) => {
                naive(after, text, slash) || special(byte) && naive(pattern, rest, slash)
            }
            (Some((b'*', after)), None) => naive(after, text, slash),
            (Some((b'?', after)), Some((&byte, rest))) => special(byte) && naive(after, rest, slash),
            (Some((wanted, after)), Some((byte, rest))) => wanted == byte && naive(after, rest, slash),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn equals_brute_force(pattern in "[ab/*?]{0,9}", text in "[ab/]{0,9}") {
            for slash in [Slash::Plain, Slash::Separates] {
                let fast = Glob::new(pattern.as_bytes(), slash).matches(text.as_bytes());
                prop_assert_eq!(fast, naive(pattern.as_bytes(), text.as_bytes(), slash));
            }
        }

        #[test]
        fn any_bytes_are_a_pattern(pattern: Vec<u8>, text: Vec<u8>) {
            Glob::new(&pattern, Slash::Plain).matches(&text);
        }

        #[test]
        fn escaped_text_matches_itself_only(text: Vec<u8>, other: Vec<u8>) {
            let pattern: Vec<u8> = text.iter().flat_map(|&byte| [b'\\', byte]).collect();
            let glob = Glob::new(&pattern, Slash::Separates);
            prop_assert!(glob.matches(&text));
            prop_assert_eq!(glob.matches(&other), other == text);
        }
    }
}
