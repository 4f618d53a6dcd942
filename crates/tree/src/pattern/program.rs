//! A pattern as a nondeterministic automaton, and its simulation.
//!
//! All states that the text so far can lead to are followed in parallel (Thompson, Regular Expression Search Algorithm, CACM
//! 11(6), 1968), so nothing is tried twice: a byte of the text costs at most as many steps as the program has. Steps that consume
//! no byte only lead forward, so one pass in ascending order finds all their successors.

use crate::glob::Set;

/// One step of a program. A step that consumes a byte continues at the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Consumes this byte.
    Byte(u8),
    /// Consumes any byte but `/`.
    One,
    /// Consumes a byte of the set, but not `/`.
    Set(Box<Set>),
    /// Consumes any number of bytes but `/`.
    Run,
    /// Consumes any number of bytes.
    RunAcross,
    /// Consumes nothing, at the start of a name.
    NameStart,
    /// Consumes nothing and continues at each of these later steps.
    Fork(Vec<usize>),
    /// Consumes nothing and continues at this later step.
    Jump(usize),
}

/// The steps of a pattern. The pattern matches if the text ends after the last step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program(pub(super) Vec<Step>);

impl Program {
    /// Whether the complete text matches.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        let mut now = StepSet::new(self.0.len() + 1);
        let mut next = now.clone();
        now.insert(0);
        let mut name_start = true;
        for &byte in text {
            self.follow(&mut now, Some(byte), name_start, &mut next);
            std::mem::swap(&mut now, &mut next);
            next.clear();
            if now.is_empty() {
                return false;
            }
            name_start = byte == b'/';
        }
        self.follow(&mut now, None, name_start, &mut next);
        now.contains(self.0.len())
    }

    /// Adds to `now` the steps reachable without a byte, and to `next` the steps reachable with this byte.
    fn follow(&self, now: &mut StepSet, byte: Option<u8>, name_start: bool, next: &mut StepSet) {
        let within = byte.filter(|&byte| byte != b'/');
        let mut from = 0;
        while let Some(at) = now.first_from(from) {
            from = at + 1;
            match self.0.get(at) {
                Some(Step::Byte(wanted)) => next.insert_if(byte == Some(*wanted), at + 1),
                Some(Step::One) => next.insert_if(within.is_some(), at + 1),
                Some(Step::Set(set)) => next.insert_if(within.is_some_and(|byte| set.contains(byte)), at + 1),
                Some(Step::Run) => {
                    now.insert(at + 1);
                    next.insert_if(within.is_some(), at);
                }
                Some(Step::RunAcross) => {
                    now.insert(at + 1);
                    next.insert_if(byte.is_some(), at);
                }
                Some(Step::NameStart) => now.insert_if(name_start, at + 1),
                Some(Step::Fork(steps)) => steps.iter().for_each(|&step| now.insert(step)),
                Some(Step::Jump(step)) => now.insert(*step),
                None => {}
            }
        }
    }
}

/// A set of steps.
#[derive(Debug, Clone)]
struct StepSet(Vec<u64>);

impl StepSet {
    fn new(count: usize) -> StepSet {
        StepSet(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, step: usize) {
        self.0[step / 64] |= 1 << (step % 64);
    }

    fn insert_if(&mut self, condition: bool, step: usize) {
        if condition {
            self.insert(step);
        }
    }

    fn contains(&self, step: usize) -> bool {
        self.0[step / 64] >> (step % 64) & 1 == 1
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The first step in the set at or after `from`.
    fn first_from(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        let head = self.0.get(first)? & (u64::MAX << (from % 64));
        let words = std::iter::once(head).chain(self.0[first + 1..].iter().copied());
        let (skipped, word) = words.enumerate().find(|(_, word)| *word != 0)?;
        Some((first + skipped) * 64 + word.trailing_zeros() as usize)
    }
}
