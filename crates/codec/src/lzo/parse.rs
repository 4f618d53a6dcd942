//! The strong encoder: of all ways to say a block, one of the shortest, by what each instruction really costs.
//!
//! A block is looked at in sections. First all matches of a section are found, then, from its end to its beginning, what each
//! position costs to go on from, for each state that a decoder can be in there (how many literals came last: none, one to three
//! that ride with a match, or a run of its own). Then the cheapest way is followed and written.

use super::finder::{Finder, Found, MOST};
use super::form::{
    M1_FAR_FIRST, M1_FAR_LENGTH, M1_FAR_MOST, M1_MOST, M2_LONGEST, M2_MOST, M3_MOST, M3_SHORT, M4_SHORT,
};
use super::writer::{Match, Writer};

/// Positions of a section.
const SECTION: usize = 1 << 12;
/// A match may reach so far past the end of its section, at most.
const REACH: usize = 1 << 10;
/// States: no literals since the match, one, two, three, a run of its own.
const STATES: usize = 5;
/// The state of a run of its own.
const RUN: usize = 4;
/// Costs are in half bytes: what a match covers of the section to come is worth half a byte each.
const BYTE: u32 = 2;
/// Of equally dear lengths of one match only so many, the longest, are tried.
const TRIED: usize = 2;

/// What is best at a position.
#[derive(Clone, Copy, Default)]
struct Choice {
    /// The match that any state may be followed by.
    found: Packed,
    /// The distance of a match of two bytes that may follow one to three literals.
    near: u16,
    /// The distance of a match of three bytes that costs less after a run of its own.
    far: u16,
    /// For each state: a literal, a match, or the shorter form.
    steps: [Step; STATES],
}

/// What to do next.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Literal,
    Match,
    Short,
}

/// A match in four bytes.
#[derive(Clone, Copy, Default)]
struct Packed {
    length: u16,
    distance: u16,
}

impl From<Packed> for Match {
    fn from(packed: Packed) -> Match {
        Match { length: packed.length.into(), distance: packed.distance.into() }
    }
}

/// An encoder with a finder and what it knows of a section.
pub(crate) struct Optimal {
    finder: Finder,
    nice: usize,
    /// The section's matches, and where those of each position begin.
    matches: Vec<Packed>,
    first: Box<[u32]>,
    /// Half bytes that it costs to go on from a position after a match.
    costs: Box<[u32]>,
    choices: Box<[Choice]>,
}

/// Where the writing has come to.
struct Progress {
    /// Position.
    at: usize,
    /// State there.
    state: usize,
    /// Where the literals begin that are not yet written.
    done: usize,
}

/// A section: how many positions, and the match behind them that is so long that it is taken at once.
struct Section {
    count: usize,
    taken: Option<Match>,
}

impl Optimal {
    /// An encoder that looks at `depth` candidates for each position; a match of `nice` bytes, [`REACH`] at most, is taken at once.
    pub fn new(depth: u32, nice: usize) -> Optimal {
        let nice = nice.min(REACH);
        Optimal {
            finder: Finder::new(depth, nice),
            nice,
            matches: Vec::with_capacity(MOST * SECTION),
            first: vec![0; SECTION + 1].into_boxed_slice(),
            costs: vec![0; SECTION + REACH + 1].into_boxed_slice(),
            choices: vec![Choice::default(); SECTION].into_boxed_slice(),
        }
    }

    /// Bytes that one takes.
    pub const MEMORY: usize =
        Finder::MEMORY + SECTION * (MOST * size_of::<Packed>() + size_of::<Choice>() + 4) + (SECTION + REACH + 2) * 4;

    /// Compresses `src` into `room`; `None` if it does not fit.
    pub fn press(&mut self, src: &[u8], room: &mut [u8]) -> Option<usize> {
        self.finder.clear();
        let mut out = Writer::new(room);
        let mut progress = Progress { at: 0, state: RUN, done: 0 };
        while progress.at < src.len() {
            let end = self.section(src, &mut progress, &mut out)?;
            (end..progress.at).for_each(|at| self.finder.skip(src, at));
        }
        out.finish(&src[progress.done..])
    }

    /// Does a section; where it ends that the finder has seen.
    fn section(&mut self, src: &[u8], progress: &mut Progress, out: &mut Writer) -> Option<usize> {
        let start = progress.at;
        let section = self.search(src, start);
        // In front of a match that is taken at once all ways meet.
        let limit = section.count + if section.taken.is_some() { 0 } else { REACH };
        self.judge(section.count, limit);
        self.write(src, section.count, progress, out)?;
        let Some(found) = section.taken else { return Some(start + section.count) };
        out.step(&src[progress.done..progress.at], found)?;
        let end = progress.at + found.length;
        *progress = Progress { at: end, state: 0, done: end };
        Some(start + section.count + 1)
    }

