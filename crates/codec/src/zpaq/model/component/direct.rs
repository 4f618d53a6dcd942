//! CM and SSE: map contexts to probabilities, with a count of updates.

use crate::zpaq::model::position::Position;
use crate::zpaq::model::tables::{ADAPT, squash, stretch};

/// A probability of a one in the upper 22 bits, the number of updates in the lower 10.
type Slot = u32;

/// The index of a context's slot in a table whose size is a power of two.
#[inline]
fn index(slots: &[Slot], context: u32) -> usize {
    context as usize & (slots.len() - 1)
}

/// Updates a slot. The change gets smaller with each update, up to `limit` updates.
#[inline]
fn correct(slot: &mut Slot, limit: u32, bit: u32) {
    let count = *slot & 0x3FF;
    let error = (bit * 32767) as i32 - (*slot >> 17) as i32;
    let step = error.wrapping_mul(ADAPT[count as usize]) & -1024;
    *slot = slot.wrapping_add_signed(step).wrapping_add(u32::from(count < limit));
}

/// Context model: context -> probability.
pub(in crate::zpaq) struct Cm {
    slots: Vec<Slot>,
    limit: u32,
    at: usize,
}

impl Cm {
    /// Memory with `1 << bits` slots in bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        4 << bits
    }

    /// `1 << bits` slots, whose rate decreases until `limit * 4` updates.
    pub(in crate::zpaq) fn new(bits: u8, limit: u8) -> Self {
        Cm { slots: vec![1 << 31; 1 << bits], limit: u32::from(limit) * 4, at: 0 }
    }

    /// The logit of the next bit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, context: u32, position: &Position) -> i32 {
        self.at = index(&self.slots, context ^ position.direct());
        stretch(self.slots[self.at] >> 17)
    }

    #[inline]
    pub(in crate::zpaq) fn update(&mut self, bit: u32) {
        correct(&mut self.slots[self.at], self.limit, bit);
    }
}

/// Number of input steps of an SSE.
const STEPS: u32 = 32;

/// Secondary estimation: context and another component's prediction -> probability, interpolated between two steps.
pub(in crate::zpaq) struct Sse {
    slots: Vec<Slot>,
    limit: u32,
    at: usize,
}

impl Sse {
    /// Memory with `32 << bits` slots in bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        128 << bits
    }

    /// `32 << bits` slots that count as updated `start` times and slow down until `limit * 4` updates.
    pub(in crate::zpaq) fn new(bits: u8, start: u8, limit: u8) -> Self {
        let step = |at: u32| (squash(at as i32 * 64 - 992) as u32) << 17 | u32::from(start);
        let steps: Vec<Slot> = (0..STEPS).map(step).collect();
        Sse { slots: steps.repeat(1 << bits), limit: u32::from(limit) * 4, at: 0 }
    }

    /// The logit of the next bit, from another component's logit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, context: u32, position: &Position, guess: i32) -> i32 {
        let guess = (guess + 992).clamp(0, 1983) as u32;
        let step = guess >> 6;
        let part = guess & 63;
        let low = context.wrapping_add(position.partial()).wrapping_mul(STEPS).wrapping_add(step);
        let [low, high] = [index(&self.slots, low), index(&self.slots, low.wrapping_add(1))];
        self.at = if part < 32 { low } else { high };
        let sum = (self.slots[low] >> 10) * (64 - part) + (self.slots[high] >> 10) * part;
        stretch(sum >> 13)
    }

    /// Updates with the coded bit, at the nearer step.
    #[inline]
    pub(in crate::zpaq) fn update(&mut self, bit: u32) {
        correct(&mut self.slots[self.at], self.limit, bit);
    }
}
