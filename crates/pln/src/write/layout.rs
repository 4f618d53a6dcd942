//! The order of a file: records, a table after each group, the index, the trailer.

use packline_engine::Consumer;
use packline_runtime::{Blake3Tree, Unsupported};

use super::Written;
use super::compress::{CompressTask, CompressedRecord};
use crate::format::{Entry, GROUP, Head, Index, IndexEntry, RECORDS_MOST, RecordSize, Root, Table, Trailer, root_of};
use crate::{CodecId, Error, Observer, Progress, Sink};

/// A file that is being written.
pub(super) struct Layout<'a> {
    sink: &'a mut dyn Sink,
    observer: &'a mut dyn Observer,
    /// The bytes of the complete content, if known.
    total: Option<u64>,
    /// The table of the incomplete group.
    table: Table,
    index: Index,
    /// The tree above all records' nodes.
    tree: Blake3Tree,
    /// The root of the last record, if that is the first record.
    alone: Option<Root>,
    written: Written,
}

impl<'a> Layout<'a> {
    /// Begins a file.
    ///
    /// # Errors
    /// [`Error::Output`] if the write fails.
    pub(super) fn new(
        sink: &'a mut dyn Sink,
        record_size: RecordSize,
        total: Option<u64>,
        observer: &'a mut dyn Observer,
    ) -> Result<Layout<'a>, Error> {
        let written =
            Written { logical: 0, physical: 0, records: 0, stored_records: 0, blake3: Root::default(), workers: 0 };
        let table = Table::default();
        let index = Index::default();
        let tree = Blake3Tree::default();
        let mut layout = Layout { sink, observer, total, table, index, tree, alone: None, written };
        layout.write(&Head { record_size }.encode())?;
        Ok(layout)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.sink.append(bytes).map_err(Error::Output)?;
        self.written.physical += bytes.len() as u64;
        Ok(())
    }

    fn record(&mut self, compressed: &CompressedRecord) -> Result<(), Error> {
        let number = self.written.records;
        if number == RECORDS_MOST {
            return Err(Unsupported::new(format!("more than {number} records; use larger records"), "").into());
        }
        self.write(compressed.bytes())?;
        self.written.records += 1;
        self.written.logical += compressed.length as u64;
        self.written.stored_records += u64::from(compressed.stored.codec == CodecId::None);
        self.alone = compressed.digest.alone;
        self.tree.push(compressed.digest.node);
        self.table.entries.push(Entry { stored: compressed.stored, node: compressed.digest.node });
        if self.table.entries.len() as u64 == GROUP {
            self.table()?;
        }
        self.observer.advance(&Progress::of_source(self.written.logical, self.total));
        Ok(())
    }

    /// Ends the incomplete group, if it has records.
    fn table(&mut self) -> Result<(), Error> {
        let Some(node) = self.table.tree().node() else { return Ok(()) };
        let group = self.index.entries.len() as u64;
        let table = self.written.physical;
        self.index.entries.push(IndexEntry { table, node });
        let bytes = self.table.encode(group);
        self.table.entries.clear();
        self.write(&bytes)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// [`Error::Output`] if the write fails.
    pub(super) fn finish(mut self) -> Result<Written, Error> {
        self.table()?;
        let Written { records, logical, physical, .. } = self.written;
        let root = root_of(&self.tree, self.alone)?;
        let index = self.index.encode(records);
        self.write(&index)?;
        self.write(&Trailer { index: physical, records, logical, root }.encode())?;
        Ok(Written { blake3: root, ..self.written })
    }
}

impl Consumer<CompressTask> for Layout<'_> {
    fn consume(&mut self, compressed: CompressedRecord) -> Result<(), Error> {
        self.record(&compressed)
    }
}
