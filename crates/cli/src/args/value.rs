//! Parsers of option values. Each states its range, which the help shows after the description.

use std::ffi::OsStr;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};
use packline_runtime::escape;
use packline_squashfs::BlockSize;

use crate::ui::size::{parse_number, parse_size, show_size};

type Parse<T> = dyn Fn(&OsStr) -> Result<T, String> + Send + Sync;

/// A parser of one value.
#[derive(Clone)]
pub struct Value<T> {
    parse: Arc<Parse<T>>,
    /// The range, for the help.
    range: Option<String>,
}

impl<T: 'static> Value<T> {
    /// Returns a parser that passes its value to `next`.
    pub fn and_then<U>(self, next: impl Fn(T) -> Result<U, String> + Send + Sync + 'static) -> Value<U> {
        let parse = self.parse;
        Value { parse: Arc::new(move |text| parse(text).and_then(&next)), range: self.range }
    }
}

/// Parses a number of bytes within a range, with an optional suffix K, M, G or T (powers of 1024).
pub fn size(range: RangeInclusive<u64>) -> Value<u64> {
    let shown = shown(*range.start(), (*range.end() != u64::MAX).then(|| show_size(*range.end())), show_size);
    let check = move |text: &OsStr| {
        let bytes = parse_size(text)?;
        if range.contains(&bytes) {
            return Ok(bytes);
        }
        let typed = text.to_string_lossy();
        let least = show_size(*range.start());
        let most = show_size(*range.end());
        Err(format!("{typed} is out of range (expected {least} to {most})"))
    };
    Value { parse: Arc::new(check), range: shown }
}

/// Parses the block size of an image.
pub fn block_size() -> Value<BlockSize> {
    size(BlockSize::RANGE)
        .and_then(|bytes| BlockSize::new(bytes).map_err(|_| format!("{} is not a power of two", show_size(bytes))))
}

/// Parses a whole number within a range.
pub fn number<N>(range: RangeInclusive<i64>) -> Value<N>
where
    N: TryFrom<i64> + Clone + Send + Sync + 'static,
{
    let most = match *range.end() {
        i64::MAX => None,
        most if most == i64::from(u32::MAX) => Some("2^32-1".to_string()),
        most => Some(most.to_string()),
    };
    let shown = shown(*range.start(), most, |least| least.to_string()).filter(|_| *range.start() != i64::MIN);
    let check = move |text: &OsStr| {
        let number = parse_number(text)?;
        let typed = N::try_from(number).ok().filter(|_| range.contains(&number));
        typed.ok_or_else(|| format!("{number} is out of range (expected {} to {})", range.start(), range.end()))
    };
    Value { parse: Arc::new(check), range: shown }
}

fn shown<N: Default + PartialEq>(least: N, most: Option<String>, show: impl Fn(N) -> String) -> Option<String> {
    match most {
        Some(most) => Some(format!("{} to {most}", show(least))),
        None if least == N::default() => None,
        None => Some(format!("at least {}", show(least))),
    }
}

/// Parses text with a function.
pub fn text<T: 'static, E: fmt::Display>(parse: impl Fn(&str) -> Result<T, E> + Send + Sync + 'static) -> Value<T> {
    let check = move |text: &OsStr| {
        let text = text.to_str().ok_or("the value is not UTF-8")?;
        parse(text).map_err(|error| error.to_string())
    };
    Value { parse: Arc::new(check), range: None }
}

/// A comma-separated list in one value. clap takes a `Vec` for several values.
#[derive(Debug, Clone)]
pub struct List<T>(pub Vec<T>);

/// Parses text with a function that returns a list.
pub fn list<T: 'static>(parse: fn(&str) -> Result<Vec<T>, String>) -> Value<List<T>> {
    text(move |text| parse(text).map(List))
}

/// Parses one of these words.
pub fn one_of<T, const N: usize>(words: [(&'static str, T); N]) -> impl TypedValueParser<Value = T>
where
    T: Clone + Send + Sync + 'static,
{
    let names = words.each_ref().map(|(name, _)| *name);
    PossibleValuesParser::new(names).try_map(move |word| {
        let found = words.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| value.clone()).ok_or("unknown word")
    })
}

/// Text, unless it requests help: then the help is printed instead of running the command.
#[derive(Clone)]
pub struct TextOrHelp {
    help: fn(&str) -> Option<Result<String, String>>,
    /// The words with which the text can begin, for help and completions.
    words: fn() -> Vec<String>,
}

impl TextOrHelp {
    pub fn words(self, words: fn() -> Vec<String>) -> TextOrHelp {
        TextOrHelp { words, ..self }
    }
}

/// Parses text, unless `help` answers it (`CODEC:help`).
pub fn text_or_help(help: fn(&str) -> Option<Result<String, String>>) -> TextOrHelp {
    TextOrHelp { help, words: Vec::new }
}

/// Returns the answer to `--codec help`.
pub fn codecs_help<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    format!("Codecs: {}\nCODEC:help explains one, such as zstd:help.\n", names.join(", "))
}

impl TypedValueParser for TextOrHelp {
    type Value = String;

    fn parse_ref(&self, _: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        let text = value.to_str().ok_or_else(|| invalid(argument, "the value is not UTF-8"))?;
        match (self.help)(text) {
            Some(Ok(help)) => Err(Error::raw(ErrorKind::DisplayHelp, help)),
            Some(Err(error)) => Err(invalid(argument, &error)),
            None => Ok(text.to_string()),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some((self.words)())
            .filter(|words| !words.is_empty())
            .map(|words| Box::new(words.into_iter().map(PossibleValue::new)) as _)
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Value<T> {
    type Value = T;

    fn parse_ref(&self, _: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        (self.parse)(value).map_err(|what| invalid(argument, &what))
    }

    /// Returns the range, hidden from completions and from clap's own help; [`range_of`] reads it.
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let range = self.range.as_ref()?;
        Some(Box::new(std::iter::once(PossibleValue::new(range.clone()).hide(true))))
    }
}

/// Returns the range or the choices of an option, for the help.
pub fn range_of(argument: &Arg) -> Option<String> {
    if argument.is_hide_possible_values_set() {
        return None;
    }
    let names: Vec<String> = argument.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    let shown = argument.get_action().takes_values() && !names.is_empty();
    shown.then(|| names.join(", "))
}

fn invalid(argument: Option<&Arg>, what: &str) -> Error {
    let name = argument.map_or_else(String::new, |argument| match (argument.get_long(), argument.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => argument.get_id().to_string(),
    });
    Error::raw(ErrorKind::ValueValidation, format!("{name}: {}", escape::line(what)))
}
