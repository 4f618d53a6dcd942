//! A histogram of durations, in steps of a quarter of a power of two.

/// Counts of nanoseconds, each step at most a quarter wider than its lower edge.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Box<[u64; STEPS]>,
    longest: u64,
}

/// Four for each power of two.
const STEPS: usize = 252;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; STEPS]), longest: 0 }
    }
}

impl Histogram {
    /// Counts a duration of `ns` nanoseconds.
    pub(crate) fn add(&mut self, ns: u64) {
        self.counts[step(ns)] += 1;
        self.longest = self.longest.max(ns);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts.iter()).for_each(|(mine, theirs)| *mine += theirs);
        self.longest = self.longest.max(other.longest);
    }

    pub(crate) fn longest(&self) -> u64 {
        self.longest
    }

    /// The 99.9th percentile, rounded up to the edge of its step, but never more than the longest duration.
    pub(crate) fn p999(&self) -> u64 {
        let total: u64 = self.counts.iter().sum();
        let rank = total - total / 1000;
        let mut seen = 0;
        let reached = |&count: &u64| {
            seen += count;
            seen >= rank
        };
        self.counts.iter().position(reached).map_or(0, upper_edge).min(self.longest)
    }
}

fn step(ns: u64) -> usize {
    match ns {
        0..4 => ns as usize,
        _ => {
            let shift = ns.ilog2() - 2;
            shift as usize * 4 + (ns >> shift) as usize
        }
    }
}

fn upper_edge(step: usize) -> u64 {
    match step.checked_sub(4) {
        None => step as u64,
        Some(above) => ((4 + above as u64 % 4) << (above / 4)) + ((1 << (above / 4)) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_each_other_without_gaps() {
        assert_eq!((step(0), step(3), step(4), step(7), step(8), step(u64::MAX)), (0, 3, 4, 7, 8, STEPS - 1));
        for index in 0..STEPS - 1 {
            assert_eq!((step(upper_edge(index)), step(upper_edge(index) + 1)), (index, index + 1));
        }
        assert_eq!(upper_edge(STEPS - 1), u64::MAX);
    }

    #[test]
    fn p999_ignores_one_in_a_thousand() {
        let mut waits = Histogram::default();
        assert_eq!((waits.p999(), waits.longest()), (0, 0));
        (0..999).for_each(|_| waits.add(100));
        waits.add(5000);
        assert_eq!((waits.p999(), waits.longest()), (111, 5000));
        let mut all = Histogram::default();
        all.add(5000);
        all.merge(&waits);
        assert_eq!((all.p999(), all.longest()), (5000, 5000));
    }
}
