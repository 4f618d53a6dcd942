//! Sequences and their codes (RFC 8878, section 3.1.1.3.2).

/// Literals and the match after them. `length` is 0 for literals without a match, at the end of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sequence {
    pub(crate) literals: u32,
    pub(crate) length: u32,
    pub(crate) distance: u32,
}

/// Numbers of codes.
pub(super) const LITERALS: usize = 36;
pub(super) const LENGTHS: usize = 53;
pub(super) const OFFSETS: usize = 32;

/// Shortest match.
pub(crate) const SHORTEST: usize = 3;

/// The bits that follow the code of a literals' length.
pub(super) const LITERALS_BITS: [u8; LITERALS] =
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
/// The bits that follow the code of a match's length.
pub(super) const LENGTHS_BITS: [u8; LENGTHS] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2,
    3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
];
/// Codes of the first lengths.
const LITERALS_CODES: [u8; 64] = small_codes(&LITERALS_BITS);
const LENGTHS_CODES: [u8; 128] = small_codes(&LENGTHS_BITS);

/// Each code covers 2^bits values.
const fn small_codes<const SIZE: usize>(bits: &[u8]) -> [u8; SIZE] {
    let mut codes = [0; SIZE];
    let mut code = 0;
    let mut first = 0;
    let mut value = 0;
    while value < SIZE {
        if value == first + (1 << bits[code]) {
            first = value;
            code += 1;
        }
        codes[value] = code as u8;
        value += 1;
    }
    codes
}

/// The code of a number of literals.
#[inline(always)]
pub(super) fn literals_code(literals: u32) -> usize {
    match LITERALS_CODES.get(literals as usize) {
        Some(&code) => code.into(),
        None => literals.ilog2() as usize + 19,
    }
}

/// The code of a match of `length` bytes, 3 or more.
#[inline(always)]
pub(super) fn length_code(length: u32) -> usize {
    let length = length - SHORTEST as u32;
    match LENGTHS_CODES.get(length as usize) {
        Some(&code) => code.into(),
        None => length.ilog2() as usize + 36,
    }
}

/// The last three distances, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repeats([u32; 3]);

impl Repeats {
    /// At the start of a frame.
    pub(super) const START: Repeats = Repeats([1, 4, 8]);

    pub(super) fn new(distances: [u32; 3]) -> Repeats {
        Repeats(distances)
    }

    pub(super) fn distances(self) -> [u32; 3] {
        self.0
    }

    /// Returns the value that a sequence stores for its distance: 1 to 3 for a repeated distance, otherwise the distance plus 3. Updates
    /// the distances.
    #[inline(always)]
    pub(super) fn store(&mut self, sequence: &Sequence) -> u32 {
        let [first, second, third] = self.0;
        let distance = sequence.distance;
        // Without literals the first distance cannot be chosen, and the third value means the first distance less one.
        let shifted = u32::from(sequence.literals == 0);
        let found = match distance {
            distance if distance == first && shifted == 0 => 1,
            distance if distance == second => 2 - shifted,
            distance if distance == third => 3 - shifted,
            distance if shifted == 1 && distance + 1 == first => 3,
            _ => 0,
        };
        self.0 = match found + shifted {
            _ if found == 0 => [distance, first, second],
            1 => self.0,
            2 => [second, first, third],
            _ => [distance, first, second],
        };
        if found == 0 { distance + 3 } else { found }
    }
}
