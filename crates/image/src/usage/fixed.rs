//! Fractions of bytes, so that shares add up.

/// Bits after the point.
const BITS: u32 = 32;

/// A number of bytes with 32 binary digits after the point. A division rounds down by less than 2^-32 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed(u128);

impl Fixed {
    pub(super) fn whole(bytes: u64) -> Fixed {
        Fixed(u128::from(bytes) << BITS)
    }

    /// Returns the number without its fraction.
    pub(super) fn floor(self) -> u64 {
        (self.0 >> BITS) as u64
    }

    pub(super) fn plus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_add(other.0))
    }

    pub(super) fn minus(self, other: Fixed) -> Fixed {
        Fixed(self.0.saturating_sub(other.0))
    }

    pub(super) fn divided(self, by: u32) -> Fixed {
        Fixed(self.0 / u128::from(by.max(1)))
    }

    /// Returns this part of `all`: `self * part / of`, rounded down. The result is at most `all` if `part` is at most `of`.
    pub(super) fn portion(self, part: Fixed, of: u64) -> Fixed {
        // Parts of a unit have at most 2^32 bytes: 64 bits with the fraction. Units have as many.
        let low = self.0.min(u64::MAX.into());
        let part = part.0.min(u64::MAX.into());
        let of = u128::from(of.max(1)) << BITS;
        Fixed(low * part / of)
    }
}

/// A sum in the memory of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    whole: u64,
    fraction: u32,
}

impl Sum {
    pub(super) fn whole(bytes: u64) -> Sum {
        Sum { whole: bytes, fraction: 0 }
    }

    pub(super) fn add(&mut self, bytes: Fixed) {
        let sum = self.exact().plus(bytes);
        self.whole = sum.floor();
        self.fraction = sum.0 as u32;
    }

    pub(super) fn exact(self) -> Fixed {
        Fixed(u128::from(self.whole) << BITS | u128::from(self.fraction))
    }
}

/// Rounds numbers so that the results add up to the sum without its fraction.
#[derive(Debug, Default)]
pub(super) struct Rounding(Fixed);

impl Rounding {
    pub(super) fn next(&mut self, bytes: Fixed) -> u64 {
        let before = self.0.floor();
        self.0 = self.0.plus(bytes);
        self.0.floor() - before
    }
}
