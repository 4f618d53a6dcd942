//! Inputs that are hard for searches for matches, for tests.

/// The first bytes of the Fibonacci word.
pub(crate) fn fibonacci(size: usize) -> Vec<u8> {
    let mut word = vec![b'a'];
    let mut before = vec![b'b'];
    while word.len() < size {
        let next = [word.clone(), before].concat();
        before = std::mem::replace(&mut word, next);
    }
    word.truncate(size);
    word
}

/// 128 KiB of bytes that repeat after `period` bytes.
pub(crate) fn periodic(period: usize) -> Vec<u8> {
    (0..131_072).map(|index| (index % period) as u8).collect()
}

/// Bits in which every word of 16 bits occurs once, as bytes 0 and 1.
pub(crate) fn de_bruijn() -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        let bit = (state ^ state >> 2 ^ state >> 3 ^ state >> 5) & 1;
        state = state >> 1 | bit << 15;
        bit as u8
    };
    (0..65_536).map(|_| next()).collect()
}
