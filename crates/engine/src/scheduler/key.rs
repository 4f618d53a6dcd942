//! The order of jobs: by class, and within a class by their position in the output.

/// The urgency of a job. A job of an earlier class runs first, regardless of its position in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Something waits for the result: a process that reads a mounted file, or the caller of a pipeline on a shared pool.
    Now,
    /// All other jobs.
    #[default]
    Normal,
}

impl Class {
    /// The name in traces.
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
/// Virtual time counts items of a pipeline; it is never read from a clock. The hash job of an item and every job that the
/// item's decision submits have the item's time. Items are decided in order, so the jobs of a decided item come before the
/// jobs of every undecided item, and the order of keys is the order of the output. The earliest job is also the best for
/// memory: it frees a block, while hashing a later item adds a block to memory.
///
/// Several pipelines on one pool share one virtual time (start-time fair queueing): a pipeline's next item is one later than
/// its last item, but never earlier than the item last begun on the pool. Pipelines with work therefore take turns item by
/// item, and a pipeline that was idle gains no priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

const TIME_BITS: u32 = 62;

impl Key {
    /// Later than every job: the key of an empty queue.
    pub(crate) const NONE: Self = Self(u64::MAX);

    /// The key of a job of `class` at `time`. `time` is below 2^62, far more items than a pipeline can have.
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
    fn orders_by_class_then_time_and_returns_both() {
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
