//! A distribution of weights over the states of FSE, and its encoding (RFC 8878, 4.1.1).

use super::bits::Forward;

/// Number of weights: 0 for a symbol that does not occur, up to 12 for a code of one bit.
pub(super) const WEIGHTS: usize = 13;
/// Maximum bits of a state number.
pub(super) const MAX_LOG: u32 = 6;
const MIN_LOG: u32 = 5;

/// Number of states of each weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Distribution {
    /// Bits of a state number.
    pub(super) log: u32,
    /// Number of states by weight; -1 is one state at the end of the table.
    pub(super) states: [i32; WEIGHTS],
}

impl Distribution {
    /// A distribution close to `counts`, at least two of which are not zero. States are assigned one by one where they save most (Webster's
    /// method), and each weight that occurs has at least one.
    pub(super) fn near(counts: &[u32; WEIGHTS], log: u32) -> Self {
        let mut states = [0; WEIGHTS];
        let total: u32 = counts.iter().sum();
        let mut left = 1_i32 << log;
        for (states, count) in states.iter_mut().zip(counts).filter(|(_, count)| **count > 0) {
            *states = ((count << log) / total).max(1) as i32;
            left -= *states;
        }
        while left != 0 {
            let step = left.signum();
            states[best(counts, &states, step)] += step;
            left -= step;
        }
        Distribution { log, states }
    }

    /// Bits of a state number, given the number of weights to code.
    pub(super) fn log_for(weights: usize) -> u32 {
        (weights - 1).ilog2().saturating_sub(2).clamp(MIN_LOG, MAX_LOG)
    }

    /// Writes the distribution. `None` if it does not fit.
    pub(super) fn write(&self, out: &mut [u8]) -> Option<usize> {
        let mut bits = Forward::new(out);
        bits = bits.put(u64::from(self.log - MIN_LOG), 4)?;
        let mut left = 1 << self.log;
        let mut weight = 0;
        while left > 0 {
            let states = self.states[weight];
            weight += 1;
            bits = put_number(bits, (states + 1) as u32, left + 1)?;
            left -= states.unsigned_abs();
            if states == 0 {
                let zeros = self.states[weight..].iter().take_while(|states| **states == 0).count();
                bits = put_zeros(bits, zeros)?;
                weight += zeros;
            }
        }
        bits.end()
    }

    /// Reads a distribution from the start of `bytes`. Also returns its size.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, usize), &'static str> {
        let mut bits = Reader { bytes, at: 0 };
        let log = bits.take(4) + MIN_LOG;
        if log > MAX_LOG {
            return Err("a distribution of weights with more than 64 states");
        }
        let mut states = [0; WEIGHTS];
        let mut left = 1_u32 << log;
        let mut weight = 0;
        while left > 0 {
            let found = bits.number(left + 1) as i32 - 1;
            *states.get_mut(weight).ok_or("a distribution with a weight of more than 12")? = found;
            weight += 1;
            left -= found.unsigned_abs();
            if found == 0 {
                weight += bits.zeros();
            }
        }
        let size = bits.at.div_ceil(8);
        if size > bytes.len() {
            return Err("a distribution of weights that is cut off");
        }
        Ok((Distribution { log, states }, size))
    }
}

/// Returns the weight that gains most from one more state, or loses least from one less.
fn best(counts: &[u32; WEIGHTS], states: &[i32; WEIGHTS], step: i32) -> usize {
    // The gain of the step from n to n + 1 states is proportional to count / (2n + 1).
    let worth = |weight: usize| (u64::from(counts[weight]) << 20) / (2 * states[weight] + step) as u64;
    let able = (0..WEIGHTS).filter(|weight| states[*weight] > i32::from(step < 0));
    let chosen =
        if step > 0 { able.max_by_key(|weight| worth(*weight)) } else { able.min_by_key(|weight| worth(*weight)) };
    chosen.unwrap_or(0)
}

/// Writes a number of 0 to `most` in as few bits as needed: the first few numbers take one bit less.
fn put_number(bits: Forward, number: u32, most: u32) -> Option<Forward> {
    let (width, short) = widths(most);
    let number = u64::from(number);
    match number {
        _ if number < short => bits.put(number, width - 1),
        _ if number < 1 << (width - 1) => bits.put(number, width),
        _ => bits.put(number + short, width),
    }
}

/// Bits of a number of up to `most`, and how many numbers take one bit less.
fn widths(most: u32) -> (u32, u64) {
    let width = most.ilog2() + 1;
    (width, (1 << width) - 1 - u64::from(most))
}

/// Writes how many more weights without states follow the first, in digits of two bits. A digit of 3 means that another one follows.
fn put_zeros(mut bits: Forward, zeros: usize) -> Option<Forward> {
    for _ in 0..zeros / 3 {
        bits = bits.put(3, 2)?;
    }
    bits.put((zeros % 3) as u64, 2)
}

/// Reads bits, starting with the lowest bit of the first byte. Bits beyond the end are zeros; the caller compares `at` with the length.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self, bits: u32) -> u32 {
        let byte = |place: usize| u32::from(self.bytes.get(self.at / 8 + place).copied().unwrap_or(0));
        let word = byte(0) | byte(1) << 8;
        (word >> (self.at % 8)) & ((1 << bits) - 1)
    }

    fn take(&mut self, bits: u32) -> u32 {
        let found = self.peek(bits);
        self.at += bits as usize;
        found
    }

    fn number(&mut self, most: u32) -> u32 {
        let (width, short) = widths(most);
        let short = short as u32;
        let low = self.peek(width - 1);
        if low < short {
            return self.take(width - 1);
        }
        let found = self.take(width);
        if found < 1 << (width - 1) { found } else { found - short }
    }

    fn zeros(&mut self) -> usize {
        let mut zeros = 0;
        loop {
            let digit = self.take(2) as usize;
            zeros += digit;
            if digit < 3 || zeros > WEIGHTS {
                return zeros;
            }
        }
    }
}
