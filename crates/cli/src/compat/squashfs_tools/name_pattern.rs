//! Patterns for one component of a path, in the three languages of squashfs-tools, and for names of extended attributes.

use packline_manifests::ExtGlob;
use regex::bytes::Regex;

use super::posix_regex;

/// The language of pathnames on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Literal names.
    Exact,
    /// fnmatch(3) with the patterns of ksh: a leading period is matched by a period only.
    Wildcards,
    /// POSIX extended regular expressions, found anywhere in a name.
    Regex,
}

impl Language {
    /// Returns the language for `-no-wildcards` and `-regex`.
    pub fn of(exact: bool, regex: bool) -> Language {
        match (exact, regex) {
            (true, _) => Language::Exact,
            (_, true) => Language::Regex,
            _ => Language::Wildcards,
        }
    }
}

#[derive(Debug, Clone)]
pub enum NamePattern {
    Exact(Vec<u8>),
    Wildcards(ExtGlob),
    Regex(Regex),
}

impl NamePattern {
    pub fn new(text: &[u8], language: Language) -> Result<NamePattern, String> {
        Ok(match language {
            Language::Exact => NamePattern::Exact(text.to_vec()),
            Language::Wildcards => NamePattern::Wildcards(ExtGlob::new(text)),
            Language::Regex => NamePattern::Regex(posix_regex::compile(text)?),
        })
    }

    pub fn matches(&self, name: &[u8]) -> bool {
        match self {
            NamePattern::Exact(text) => text == name,
            NamePattern::Wildcards(glob) => glob.matches(name),
            NamePattern::Regex(regex) => regex.is_match(name),
        }
    }
}

/// Expressions for complete names, such as `user.comment`.
#[derive(Debug, Clone, Default)]
pub struct XattrFilter {
    /// The names that are kept; all if there is no expression.
    pub include: Option<Regex>,
    /// The names that are dropped, even if they are included.
    pub exclude: Option<Regex>,
}

impl XattrFilter {
    pub fn keeps(&self, name: &[u8]) -> bool {
        self.exclude.as_ref().is_none_or(|exclude| !exclude.is_match(name))
            && self.include.as_ref().is_none_or(|include| include.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_by_rules_of_each_language() {
        let matches = |pattern: &str, language, name: &str| {
            NamePattern::new(pattern.as_bytes(), language).unwrap().matches(name.as_bytes())
        };
        assert!(matches("a*", Language::Exact, "a*") && !matches("a*", Language::Exact, "ab"));
        assert!(matches("a*", Language::Wildcards, "ab") && !matches("*", Language::Wildcards, ".ab"));
        assert!(matches(".*", Language::Wildcards, ".ab") && !matches("[.]*", Language::Wildcards, ".ab"));
        assert!(matches("b", Language::Regex, "abc") && !matches("^b", Language::Regex, "abc"));
        assert!(NamePattern::new(b"(", Language::Regex).is_err());
    }
}
