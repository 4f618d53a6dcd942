//! Long lists that grow by a quarter rather than by doubling: with a million items, at most a fifth of their memory is unused.

/// Adds an item to a long list.
pub fn push_tight<T>(list: &mut Vec<T>, item: T) {
    reserve_tight(list, 1);
    list.push(item);
}

/// Makes room for `more` items in a long list.
pub fn reserve_tight<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 4).max(64));
    }
}
