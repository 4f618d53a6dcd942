//! Stopping a pipeline from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that stops every pipeline that holds it. Clones share the flag. Once set, the flag stays set.
///
/// A pipeline checks it at each call, and every 50 ms or sooner while it waits; it then returns
/// [`Fault::Cancelled`](crate::Fault::Cancelled). Jobs that already run are finished, and no other job is started.
#[derive(Clone, Debug, Default)]
pub struct CancelToken {
    flag: Arc<AtomicBool>,
}

impl CancelToken {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the token, from any thread, without locking or allocating.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::SeqCst);
    }

    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// The flag itself, for a signal handler, which cancels by storing `true`.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_and_flag_are_one() {
        let token = CancelToken::new();
        assert!(!token.is_cancelled());
        token.clone().cancel();
        assert!(token.is_cancelled());
        let other = CancelToken::new();
        other.flag().store(true, Ordering::SeqCst);
        assert!(other.is_cancelled());
    }
}
