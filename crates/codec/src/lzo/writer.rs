//! Writes LZO1X instructions to a buffer, and the limits of the instructions (Linux `Documentation/staging/lzo.rst`).

/// The end of a stream: a match of the farthest kind whose distance is its base.
pub(super) const END: [u8; 3] = [0x11, 0, 0];

/// Farthest distance of a match of two bytes after one to three literals.
pub(super) const M1_MOST: usize = 1 << 10;
/// After at least four literals, the same form is a match of three bytes from this distance on.
pub(super) const M1_FAR_FIRST: usize = M2_MOST + 1;
/// Farthest distance of such a match.
pub(super) const M1_FAR_MOST: usize = M2_MOST + M1_MOST;
/// Length of such a match in bytes.
pub(super) const M1_FAR_LENGTH: usize = 3;
/// Farthest distance of a match that takes two bytes.
pub(super) const M2_MOST: usize = 1 << 11;
/// Length in bytes of the longest match that takes two bytes.
pub(super) const M2_LONGEST: usize = 8;
/// Farthest distance of the nearer matches that take three bytes.
pub(super) const M3_MOST: usize = 1 << 14;
/// Longest of the nearer matches whose length needs no extra byte.
pub(super) const M3_SHORT: usize = 33;
/// Farthest distance of the format.
pub(super) const M4_MOST: usize = 0xbfff;
/// Longest of the farthest matches whose length needs no extra byte.
pub(super) const M4_SHORT: usize = 9;

/// A match: copies bytes from `distance` back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    /// Length in bytes, at least 2.
    pub length: usize,
    /// Distance back in bytes, 1 to [`M4_MOST`].
    pub distance: usize,
}

/// Longest short form of the first run.
const FIRST_RUN_MOST: usize = 255 - 17;
/// Maximum number of literals whose count is in the low bits of the match before them.
const MAX_ATTACHED: usize = 3;
/// Longest run whose length fits into its first byte.
const RUN_SHORT: usize = 18;

/// Writes to a buffer of fixed size. After an overflow every call returns `None`.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub fn new(out: &'a mut [u8]) -> Writer<'a> {
        Writer { out, at: 0 }
    }

    /// Writes literals, then a match.
    pub fn step(&mut self, literals: &[u8], found: Match) -> Option<()> {
        self.literals(literals)?;
        self.found(found, literals.len())
    }

    /// Writes the last literals and the end mark. Returns the total number of bytes written.
    pub fn finish(mut self, literals: &[u8]) -> Option<usize> {
        self.literals(literals)?;
        self.put(&END)?;
        Some(self.at)
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.at..self.at + bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    #[inline]
    fn literals(&mut self, bytes: &[u8]) -> Option<()> {
        match bytes.len() {
            0 => return Some(()),
            count if self.at == 0 && count <= FIRST_RUN_MOST => self.put(&[17 + count as u8])?,
            // Every instruction before a run ends with two bytes, and the first of them has bits for the count.
            count if count <= MAX_ATTACHED && self.at > 0 => self.out[self.at - 2] |= count as u8,
            count if count <= RUN_SHORT => self.put(&[count as u8 - 3])?,
            count => {
                self.put(&[0])?;
                self.extension(count - RUN_SHORT)?;
            }
        }
        self.copy(bytes)
    }

    /// Copies literals. A few literals are copied with a fixed size, without a call.
    #[inline]
    fn copy(&mut self, bytes: &[u8]) -> Option<()> {
        self.put(bytes)
    }

    /// Writes the rest of a length, in units of 255.
    fn extension(&mut self, mut left: usize) -> Option<()> {
        while left > 255 {
            self.put(&[0])?;
            left -= 255;
        }
        self.put(&[left as u8])
    }

    #[inline]
    fn found(&mut self, found: Match, run: usize) -> Option<()> {
        let Match { length, distance } = found;
        if length <= M2_LONGEST && distance <= M2_MOST && length > 2 {
            let back = distance - 1;
            return self.put(&[((length - 1) << 5 | (back & 7) << 2) as u8, (back >> 3) as u8]);
        }
        if distance <= M1_MOST && length == 2 {
            debug_assert!((1..=MAX_ATTACHED).contains(&run));
            return self.m1(distance - 1);
        }
        if length == M1_FAR_LENGTH && run > MAX_ATTACHED && (M1_FAR_FIRST..=M1_FAR_MOST).contains(&distance) {
            return self.m1(distance - M1_FAR_FIRST);
        }
        if distance <= M3_MOST {
            return self.long(32, M3_SHORT, length, distance - 1);
        }
        let back = distance - M3_MOST;
        self.long(16 | ((back >> 11) & 8) as u8, M4_SHORT, length, back & 0x3fff)
    }

    fn m1(&mut self, back: usize) -> Option<()> {
        self.put(&[((back & 3) << 2) as u8, (back >> 2) as u8])
    }

    #[inline]
    fn long(&mut self, tag: u8, short: usize, length: usize, back: usize) -> Option<()> {
        let [low, high] = ((back << 2) as u16).to_le_bytes();
        if length <= short {
            return self.put(&[tag | (length - 2) as u8, low, high]);
        }
        self.put(&[tag])?;
        self.extension(length - short)?;
        self.put(&[low, high])
    }
}
