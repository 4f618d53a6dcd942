//! The bit position within a byte, which every component's context includes.

/// The bits of the byte so far.
#[derive(Debug, Clone, Copy)]
pub(in crate::zpaq) struct Position {
    /// The bits so far, with a one before them, 1..=255.
    partial: u32,
    /// The bits of the half byte so far, with a one before them, 1..=15.
    nibble: u32,
    /// The first half of the byte, with a one before it, in bits 4..=8; 0 during the first half.
    above: u32,
}

impl Position {
    pub(super) fn start() -> Self {
        Position { partial: 1, nibble: 1, above: 0 }
    }

    /// The bits so far, with a one before them, 1..=255.
    #[inline]
    pub(super) fn partial(&self) -> u32 {
        self.partial
    }

    /// The bits of this half byte, with a one before them, 1..=15: the place in a row of bit histories.
    #[inline]
    pub(super) fn nibble(&self) -> usize {
        (self.nibble & 15) as usize
    }

    /// The context of direct models: the first nibble, then the bits of the current one.
    #[inline]
    pub(super) fn direct(&self) -> u32 {
        self.above | self.nibble
    }

    /// The number of bits so far, 0..=7.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        7 - (self.partial << 24).leading_zeros()
    }

    /// Whether a nibble begins here, so that rows of bit histories must be looked up.
    #[inline]
    pub(super) fn starts_nibble(&self) -> bool {
        self.nibble == 1
    }

    /// Advances by one bit. Returns true at the end of a byte, where the position restarts.
    #[inline]
    pub(super) fn step(&mut self, bit: u32) -> bool {
        self.partial = self.partial * 2 + bit;
        self.nibble = self.nibble * 2 + bit;
        if self.nibble >= 16 {
            self.nibble = 1;
            self.above = self.partial << 4;
        }
        let ends = self.partial >= 256;
        if ends {
            *self = Position::start();
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_advances_bit_by_bit() {
        let mut position = Position::start();
        let mut seen = Vec::new();
        for at in (0..8).rev() {
            seen.push((position.bits(), position.partial(), position.direct(), position.starts_nibble()));
            assert_eq!(position.step(0xB5 >> at & 1), at == 0);
        }
        let contexts: Vec<u32> = seen.iter().map(|seen| seen.2).collect();
        assert_eq!(contexts, [1, 3, 6, 13, 0x1B1, 0x1B2, 0x1B5, 0x1BA]);
        assert_eq!(seen.iter().map(|seen| seen.0).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
        assert_eq!(seen[7], (7, 0xDA, 0x1BA, false));
        assert!(seen[0].3 && seen[4].3 && position.starts_nibble());
    }
}
