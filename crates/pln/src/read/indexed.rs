//! Reads a file by means of its index and tables.

use std::sync::Arc;

use packline_engine::{CancelToken, OrderedMap};
use packline_runtime::{InputStream, of_fault};

use super::consumer::RecordConsumer;
use super::decode::{DecodeTask, RecordSource, Task};
use super::part_reader::PartReader;
use super::reader::{Group, Reader};
use super::streaming::StreamingReader;
use crate::Error;
use crate::format::{GROUP, Table};
use crate::record_buffer::RecordPool;

/// Submits records to the workers, which read them.
pub(super) struct IndexedReader<'a, 't> {
    pub(super) reader: &'a Reader,
    pub(super) map: &'a mut OrderedMap<DecodeTask>,
    pub(super) consumer: &'a mut RecordConsumer<'t>,
    pub(super) pool: RecordPool,
    pub(super) cancel: CancelToken,
}

impl IndexedReader<'_, '_> {
    /// Reads all requested records.
    ///
    /// # Errors
    /// Returns damage that ends reading, and errors of the map.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        let bounds = self.consumer.bounds();
        let log = self.reader.record_size().log();
        let end = bounds.end.min(self.reader.size());
        if bounds.start < end {
            for number in (bounds.start >> log) / GROUP..=((end - 1) >> log) / GROUP {
                self.group(&self.reader.group(number)?)?;
            }
        }
        self.map.drain(self.consumer).map_err(of_fault)?;
        match self.consumer.alone.filter(|_| self.reader.trailer.records == 1) {
            Some(root) => self.reader.check_alone(&root).or_else(|error| self.consumer.damage(error)),
            None => Ok(()),
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), Error> {
        match self.reader.table(group) {
            Ok(table) => self.records(group, &table),
            Err(error) if error.is_of_file() => {
                // Finds the records by their heads.
                self.walk(group)?;
                self.map.drain(self.consumer).map_err(of_fault)?;
                self.consumer.damage(error)
            }
            Err(error) => Err(error),
        }
    }

    fn records(&mut self, group: &Group, table: &Table) -> Result<(), Error> {
        let mut offset = group.start;
        for (number, entry) in (group.first..).zip(&table.entries) {
            if self.consumer.wants(number) {
                let bytes = 2 * RecordPool::bytes(self.reader.record_size());
                let permit = self.map.reserve(bytes, self.consumer).map_err(of_fault)?;
                let source = RecordSource::InFile(Arc::clone(&self.reader.input), *entry);
                let task = Task { number, offset, length: self.reader.shape.length(number), source, permit };
                self.map.submit(task, self.consumer).map_err(of_fault)?;
            }
            offset += entry.physical();
        }
        Ok(())
    }

    /// Reads the records of a group whose table is damaged, up to the first damaged record.
    fn walk(&mut self, group: &Group) -> Result<(), Error> {
        let mut stream = InputStream::new(&*self.reader.input, group.start);
        let parts = PartReader::new(&mut stream, group.start);
        let pool = self.pool.clone();
        let size = self.reader.record_size();
        let mut streaming = StreamingReader::new(parts, self.map, self.consumer, pool, size, self.cancel.clone());
        match streaming.walk(group.first, group.count, group.table) {
            // An earlier error may have stopped the map.
            Err(error) => {
                let error = of_fault(self.map.earlier_error(self.consumer, error));
                self.consumer.damage(error)
            }
            Ok(()) => Ok(()),
        }
    }
}
