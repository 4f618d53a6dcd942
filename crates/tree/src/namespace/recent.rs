//! The directories on the way to the previous entry: most entries have them in common with it.

use super::store::{NodeId, ROOT};
use crate::Bytes;

/// A place on a walk along a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Bytes of the path that lead here, without the slash after them.
    pub done: usize,
    /// The directory.
    pub node: NodeId,
    /// Symbolic links on the way.
    pub hops: u32,
}

impl Place {
    pub const ROOT: Place = Place { done: 0, node: ROOT, hops: 0 };

    /// Where the next component of `path` starts.
    pub fn next(&self, path: &[u8]) -> usize {
        if self.done == 0 { 0 } else { (self.done + 1).min(path.len()) }
    }
}

/// The path of the last directory that was looked for, and the directories on the way.
#[derive(Default)]
pub(super) struct Recent {
    path: Bytes,
    places: Vec<Place>,
}

impl Recent {
    /// Upper bound of its memory, bytes.
    pub fn memory(&self) -> usize {
        self.path.capacity() + self.places.capacity() * size_of::<Place>()
    }

    /// The last directory on the way to `path` that is known. The walk from there is to be noted.
    pub fn on_the_way(&mut self, path: &[u8]) -> Place {
        let common = common_length(&self.path, path);
        let leads = |done: usize| done <= common && matches!(path.get(done), None | Some(b'/'));
        while self.places.pop_if(|place| !leads(place.done)).is_some() {}
        let place = self.places.last().copied().unwrap_or(Place::ROOT);
        self.path.truncate(place.done);
        self.path.extend_from_slice(&path[place.done..]);
        place
    }

    /// Notes a directory on the way to the path.
    pub fn note(&mut self, place: Place) {
        self.places.push(place);
    }

    /// Forgets all: a path may lead elsewhere now.
    pub fn clear(&mut self) {
        self.places.clear();
    }
}

/// Bytes at the start that are equal, compared in pieces: paths may be long.
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
