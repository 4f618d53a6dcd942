//! Remembers the directories above the previous entry, because most entries share them.

use super::store::{NodeId, ROOT};
use crate::Bytes;

/// A position on a walk along a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct WalkPosition {
    /// Number of bytes of the path up to this position, without the slash after them.
    pub done: usize,
    pub node: NodeId,
    /// Number of symbolic links followed so far.
    pub hops: u32,
    pub order: Order,
}

/// The names in a directory, as far as the order of the entries shows them. Entries of a directory usually come in the order of
/// their names, and then the previous name alone shows that a name is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Empty,
    /// No name in the directory comes after this one.
    UpTo(NodeId),
    Unknown,
}

impl WalkPosition {
    pub const ROOT: WalkPosition = WalkPosition { done: 0, node: ROOT, hops: 0, order: Order::Unknown };

    /// The start of the next component of `path`.
    pub fn next(&self, path: &[u8]) -> usize {
        if self.done == 0 { 0 } else { (self.done + 1).min(path.len()) }
    }
}

/// The path of the last directory that was looked up, and the positions on the way.
pub(super) struct Recent {
    path: Bytes,
    root: WalkPosition,
    positions: Vec<WalkPosition>,
}

impl Recent {
    /// Remembers only the root, which is empty.
    pub fn new() -> Recent {
        let root = WalkPosition { order: Order::Empty, ..WalkPosition::ROOT };
        Recent { path: Bytes::new(), root, positions: Vec::new() }
    }

    /// Upper bound of the memory in bytes.
    pub fn memory(&self) -> usize {
        self.path.capacity() + self.positions.capacity() * size_of::<WalkPosition>()
    }

    /// The last known position on the way to `path`. The walk from there must be recorded.
    pub fn on_the_way(&mut self, path: &[u8]) -> WalkPosition {
        let common = common_length(&self.path, path);
        let leads = |done: usize| done <= common && matches!(path.get(done), None | Some(b'/'));
        while self.positions.pop_if(|position| !leads(position.done)).is_some() {}
        let position = *self.last();
        self.path.truncate(position.done);
        self.path.extend_from_slice(&path[position.done..]);
        position
    }

    /// Records a position on the way to the path.
    pub fn note(&mut self, position: WalkPosition) {
        self.positions.push(position);
    }

    /// Forgets all positions, because a path may now resolve differently.
    pub fn clear(&mut self) {
        self.positions.clear();
        self.forget_order();
    }

    /// Forgets the names in all directories, because names may have been added in any of them.
    pub fn forget_order(&mut self) {
        for position in self.positions.iter_mut().chain([&mut self.root]) {
            position.order = Order::Unknown;
        }
    }

    /// The last directory that was looked up.
    pub fn last(&self) -> &WalkPosition {
        self.positions.last().unwrap_or(&self.root)
    }

    /// Records a name that was added after all names in the last directory.
    pub fn added(&mut self, node: NodeId) {
        self.positions.last_mut().unwrap_or(&mut self.root).order = Order::UpTo(node);
    }
}

/// The number of equal bytes at the start, compared in chunks because paths may be long.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    const PIECE: usize = 64;
    let equal = one.chunks(PIECE).zip(other.chunks(PIECE)).take_while(|(one, other)| one == other);
    let start = equal.map(|(piece, _)| piece.len()).sum();
    start + one[start..].iter().zip(&other[start..]).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_common_starts() {
        let long = [b'a'; 200];
        let with = |at: usize| {
            let mut bytes = long;
            bytes[at] = b'b';
            bytes
        };
        for at in [0, 1, 63, 64, 65, 127, 128, 199] {
            assert_eq!(common_length(&long, &with(at)), at);
        }
        assert_eq!(
            (common_length(&long, &long), common_length(&long, &long[..70]), common_length(b"", &long)),
            (200, 70, 0)
        );
    }
}
