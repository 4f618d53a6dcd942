//! Consumes decoded records in order: writes, compares and counts them.

use std::io;

use packline_engine::Consumer;

use super::decode::{DecodeTask, Product};
use crate::format::{Entry, Root};
use crate::{Error, Observer, Progress, RecordSize, Sink, Span};

/// Minimum number of zeros for a hole after other data in a record, bytes.
const HOLE_LEAST: usize = 32 << 10;

/// Requested bytes of the content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) start: u64,
    /// Their end; larger than any content if that is the end of the content.
    pub(super) end: u64,
}

impl Bounds {
    pub(super) fn new(span: Span) -> Bounds {
        let end = span.length.map_or(u64::MAX, |length| span.start.saturating_add(length));
        Bounds { start: span.start, end }
    }

    /// Whether these are all bytes of any content.
    pub(super) fn are_all(&self) -> bool {
        self.start == 0 && self.end == u64::MAX
    }

    /// Checks that a content of `size` bytes contains them.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub(super) fn check(&self, size: u64) -> Result<(), Error> {
        let end = if self.end == u64::MAX { size } else { self.end };
        if self.start <= size && end <= size {
            return Ok(());
        }
        Err(Error::Range { start: self.start, end: end.max(self.start), size })
    }
}

/// The purpose of reading.
pub(super) enum Goal<'a> {
    /// Content is written to a sink; the first damage ends reading.
    Content(&'a mut dyn Sink),
    /// Damage is reported, and reading goes on.
    Findings(&'a mut dyn FnMut(&Error)),
    /// Both: zeros are written for records that are lost.
    Salvage { sink: &'a mut dyn Sink, found: &'a mut dyn FnMut(&Error) },
}

/// Consumes decoded records in order.
pub(super) struct RecordConsumer<'a> {
    goal: Goal<'a>,
    observer: &'a mut dyn Observer,
    record_size: RecordSize,
    bounds: Bounds,
    /// Bytes of content in all, if known.
    total: Option<u64>,
    /// Valid records, and bytes of their content.
    pub(super) records: u64,
    pub(super) right: u64,
    /// Bytes written.
    pub(super) handed: u64,
    pub(super) findings: u64,
    /// Bytes written for records that are lost.
    pub(super) filled: u64,
    /// The root of the content, if the first record alone was read last.
    pub(super) alone: Option<Root>,
    /// Entries of valid records, if they are to be compared with a table that follows them.
    pub(super) made: Option<Vec<(u64, Entry)>>,
}

impl<'a> RecordConsumer<'a> {
    pub(super) fn new(
        goal: Goal<'a>,
        observer: &'a mut dyn Observer,
        record_size: RecordSize,
        bounds: Bounds,
        total: Option<u64>,
    ) -> RecordConsumer<'a> {
        let records = 0;
        let right = 0;
        let handed = 0;
        let findings = 0;
        let filled = 0;
        RecordConsumer {
            goal,
            observer,
            record_size,
            bounds,
            total,
            records,
            right,
            handed,
            findings,
            filled,
            alone: None,
            made: None,
        }
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether a record has requested bytes.
    pub(super) fn wants(&self, number: u64) -> bool {
        let Bounds { start, end } = self.bounds;
        let at = number << self.record_size.log();
        start < end && at < end && start < at + self.record_size.bytes() as u64
    }

    /// Reports damage if the goal is findings; else fails with it.
    ///
    /// # Errors
    /// The damage.
    pub(super) fn damage(&mut self, error: Error) -> Result<(), Error> {
        match &mut self.goal {
            Goal::Findings(found) | Goal::Salvage { found, .. } if error.is_of_file() => {
                found(&error);
                self.findings += 1;
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// In a salvage, writes zeros up to byte `to` of the content, in place of records that are lost.
    pub(super) fn fill(&mut self, to: u64) -> Result<(), Error> {
        let Goal::Salvage { sink, .. } = &mut self.goal else { return Ok(()) };
        let lost = to.saturating_sub(self.handed + self.filled);
        if lost > 0 {
            put_zeros(&mut **sink, lost).map_err(Error::Output)?;
            self.filled += lost;
        }
        Ok(())
    }

    /// Writes the requested part of a record, in which only zeros follow from byte `zeros` on.
    fn hand_out(&mut self, number: u64, content: &[u8], zeros: usize) -> Result<(), Error> {
        let at = number << self.record_size.log();
        self.fill(at)?;
        let (Goal::Content(sink) | Goal::Salvage { sink, .. }) = &mut self.goal else { return Ok(()) };
        let within = |byte: u64| byte.saturating_sub(at).min(content.len() as u64) as usize;
        let start = within(self.bounds.start);
        let end = within(self.bounds.end);
        let wanted = content.get(start..end).unwrap_or_default();
        let data = zeros.saturating_sub(start).min(wanted.len());
        put(&mut **sink, wanted, data).map_err(Error::Output)?;
        self.handed += wanted.len() as u64;
        Ok(())
    }
}

/// Writes zeros.
fn put_zeros(sink: &mut dyn Sink, count: u64) -> io::Result<()> {
    let zeros = vec![0; usize::try_from(count).unwrap_or(usize::MAX).min(HOLE_LEAST)];
    let mut left = if sink.skip_zeros(count)? { 0 } else { count };
    while left > 0 {
        let now = &zeros[..usize::try_from(left).unwrap_or(usize::MAX).min(zeros.len())];
        sink.append(now)?;
        left -= now.len() as u64;
    }
    Ok(())
}

/// Writes bytes, all of which from `data` on are zeros.
fn put(sink: &mut dyn Sink, bytes: &[u8], data: usize) -> io::Result<()> {
    let zeros = bytes.len() - data;
    let worth = zeros >= HOLE_LEAST || (zeros > 0 && data == 0);
    if !worth {
        return sink.append(bytes);
    }
    let (data, rest) = bytes.split_at(data);
    sink.append(data)?;
    if sink.skip_zeros(zeros as u64)? { Ok(()) } else { sink.append(rest) }
}

impl Consumer<DecodeTask> for RecordConsumer<'_> {
    fn consume(&mut self, product: Product) -> Result<(), Error> {
        let good = match product.outcome {
            Ok(good) => good,
            Err(error) => return self.damage(error),
        };
        self.records += 1;
        self.right += product.length as u64;
        self.alone = good.digest.alone;
        if let Some(made) = &mut self.made {
            made.push((product.number, good.entry));
        }
        self.hand_out(product.number, good.content.content(product.length), good.zeros)?;
        self.observer.advance(&Progress::of_source(
            (product.number << self.record_size.log()) + product.length as u64,
            self.total,
        ));
        Ok(())
    }
}
