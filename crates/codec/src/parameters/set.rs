//! Small sets of named choices, for codecs that try several ways and keep the smallest result.

use std::fmt;
use std::marker::PhantomData;

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
