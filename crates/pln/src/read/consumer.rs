//! Consumes decoded records in order: writes, compares and counts them.

use std::io;

use packline_engine::Consumer;

use super::decode::{DecodeTask, Product};
use crate::format::{Entry, Root};
use crate::{Error, Observer, Progress, RecordSize, Sink, Span};

/// Minimum number of zero bytes for a hole after other data in a record.
const HOLE_LEAST: usize = 32 << 10;

/// The requested bytes of the content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) start: u64,
    /// The end of the bytes; `u64::MAX` stands for the end of the content.
    pub(super) end: u64,
}

impl Bounds {
    pub(super) fn new(span: Span) -> Bounds {
        let end = span.length.map_or(u64::MAX, |length| span.start.saturating_add(length));
        Bounds { start: span.start, end }
    }

    /// Whether the complete content is requested.
    pub(super) fn are_all(&self) -> bool {
        self.start == 0 && self.end == u64::MAX
    }

    /// Checks that a content of `size` bytes contains the requested bytes.
    ///
    /// # Errors
    /// [`Error::Range`] if it does not.
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
    /// Writes the content to a sink. The first damage ends reading.
    Content(&'a mut dyn Sink),
    /// Reports damage, and continues reading.
    Findings(&'a mut dyn FnMut(&Error)),
    /// Writes the content and reports damage. Zeros are written for lost records.
    Salvage { sink: &'a mut dyn Sink, found: &'a mut dyn FnMut(&Error) },
}

/// Consumes decoded records in order.
pub(super) struct RecordConsumer<'a> {
    goal: Goal<'a>,
    observer: &'a mut dyn Observer,
    record_size: RecordSize,
    bounds: Bounds,
    /// The bytes of the complete content, if known.
    total: Option<u64>,
    /// The number of valid records.
    pub(super) records: u64,
    /// The bytes of content of the valid records.
    pub(super) valid_bytes: u64,
    /// The bytes of content that were written.
    pub(super) written: u64,
    pub(super) findings: u64,
    /// The zeros that were written for lost records.
    pub(super) filled: u64,
    /// The root of the record read last, if that is the first record.
    pub(super) alone: Option<Root>,
    /// The entries of valid records, if they are compared with a table that follows them.
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
        let valid_bytes = 0;
        let written = 0;
        let findings = 0;
        let filled = 0;
        RecordConsumer {
            goal,
            observer,
            record_size,
            bounds,
            total,
            records,
            valid_bytes,
            written,
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

    /// Reports damage if the goal includes reports; otherwise returns the damage as an error.
    ///
    /// # Errors
    /// Returns `error` if it is not reported.
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

    /// In a salvage, writes zeros up to byte `to` of the content for lost records.
    pub(super) fn fill_lost(&mut self, to: u64) -> Result<(), Error> {
        let Goal::Salvage { sink, .. } = &mut self.goal else { return Ok(()) };
        let lost = to.saturating_sub(self.written + self.filled);
        if lost > 0 {
            put_zeros(&mut **sink, lost).map_err(Error::Output)?;
            self.filled += lost;
        }
        Ok(())
    }

    /// Writes the requested part of a record. From byte `zeros`, the record has only zeros.
    fn write_record(&mut self, number: u64, content: &[u8], zeros: usize) -> Result<(), Error> {
        let at = number << self.record_size.log();
        self.fill_lost(at)?;
        let (Goal::Content(sink) | Goal::Salvage { sink, .. }) = &mut self.goal else { return Ok(()) };
        let within = |byte: u64| byte.saturating_sub(at).min(content.len() as u64) as usize;
        let start = within(self.bounds.start);
        let end = within(self.bounds.end);
        let wanted = content.get(start..end).unwrap_or_default();
        let data = zeros.saturating_sub(start).min(wanted.len());
        put(&mut **sink, wanted, data).map_err(Error::Output)?;
        self.written += wanted.len() as u64;
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

/// Writes bytes. From byte `data`, all of them are zeros.
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
        let record = match product.outcome {
            Ok(record) => record,
            Err(error) => return self.damage(error),
        };
        self.records += 1;
        self.valid_bytes += product.length as u64;
        self.alone = record.digest.alone;
        if let Some(made) = &mut self.made {
            made.push((product.number, record.entry));
        }
        self.write_record(product.number, record.content.content(product.length), record.zeros)?;
        self.observer.advance(&Progress::of_source(
            (product.number << self.record_size.log()) + product.length as u64,
            self.total,
        ));
        Ok(())
    }
}
