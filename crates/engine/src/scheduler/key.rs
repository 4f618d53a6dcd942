//! The order of jobs: by class, and within a class by their place in the output.

/// How urgent a job is. A job of an earlier class is run first, whatever the places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Its result is waited for: by a process that reads a mounted file, or by the caller of a pipeline on a shared pool.
    Now,
    /// Everything else.
    #[default]
    Normal,
}

impl Class {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Normal => "normal",
        }
    }
}

/// A virtual deadline: the class in the two highest bits, then the virtual time.
///
/// Virtual time is counted in items of a pipeline and never read from a clock. The hash job of an item has the item's time,
/// and so has every job that the item's decision submits; items are decided in order, so the jobs of a decided item
/// come before those of every undecided one, and the order of keys is the order of the output. Running the earliest
/// first also drains memory: it frees a block, where hashing a later one leads to a further block in memory.
///
/// Several pipelines on one pool share one time (start-time fair queueing): a pipeline's next item is one later than its
/// last, but never earlier than the item last begun on the pool. So pipelines with work take turns item by item, and one that
/// was idle gains no priority by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

const TIME_BITS: u32 = 62;

impl Key {
    /// Later than every job: the key of an empty queue.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The key of a job of `class` at `time`, below 2^62: far more items than a pipeline can ever have.
    pub(crate) fn new(class: Class, time: u64) -> Self {
        Self((class as u64) << TIME_BITS | (time & Self::time_mask()))
    }

    /// The same time in another class.
    pub(crate) fn with_class(self, class: Class) -> Self {
        Self::new(class, self.time())
    }

    pub(crate) fn class(self) -> Class {
        match self.0 >> TIME_BITS {
            0 => Class::Now,
            _ => Class::Normal,
        }
    }

    pub(crate) fn time(self) -> u64 {
        self.0 & Self::time_mask()
    }

    const fn time_mask() -> u64 {
        (1 << TIME_BITS) - 1
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_comes_before_time_and_both_come_back() {
        let classes = [Class::Now, Class::Normal];
        let keys: Vec<Key> =
            classes.iter().flat_map(|&class| [0, 7, 1 << 61].map(|time| Key::new(class, time))).collect();
        assert!(keys.is_sorted() && keys.iter().all(|&key| key < Key::NONE));
        assert!(
            keys.iter().all(|&key| Key::new(key.class(), key.time()) == key && Key::from_bits(key.to_bits()) == key)
        );
        assert_eq!(Key::new(Class::Normal, 9).with_class(Class::Now), Key::new(Class::Now, 9));
        assert_eq!(classes.map(Class::name), ["now", "normal"]);
    }
}
