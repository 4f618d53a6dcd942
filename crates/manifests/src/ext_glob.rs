//! Patterns of fnmatch(3) with `FNM_EXTMATCH`: shell patterns, and `?(A|B)`, `*(A|B)`, `+(A|B)`, `@(A|B)`, `!(A|B)`.
//! [`ExtGlob::new`] adds `FNM_PERIOD`: only a period or `!(...)` matches a period at the start of a name. [`ExtGlob::of_path`] adds
//! `FNM_PATHNAME`: only a slash or `!(...)` matches a slash.
//!
//! Matching follows all alternatives at the same time, as sets of positions in the name, so that no pattern takes exponential time.

use packline_tree::{Glob, Slash};

#[derive(Debug, Clone)]
pub struct ExtGlob {
    parts: Vec<Part>,
    rule: Rule,
}

/// The characters that wildcards do not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    LeadingPeriod,
    Slash,
}

#[derive(Debug, Clone)]
enum Part {
    /// Any run of bytes.
    Run,
    /// A pattern of one byte: `x`, `\x`, `?`, `[a-z]`.
    One {
        glob: Glob,
        is_period: bool,
    },
    Group(Repeat, Vec<ExtGlob>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Optional,
    Any,
    Some,
    Once,
    Not,
}

/// The group at the start of a pattern.
struct Group<'p> {
    /// How often the alternatives may match.
    repeat: Repeat,
    alternatives: Vec<&'p [u8]>,
    /// The pattern after the group.
    rest: &'p [u8],
}

/// Whether each position of a name is reached, including the end.
type Reached = Vec<bool>;

impl ExtGlob {
    /// Compiles a pattern for a single name. Every byte string is a valid pattern.
    pub fn new(pattern: &[u8]) -> ExtGlob {
        ExtGlob::compile(pattern, Rule::LeadingPeriod)
    }

    /// Compiles a pattern for a path, or for a name that may begin with a period.
    pub fn of_path(pattern: &[u8]) -> ExtGlob {
        ExtGlob::compile(pattern, Rule::Slash)
    }

    fn compile(pattern: &[u8], rule: Rule) -> ExtGlob {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some(&first) = rest.first() {
            if let Some(group) = group(rest) {
                let inner = group.alternatives.into_iter().map(|one| ExtGlob::compile(one, rule)).collect();
                parts.push(Part::Group(group.repeat, inner));
                rest = group.rest;
            } else if first == b'*' {
                parts.push(Part::Run);
                rest = &rest[1..];
            } else {
                let (one, after) = rest.split_at(one_length(rest));
                let is_period = matches!(one, b"." | b"\\.");
                let slash = if rule == Rule::Slash { Slash::Separates } else { Slash::Plain };
                parts.push(Part::One { glob: Glob::new(one, slash), is_period });
                rest = after;
            }
        }
        ExtGlob { parts, rule }
    }

    /// Whether the complete name matches.
    pub fn matches(&self, name: &[u8]) -> bool {
        let mut start = vec![false; name.len() + 1];
        start[0] = true;
        self.run(name, start)[name.len()]
    }

    /// The ends of the matches that start at any of the positions.
    fn run(&self, name: &[u8], mut at: Reached) -> Reached {
        for part in &self.parts {
            at = match part {
                Part::Run => run_to_end(name, &at, self.rule),
                Part::One { glob, is_period } => one(name, &at, glob, *is_period || self.rule == Rule::Slash),
                Part::Group(repeat, inner) => repeated(*repeat, inner, name, &at),
            };
        }
        at
    }
}

/// Whether the name starts with a period that no wildcard matches.
fn is_hidden(name: &[u8], at: usize) -> bool {
    at == 0 && name.first() == Some(&b'.')
}

fn run_to_end(name: &[u8], at: &Reached, rule: Rule) -> Reached {
    let mut out = vec![false; at.len()];
    let mut running = false;
    for (place, reached) in at.iter().enumerate() {
        let ended = rule == Rule::Slash && place > 0 && name[place - 1] == b'/';
        running = running && !ended || *reached && (rule == Rule::Slash || !is_hidden(name, place));
        out[place] = running;
    }
    out
}

fn one(name: &[u8], at: &Reached, glob: &Glob, period: bool) -> Reached {
    let mut out = vec![false; at.len()];
    for place in (0..name.len()).filter(|place| at[*place]) {
        if (period || !is_hidden(name, place)) && glob.matches(&name[place..=place]) {
            out[place + 1] = true;
        }
    }
    out
}

fn repeated(repeat: Repeat, inner: &[ExtGlob], name: &[u8], at: &Reached) -> Reached {
    match repeat {
        Repeat::Once => any(inner, name, at.clone()),
        Repeat::Optional => union(at.clone(), &any(inner, name, at.clone())),
        Repeat::Any => closure(inner, name, at.clone()),
        Repeat::Some => closure(inner, name, any(inner, name, at.clone())),
        Repeat::Not => {
            let mut out = vec![false; at.len()];
            for place in (0..at.len()).filter(|place| at[*place]) {
                let mut start = vec![false; at.len()];
                start[place] = true;
                let matched = any(inner, name, start);
                (place..at.len()).filter(|end| !matched[*end]).for_each(|end| out[end] = true);
            }
            out
        }
    }
}

