//! Codes the symbols of a path and updates the state that later symbols depend on.

use super::model::{Contexts, END, Model, SHORTEST, State};
use super::range::RangeEncoder;

/// The state that later symbols depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct CoderState {
    /// The last four distances, the latest first. The distance of the byte before is 1.
    pub(super) distances: [u32; 4],
    pub(super) state: State,
}

impl CoderState {
    pub(super) const START: CoderState = CoderState { distances: [1; 4], state: State::START };

    /// Continues with a match at a new distance.
    #[inline(always)]
    pub(super) fn found(&mut self, distance: u32) {
        let [first, second, third, _] = self.distances;
        self.distances = [distance, first, second, third];
        self.state = self.state.found();
    }

    /// Continues with a repeat of at least two bytes.
    #[inline(always)]
    pub(super) fn repeat(&mut self, choice: u32) {
        let [first, second, third, fourth] = self.distances;
        self.distances = match choice {
            0 => self.distances,
            1 => [second, first, third, fourth],
            2 => [third, first, second, fourth],
            _ => [fourth, first, second, third],
        };
        self.state = self.state.repeat();
    }
}

/// A literal, a match or a repeat.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    length: u32,
    /// 0 for a literal, 1 to 4 for a repeat, otherwise the distance plus 4.
    what: u32,
}

impl Symbol {
    pub(super) const LITERAL: Symbol = Symbol { length: 1, what: 0 };

    pub(super) fn repeat(length: usize, choice: u32) -> Symbol {
        Symbol { length: length as u32, what: choice + 1 }
    }

    pub(super) fn found(length: usize, distance: u32) -> Symbol {
        Symbol { length: length as u32, what: distance + 4 }
    }

    #[inline(always)]
    pub(super) fn length(self) -> usize {
        self.length as usize
    }
}

/// The model and the state after the symbols coded so far.
pub(super) struct Coder {
    pub(super) model: Box<Model>,
    pub(super) past: CoderState,
    pub(super) contexts: Contexts,
}

impl Coder {
    pub(super) const MEMORY: usize = size_of::<Model>();

    pub(super) fn new(contexts: Contexts) -> Coder {
        Coder { model: Box::new(Model::NEW), past: CoderState::START, contexts }
    }

    /// Resets the model and the state.
    pub(super) fn reset(&mut self) {
        *self.model = Model::NEW;
        self.past = CoderState::START;
    }

    /// Codes a symbol at a position.
    #[inline(always)]
    pub(super) fn encode(&mut self, range: &mut RangeEncoder, text: &[u8], at: usize, symbol: Symbol) {
        let position = self.contexts.of_position(at);
        let state = self.past.state;
        let is_match = &mut self.model.is_match[state.index()][position];
        if symbol.what == 0 {
            range.bit(is_match, 0);
            return self.encode_literal(range, text, at);
        }
        range.bit(is_match, 1);
        let is_repeat = symbol.what <= 4;
        range.bit(&mut self.model.is_repeat[state.index()], is_repeat.into());
        if is_repeat {
            self.encode_repeat(range, symbol, position);
        } else {
            let distance = symbol.what - 4;
            self.model.encode_found(range, symbol.length(), distance - 1, position);
            self.past.found(distance);
        }
    }

    #[inline(always)]
    fn encode_literal(&mut self, range: &mut RangeEncoder, text: &[u8], at: usize) {
        let before = if at > 0 { text[at - 1] } else { 0 };
        let expected = (!self.past.state.is_literal()).then(|| text[at - self.past.distances[0] as usize]);
        let first = self.contexts.of_literal(at, before);
        self.model.encode_literal(range, first, text[at], expected);
        self.past.state = self.past.state.literal();
    }

    #[inline(always)]
    fn encode_repeat(&mut self, range: &mut RangeEncoder, symbol: Symbol, position: usize) {
        let choice = symbol.what - 1;
        let state = self.past.state;
        let [not_first, not_second, not_third] = &mut self.model.is_older[state.index()];
        range.bit(not_first, u32::from(choice > 0));
        if choice == 0 {
            let is_long = symbol.length() >= SHORTEST;
            range.bit(&mut self.model.is_long[state.index()][position], is_long.into());
            if !is_long {
                self.past.state = state.short();
                return;
            }
        } else {
            range.bit(not_second, u32::from(choice > 1));
            if choice > 1 {
                range.bit(not_third, u32::from(choice > 2));
            }
        }
        self.model.encode_repeat(range, symbol.length(), position);
        self.past.repeat(choice);
    }

    pub(super) fn encode_end(&mut self, range: &mut RangeEncoder, at: usize) {
        let position = self.contexts.of_position(at);
        let state = self.past.state.index();
        range.bit(&mut self.model.is_match[state][position], 1);
        range.bit(&mut self.model.is_repeat[state], 0);
        self.model.encode_found(range, SHORTEST, END, position);
    }
}
