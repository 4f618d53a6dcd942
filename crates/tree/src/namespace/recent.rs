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
}

impl WalkPosition {
    pub const ROOT: WalkPosition = WalkPosition { done: 0, node: ROOT, hops: 0 };

    /// The start of the next component of `path`.
    pub fn next(&self, path: &[u8]) -> usize {
        if self.done == 0 { 0 } else { (self.done + 1).min(path.len()) }
    }
}

/// The path of the last directory that was looked up, and the positions on the way.
#[derive(Default)]
pub(super) struct Recent {
    path: Bytes,
    positions: Vec<WalkPosition>,
}

impl Recent {
    /// Upper bound of the memory in bytes.
    pub fn memory(&self) -> usize {
        self.path.capacity() + self.positions.capacity() * size_of::<WalkPosition>()
    }

    /// The last known position on the way to `path`. The walk from there must be recorded.
    pub fn on_the_way(&mut self, path: &[u8]) -> WalkPosition {
        let common = common_length(&self.path, path);
        let leads = |done: usize| done <= common && matches!(path.get(done), None | Some(b'/'));
        while self.positions.pop_if(|position| !leads(position.done)).is_some() {}
        let position = self.positions.last().copied().unwrap_or(WalkPosition::ROOT);
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
