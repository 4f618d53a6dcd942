//! Reads a file from a stream, from front to back.

use packline_engine::{CancelToken, OrderedMap};
use packline_runtime::{Blake3Tree, of_fault, unless_cancelled};

use super::consumer::RecordConsumer;
use super::decode::{DecodeTask, RecordSource, Task};
use super::part_reader::PartReader;
use crate::format::{
    Entry, GROUP, Index, IndexEntry, Kind, PIECE_HEAD_BYTES, PieceHead, RecordSize, Root, Shape, TRAILER_BYTES, Table,
    Trailer, root_of,
};
use crate::record_buffer::RecordPool;
use crate::{Error, Part};

/// Reads a stream part by part.
pub(super) struct StreamingReader<'a, 's, 't> {
    pub(super) parts: PartReader<'s>,
    pub(super) map: &'a mut OrderedMap<DecodeTask>,
    pub(super) consumer: &'a mut RecordConsumer<'t>,
    pub(super) pool: RecordPool,
    pub(super) record_size: RecordSize,
    pub(super) cancel: CancelToken,
    /// The tables so far. Their nodes are valid if `tables_right`.
    tables: Vec<IndexEntry>,
    tables_right: bool,
    /// The tree above the records of all tables.
    tree: Blake3Tree,
    /// Whether the last record was shorter than the record size.
    short: bool,
}