    /// Finds the matches of a section.
    fn search(&mut self, src: &[u8], start: usize) -> Section {
        self.matches.clear();
        let most = SECTION.min(src.len() - start);
        let mut found = Found::new();
        for index in 0..most {
            self.first[index] = self.matches.len() as u32;
            self.finder.find(src, start + index, &mut found);
            if let Some(&longest) = found.matches().last().filter(|found| found.length >= self.nice) {
                return Section { count: index, taken: Some(longest) };
            }
            let packed = |found: &Match| Packed { length: found.length as u16, distance: found.distance as u16 };
            self.matches.extend(found.matches().iter().map(packed));
        }
        self.first[most] = self.matches.len() as u32;
        Section { count: most, taken: None }
    }

    /// Finds what is best at each position, given that no match goes past `limit`.
    fn judge(&mut self, count: usize, limit: usize) {
        for (beyond, cost) in self.costs[count..=limit].iter_mut().enumerate() {
            *cost = (limit - count - beyond) as u32;
        }
        let mut next = [self.costs[count]; STATES];
        for index in (0..count).rev() {
            let matches = self.first[index] as usize..self.first[index + 1] as usize;
            let ahead = &self.costs[index..=limit];
            let (choice, costs) = choose(&self.matches[matches], ahead, &next);
            self.choices[index] = choice;
            self.costs[index] = costs[0];
            next = costs;
        }
    }

    /// Follows the cheapest way through a section and writes it.
    fn write(&self, src: &[u8], count: usize, progress: &mut Progress, out: &mut Writer) -> Option<()> {
        let mut index = 0;
        let start = progress.at;
        while index < count {
            let choice = &self.choices[index];
            let found = match choice.steps[progress.state] {
                Step::Literal => {
                    progress.state = (progress.state + 1).min(RUN);
                    index += 1;
                    continue;
                }
                Step::Match => choice.found.into(),
                Step::Short if progress.state == RUN => Match { length: M1_FAR_LENGTH, distance: choice.far.into() },
                Step::Short => Match { length: 2, distance: choice.near.into() },
            };
            out.step(&src[progress.done..start + index], found)?;
            index += found.length;
            progress.done = start + index;
            progress.state = 0;
        }
        progress.at = start + index;
        Some(())
    }
}

/// What is best at a position, and what it costs to go on from there in each state. `ahead`: what it costs after a match,
/// from here on; `next`: what it costs one position on, by state.
#[inline]
fn choose(matches: &[Packed], ahead: &[u32], next: &[u32; STATES]) -> (Choice, [u32; STATES]) {
    // The fourth literal makes a run of its own of them, which takes a byte. (What long runs take more is left out.)
    let mut costs = [next[1] + BYTE, next[2] + BYTE, next[3] + BYTE, next[RUN] + 2 * BYTE, next[RUN] + BYTE];
    let mut choice = Choice::default();
    let Some(nearest) = matches.first() else { return (choice, costs) };
    let (mut best, mut least) = (u32::MAX, 3);
    for found in matches {
        let (length, distance) = (usize::from(found.length).min(ahead.len() - 1), usize::from(found.distance));
        let mut consider = |from: usize, to: usize, price: u32| {
            for length in (from.max((to + 1).saturating_sub(TRIED))..=to).rev() {
                let cost = ahead[length] + price;
                if cost < best {
                    best = cost;
                    choice.found = Packed { length: length as u16, distance: found.distance };
                }
            }
        };
        let short = if distance <= M3_MOST { M3_SHORT } else { M4_SHORT };
        if distance <= M2_MOST {
            consider(least, length.min(M2_LONGEST), 2 * BYTE);
        }
        consider(least, length.min(short), 3 * BYTE);
        if length > short {
            let price = 3 + (length - short).div_ceil(255) as u32;
            consider(length, length, price * BYTE);
        }
        if (M1_FAR_FIRST..=M1_FAR_MOST).contains(&distance) && length >= M1_FAR_LENGTH && choice.far == 0 {
            choice.far = found.distance;
        }
        least = least.max(length + 1);
    }
    let near = if usize::from(nearest.distance) <= M1_MOST && ahead.len() > 2 { ahead[2] + 2 * BYTE } else { u32::MAX };
    let far = if choice.far > 0 { ahead[M1_FAR_LENGTH] + 2 * BYTE } else { u32::MAX };
    choice.near = nearest.distance;
    for (state, (cost, step)) in costs.iter_mut().zip(&mut choice.steps).enumerate() {
        let special = [u32::MAX, near, near, near, far][state];
        if best < *cost {
            (*cost, *step) = (best, Step::Match);
        }
        if special < *cost {
            (*cost, *step) = (special, Step::Short);
        }
    }
    (choice, costs)
}
