//! An open file: its head, trailer, index and tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use packline_runtime::{Blake3Tree, InputStream, TaskError};

use crate::format::{
    HEAD_BYTES, Head, Index, Kind, PIECE_HEAD_BYTES, PieceHead, Root, Shape, TRAILER_BYTES, Table, Trailer, VERSION,
    root_of,
};
use crate::{CodecId, Error, Input, Part, RecordSize};

/// An open .pln file. Its head, trailer and index were read, and are consistent.
pub struct Reader {
    pub(super) input: Arc<dyn Input>,
    pub(super) trailer: Trailer,
    pub(super) shape: Shape,
    index: Index,
}

/// The summary of a file, from its tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The version of the format.
    pub version: u8,
    /// The bytes of content in a record.
    pub record_size: RecordSize,
    /// The number of records.
    pub records: u64,
    /// The number of groups, each of which has a table.
    pub groups: u64,
    /// The bytes of content.
    pub logical: u64,
    /// The bytes of the file.
    pub physical: u64,
    /// BLAKE3 of the content.
    pub blake3: [u8; 32],
    /// How records are stored, in the order of the codecs' numbers. Records without slack come first.
    pub kinds: Vec<RecordKind>,
}

/// Records that are stored in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordKind {
    /// The codec of the records.
    pub codec: CodecId,
    /// Whether trailing zeros are not stored.
    pub slack: bool,
    /// The number of the records.
    pub records: u64,
    /// The bytes of content of the records.
    pub logical: u64,
    /// The bytes stored for the records.
    pub stored: u64,
}

/// A group of records.
pub(super) struct Group {
    pub(super) number: u64,
    /// The number of the first record.
    pub(super) first: u64,
    /// The number of records.
    pub(super) count: u64,
    /// Offset of the group.
    pub(super) start: u64,
    /// Offset of the group's table.
    pub(super) table: u64,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// [`Error::Corrupt`] and [`Error::Cut`] if the head, trailer or index is malformed, [`Error::Unsupported`] for an unknown version or
    /// flag, [`Error::Input`].
    pub fn open(input: Arc<dyn Input>) -> Result<Reader, Error> {
        let mut stream = InputStream::new(&*input, 0);
        let head = Head::parse(&super::part_reader::PartReader::new(&mut stream, 0).head()?)?;
        let length = input.size();
        let at = length.saturating_sub(TRAILER_BYTES as u64);
        let mut bytes = [0; TRAILER_BYTES];
        if at < (HEAD_BYTES + PIECE_HEAD_BYTES) as u64 {
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
        let (piece, bytes) = self.entries(Kind::Index, self.trailer.records, self.shape.groups(), part, offset)?;
        Index::parse(&piece, &bytes, self.shape, offset)
    }

    /// Checks the root as far as the index determines it.
    fn check_roots(&self, trailer: u64) -> Result<(), Error> {
        if self.trailer.records == 0 {
            return self.trailer.check_root(&root_of(&Blake3Tree::default(), None)?, trailer);
        }
        self.index.check_root(&self.trailer.root, self.trailer.index)
    }

    /// Reads a head and its entries. There must be `count` entries.
    fn entries(
        &self,
        kind: Kind,
        number: u64,
        count: u64,
        part: Part,
        offset: u64,
    ) -> Result<(PieceHead, Vec<u8>), Error> {
        let mut head = [0; PIECE_HEAD_BYTES];
        self.input.read_at(offset, &mut head).map_err(Error::Input)?;
        let piece = PieceHead::parse(&head, kind, number, part, offset)?;
        // The checks of the trailer guarantee that the entries fit in the file.
        let mut bytes = vec![0; piece.entry_bytes(count, part, offset)?];
        self.input.read_at(offset + PIECE_HEAD_BYTES as u64, &mut bytes).map_err(Error::Input)?;
        Ok((piece, bytes))
    }

    /// Returns the location of a group.
    pub(super) fn group(&self, number: u64) -> Result<Group, Error> {
        let (first, count) = self.shape.group(number);
        let entry = self.index.entries.get(number as usize);
        let table = entry.ok_or_else(|| Error::internal(format!("there is no group {number}")))?.table;
        Ok(Group { number, first, count, start: self.index.start(number, self.shape), table })
    }

    /// Reads the table of a group, and checks it against the index.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the table is malformed, [`Error::Input`].
    pub(super) fn table(&self, group: &Group) -> Result<Table, Error> {
        let part = Part::Table(group.number);
        let offset = group.table;
        let (piece, bytes) = self.entries(Kind::Table, group.number, group.count, part, offset)?;
        let table = Table::parse(&piece, &bytes, self.shape, group.number, offset)?;
        if let Some(entry) = self.index.entries.get(group.number as usize) {
            table.check_node(&entry.node, group.number, offset)?;
        }
        let end = table.entries.iter().fold(group.start, |at, entry| at + entry.physical());
        if end != offset {
            let what = format!("its records end at byte {end}");
            return Err(Error::corrupt(part, offset, what, format!("byte {offset}, where the table begins")));
        }
        match table.tree().root().filter(|_| self.shape.groups() == 1) {
            Some(root) => self.trailer.check_root(&root, self.input.size() - TRAILER_BYTES as u64).map(|()| table),
            None => Ok(table),
        }
    }

    /// Checks the root of a file of one record. Only the record's content determines the root.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the root differs.
    pub(super) fn check_alone(&self, found: &Root) -> Result<(), Error> {
        self.trailer.check_root(found, self.input.size() - TRAILER_BYTES as u64)
    }

    /// The bytes of content in a record.
    pub fn record_size(&self) -> RecordSize {
        self.shape.record_size
    }

    /// The bytes of content.
    pub fn size(&self) -> u64 {
        self.trailer.logical
    }

    /// BLAKE3 of the content from the trailer. It is consistent with the index.
    pub fn blake3(&self) -> [u8; 32] {
        self.trailer.root
    }

    /// The size of the index in bytes.
    pub(super) fn index_bytes(&self) -> u64 {
        Index::physical(self.shape.groups())
    }

    /// Returns the summary of the file from its tables. No record is read.
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
