//! Handles of the kernel's open files and directories. A file or directory is shared with the requests that use it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Open files or directories by handle.
pub(super) struct Handles<T> {
    state: Mutex<State<T>>,
}

struct State<T> {
    things: Vec<Option<Arc<T>>>,
    free: Vec<usize>,
}

impl<T> Handles<T> {
    pub(super) fn new() -> Handles<T> {
        Handles { state: Mutex::new(State { things: Vec::new(), free: Vec::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens; the number can be reused after the handle is closed.
    pub(super) fn open(&self, thing: T) -> u64 {
        let mut state = self.lock();
        let thing = Some(Arc::new(thing));
        if let Some(number) = state.free.pop() {
            state.things[number] = thing;
            return number as u64;
        }
        state.things.push(thing);
        state.things.len() as u64 - 1
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<T>> {
        self.lock().things.get(usize::try_from(number).ok()?)?.clone()
    }

    pub(super) fn close(&self, number: u64) {
        let mut state = self.lock();
        let Ok(number) = usize::try_from(number) else { return };
        let closed = state.things.get_mut(number).and_then(Option::take);
        if closed.is_some() {
            state.free.push(number);
        }
        drop(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_and_what_is_in_use_stays() {
        let handles = Handles::new();
        let one = handles.open("one");
        let two = handles.open("two");
        let used = handles.get(one).unwrap();
        handles.close(one);
        handles.close(one);
        assert_eq!((handles.get(one), *used, *handles.get(two).unwrap()), (None, "one", "two"));
        assert_eq!((handles.open("three"), handles.open("four")), (one, 2));
        assert_eq!(handles.get(77), None);
    }
}
