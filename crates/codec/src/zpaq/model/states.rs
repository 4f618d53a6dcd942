//! Bit histories as states of a byte: approximate counts of the zeros and ones seen in a context, and which came last.
//!
//! A state represents a pair of counts. Few pairs exist: a context with many of one bit keeps at most a handful of the other. Most pairs
//! with a sum of at most 17 have two states; the second one was reached by a one. States are numbered by the sum of their counts, so that a
//! lower number means a lower priority.
//!
//! Source: "The ZPAQ Open Standard Format for Highly Compressed Data", level 2, section on ICM.

/// Largest sum of two counts of a state, plus one.
const COUNTS: usize = 50;

/// The pairs that exist: with n of the rarer bit, at most `MOST[n]` of the other.
const MOST: [usize; 6] = [20, 48, 15, 8, 6, 5];

/// Next state after a zero and after a one.
pub(super) static NEXT: [[u8; 2]; 256] = tables().0;

/// Initial prediction of a state: probability of a one, 23 bits.
pub(super) static GUESS: [u32; 256] = tables().1;

#[inline]
pub(super) fn next(state: u8, bit: u32) -> u8 {
    NEXT[usize::from(state)][(bit & 1) as usize]
}

/// Counts of zeros and of ones.
type Counts = [usize; 2];

/// Number of states of a pair of counts: 0, 1 or 2.
const fn states_of(counts: Counts) -> usize {
    let [zeros, ones] = counts;
    let (more, fewer) = if zeros < ones { (ones, zeros) } else { (zeros, ones) };
    if fewer >= MOST.len() || more > MOST[fewer] {
        return 0;
    }
    1 + (fewer > 0 && more + fewer <= 17) as usize
}

/// The remaining count of a bit after the other bit occurred.
const fn discounted(count: usize) -> usize {
    match count {
        0..=4 => count,
        5 | 6 => 5,
        7 => 6,
        _ => 7,
    }
}

/// The counts after a bit: the nearest pair that has a state.
const fn after(counts: Counts, bit: usize) -> Counts {
    // Computed with the larger count first. Otherwise zeros and ones are exchanged.
    let flip = (counts[0] < counts[1]) as usize;
    let mut more = counts[flip];
    let mut fewer = counts[1 - flip];
    if bit == flip {
        more += 1;
        fewer = discounted(fewer);
    } else {
        fewer += 1;
        more = discounted(more);
    }
    while states_of([more, fewer]) == 0 {
        if fewer < 2 {
            more -= 1;
        } else {
            more = (more * (fewer - 1) + fewer / 2) / fewer;
            fewer -= 1;
        }
    }
    if flip == 0 { [more, fewer] } else { [fewer, more] }
}

/// The first state of each pair of counts.
const fn numbers() -> [[u8; COUNTS]; COUNTS] {
    let mut numbers = [[0; COUNTS]; COUNTS];
    let mut state = 0;
    let mut sum = 0;
    while sum < COUNTS {
        let mut ones = 0;
        while ones <= sum {
            numbers[sum - ones][ones] = state as u8;
            state += states_of([sum - ones, ones]);
            ones += 1;
        }
        sum += 1;
    }
    numbers
}

/// The state that a bit leads to at `counts`.
const fn reached(numbers: &[[u8; COUNTS]; COUNTS], counts: Counts, bit: usize) -> u8 {
    let second = bit == 1 && states_of(counts) == 2;
    numbers[counts[0]][counts[1]] + second as u8
}

const fn tables() -> ([[u8; 2]; 256], [u32; 256]) {
    let numbers = numbers();
    let mut next = [[0; 2]; 256];
    let mut guess = [1 << 22; 256];
    let mut pair = 0;
    while pair < COUNTS * COUNTS {
        let counts = [pair / COUNTS, pair % COUNTS];
        let mut second = 0;
        while counts[0] + counts[1] < COUNTS && second < states_of(counts) {
            let state = numbers[counts[0]][counts[1]] as usize + second;
            next[state] = [reached(&numbers, after(counts, 0), 0), reached(&numbers, after(counts, 1), 1)];
            guess[state] = ((counts[1] as u32 * 2 + 1) << 22) / (counts[0] + counts[1] + 1) as u32;
            second += 1;
        }
        pair += 1;
    }
    (next, guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_states_match_known_ones() {
        assert_eq!(NEXT[..6], [[1, 2], [3, 5], [4, 6], [7, 9], [8, 11], [8, 11]]);
        assert_eq!((NEXT[77], NEXT[252], NEXT[254]), ([94, 79], [86, 254], [86, 254]));
        assert_eq!(NEXT[255], [0, 0], "the only number that is not a state");
    }

    /// Checks a hash of the table in the reference implementation.
    #[test]
    fn states_and_guesses_match_the_reference() {
        let add = |sum: u32, value: u32| sum.wrapping_mul(31).wrapping_add(value);
        let sum = (0..256).fold(0, |sum, at| {
            let sum = NEXT[at].iter().fold(sum, |sum, &next| add(sum, u32::from(next)));
            add(sum, GUESS[at])
        });
        assert_eq!(sum, 2_185_849_812);
    }

    #[test]
    fn guess_follows_the_counts() {
        assert_eq!((GUESS[0], GUESS[1], GUESS[2], GUESS[255]), (1 << 22, 1 << 21, 3 << 21, 1 << 22));
        assert!(GUESS.iter().all(|&guess| guess < 1 << 23));
    }
}
