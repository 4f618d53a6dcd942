//! What follows a command's name: operands, and options as `--key value`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

/// Operands in their order, options by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Words without dashes.
    pub operands: Vec<String>,
    options: BTreeMap<String, String>,
}

impl Arguments {
    /// Sorts words into operands and options. An error if an option has no value or stands there twice.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        let mut words = words;
        while let Some(word) = words.next() {
            let Some(key) = word.strip_prefix("--") else {
                arguments.operands.push(word);
                continue;
            };
            let value = words.next().ok_or_else(|| format!("--{key} needs a value"))?;
            if arguments.options.insert(key.to_owned(), value).is_some() {
                return Err(format!("--{key} is there twice"));
            }
        }
        Ok(arguments)
    }

    /// All options with their values, by name.
    pub fn options(&self) -> impl Iterator<Item = (&str, &str)> {
        self.options.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// An option's text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// An option as a path.
    pub fn path(&self, key: &str) -> Option<PathBuf> {
        self.text(key).map(PathBuf::from)
    }

    /// An option as a number, or a number if it is not there.
    pub fn number<T: FromStr>(&self, key: &str, otherwise: T) -> Result<T, String> {
        match self.text(key) {
            None => Ok(otherwise),
            Some(text) => text.parse().map_err(|_| format!("--{key} {text} is no number that fits")),
        }
    }

    /// An option as a list separated by commas, or another list if it is not there.
    pub fn list(&self, key: &str, otherwise: &[&str]) -> Vec<String> {
        match self.text(key) {
            None => otherwise.iter().map(ToString::to_string).collect(),
            Some(text) => text.split(',').map(str::to_owned).collect(),
        }
    }

    /// An error if there are options other than these.
    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.options.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("--{key} is not known here (expected one of {known:?})")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn operands_and_options() {
        let arguments = parse("pack --runs 5 more --codecs lz4,xz").unwrap();
        assert_eq!(arguments.operands, ["pack", "more"]);
        assert_eq!(arguments.number("runs", 3), Ok(5));
        assert_eq!(arguments.number("jobs", 2), Ok(2));
        assert_eq!(arguments.list("codecs", &["zstd"]), ["lz4", "xz"]);
        assert!(arguments.only(&["runs"]).is_err());
        assert!(arguments.only(&["runs", "codecs"]).is_ok());
    }

    #[test]
    fn wrong_usage() {
        assert!(parse("--runs").is_err());
        assert!(parse("--runs 1 --runs 2").is_err());
        assert!(parse("--runs x").unwrap().number("runs", 3).is_err());
    }
}
