//! An ICM and a chain of ISSEs. Each has a longer context and corrects the component before it.

use std::array;

use crate::zpaq::model::component::{Icm, Isse};

pub(super) struct Chain<const REST: usize> {
    first: Icm,
    rest: [Isse; REST],
}

impl<const REST: usize> Chain<REST> {
    /// A chain with tables of `64 << bits` bytes each.
    pub(super) fn new(first: u8, rest: [u8; REST]) -> Self {
        Chain { first: Icm::new(first), rest: rest.map(Isse::new) }
    }

    /// Looks up the rows of a nibble. All rows are prefetched before the first is used.
    #[inline]
    pub(super) fn seek(&mut self, contexts: &[u32], partial: u32) {
        let Some((&first, rest)) = contexts.split_first() else {
            return;
        };
        let homes: [_; REST] =
            array::from_fn(|at| self.rest[at].rows.home(rest.get(at).copied().unwrap_or(0), partial));
        let home = self.first.rows.home(first, partial);
        self.first.rows.seek(&home);
        for (isse, home) in self.rest.iter_mut().zip(&homes) {
            isse.rows.seek(home);
        }
    }

    /// The logits of the next bit: the ICM's, then the ISSEs', each from the component before it.
    #[inline]
    pub(super) fn predict(&mut self, nibble: usize, logits: &mut [i32]) {
        let mut logit = self.first.predict(nibble);
        logits[0] = logit;
        for (isse, place) in self.rest.iter_mut().zip(&mut logits[1..]) {
            logit = isse.predict(nibble, logit);
            *place = logit;
        }
    }

    #[inline]
    pub(super) fn update(&mut self, nibble: usize, bit: u32) {
        self.first.update(nibble, bit);
        for isse in &mut self.rest {
            isse.update(nibble, bit);
        }
    }
}
