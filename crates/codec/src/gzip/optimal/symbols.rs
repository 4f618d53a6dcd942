//! The symbols of DEFLATE (RFC 1951, 3.2.5) and their extra bits.

/// Number of symbols of literals and lengths.
pub(super) const LITERALS: usize = 286;
/// Number of symbols of distances.
pub(super) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(in crate::gzip) const END: usize = 256;
/// The symbol of the first length.
const FIRST_LENGTH: usize = 257;
/// Shortest and longest match in bytes.
pub(super) const SHORTEST: usize = 3;
pub(super) const LONGEST: usize = 258;
/// Largest distance in bytes.
pub(super) const FARTHEST: usize = 1 << 15;
/// A length is masked with this number, so that an index needs no check.
pub(super) const LENGTH_MASK: usize = 511;

/// For each symbol of a length: the first length, and the number of extra bits.
const LENGTHS: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];

/// A symbol and its extra bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coded {
    pub(super) symbol: usize,
    pub(super) extra: u32,
    /// The value of the extra bits.
    pub(super) value: u32,
}

/// The index in [`LENGTHS`] of each length.
static INDEX: [u8; LONGEST + 1] = indices();

const fn indices() -> [u8; LONGEST + 1] {
    let mut indices = [0; LONGEST + 1];
    let mut length = SHORTEST;
    let mut index = 0;
    while length <= LONGEST {
        if index + 1 < LENGTHS.len() && length == LENGTHS[index + 1].0 as usize {
            index += 1;
        }
        indices[length] = index as u8;
        length += 1;
    }
    indices
}

/// Length of a match, 3 to 258.
#[inline(always)]
pub(super) fn length_code(length: usize) -> Coded {
    let index = usize::from(INDEX[length]);
    let (first, extra) = LENGTHS[index];
    Coded { symbol: FIRST_LENGTH + index, extra: extra.into(), value: length as u32 - u32::from(first) }
}

/// The symbol of a distance, from 1 on.
#[inline(always)]
pub(super) fn distance_symbol(distance: usize) -> usize {
    let back = distance as u32 - 1;
    if back < 2 {
        return back as usize;
    }
    let log = back.ilog2();
    (2 * log + (back >> (log - 1) & 1)) as usize
}

#[inline(always)]
pub(super) fn distance_code(distance: usize) -> Coded {
    let symbol = distance_symbol(distance);
    let extra = distance_extra(symbol);
    Coded { symbol, extra, value: (distance as u32 - 1) & ((1 << extra) - 1) }
}

/// Number of extra bits of a symbol of a distance.
pub(in crate::gzip) fn distance_extra(symbol: usize) -> u32 {
    (symbol as u32 / 2).saturating_sub(1)
}

/// Whether a length is the first one of its symbol.
pub(super) const fn starts_symbol(length: usize) -> bool {
    let mut index = 0;
    while index < LENGTHS.len() {
        if LENGTHS[index].0 as usize == length {
            return true;
        }
        index += 1;
    }
    false
}

/// The first length of a symbol and the number of extra bits. `None` for other symbols.
pub(in crate::gzip) fn length_bits(symbol: usize) -> Option<(usize, u32)> {
    let &(first, extra) = LENGTHS.get(symbol.checked_sub(FIRST_LENGTH)?)?;
    Some((first.into(), extra.into()))
}

/// Number of extra bits of a symbol of literals and lengths.
pub(super) fn literal_extra(symbol: usize) -> u32 {
    length_bits(symbol).map_or(0, |(_, extra)| extra)
}

/// A step of a path in one number: a literal, or the length of a match in the high bits, then the symbol of its distance, and its distance
/// less one in the low bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Step(u32);

/// Lowest bits of the length and of the symbol.
const LENGTH: u32 = 20;
const SYMBOL: u32 = 15;

impl Step {
    pub(super) fn literal(byte: u8) -> Step {
        Step(byte.into())
    }

    #[inline(always)]
    pub(super) fn found(length: usize, symbol: usize, distance: usize) -> Step {
        Step((length << LENGTH | symbol << SYMBOL | (distance - 1)) as u32)
    }

    /// The match with another length.
    #[inline(always)]
    pub(super) fn with_length(self, length: usize) -> Step {
        Step(self.0 & ((1 << LENGTH) - 1) | (length as u32) << LENGTH)
    }

    /// Length of a match; 0 for a literal.
    #[inline(always)]
    pub(super) fn length(self) -> usize {
        (self.0 >> LENGTH) as usize
    }

    /// The symbol of the distance.
    #[inline(always)]
    pub(super) fn symbol(self) -> usize {
        (self.0 >> SYMBOL & 31) as usize
    }

    #[inline(always)]
    pub(super) fn distance(self) -> usize {
        (self.0 & ((1 << SYMBOL) - 1)) as usize + 1
    }

    /// Number of bytes that the step covers.
    #[inline(always)]
    pub(super) fn bytes(self) -> usize {
        self.length().max(1)
    }

    /// The byte of a literal.
    #[inline(always)]
    pub(super) fn byte(self) -> u8 {
        self.0 as u8
    }
}