fn any(inner: &[ExtGlob], name: &[u8], at: Reached) -> Reached {
    let ends = inner.iter().map(|one| one.run(name, at.clone()));
    ends.reduce(|all, more| union(all, &more)).unwrap_or_else(|| vec![false; at.len()])
}

/// The positions that any number of repetitions reaches.
fn closure(inner: &[ExtGlob], name: &[u8], mut at: Reached) -> Reached {
    loop {
        let next = union(at.clone(), &any(inner, name, at.clone()));
        if next == at {
            return at;
        }
        at = next;
    }
}

fn union(mut one: Reached, other: &Reached) -> Reached {
    one.iter_mut().zip(other).for_each(|(one, other)| *one |= other);
    one
}

/// Parses the group at the start of the text, if there is one.
fn group(text: &[u8]) -> Option<Group<'_>> {
    let [operator, b'(', inner @ ..] = text else { return None };
    let repeat = repeat_of(*operator)?;
    let mut at = 0;
    let mut depth = 0u32;
    let mut start = 0;
    let mut alternatives = Vec::new();
    loop {
        match inner[at..] {
            [] => return None,
            [operator, b'(', ..] if repeat_of(operator).is_some() => {
                at += 2;
                depth += 1;
                continue;
            }
            [b')', ..] if depth > 0 => depth -= 1,
            [mark @ (b')' | b'|'), ..] if depth == 0 => {
                alternatives.push(&inner[start..at]);
                start = at + 1;
                if mark == b')' {
                    return Some(Group { repeat, alternatives, rest: &inner[start..] });
                }
            }
            _ => {}
        }
        at += one_length(&inner[at..]);
    }
}

fn repeat_of(operator: u8) -> Option<Repeat> {
    match operator {
        b'?' => Some(Repeat::Optional),
        b'*' => Some(Repeat::Any),
        b'+' => Some(Repeat::Some),
        b'@' => Some(Repeat::Once),
        b'!' => Some(Repeat::Not),
        _ => None,
    }
}

/// The length of the one-byte pattern at the start of the text.
fn one_length(text: &[u8]) -> usize {
    match text {
        [b'\\', _, ..] => 2,
        [b'[', inner @ ..] => bracket_end(inner).map_or(1, |end| end + 2),
        _ => 1,
    }
}

/// The position of the closing bracket of a set.
fn bracket_end(inner: &[u8]) -> Option<usize> {
    let mut at = usize::from(matches!(inner.first(), Some(b'!' | b'^')));
    at += usize::from(inner.get(at) == Some(&b']'));
    while let Some(&byte) = inner.get(at) {
        match (byte, inner.get(at + 1)) {
            (b']', _) => return Some(at),
            (b'[', Some(b':')) => match inner[at..].windows(2).position(|two| two == b":]") {
                Some(end) => at += end + 2,
                None => at += 1,
            },
            (b'\\', Some(_)) => at += 2,
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_fnmatch_matches_them() {
        for (pattern, matching, others) in [
            ("*.gz", &["a.gz", "a.b.gz"][..], &["a.gzip", ".gz", "gz"][..]),
            ("?.o", &["a.o"], &["ab.o", "..o"]),
            (".*", &[".x", "."], &["x"]),
            ("[.a]x", &["ax"], &[".x"]),
            ("\\*", &["*"], &["a"]),
            ("!(keep|k*)", &["", "other", ".x"], &["keep", "kx"]),
            ("!(*.c)", &["a.h"], &["a.c"]),
            ("@(a|b)c", &["ac", "bc"], &["c", "abc"]),
            ("+(ab|c)", &["ab", "abcab"], &["", "abd"]),
            ("*(a|b)x", &["x", "abbax"], &["cx"]),
            ("?(a)b", &["b", "ab"], &["aab"]),
            ("x@(a|b(c|d))", &["xa)", "xb(c)"], &["xa", "xb"]),
            ("x@(a|@(c|d)e)", &["xa", "xce", "xde"], &["xc", "xe"]),
            ("@(a", &["@(a"], &["a"]),
            ("[[:digit:]]*", &["1x"], &["x"]),
            ("[", &["["], &["x"]),
        ] {
            let glob = ExtGlob::new(pattern.as_bytes());
            for name in matching {
                assert!(glob.matches(name.as_bytes()), "{pattern} {name}");
            }
            for name in others {
                assert!(!glob.matches(name.as_bytes()), "{pattern} {name}");
            }
        }
    }

    #[test]
    fn paths_match_as_fnmatch_matches_them() {
        for (pattern, path, expected) in [
            ("/*.c", "/a.c", true),
            ("/*.c", "/d/a.c", false),
            ("/*/*.c", "/d/a.c", true),
            ("*", ".hidden", true),
            ("/d?a", "/d/a", false),
            ("/@(d|e)/*", "/e/.x", true),
            ("/*", "/", true),
            ("/**", "/a/b", false),
        ] {
            assert_eq!(ExtGlob::of_path(pattern.as_bytes()).matches(path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn nested_repeats_take_polynomial_time() {
        let glob = ExtGlob::new(b"*(*(*(a|aa)|a)|!(x))b");
        assert!(!glob.matches(&[b'a'; 255]));
    }
}
