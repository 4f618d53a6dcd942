//! Third phase: finds the matches of a segment, or of its uncovered parts, from the links of its samples and from its runs.

pub(crate) mod compare;
pub(crate) mod match_merger;
pub(crate) mod segment_reader;

use std::ops::Range;
use std::sync::Arc;

use crate::Match;
use crate::error::PhaseError;
use crate::index::{Index, Link};
use crate::matching::segment_reader::{AROUND, SegmentReader};
use crate::sampling::runs::{self, PERIOD_MOST, Run};
use crate::second_pass::Uncovered;
use crate::settings::{SEGMENT, Settings};

/// A match of at most this many bytes is replaced by a longer one that covers it.
const SHORT: u64 = 1024;

/// The state of a worker.
pub(crate) struct Matcher {
    settings: Settings,
    index: Arc<Index>,
    reader: SegmentReader,
}

/// The matches of a segment so far.
struct SegmentMatches {
    /// Minimum start of matches.
    start: u64,
    /// Maximum end of matches. It is in the next segment, so that no match is cut at the end of this segment.
    reach: u64,
    /// All bytes before this position are covered or have been searched.
    covered: u64,
    matches: Vec<Match>,
}

impl Matcher {
    pub(crate) fn new(settings: &Settings, index: &Arc<Index>, reader: SegmentReader) -> Self {
        Self { settings: settings.clone(), index: Arc::clone(index), reader }
    }

    /// The matches of segment `number`, in order and without overlaps. The last may end in the next segment.
    pub(crate) fn matches(&mut self, number: usize) -> Result<Vec<Match>, PhaseError> {
        if (number as u64 + 1) * SEGMENT <= self.settings.reference() {
            return Ok(Vec::new());
        }
        let segment = self.reader.turn_to(number, self.settings.length())?;
        let reach = (segment.end + AROUND).min(self.settings.length());
        let start = segment.start.max(self.settings.reference());
        let mut found = SegmentMatches { start, reach, covered: start, matches: Vec::new() };
        // A run repeats the bytes before it, not the reference.
        let runs = if self.settings.reference() > 0 { Vec::new() } else { self.runs(&segment) };
        let mut runs = runs.into_iter().peekable();
        let index = Arc::clone(&self.index);
        for link in index.from(start).take_while(|link| link.at < segment.end) {
            while let Some(run) = runs.next_if(|run| run.at <= link.at) {
                found.add_run(run, self.settings.least());
            }
            self.follow(link, &mut found)?;
        }
        runs.for_each(|run| found.add_run(run, self.settings.least()));
        Ok(found.matches)
    }

    /// The matches in the uncovered parts of segment `number`. Each match is within one part.
    pub(crate) fn matches_left(&mut self, number: usize, left: &Uncovered) -> Result<Vec<Match>, PhaseError> {
        let segment = self.reader.turn_to(number, self.settings.length())?;
        let sample = self.settings.sample() as u64;
        let index = Arc::clone(&self.index);
        let mut matches = Vec::new();
        for gap in left.within(&segment, self.settings.least()) {
            let mut found = SegmentMatches { start: gap.start, reach: gap.end, covered: gap.start, matches };
            for link in index.from(gap.start).take_while(|link| link.at + sample <= gap.end) {
                self.follow(link, &mut found)?;
            }
            matches = found.matches;
        }
        Ok(matches)
    }

    /// Adds the best match of a sample.
    fn follow(&mut self, link: Link, found: &mut SegmentMatches) -> Result<(), PhaseError> {
        // A sample within the last match yields no new match; a sample that crosses its end may.
        if link.at + self.settings.sample() as u64 > found.covered
            && let Some(best) = self.best(link, found)?
        {
            self.settle(best, found)?;
        }
        Ok(())
    }

    /// The runs of a segment, as matches.
    fn runs(&self, segment: &Range<u64>) -> Vec<Match> {
        let start = segment.start.saturating_sub(PERIOD_MOST as u64);
        let bytes = self.reader.near(start..segment.end);
        let as_match = |run: Run| {
            let at = (start + run.start as u64).max(segment.start);
            Match { at, length: start + run.end as u64 - at, distance: run.period as u64 }
        };
        runs::runs(bytes, (segment.start - start) as usize).into_iter().map(as_match).collect()
    }

    /// The longest match of a sample with its predecessors, in the uncovered part.
    fn best(&mut self, link: Link, found: &SegmentMatches) -> Result<Option<Match>, PhaseError> {
        let mut best = self.continued(link.at, found)?;
        let mut earlier = Some(link.before);
        for _ in 0..self.settings.candidates() {
            let Some(before) = earlier else { break };
            let candidate = self.candidate(link.at, before, found)?;
            let longest = best.map_or(self.settings.least() - 1, |best| best.length);
            best = candidate.filter(|candidate| candidate.length > longest).or(best);
            earlier = self.index.before(before);
        }
        Ok(best)
    }

    /// The match around a sample at the distance of the last match, for windows with a reference. After a change in place, the content
    /// continues at the same distance, however often the sample occurs.
    fn continued(&mut self, at: u64, found: &SegmentMatches) -> Result<Option<Match>, PhaseError> {
        let before = found.matches.last().and_then(|last| at.checked_sub(last.distance));
        match before.filter(|before| *before < self.settings.reference()) {
            Some(before) => self.candidate(at, before, found),
            None => Ok(None),
        }
    }

    /// The match around a sample and an earlier sample.
    fn candidate(&mut self, at: u64, before: u64, found: &SegmentMatches) -> Result<Option<Match>, PhaseError> {
        let reference = self.settings.reference();
        let reach = if reference > 0 { found.reach.min(at + reference.saturating_sub(before)) } else { found.reach };
        let ahead = self.reader.forward(before, at..reach)?;
        // The bytes differ, though their fingerprints are equal.
        if ahead < self.settings.sample() as u64 {
            return Ok(None);
        }
        let behind = if at > found.covered { self.reader.backward(before, found.covered..at)? } else { 0 };
        let start = found.covered.max(at - behind);
        Ok((at + ahead > start).then(|| Match { at: start, length: at + ahead - start, distance: at - before }))
    }

    /// Adds a match, and removes preceding short matches that it covers completely.
    fn settle(&mut self, mut best: Match, found: &mut SegmentMatches) -> Result<(), PhaseError> {
        while let Some(last) = found.matches.last().copied() {
            let behind = best.at - last.at;
            if last.end() != best.at || last.length > SHORT || best.at - best.distance < behind {
                break;
            }
            if self.reader.backward(best.at - best.distance, last.at..best.at)? < behind {
                break;
            }
            found.matches.pop();
            best = Match { at: last.at, length: best.length + behind, ..best };
        }
        found.covered = best.end();
        found.matches.push(best);
        Ok(())
    }
}

impl SegmentMatches {
    /// Adds the uncovered part of a run.
    fn add_run(&mut self, run: Match, least: u64) {
        let at = run.at.max(self.covered).max(self.start);
        if run.end() >= at + least {
            self.covered = run.end();
            self.matches.push(Match { at, length: run.end() - at, ..run });
        }
    }
}
