//! Parameter lists: `key=value,flag,...`.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::set::{Choice, find, names};
use crate::CodecError;

#[derive(Clone, Copy)]
pub(crate) struct Item<'a> {
    codec: &'static str,
    pub(crate) key: &'a str,
    value: Option<&'a str>,
}

/// The items of a list; an empty list has none.
pub(crate) fn items<'a>(codec: &'static str, list: &'a str) -> impl Iterator<Item = Item<'a>> {
    let parts = list.split(',').filter(move |_| !list.is_empty());
    parts.map(move |part| match part.split_once('=') {
        Some((key, value)) => Item { codec, key, value: Some(value) },
        None => Item { codec, key: part, value: None },
    })
}

/// Rejects any parameter.
pub(crate) fn no_items(codec: &'static str, list: &str) -> Result<(), CodecError> {
    items(codec, list).next().map_or(Ok(()), |item| Err(item.unknown("no parameters")))
}

impl<'a> Item<'a> {
    /// Checks that the parameter has no value.
    pub(crate) fn flag(&self) -> Result<(), CodecError> {
        match self.value {
            None => Ok(()),
            Some(value) => Err(self.wrong(value, "no value, because it is a flag")),
        }
    }

    /// Returns the value, or an error if there is none.
    pub(crate) fn text(&self, expected: &str) -> Result<&'a str, CodecError> {
        self.value.ok_or_else(|| self.wrong("", format!("{}=VALUE, {expected}", self.key)))
    }

    pub(crate) fn number<T>(&self, range: RangeInclusive<T>) -> Result<T, CodecError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.number_of(range, &expected)
    }

    /// Returns a number in a range. `expected` describes the range in messages.
    pub(crate) fn number_of<T>(&self, range: RangeInclusive<T>, expected: &str) -> Result<T, CodecError>
    where
        T: FromStr + PartialOrd,
    {
        let text = self.text(expected)?;
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| self.wrong(text, expected))
    }

    pub(crate) fn choice<T: Choice>(&self) -> Result<T, CodecError> {
        let expected = format!("one of {}", names::<T>());
        let text = self.text(&expected)?;
        find(text).ok_or_else(|| self.wrong(text, expected))
    }

    pub(crate) fn unknown(&self, known: &'static str) -> CodecError {
        CodecError::UnknownParameter { codec: self.codec, found: self.key.to_owned(), known }
    }

    pub(crate) fn wrong(&self, found: &str, expected: impl Into<String>) -> CodecError {
        CodecError::Value {
            codec: self.codec,
            parameter: self.key.to_owned(),
            found: found.to_owned(),
            expected: expected.into(),
        }
    }
}

/// Collects the parameters that differ from their defaults, for printing.
#[derive(Default)]
pub(crate) struct ListWriter(Vec<String>);

impl ListWriter {
    /// Adds `key=value` if the value is not the default.
    pub(crate) fn value<T: Display + PartialEq>(&mut self, key: &str, value: T, default: T) {
        if value != default {
            self.0.push(format!("{key}={value}"));
        }
    }

    pub(crate) fn flag(&mut self, name: &str, set: bool) {
        if set {
            self.0.push(name.to_owned());
        }
    }

    pub(crate) fn list(self) -> String {
        self.0.join(",")
    }
}
