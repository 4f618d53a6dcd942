//! Binary logarithms as whole numbers, the same on every machine.

/// Numbers below this one are looked up in a table.
const SMALL: usize = 1 << 12;
/// One bit.
pub(crate) const BIT: u32 = 1 << FRACTION;
const FRACTION: u32 = 8;

static TABLE: [u16; SMALL] = table();

const fn table() -> [u16; SMALL] {
    let mut table = [0; SMALL];
    let mut number = 1;
    while number < SMALL {
        table[number] = computed(number as u64) as u16;
        number += 1;
    }
    table
}

/// Computes a logarithm by squaring: each time the square of a number between 1 and 2 is at least 2, the next bit of its logarithm is 1.
const fn computed(number: u64) -> u32 {
    let whole = number.ilog2();
    let mut log = whole;
    let mut fraction = number << 31 >> whole; // 31 bits after the binary point
    let mut bit = 0;
    while bit < FRACTION {
        fraction = (fraction * fraction) >> 31;
        let is_two = (fraction >> 32) as u32;
        fraction >>= is_two;
        log = log << 1 | is_two;
        bit += 1;
    }
    log
}

/// The binary logarithm of `number`, in [`BIT`]s; 0 for 0.
#[inline(always)]
pub(crate) fn log2(number: u32) -> u32 {
    if (number as usize) < SMALL {
        return TABLE[number as usize].into();
    }
    let shift = number.ilog2() - (SMALL.ilog2() - 1);
    u32::from(TABLE[(number >> shift) as usize]) + shift * BIT
}
