//! Search effort of each level.

/// Search limits of a level. Lengths are in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// How many of the keys of four, six and twelve bytes are used, 1 to 3.
    pub keys: u32,
    /// Limits for the keys of four, six and twelve bytes. A key is looked up where the continued match is shorter.
    pub four: usize,
    pub six: usize,
    pub twelve: usize,
    /// A longer key is looked up where the shorter keys found at least this length. (The lengths are combined by bitwise or.)
    pub six_from: u32,
    pub twelve_from: u32,
    /// A match of at least this length is used without comparing others.
    pub nice: usize,
}

impl Effort {
    /// The limits of a level of `lzo1x_999`, 1 to 9.
    pub fn new(level: u32) -> Effort {
        let effort = |keys, [four, six, twelve]: [usize; 3], [six_from, twelve_from]: [u32; 2], nice| Effort {
            keys,
            four,
            six,
            twelve,
            six_from,
            twelve_from,
            nice,
        };
        match level {
            ..=1 => effort(1, [4, 0, 0], [0, 0], 16),
            2 => effort(1, [6, 0, 0], [0, 0], 24),
            3 => effort(1, [12, 0, 0], [0, 0], 32),
            4 => effort(2, [6, 12, 0], [6, 0], 32),
            5 => effort(2, [8, 16, 0], [4, 0], 48),
            6 => effort(3, [8, 8, 24], [5, 6], 64),
            7 => effort(3, [8, 8, 32], [4, 6], 64),
            8 => effort(3, [8, 10, 64], [4, 6], 96),
            _ => effort(3, [usize::MAX; 3], [0, 0], usize::MAX),
        }
    }
}
