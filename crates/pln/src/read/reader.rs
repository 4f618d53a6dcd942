//! An open file: header, trailer, index and tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_runtime::{Blake3Tree, InputStream, TaskError};

use super::{Info, Kind as RecordKind};
use crate::format::{
    HEAD_BYTES, Head, Index, Kind, PIECE_BYTES, Piece, Root, Shape, TRAILER_BYTES, Table, Trailer, VERSION, root_of,
};
use crate::{Error, Input, Part, RecordSize};

/// An open .pln file, whose header, trailer and index have been read and are consistent.
pub struct Reader {
    pub(super) input: Arc<dyn Input>,
    pub(super) trailer: Trailer,
    pub(super) shape: Shape,
    index: Index,
}

/// A group of records.
pub(super) struct Group {
    pub(super) number: u64,
    /// The first record, and their number.
    pub(super) first: u64,
    pub(super) count: u64,
    /// Start of the group and of its table, bytes.
    pub(super) start: u64,
    pub(super) table: u64,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Cut`] if header, trailer or index are malformed, [`Error::Unsupported`] for an unknown version or flag,
    /// [`Error::Input`].
    pub fn open(input: Arc<dyn Input>) -> Result<Reader, Error> {
        let mut stream = InputStream::new(&*input, 0);
        let head = Head::parse(&super::part_reader::PartReader::new(&mut stream, 0).head()?)?;
        let length = input.size();
        let at = length.saturating_sub(TRAILER_BYTES as u64);
        let mut bytes = [0; TRAILER_BYTES];
        if at < (HEAD_BYTES + PIECE_BYTES) as u64 {
            let part = Part::Trailer;
            let offset = at.max(HEAD_BYTES as u64);
            let missing = 1;
            return Err(Error::Cut { length, part, offset, missing, records: 0, bytes: 0 });
        }
        input.read_at(at, &mut bytes).map_err(Error::Input)?;
        let trailer = Trailer::parse(&bytes, head.record_size, at)?;
        let shape = trailer.shape(head.record_size);
        let mut reader = Reader { input, trailer, shape, index: Index::default() };
        reader.index = reader.read_index()?;
        reader.check_roots(at)?;
        Ok(reader)
    }

    fn read_index(&self) -> Result<Index, Error> {
        let offset = self.trailer.index;
        let part = Part::Index;
        let (piece, bytes) = self.entries((Kind::Index, self.trailer.records), self.shape.groups(), part, offset)?;
        Index::parse(&piece, &bytes, self.shape, offset)
    }

    /// Checks the root as far as the index determines it.
    fn check_roots(&self, trailer: u64) -> Result<(), Error> {
        if self.trailer.records == 0 {
            return self.trailer.check_root(&root_of(&Blake3Tree::default(), None)?, trailer);
        }
        self.index.check_root(&self.trailer.root, self.trailer.index)
    }

    /// Reads a header and its entries, of which there must be `count`.
    fn entries(&self, kind: (Kind, u64), count: u64, part: Part, offset: u64) -> Result<(Piece, Vec<u8>), Error> {
        let mut head = [0; PIECE_BYTES];
        self.input.read_at(offset, &mut head).map_err(Error::Input)?;
        let piece = Piece::parse(&head, kind, part, offset)?;
        // The trailer's check guarantees that they fit into the file.
        let mut bytes = vec![0; piece.entry_bytes(count, part, offset)?];
        self.input.read_at(offset + PIECE_BYTES as u64, &mut bytes).map_err(Error::Input)?;
        Ok((piece, bytes))
    }

    /// Position of a group.
    pub(super) fn group(&self, number: u64) -> Result<Group, Error> {
        let (first, count) = self.shape.group(number);
        let place = self.index.places.get(number as usize);
        let table = place.ok_or_else(|| Error::internal(format!("there is no group {number}")))?.table;
        Ok(Group { number, first, count, start: self.index.start(number, self.shape), table })
    }

    /// The table of a group, checked against the index.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if it is malformed, [`Error::Input`].
    pub(super) fn table(&self, group: &Group) -> Result<Table, Error> {
        let part = Part::Table(group.number);
        let offset = group.table;
        let (piece, bytes) = self.entries((Kind::Table, group.number), group.count, part, offset)?;
        let table = Table::parse(&piece, &bytes, self.shape, group.number, offset)?;
        if let Some(place) = self.index.places.get(group.number as usize) {
            table.check_node(&place.node, group.number, offset)?;
        }
        let end = table.entries.iter().fold(group.start, |at, entry| at + entry.physical());
        if end != offset {
            let what = format!("its records end at byte {end}");
            return Err(Error::corrupt(part, offset, what, format!("byte {offset}, where it begins")));
        }
        match table.tree().root().filter(|_| self.shape.groups() == 1) {
            Some(root) => self.trailer.check_root(&root, self.input.size() - TRAILER_BYTES as u64).map(|()| table),
            None => Ok(table),
        }
    }

    /// Checks the root of a file of a single record, which only its content determines.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(super) fn check_alone(&self, found: &Root) -> Result<(), Error> {
        self.trailer.check_root(found, self.input.size() - TRAILER_BYTES as u64)
    }

    /// Bytes of a record.
    pub fn record_size(&self) -> RecordSize {
        self.shape.record_size
    }

    /// Bytes of content.
    pub fn size(&self) -> u64 {
        self.trailer.logical
    }

    /// BLAKE3 of the content in the trailer, consistent with the index.
    pub fn blake3(&self) -> [u8; 32] {
        self.trailer.root
    }

    /// Size of the index.
    pub(super) fn index_bytes(&self) -> u64 {
        Index::physical(self.shape.groups())
    }

    /// Summary of the file from its tables; no record is read.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if a table is malformed, [`Error::Input`].
    pub fn info(&self) -> Result<Info, Error> {
        let mut kinds: BTreeMap<(u8, bool), RecordKind> = BTreeMap::new();
        for number in 0..self.shape.groups() {
            let group = self.group(number)?;
            for (record, entry) in (group.first..).zip(self.table(&group)?.entries) {
                let codec = entry.stored.codec;
                let slack = entry.stored.slack;
                let none = RecordKind { codec, slack, records: 0, logical: 0, stored: 0 };
                let kind = kinds.entry((codec as u8, slack)).or_insert(none);
                kind.records += 1;
                kind.logical += self.shape.length(record) as u64;
                kind.stored += u64::from(entry.stored.size);
            }
        }
        Ok(Info {
            version: VERSION,
            record_size: self.shape.record_size,
            records: self.trailer.records,
            groups: self.shape.groups(),
            logical: self.trailer.logical,
            physical: self.input.size(),
            blake3: self.trailer.root,
            kinds: kinds.into_values().collect(),
        })
    }
}
