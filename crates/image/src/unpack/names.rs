//! Names by the million in one piece of memory: each is a number of four bytes.

/// Where a name is in its arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameRef(pub u32);

/// Single names, 255 bytes at most each, one after the other, each behind a byte that is its length.
#[derive(Debug, Default)]
pub struct Names {
    bytes: Vec<u8>,
}

impl Names {
    /// Keeps a name; `None` if it is longer than 255 bytes or four gigabytes are full.
    pub fn add(&mut self, name: &[u8]) -> Option<NameRef> {
        let place = u32::try_from(self.bytes.len()).ok()?;
        self.bytes.push(u8::try_from(name.len()).ok()?);
        self.bytes.extend_from_slice(name);
        Some(NameRef(place))
    }

    /// A name that was kept here.
    pub fn get(&self, name: NameRef) -> &[u8] {
        let start = name.0 as usize;
        let length = self.bytes.get(start).copied().map_or(0, usize::from);
        self.bytes.get(start + 1..start + 1 + length).unwrap_or_default()
    }

    /// Bytes that it takes.
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
