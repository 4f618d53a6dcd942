//! The caller's side of the line: adds up, warns once, reports, shows progress.

use std::collections::BTreeSet;

use packline_engine::Consumer;
use packline_squashfs::read::{Node, Visit};

use super::notes::{Outcome, Topic, Written};
use super::request::UnpackCounts;
use super::work::Unpacking;
use crate::{EntryInfo, EntryKind, Error, Observer, Progress};

/// What is known so far, and who is told.
pub struct Desk<'o> {
    /// What was done so far.
    pub counts: UnpackCounts,
    /// Entries met so far.
    entries: u64,
    warned: BTreeSet<Topic>,
    written: Written,
    observer: &'o mut dyn Observer,
    /// Length of the image, bytes.
    total: u64,
}

impl<'o> Desk<'o> {
    /// Nothing has been done; `total` is the length of the image, bytes.
    pub fn new(observer: &'o mut dyn Observer, total: u64) -> Desk<'o> {
        let (counts, written) = (UnpackCounts::default(), Written::default());
        Desk { counts, entries: 0, warned: BTreeSet::new(), written, observer, total }
    }

    /// What became of files with several names since this was called last.
    pub fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.written)
    }

    /// An entry is about to be made or planned.
    pub fn meet(&mut self, visit: &Visit) {
        self.entries += 1;
        let kind = if matches!(visit.inode.node, Node::File(_)) { EntryKind::File } else { EntryKind::Other };
        let entry = EntryInfo { path: &visit.path, kind };
        self.observer.entry(entry, &self.progress());
    }

    /// Takes what a piece of work came to.
    pub fn take(&mut self, outcome: Outcome) {
        self.counts.add(&outcome.counts);
        self.written.add(outcome.written);
        for note in outcome.notes {
            if self.warned.insert(note.topic) {
                self.observer.warning(&note.text);
            }
        }
        for problem in &outcome.problems {
            self.counts.errors += 1;
            self.observer.problem(problem);
        }
        self.observer.advance(&self.progress());
    }

    /// Says something else.
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
        }
    }
}

impl Consumer<Unpacking> for Desk<'_> {
    fn consume(&mut self, outcome: Outcome) -> Result<(), Error> {
        self.take(outcome);
        Ok(())
    }
}
