//! Interprets any model from its header.

use super::Predictor;
use super::component::{Cm, Icm, Isse, Match, Mix2, Sse, blend, dot, train};
use super::position::Position;
use super::tables::{clamp12, miss, squash};
use crate::zpaq::fault::Fault;
use crate::zpaq::header::{ComponentSpec, Header};
use crate::zpaq::machine::Machine;

enum Component {
    Const(i32),
    Cm(Cm),
    Icm(Box<Icm>),
    Match(Match),
    Avg { first: u8, second: u8, weight: u8 },
    Mix2 { mix: Mix2, first: u8, second: u8, mask: u8 },
    Mix(MixAny),
    Isse { isse: Isse, from: u8 },
    Sse { sse: Sse, from: u8 },
}

/// MIX of a number of predictions that only the header says.
struct MixAny {
    weights: Vec<i32>,
    from: usize,
    count: usize,
    sets: usize,
    rate: i32,
    mask: u8,
    at: usize,
}

impl MixAny {
    fn predict(&mut self, context: u32, partial: u32, guesses: &[i32]) -> i32 {
        let set = context.wrapping_add(partial & u32::from(self.mask)) as usize & (self.sets - 1);
        self.at = set * self.count;
        clamp12(dot(&self.weights[self.at..][..self.count], &guesses[self.from..][..self.count]) >> 8)
    }

    fn update(&mut self, guesses: &[i32], logit: i32, bit: u32) {
        let error = (miss(bit, logit) * self.rate) >> 4;
        train(&mut self.weights[self.at..][..self.count], &guesses[self.from..][..self.count], error);
    }
}

impl Component {
    fn new(kind: ComponentSpec) -> Component {
        match kind {
            ComponentSpec::Const { value } => Component::Const((i32::from(value) - 128) * 4),
            ComponentSpec::Cm { bits, limit } => Component::Cm(Cm::new(bits, limit)),
            ComponentSpec::Icm { bits } => Component::Icm(Box::new(Icm::new(bits))),
            ComponentSpec::Match { index_bits, ring_bits } => Component::Match(Match::new(index_bits, ring_bits)),
            ComponentSpec::Avg { first, second, weight } => Component::Avg { first, second, weight },
            ComponentSpec::Mix2 { bits, first, second, rate, mask } => {
                Component::Mix2 { mix: Mix2::new(bits, rate), first, second, mask }
            }
            ComponentSpec::Mix { bits, from, count, rate, mask } => {
                let from = usize::from(from);
                let count = usize::from(count);
                let sets = 1 << bits;
                let weights = vec![65536 / count.max(1) as i32; count * sets];
                Component::Mix(MixAny { weights, from, count, sets, rate: i32::from(rate), mask, at: 0 })
            }
            ComponentSpec::Isse { bits, from } => Component::Isse { isse: Isse::new(bits), from },
            ComponentSpec::Sse { bits, from, start, limit } => {
                Component::Sse { sse: Sse::new(bits, start, limit), from }
            }
        }
    }

    /// The logit of the next bit, from the predictions of earlier components.
    fn predict(&mut self, context: u32, position: &Position, guesses: &[i32]) -> i32 {
        let partial = position.partial();
        let nibble = position.nibble();
        match self {
            Component::Const(logit) => *logit,
            Component::Cm(cm) => cm.predict(context, position),
            Component::Match(model) => model.predict(position),
            Component::Avg { first, second, weight } => {
                blend(guesses[usize::from(*first)], guesses[usize::from(*second)], *weight)
            }
            Component::Mix2 { mix, first, second, mask } => {
                let context = context.wrapping_add(partial & u32::from(*mask));
                mix.predict(context, guesses[usize::from(*first)], guesses[usize::from(*second)])
            }
            Component::Mix(mix) => mix.predict(context, partial, guesses),
            Component::Icm(icm) => {
                if position.starts_nibble() {
                    icm.rows.seek(&icm.rows.home(context, partial));
                }
                icm.predict(nibble)
            }
            Component::Isse { isse, from } => {
                if position.starts_nibble() {
                    isse.rows.seek(&isse.rows.home(context, partial));
                }
                isse.predict(nibble, guesses[usize::from(*from)])
            }
            Component::Sse { sse, from } => sse.predict(context, position, guesses[usize::from(*from)]),
        }
    }

    /// Updates with the coded bit. `own` is the index of this component.
    fn update(&mut self, position: &Position, guesses: &[i32], own: usize, bit: u32) {
        match self {
            Component::Const(_) | Component::Avg { .. } => {}
            Component::Cm(cm) => cm.update(bit),
            Component::Icm(icm) => icm.update(position.nibble(), bit),
            Component::Match(model) => model.update(position, bit),
            Component::Mix2 { mix, .. } => mix.update(bit),
            Component::Mix(mix) => mix.update(guesses, guesses[own], bit),
            Component::Isse { isse, .. } => isse.update(position.nibble(), bit),
            Component::Sse { sse, .. } => sse.update(bit),
        }
    }
}

/// Any model of at least one component.
pub(in crate::zpaq) struct General {
    components: Vec<Component>,
    contexts: Vec<u32>,
    /// The last prediction of each component.
    guesses: Vec<i32>,
    machine: Machine,
    position: Position,
}

impl General {
    /// The model of a header with at least one component. Its program may run `steps` instructions more than it earns.
    pub(in crate::zpaq) fn new(header: &Header, steps: u64) -> Self {
        let components: Vec<Component> = header.components.iter().copied().map(Component::new).collect();
        let count = components.len();
        let machine = Machine::new(header.program.clone(), header.arrays, steps);
        let contexts = vec![0; count];
        let guesses = vec![0; count];
        General { components, contexts, guesses, machine, position: Position::start() }
    }

    /// The match models, each with its context.
    fn repeats(&mut self) -> impl Iterator<Item = (u32, &mut Match)> {
        self.components.iter_mut().zip(&self.contexts).filter_map(|(component, &context)| match component {
            Component::Match(model) => Some((context, model)),
            _ => None,
        })
    }
}

impl Predictor for General {
    fn predict(&mut self) -> u32 {
        for (at, component) in self.components.iter_mut().enumerate() {
            self.guesses[at] = component.predict(self.contexts[at], &self.position, &self.guesses);
        }
        squash(self.guesses.last().copied().unwrap_or(0)) as u32
    }

    fn update(&mut self, bit: u32) {
        for (at, component) in self.components.iter_mut().enumerate() {
            component.update(&self.position, &self.guesses, at, bit);
        }
        self.position.step(bit);
    }

    fn finish(&mut self, byte: u8) -> Result<(), Fault> {
        self.repeats().for_each(|(_, model)| model.finish(byte));
        self.machine.start(u32::from(byte));
        self.machine.run_silently()?;
        for (at, context) in self.contexts.iter_mut().enumerate() {
            *context = self.machine.word(at);
        }
        self.repeats().for_each(|(context, model)| model.set_context(context));
        Ok(())
    }
}
