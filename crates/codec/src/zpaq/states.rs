//! Bit histories as states of a byte: how many zeros and ones a context has seen, about, and which came last.
//!
//! A state stands for a pair of counts, of which few exist: a context with many of one bit keeps at most a handful of the
//! other. Most pairs that sum up to at most 17 have two states, of which the second was reached by a one. States are numbered
//! by the sum of their counts, so a state of a lower number is worth less. Source: "The ZPAQ Open Standard Format for Highly
//! Compressed Data", level 2, section on ICM.

/// Largest sum of two counts that a state stands for, plus one.
const COUNTS: usize = 50;

/// How many of the rarer bit go with how many of the other: of the rarer bit n, at most `MOST[n]` of the other.
const MOST: [usize; 6] = [20, 48, 15, 8, 6, 5];

/// What a state is followed by after a zero and after a one.
pub(super) static NEXT: [[u8; 2]; 256] = tables().0;

/// The first guess of a state: probability of a one, 23 bits.
pub(super) static GUESS: [u32; 256] = tables().1;

/// The state after a bit.
#[inline]
pub(super) fn next(state: u8, bit: u32) -> u8 {
    NEXT[usize::from(state)][(bit & 1) as usize]
}

/// Counts of zeros and of ones.
type Counts = [usize; 2];

/// The number of states of a pair of counts: 0, 1 or 2.
const fn states_of(counts: Counts) -> usize {
    let [zeros, ones] = counts;
    let (more, fewer) = if zeros < ones { (ones, zeros) } else { (zeros, ones) };
    if fewer >= MOST.len() || more > MOST[fewer] {
        return 0;
    }
    1 + (fewer > 0 && more + fewer <= 17) as usize
}

/// What is left of a count when the other bit is seen.
const fn discounted(count: usize) -> usize {
    match count {
        0..=4 => count,
        5 | 6 => 5,
        7 => 6,
        _ => 7,
    }
}

/// The counts after a bit: the nearest that have a state.
const fn after(counts: Counts, bit: usize) -> Counts {
    // Told for counts of which the first is not the smaller; else the same with zeros and ones exchanged.
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
    let (mut state, mut sum) = (0, 0);
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

/// The state that is reached at `counts` by a bit.
const fn reached(numbers: &[[u8; COUNTS]; COUNTS], counts: Counts, bit: usize) -> u8 {
    let second = bit == 1 && states_of(counts) == 2;
    numbers[counts[0]][counts[1]] + second as u8
}

const fn tables() -> ([[u8; 2]; 256], [u32; 256]) {
    let numbers = numbers();
    let (mut next, mut guess) = ([[0; 2]; 256], [1 << 22; 256]);
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
    fn known_states_follow_each_other() {
        assert_eq!(NEXT[..6], [[1, 2], [3, 5], [4, 6], [7, 9], [8, 11], [8, 11]]);
        assert_eq!((NEXT[77], NEXT[252], NEXT[254]), ([94, 79], [86, 254], [86, 254]));
        assert_eq!(NEXT[255], [0, 0], "the one number that is no state");
    }

    /// Over the table that the reference implementation spells out.
    #[test]
    fn all_states_and_guesses_are_those_of_the_format() {
        let add = |sum: u32, value: u32| sum.wrapping_mul(31).wrapping_add(value);
        let sum = (0..256).fold(0, |sum, at| {
            let sum = NEXT[at].iter().fold(sum, |sum, &next| add(sum, u32::from(next)));
            add(sum, GUESS[at])
        });
        assert_eq!(sum, 2_185_849_812);
    }

    #[test]
    fn guesses_follow_the_counts() {
        assert_eq!((GUESS[0], GUESS[1], GUESS[2], GUESS[255]), (1 << 22, 1 << 21, 3 << 21, 1 << 22));
        assert!(GUESS.iter().all(|&guess| guess < 1 << 23));
    }
}
