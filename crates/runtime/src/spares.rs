//! Buffers, decoders and other tools that are reused because they are costly to make.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Tools that no thread uses at the moment. The tool that was returned last is taken first: it may still be in a processor's cache.
#[derive(Debug)]
pub struct Spares<T> {
    most: usize,
    free: Mutex<Vec<T>>,
}

impl<T> Spares<T> {
    /// Keeps at most so many.
    pub fn up_to(most: usize) -> Spares<T> {
        Spares { most, free: Mutex::new(Vec::new()) }
    }

    /// The tool returned last, if there is one.
    pub fn take(&self) -> Option<T> {
        self.lock().pop()
    }

    /// Keeps a tool, or drops it if there are enough.
    pub fn give(&self, spare: T) {
        let mut free = self.lock();
        if free.len() < self.most {
            free.push(spare);
        }
    }

    /// A panic elsewhere leaves the list consistent.
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Spares<T> {
    /// Keeps all.
    fn default() -> Spares<T> {
        Spares::up_to(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Spares;

    #[test]
    fn the_last_returned_is_taken_first_and_no_more_are_kept_than_the_limit() {
        let spares = Spares::up_to(2);
        (1..=3).for_each(|number| spares.give(number));
        assert_eq!([spares.take(), spares.take(), spares.take()], [Some(2), Some(1), None]);
    }
}
