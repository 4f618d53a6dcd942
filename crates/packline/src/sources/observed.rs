//! A source with the request's changes applied, which reports to the observer.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_runtime::escape::Escape;
use packline_runtime::{Observer, Pass, Problem, Progress, Resources};
use packline_tree::{Bytes, Entry, Extent, Kind, Source, UnreadPart, Xattr};

use super::changes::limits::{ChangedTimes, EntryLimits};
use super::changes::{Changes, NewRoot};

/// A source that applies changes and reports progress.
pub(crate) struct ObservedSource<'a> {
    /// A source whose entries come first, unchanged and unreported; `None` after its end.
    before: Option<Box<dyn Source>>,
    /// Bytes that it consumed.
    bytes_before: u64,
    source: Box<dyn Source>,
    changes: Changes,
    limits: EntryLimits,
    observer: &'a mut dyn Observer,
    progress: Progress,
    image: Arc<AtomicU64>,
    /// Names of dropped attributes, so that each name causes one warning.
    dropped: BTreeSet<Bytes>,
    /// Number of errors of the source after which it continued, and of warnings.
    errors: u64,
    warnings: u64,
    /// Times that the image cannot store exactly, and the path of the first that is out of range.
    times: ChangedTimes,
    first_clamped: Bytes,
}

impl<'a> ObservedSource<'a> {
    /// Combines a source, its changes, the limits of the image, and an observer; `image` counts the bytes written.
    pub(crate) fn new(
        source: Box<dyn Source>,
        changes: Changes,
        limits: EntryLimits,
        image: Arc<AtomicU64>,
        observer: &'a mut dyn Observer,
    ) -> ObservedSource<'a> {
        let progress = Progress::default();
        let dropped = BTreeSet::new();
        ObservedSource {
            before: None,
            bytes_before: 0,
            source,
            changes,
            limits,
            observer,
            progress,
            image,
            dropped,
            errors: 0,
            warnings: 0,
            times: ChangedTimes::default(),
            first_clamped: Bytes::new(),
        }
    }

    /// Adds a source whose entries come first. These entries are neither changed nor reported.
    pub(crate) fn after(self, before: Box<dyn Source>) -> ObservedSource<'a> {
        ObservedSource { before: Some(before), ..self }
    }

    /// Reports that contents are read again, in this pass.
    pub(crate) fn in_pass(mut self, name: &'static str) -> Self {
        self.progress.pass = Some(Pass { name, part: 1, done: 0, total: None });
        self
    }

    fn next_before(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        let Some(before) = &mut self.before else { return Ok(None) };
        let next = before.next_entry()?;
        if next.is_none() {
            self.bytes_before = before.progress().0;
            self.before = None;
        }
        Ok(next)
    }

    /// Reports the end of the source.
    pub(crate) fn finishing(&mut self) {
        self.refresh();
        if let Some(root) = self.missing_root().filter(|root| !root.required) {
            let path = root.path.escaped();
            self.warn(&format!("the source has nothing at or below {path}: the image is empty"));
        }
        self.warn_of_times();
        self.observer.finishing(&self.progress);
    }

    fn warn_of_times(&mut self) {
        if self.times.clamped > 0 {
            let count = self.times.clamped;
            let first = shown(&self.first_clamped);
            let (verb, plural) = if count == 1 { ("has", "y") } else { ("have", "ies") };
            self.warn(&format!(
                "{count} entr{plural} {verb} a time that SquashFS cannot store, before 1970 or after 2106: the nearest is \
                 stored (the first is {first})"
            ));
        }
    }

    /// Counts an entry whose time the image cannot store exactly.
    fn check_time(&mut self, entry: &Entry) {
        let time = entry.meta.mtime;
        if matches!(entry.kind, Kind::HardLink(_)) {
            return;
        }
        if self.limits.times.contains(&time.seconds()) {
            self.times.truncated += u64::from(time.nanoseconds() > 0 && !self.limits.fractions);
            return;
        }
        if self.times.clamped == 0 {
            self.first_clamped.clone_from(&entry.path);
        }
        self.times.clamped += 1;
    }

    /// The new root, if no entry at or below it was found.
    fn missing_root(&self) -> Option<&NewRoot> {
        self.changes.root.as_ref().filter(|_| self.progress.entries == 0)
    }

    /// Bytes of the source consumed so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.progress().0
    }

    /// Number of errors of the source after which it continued.
    pub(crate) fn errors(&self) -> u64 {
        self.errors
    }

    /// The times so far that the image cannot store exactly.
    pub(crate) fn changed_times(&self) -> ChangedTimes {
        self.times
    }

    /// Number of warnings so far.
    pub(crate) fn warnings(&self) -> u64 {
        self.warnings
    }

    /// The source's next entry; new warnings and errors after which it continues go to the observer.
    fn next_of_source(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        let next = self.source.next_entry();
        self.source.take_warnings().iter().for_each(|message| self.warn(message));
        for error in self.source.take_problems() {
            self.errors += 1;
            self.observer.problem(Problem::without_output(&error));
        }
        next
    }

    /// Passes a warning to the observer.
    pub(crate) fn warn(&mut self, message: &str) {
        self.warnings += 1;
        self.observer.warning(message);
    }

    /// Warns if `granted` workers are fewer than wanted.
    pub(crate) fn warn_of_fewer(&mut self, granted: usize, resources: &Resources) {
        self.warnings += u64::from(resources.warn_of_fewer(granted, self.observer));
    }

    /// The observer, for the time after the source's end.
    pub(crate) fn observer(&mut self) -> &mut dyn Observer {
        self.observer
    }

    /// Reports bytes of content.
    fn advance(&mut self, bytes: u64) {
        self.progress.content_bytes += bytes;
        self.refresh();
        self.observer.advance(&self.progress);
    }

    fn refresh(&mut self) {
        (self.progress.source_bytes, self.progress.source_total) = self.progress();
        if let Some(pass) = &mut self.progress.pass {
            pass.done = self.progress.source_bytes;
            pass.total = self.progress.source_total;
        }
        self.progress.image_bytes = self.image.load(Ordering::Relaxed);
    }
}

