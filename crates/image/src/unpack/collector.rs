//! Collects the workers' results in order on the caller's thread: sums, warnings (one for each topic), errors, progress.

use std::collections::BTreeSet;

use packline_engine::Consumer;
use packline_volume::{Node, Visit};

use super::outcome::{Outcome, Topic, Written};
use super::request::UnpackCounts;
use super::work::Unpacking;
use crate::{EntryInfo, EntryKind, Error, Observer, Progress};

pub struct ResultCollector<'o> {
    /// Sums so far.
    pub counts: UnpackCounts,
    /// Entries visited so far.
    entries: u64,
    warned: BTreeSet<Topic>,
    written: Written,
    /// Whether content of the image could not be read.
    pub is_damaged: bool,
    observer: &'o mut dyn Observer,
    /// Length of the image in bytes.
    total: u64,
}

impl<'o> ResultCollector<'o> {
    /// `total` is the length of the image in bytes.
    pub fn new(observer: &'o mut dyn Observer, total: u64) -> ResultCollector<'o> {
        let counts = UnpackCounts::default();
        let written = Written::default();
        ResultCollector { counts, entries: 0, warned: BTreeSet::new(), written, is_damaged: false, observer, total }
    }

    /// Returns the results of files with several names since the last call.
    pub fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.written)
    }

    /// Reports an entry before it is created or planned.
    pub fn meet(&mut self, visit: &Visit) {
        self.entries += 1;
        let kind = if matches!(visit.inode.node, Node::File(_)) { EntryKind::File } else { EntryKind::Other };
        let entry = EntryInfo { path: &visit.path, kind };
        self.observer.entry(entry, &self.progress());
    }

    /// Adds an outcome.
    pub fn take(&mut self, outcome: Outcome) {
        self.counts.add(&outcome.counts);
        self.written.add(outcome.written);
        for note in outcome.warnings {
            if self.warned.insert(note.topic) {
                self.observer.warning(&note.text);
            }
        }
        for problem in &outcome.problems {
            self.counts.errors += 1;
            self.is_damaged |= matches!(problem, Error::Read { .. });
            self.observer.problem(problem.as_problem());
        }
        self.observer.advance(&self.progress());
    }

    /// Reports a warning without a topic.
    pub fn warn(&mut self, text: &str) {
        self.observer.warning(text);
    }

    fn progress(&self) -> Progress {
        Progress {
            entries: self.entries,
            source_bytes: self.counts.read_bytes.min(self.total),
            source_total: Some(self.total),
            content_bytes: self.counts.content_bytes,
            image_bytes: self.counts.read_bytes,
            ..Progress::default()
        }
    }
}

impl Consumer<Unpacking> for ResultCollector<'_> {
    fn consume(&mut self, outcome: Outcome) -> Result<(), Error> {
        self.take(outcome);
        Ok(())
    }
}
