//! Weights coded by two alternating states of FSE (RFC 8878, 4.1 and 4.2.1.2). Leaving a state writes as many bits as are needed to
//! distinguish the states that lead to it.

use super::bits::{Backward, Forward};
use super::distribution::{Distribution, MAX_LOG, WEIGHTS};
use super::encode::histogram;

const STATES: usize = 1 << MAX_LOG;

/// Distributes weights over the states. Weights with -1 states are at the end.
fn spread(distribution: &Distribution) -> [u8; STATES] {
    let size = 1_usize << distribution.log;
    let mut weights = [0; STATES];
    let mut end = size;
    for (weight, _) in distribution.states.iter().enumerate().filter(|(_, states)| **states < 0) {
        end -= 1;
        weights[end] = weight as u8;
    }
    // The step is odd, so that each state is visited once.
    let step = (size >> 1) + (size >> 3) + 3;
    let mut place = 0;
    for (weight, states) in distribution.states.iter().enumerate() {
        for _ in 0..(*states).max(0) {
            weights[place] = weight as u8;
            place = (place + step) & (size - 1);
            while place >= end && end > 0 {
                place = (place + step) & (size - 1);
            }
        }
    }
    weights
}

/// Writes `weights`: at least two weights, of at least two kinds. `None` if they do not fit.
pub(super) fn write(weights: &[u8], out: &mut [u8]) -> Option<usize> {
    let counts = *histogram::count_small(weights).map(u32::from).first_chunk()?;
    let distribution = Distribution::near(&counts, Distribution::log_for(weights.len()));
    let size = distribution.write(out)?;
    let bits = Forward::new(&mut out[size..]);
    Some(size + Coder::new(&distribution).write(weights, bits)?)
}

/// State transitions for encoding.
struct Coder {
    log: u32,
    /// The states of each weight in order, one weight after another.
    states: [u8; STATES],
    /// Steps by weight.
    steps: [Step; WEIGHTS],
}

/// The transition from a state to one of a given weight.
#[derive(Clone, Copy, Default)]
struct Step {
    /// 2^16 times the number of bits written, after adding the state and 2^log.
    width: u32,
    /// First index of the weight's states, minus their number.
    start: i32,
    /// First state of the weight.
    first: u8,
}

impl Coder {
    fn new(distribution: &Distribution) -> Self {
        let mut coder = Coder { log: distribution.log, states: [0; STATES], steps: [Step::default(); WEIGHTS] };
        let mut ends = [0; WEIGHTS];
        let mut sum = 0;
        for (weight, states) in distribution.states.iter().enumerate().filter(|(_, states)| **states != 0) {
            let size = states.unsigned_abs();
            let fewest = distribution.log - size.ilog2();
            coder.steps[weight] =
                Step { width: (fewest << 16) - (size << fewest), start: i32::from(sum) - size as i32, first: sum };
            ends[weight] = sum;
            sum += size as u8;
        }
        for (state, weight) in spread(distribution)[..1 << distribution.log].iter().enumerate() {
            let end = &mut ends[usize::from(*weight)];
            coder.states[usize::from(*end)] = state as u8;
            *end += 1;
        }
        coder
    }

    /// The final state. Among the states of `weight` it is the one that takes most bits, by which a decoder detects the end.
    fn last(&self, weight: u8) -> u32 {
        u32::from(self.states[usize::from(self.steps[usize::from(weight)].first)])
    }

    /// Steps back from `state` to a state of `weight` that leads to it. Writes which of its successors `state` was.
    #[inline]
    fn back<'a>(&self, state: &mut u32, weight: u8, bits: Forward<'a>) -> Option<Forward<'a>> {
        let step = &self.steps[usize::from(weight)];
        let from = *state + (1 << self.log);
        // The sum is at least `size << fewest`, which takes `fewest` bits; a smaller sum takes one bit less.
        let width = (from + step.width) >> 16;
        let index = (from >> width) as i32 + step.start;
        *state = u32::from(self.states[index as usize & (STATES - 1)]);
        bits.put(u64::from(from & ((1 << width) - 1)), width)
    }

    fn write(&self, weights: &[u8], mut bits: Forward) -> Option<usize> {
        let [before @ .., one, other] = weights else { return None };
        // Written in reverse order, because the decoder reads the last bits first. Weights at even indexes use the first state.
        let (pairs, single) = before.as_chunks::<2>();
        let mut states =
            if single.is_empty() { [*one, *other] } else { [*other, *one] }.map(|weight| self.last(weight));
        for weight in single {
            bits = self.back(&mut states[0], *weight, bits)?;
        }
        for [first, second] in pairs.iter().rev() {
            bits = self.back(&mut states[1], *second, bits)?;
            bits = self.back(&mut states[0], *first, bits)?;
        }
        bits.put(u64::from(states[1]), self.log)?.put(u64::from(states[0]), self.log)?.end_marked()
    }
}

/// The decoding step of a state.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    weight: u8,
    bits: u8,
    next: u8,
}

fn states(distribution: &Distribution) -> [State; STATES] {
    let mut seen = distribution.states.map(i32::unsigned_abs);
    let mut states = [State::default(); STATES];
    let weights = spread(distribution);
    for (state, weight) in states.iter_mut().zip(weights).take(1 << distribution.log) {
        let number = seen[usize::from(weight)];
        seen[usize::from(weight)] += 1;
        let bits = distribution.log - number.max(1).ilog2();
        *state = State { weight, bits: bits as u8, next: ((number << bits) - (1 << distribution.log)) as u8 };
    }
    states
}

/// Reads weights from all of `bytes` and returns their number.
pub(super) fn read(bytes: &[u8], weights: &mut [u8; 255]) -> Result<usize, &'static str> {
    let (distribution, size) = Distribution::read(bytes)?;
    let mut bits = Backward::new(&bytes[size..]).ok_or("coded weights without an end mark")?;
    let table = states(&distribution);
    let mut states = [bits.read(distribution.log), bits.read(distribution.log)];
    if bits.left() < 0 {
        return Err("coded weights that are cut off");
    }
    // The stream ends where a state takes more bits than remain. The other state's weight is then the last.
    for place in 0..weights.len() - 1 {
        let state = table[states[place % 2] as usize & (STATES - 1)];
        weights[place] = state.weight;
        states[place % 2] = u32::from(state.next) + bits.read(u32::from(state.bits));
        if bits.left() < 0 {
            weights[place + 1] = table[states[(place + 1) % 2] as usize & (STATES - 1)].weight;
            return Ok(place + 2);
        }
    }
    Err("more than 255 coded weights")
}