impl Source for ObservedSource<'_> {
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
        if let Some(entry) = self.next_before()? {
            return Ok(Some(entry));
        }
        while let Some(entry) = self.next_of_source()? {
            let ObservedSource { observer, dropped, warnings, limits, .. } = self;
            let mut warn = |entry: &Entry, xattr: &Xattr| {
                if dropped.insert(xattr.name.clone()) {
                    *warnings += 1;
                    observer.warning(&left_out(entry, xattr, limits));
                }
            };
            if let Some(entry) = self.changes.apply(entry, limits, &mut warn)? {
                self.check_time(&entry);
                self.progress.entries += 1;
                self.refresh();
                self.observer.entry(entry.info(), &self.progress);
                return Ok(Some(entry));
            }
        }
        let missing = self.missing_root().filter(|root| root.required);
        missing.map_or(Ok(None), |root| Err(root.missing()))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        let extent = self.before.as_mut().unwrap_or(&mut self.source).read(buffer)?;
        let bytes = match extent {
            Extent::Data(bytes) => bytes as u64,
            Extent::Hole(bytes) => bytes,
            Extent::End => return Ok(extent),
        };
        self.advance(bytes);
        Ok(extent)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, packline_tree::Error> {
        let part = self.before.as_mut().unwrap_or(&mut self.source).read_later(most)?;
        if let Some(part) = &part {
            self.advance(part.bytes as u64);
        }
        Ok(part)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, packline_tree::Error> {
        self.before.as_mut().unwrap_or(&mut self.source).data_ranges(most)
    }

    fn read_again(&mut self) -> Option<u64> {
        if self.before.is_some() { None } else { self.source.read_again() }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let (done, total) = self.source.progress();
        match &self.before {
            Some(before) => (before.progress().0, None),
            None => (self.bytes_before + done, total.map(|total| self.bytes_before + total)),
        }
    }
}

/// A path in messages; the root is `/`.
fn shown(path: &[u8]) -> String {
    if path.is_empty() { "/".to_string() } else { path.escaped() }
}

/// The warning about an attribute that is left out.
fn left_out(entry: &Entry, xattr: &Xattr, limits: &EntryLimits) -> String {
    format!(
        "{}: attribute {} is left out, here and elsewhere: an image can store only {}",
        entry.path.escaped(),
        xattr.name.escaped(),
        limits.xattrs
    )
}
