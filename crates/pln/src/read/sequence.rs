//! A file read from front to back, as it comes through a pipe.

use packline_engine::{CancelToken, OrderedMap};
use packline_runtime::of_fault;

use super::decode::{DecodeTask, Place as RecordPlace, Task};
use super::front::Front;
use super::taking::Taking;
use crate::format::{
    Entry, GROUP, Index, Kind, PIECE_BYTES, Piece, Place, RecordSize, Root, Shape, TRAILER_BYTES, Table, Trailer, Tree,
};
use crate::room::Rooms;
use crate::{Error, Part};

/// A file that is being read.
pub(super) struct Sequence<'a, 's, 't> {
    pub(super) front: Front<'s>,
    pub(super) map: &'a mut OrderedMap<DecodeTask>,
    pub(super) taking: &'a mut Taking<'t>,
    pub(super) rooms: Rooms,
    pub(super) record_size: RecordSize,
    pub(super) cancel: CancelToken,
    /// Tables so far, whose nodes are right if all of them are.
    places: Vec<Place>,
    tables_right: bool,
    /// Above the records of all tables.
    tree: Tree,
    /// Whether the last record is shorter than others may be.
    short: bool,
}

impl<'a, 's, 't> Sequence<'a, 's, 't> {
    pub(super) fn new(
        front: Front<'s>,
        map: &'a mut OrderedMap<DecodeTask>,
        taking: &'a mut Taking<'t>,
        (rooms, record_size): (Rooms, RecordSize),
        cancel: CancelToken,
    ) -> Sequence<'a, 's, 't> {
        let (places, tree) = (Vec::new(), Tree::default());
        Sequence { front, map, taking, rooms, record_size, cancel, places, tables_right: true, tree, short: false }
    }

    fn group(&self) -> u64 {
        self.places.len() as u64
    }

    /// Records since the last table.
    fn in_group(&self) -> u64 {
        self.front.records.saturating_sub(self.group() * GROUP)
    }

    fn shape(&self) -> Shape {
        Shape { record_size: self.record_size, logical: self.front.bytes }
    }

    /// Reads all that is wanted. The root of the content, if it is known, and whether all of the file was read.
    ///
    /// # Errors
    /// Damage behind which nothing can be found, or which is not to be borne with; those of the map.
    pub(super) fn run(&mut self) -> Result<(Option<Root>, bool), Error> {
        self.taking.made = Some(Vec::new());
        loop {
            self.check_cancelled()?;
            let start = self.front.records << self.record_size.log();
            let bounds = self.taking.bounds();
            if start >= bounds.end && !self.short {
                return Ok((None, false));
            }
            let (offset, settled) = (self.front.at, self.settled());
            let bytes = self.front.piece(self.part(settled.unwrap_or(Kind::Record)))?;
            match settled.unwrap_or_else(|| self.likely(&bytes)) {
                Kind::Record => self.record(&bytes, offset)?,
                Kind::Table => self.table(&bytes, offset)?,
                Kind::Index => return Ok((self.end(&bytes, offset)?, true)),
            }
        }
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        if self.cancel.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// What comes next, if only one kind can.
    fn settled(&self) -> Option<Kind> {
        let last = self.short || !self.front.records.is_multiple_of(GROUP);
        match self.in_group() {
            0 => last.then_some(Kind::Index),
            GROUP => Some(Kind::Table),
            _ => self.short.then_some(Kind::Table),
        }
    }

    /// What comes next, where a record can and something else.
    fn likely(&self, bytes: &[u8; PIECE_BYTES]) -> Kind {
        let other = if self.in_group() == 0 { Kind::Index } else { Kind::Table };
        if Kind::nearest(bytes) == other { other } else { Kind::Record }
    }

    fn part(&self, kind: Kind) -> Part {
        match kind {
            Kind::Record => Part::Record(self.front.records),
            Kind::Table => Part::Table(self.group()),
            Kind::Index => Part::Index,
        }
    }

    /// Reads a record, and has it decompressed if it is wanted.
    ///
    /// # Errors
    /// As [`Sequence::run`].
    pub(super) fn record(&mut self, bytes: &[u8; PIECE_BYTES], offset: u64) -> Result<(), Error> {
        let number = self.front.records;
        let part = Part::Record(number);
        let piece = Piece::parse(bytes, (Kind::Record, number), part, offset)?;
        let stored = piece.stored(self.record_size.bytes(), part, offset)?;
        let permit = self.map.reserve(2 * Rooms::bytes(self.record_size), self.taking).map_err(of_fault)?;
        let mut room = self.rooms.take()?;
        self.front.read(room.content_mut(stored.size as usize), part, offset)?;
        let length = piece.logical as usize;
        self.short = length < self.record_size.bytes();
        self.front.records += 1;
        self.front.bytes += length as u64;
        if !self.taking.wants(number) {
            return Ok(());
        }
        let task = Task { number, offset, length, place: RecordPlace::Here(piece, stored, room), permit };
        self.map.submit(task, self.taking).map_err(of_fault)
    }

    /// Reads entries behind their head, of which there have to be so many.
    fn entries(&mut self, piece: &Piece, count: u64, part: Part, offset: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; piece.entry_bytes(count, part, offset)?];
        self.front.read(&mut bytes, part, offset)?;
        Ok(bytes)
    }

    fn table(&mut self, bytes: &[u8; PIECE_BYTES], offset: u64) -> Result<(), Error> {
        let (group, part) = (self.group(), self.part(Kind::Table));
        let piece = Piece::parse(bytes, (Kind::Table, group), part, offset)?;
        let bytes = self.entries(&piece, self.in_group(), part, offset)?;
        // It is compared with what comes of the records before it.
        self.map.drain(self.taking).map_err(of_fault)?;
        let made = self.taking.made.replace(Vec::new()).unwrap_or_default();
        let table = Table::parse(&piece, &bytes, self.shape(), group, offset);
        let table = table.and_then(|table| compare(table, &made, group, offset));
        let node = match table {
            Ok(table) => {
                table.entries.iter().for_each(|entry| self.tree.push(entry.node));
                table.tree().node().unwrap_or_default()
            }
            Err(error) => {
                self.taking.damage(error)?;
                self.tables_right = false;
                Default::default()
            }
        };
        self.places.push(Place { table: offset, node });
        Ok(())
    }

    /// Reads the index, the trailer, and that there is nothing behind it.
    fn end(&mut self, bytes: &[u8; PIECE_BYTES], offset: u64) -> Result<Option<Root>, Error> {
        let piece = Piece::parse(bytes, (Kind::Index, self.front.records), Part::Index, offset)?;
        let bytes = self.entries(&piece, self.group(), Part::Index, offset)?;
        self.map.drain(self.taking).map_err(of_fault)?;
        let index = Index::parse(&piece, &bytes, self.shape(), offset).and_then(|index| self.check(&index, offset));
        index.or_else(|error| self.taking.damage(error))?;
        let (at, mut bytes) = (self.front.at, [0; TRAILER_BYTES]);
        self.front.read(&mut bytes, Part::Trailer, at)?;
        let root = self.trailer(&Trailer::parse(&bytes, self.record_size, at)?, at)?;
        self.front.end()?;
        self.taking.bounds().check(self.front.bytes)?;
        Ok(root)
    }

    /// Checks that the index says where the tables were found, and what they come to.
    fn check(&self, index: &Index, offset: u64) -> Result<(), Error> {
        for (group, (said, found)) in index.places.iter().zip(&self.places).enumerate() {
            if said.table != found.table || (self.tables_right && said.node != found.node) {
                let what = format!("it says of group {group} what is not so");
                let expected = format!("its table at byte {}, and its hash", found.table);
                return Err(Error::corrupt(Part::Index, offset, what, expected));
            }
        }
        Ok(())
    }

    /// Checks that the trailer says what was found; the root, if that is known.
    fn trailer(&mut self, trailer: &Trailer, offset: u64) -> Result<Option<Root>, Error> {
        if trailer.logical != self.front.bytes {
            let (what, expected) = (format!("{} bytes of content", trailer.logical), self.front.bytes.to_string());
            return Err(Error::corrupt(Part::Trailer, offset, what, expected));
        }
        // Of a single record that was not wanted, or is damaged, nothing can be said.
        let known = self.tables_right && (self.front.records != 1 || self.taking.alone.is_some());
        if !known {
            return Ok(None);
        }
        let root = self.tree.root_of_all(self.taking.alone)?;
        trailer.check_root(&root, offset)?;
        let all = self.taking.bounds().are_all() && self.taking.records == self.front.records;
        Ok(all.then_some(root))
    }

    /// Reads the records of a group, of which the first is `number`, up to byte `end`, where its table is.
    ///
    /// # Errors
    /// As [`Sequence::run`].
    pub(super) fn walk(&mut self, number: u64, count: u64, end: u64) -> Result<(), Error> {
        self.front.records = number;
        self.front.bytes = number << self.record_size.log();
        while self.front.at < end && self.front.records < number + count {
            self.check_cancelled()?;
            let (offset, part) = (self.front.at, Part::Record(self.front.records));
            let bytes = self.front.piece(part)?;
            self.record(&bytes, offset)?;
        }
        Ok(())
    }
}

/// Checks that a table says what was found of its records.
fn compare(table: Table, made: &[(u64, Entry)], group: u64, offset: u64) -> Result<Table, Error> {
    let said = |number: u64| table.entries.get(usize::try_from(number - group * GROUP).ok()?);
    match made.iter().find(|(number, found)| said(*number) != Some(found)) {
        None => Ok(table),
        Some((number, found)) => {
            let what = format!("it says of record {number} what is not so");
            let expected = format!("{}, and its hash", found.stored.shown());
            Err(Error::corrupt(Part::Table(group), offset, what, expected))
        }
    }
}
