//! Parameters of codecs: lists of `key=value`, and sets of named choices.

use std::fmt;
use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::str::FromStr;

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

/// A choice that can be one of a [`Set`].
pub trait Choice: Copy + PartialEq + 'static {
    /// All choices, in the order of trying and printing; at most 16.
    const ALL: &'static [Self];
    /// The name a user types.
    fn name(self) -> &'static str;
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Set<T> {
    bits: u16,
    of: PhantomData<T>,
}

impl<T: Choice> Set<T> {
    pub const EMPTY: Set<T> = Set { bits: 0, of: PhantomData };

    pub fn contains(self, choice: T) -> bool {
        self.bits & bit(choice) != 0
    }

    pub fn insert(&mut self, choice: T) {
        self.bits |= bit(choice);
    }

    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The members, in the order of [`Choice::ALL`].
    pub fn iter(self) -> impl Iterator<Item = T> {
        T::ALL.iter().copied().filter(move |choice| self.contains(*choice))
    }
}

impl<T: Choice> Default for Set<T> {
    fn default() -> Self {
        Set::EMPTY
    }
}

impl<T: Choice> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(choices: I) -> Self {
        let mut set = Set::EMPTY;
        choices.into_iter().for_each(|choice| set.insert(choice));
        set
    }
}

impl<T: Choice> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(T::name)).finish()
    }
}

pub(crate) fn find<T: Choice>(name: &str) -> Option<T> {
    T::ALL.iter().copied().find(|choice| choice.name() == name)
}

/// All names, separated by commas.
pub(crate) fn names<T: Choice>() -> String {
    let names: Vec<_> = T::ALL.iter().map(|choice| choice.name()).collect();
    names.join(", ")
}

fn bit<T: Choice>(choice: T) -> u16 {
    let index = T::ALL.iter().position(|other| *other == choice);
    index.map_or(0, |index| 1 << index)
}
