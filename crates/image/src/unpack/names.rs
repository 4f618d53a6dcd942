//! Millions of names in one arena, each identified by four bytes.

/// Position of a name in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameRef(pub u32);

impl NameRef {
    /// The name of the root, which is not in an arena.
    pub const NONE: NameRef = NameRef(u32::MAX);
}

/// Names of at most 255 bytes, each preceded by its length in one byte.
#[derive(Debug, Default)]
pub struct Names {
    bytes: Vec<u8>,
}

impl Names {
    /// Adds a name; `None` if it is longer than 255 bytes or the arena would exceed 4 GiB.
    pub fn add(&mut self, name: &[u8]) -> Option<NameRef> {
        let place = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.push(u8::try_from(name.len()).ok()?);
        self.bytes.extend_from_slice(name);
        Some(NameRef(place))
    }

    pub fn get(&self, name: NameRef) -> &[u8] {
        let start = name.0 as usize;
        let length = self.bytes.get(start).copied().map_or(0, usize::from);
        self.bytes.get(start + 1..start + 1 + length).unwrap_or_default()
    }

    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        let mut names = Names::default();
        let longest = [b'x'; 255];
        let kept: Vec<NameRef> = [&b"a"[..], b"", &longest, b"\xff\n"].iter().map(|n| names.add(n).unwrap()).collect();
        assert_eq!(names.get(kept[0]), b"a");
        assert_eq!(names.get(kept[1]), b"");
        assert_eq!(names.get(kept[2]), longest);
        assert_eq!(names.get(kept[3]), b"\xff\n");
        assert_eq!(names.add(&[0; 256]), None);
        assert!(names.memory() >= 262);
    }
}
