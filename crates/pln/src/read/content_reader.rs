//! Reads the content of a file at any offset, on one thread.

use std::sync::Arc;

use packline_runtime::TaskError;

use super::Reader;
use super::decode::{DecodeTask, DecodedRecord, RecordSource, Tools};
use super::reader::Group;
use crate::Error;
use crate::format::{GROUP, Table};
use crate::record_buffer::RecordPool;

/// Reads the content of an open file at any offset. Each record is verified before its bytes are returned.
///
/// The reader holds the record read last, decoded and as stored, the table of that record's group (1024 records), and decoders.
pub struct ContentReader {
    reader: Arc<Reader>,
    task: DecodeTask,
    tools: Tools,
    table: Option<(Group, Table)>,
    /// The number of the record read last, and the record.
    record: Option<(u64, DecodedRecord)>,
}

impl ContentReader {
    /// Returns a reader. Nothing is read before the first call of [`ContentReader::read_at`]. Several may share an open file.
    pub fn new(reader: Arc<Reader>) -> ContentReader {
        let record_size = reader.record_size();
        let task = DecodeTask { record_size, pool: RecordPool::new(record_size, RecordPool::bytes(record_size)) };
        ContentReader { reader, task, tools: Tools::default(), table: None, record: None }
    }

    /// The open file.
    pub fn reader(&self) -> &Arc<Reader> {
        &self.reader
    }

    /// Reads bytes at `offset` of the content, from at most one record. Returns the number of bytes. It is 0 only at or after the end, and
    /// for an empty buffer.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a malformed table or record, [`Error::Input`], [`Error::Codec`] if there is not enough memory.
    pub fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        if offset >= self.reader.size() || buffer.is_empty() {
            return Ok(0);
        }
        let log = self.reader.record_size().log();
        let number = offset >> log;
        let content = self.record(number)?;
        let rest = content.get((offset - (number << log)) as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn record(&mut self, number: u64) -> Result<&[u8], Error> {
        let record = match self.record.take().filter(|(of, _)| *of == number) {
            Some((_, record)) => record,
            None => self.decode(number)?,
        };
        let length = self.reader.shape.length(number);
        Ok(self.record.insert((number, record)).1.content.content(length))
    }

    fn decode(&mut self, number: u64) -> Result<DecodedRecord, Error> {
        let (group, table) = match self.table.take().filter(|(group, _)| group.number == number / GROUP) {
            Some(found) => found,
            None => {
                let group = self.reader.group(number / GROUP)?;
                let table = self.reader.table(&group)?;
                (group, table)
            }
        };
        let (group, table) = self.table.insert((group, table));
        let within = (number - group.first) as usize;
        let (before, from) = table.entries.split_at_checked(within).unwrap_or_default();
        let entry = *from.first().ok_or_else(|| Error::internal(format!("there is no record {number}")))?;
        let offset = before.iter().fold(group.start, |at, entry| at + entry.physical());
        let source = RecordSource::InFile(self.reader.input.clone(), entry);
        let length = self.reader.shape.length(number);
        let record = self.task.record(&mut self.tools, number, offset, length, source)?;
        if let Some(root) = record.digest.alone.filter(|_| self.reader.trailer.records == 1) {
            self.reader.check_alone(&root)?;
        }
        Ok(record)
    }
}