impl<'a, 's, 't> StreamingReader<'a, 's, 't> {
    pub(super) fn new(
        parts: PartReader<'s>,
        map: &'a mut OrderedMap<DecodeTask>,
        consumer: &'a mut RecordConsumer<'t>,
        pool: RecordPool,
        record_size: RecordSize,
        cancel: CancelToken,
    ) -> StreamingReader<'a, 's, 't> {
        let tables = Vec::new();
        let tree = Blake3Tree::default();
        StreamingReader {
            parts,
            map,
            consumer,
            pool,
            record_size,
            cancel,
            tables,
            tables_right: true,
            tree,
            short: false,
        }
    }

    fn group(&self) -> u64 {
        self.tables.len() as u64
    }

    /// The number of records since the last table.
    fn in_group(&self) -> u64 {
        self.parts.records.saturating_sub(self.group() * GROUP)
    }

    fn shape(&self) -> Shape {
        Shape { record_size: self.record_size, logical: self.parts.bytes }
    }

    /// Reads all requested records. Returns the root of the content, if known, and whether the complete file was read.
    ///
    /// # Errors
    /// Returns damage after which no record can be found, or which ends reading, and errors of the map.
    pub(super) fn run(&mut self) -> Result<(Option<Root>, bool), Error> {
        self.consumer.made = Some(Vec::new());
        loop {
            self.check_cancelled()?;
            let start = self.parts.records << self.record_size.log();
            let bounds = self.consumer.bounds();
            if start >= bounds.end && !self.short {
                return Ok((None, false));
            }
            let offset = self.parts.at;
            let settled = self.settled();
            let bytes = self.parts.piece(self.part(settled.unwrap_or(Kind::Record)))?;
            match settled.unwrap_or_else(|| self.likely(&bytes)) {
                Kind::Record => self.record(&bytes, offset)?,
                Kind::Table => self.table(&bytes, offset)?,
                Kind::Index => return Ok((self.end(&bytes, offset)?, true)),
            }
        }
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        Ok(unless_cancelled(&self.cancel)?)
    }

    /// Returns the kind of the next piece, if only one kind is possible.
    fn settled(&self) -> Option<Kind> {
        let last = self.short || !self.parts.records.is_multiple_of(GROUP);
        match self.in_group() {
            0 => last.then_some(Kind::Index),
            GROUP => Some(Kind::Table),
            _ => self.short.then_some(Kind::Table),
        }
    }

    /// Returns the likely kind of the next piece, where a record and another kind are possible.
    fn likely(&self, bytes: &[u8; PIECE_HEAD_BYTES]) -> Kind {
        let other = if self.in_group() == 0 { Kind::Index } else { Kind::Table };
        if Kind::nearest(bytes) == other { other } else { Kind::Record }
    }

    fn part(&self, kind: Kind) -> Part {
        match kind {
            Kind::Record => Part::Record(self.parts.records),
            Kind::Table => Part::Table(self.group()),
            Kind::Index => Part::Index,
        }
    }

    /// Reads a record, and submits it if it is requested.
    ///
    /// # Errors
    /// Returns the same errors as [`StreamingReader::run`].
    pub(super) fn record(&mut self, bytes: &[u8; PIECE_HEAD_BYTES], offset: u64) -> Result<(), Error> {
        let number = self.parts.records;
        let part = Part::Record(number);
        let piece = PieceHead::parse(bytes, Kind::Record, number, part, offset)?;
        let stored = piece.stored(self.record_size.bytes(), part, offset)?;
        let permit = self.map.reserve(2 * RecordPool::bytes(self.record_size), self.consumer).map_err(of_fault)?;
        let mut buffer = self.pool.take()?;
        self.parts.read(buffer.content_mut(stored.size as usize), part, offset)?;
        let length = piece.logical as usize;
        self.short = length < self.record_size.bytes();
        self.parts.records += 1;
        self.parts.bytes += length as u64;
        if !self.consumer.wants(number) {
            return Ok(());
        }
        let task = Task { number, offset, length, source: RecordSource::Loaded(piece, stored, buffer), permit };
        self.map.submit(task, self.consumer).map_err(of_fault)
    }

    /// Reads the entries after a head. There must be `count` entries.
    fn entries(&mut self, piece: &PieceHead, count: u64, part: Part, offset: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; piece.entry_bytes(count, part, offset)?];
        self.parts.read(&mut bytes, part, offset)?;
        Ok(bytes)
    }

    fn table(&mut self, bytes: &[u8; PIECE_HEAD_BYTES], offset: u64) -> Result<(), Error> {
        let group = self.group();
        let part = self.part(Kind::Table);
        let piece = PieceHead::parse(bytes, Kind::Table, group, part, offset)?;
        let bytes = self.entries(&piece, self.in_group(), part, offset)?;
        // The table is compared with the results of the records before it.
        self.map.drain(self.consumer).map_err(of_fault)?;
        let made = self.consumer.made.replace(Vec::new()).unwrap_or_default();
        let parsed = Table::parse(&piece, &bytes, self.shape(), group, offset);
        let node = match parsed.and_then(|table| compare(table, &made, group, offset)) {
            Ok(table) => {
                table.entries.iter().for_each(|entry| self.tree.push(entry.node));
                table.tree().node().unwrap_or_default()
            }
            Err(error) => {
                self.consumer.damage(error)?;
                self.tables_right = false;
                Default::default()
            }
        };
        self.tables.push(IndexEntry { table: offset, node });
        Ok(())
    }

    /// Reads the index and the trailer, and checks that nothing follows.
    fn end(&mut self, bytes: &[u8; PIECE_HEAD_BYTES], offset: u64) -> Result<Option<Root>, Error> {
        let piece = PieceHead::parse(bytes, Kind::Index, self.parts.records, Part::Index, offset)?;
        let bytes = self.entries(&piece, self.group(), Part::Index, offset)?;
        self.map.drain(self.consumer).map_err(of_fault)?;
        let index = Index::parse(&piece, &bytes, self.shape(), offset).and_then(|index| self.check(&index, offset));
        index.or_else(|error| self.consumer.damage(error))?;
        let at = self.parts.at;
        let mut bytes = [0; TRAILER_BYTES];
        self.parts.read(&mut bytes, Part::Trailer, at)?;
        let root = self.trailer(&Trailer::parse(&bytes, self.record_size, at)?, at)?;
        self.parts.end()?;
        self.consumer.bounds().check(self.parts.bytes)?;
        Ok(root)
    }

    /// Checks that the index agrees with the tables found.
    fn check(&self, index: &Index, offset: u64) -> Result<(), Error> {
        for (group, (stated, found)) in index.entries.iter().zip(&self.tables).enumerate() {
            if stated.table != found.table || (self.tables_right && stated.node != found.node) {
                let what = format!("the entry of group {group} does not match its table");
                let expected = format!("its table at byte {}, and its hash", found.table);
                return Err(Error::corrupt(Part::Index, offset, what, expected));
            }
        }
        Ok(())
    }

    /// Checks that the trailer agrees with the file. Returns the root, if known.
    fn trailer(&mut self, trailer: &Trailer, offset: u64) -> Result<Option<Root>, Error> {
        if trailer.logical != self.parts.bytes {
            let what = format!("{} bytes of content", trailer.logical);
            let expected = self.parts.bytes.to_string();
            return Err(Error::corrupt(Part::Trailer, offset, what, expected));
        }
        // The root of a single record is unknown if the record was not decoded or is damaged.
        let known = self.tables_right && (self.parts.records != 1 || self.consumer.alone.is_some());
        if !known {
            return Ok(None);
        }
        let root = root_of(&self.tree, self.consumer.alone)?;
        trailer.check_root(&root, offset)?;
        let all = self.consumer.bounds().are_all() && self.consumer.records == self.parts.records;
        Ok(all.then_some(root))
    }

    /// Reads the `count` records of a group from record `number`, up to byte `end`, where the group's table begins.
    ///
    /// # Errors
    /// Returns the same errors as [`StreamingReader::run`].
    pub(super) fn walk(&mut self, number: u64, count: u64, end: u64) -> Result<(), Error> {
        self.parts.records = number;
        self.parts.bytes = number << self.record_size.log();
        while self.parts.at < end && self.parts.records < number + count {
            self.check_cancelled()?;
            let offset = self.parts.at;
            let part = Part::Record(self.parts.records);
            let bytes = self.parts.piece(part)?;
            self.record(&bytes, offset)?;
        }
        Ok(())
    }
}

/// Checks that a table agrees with its records.
fn compare(table: Table, made: &[(u64, Entry)], group: u64, offset: u64) -> Result<Table, Error> {
    let stated = |number: u64| table.entries.get(usize::try_from(number - group * GROUP).ok()?);
    match made.iter().find(|(number, found)| stated(*number) != Some(found)) {
        None => Ok(table),
        Some((number, found)) => {
            let what = format!("the entry of record {number} does not match the record");
            let expected = format!("{}, and its hash", found.stored.describe());
            Err(Error::corrupt(Part::Table(group), offset, what, expected))
        }
    }
}
