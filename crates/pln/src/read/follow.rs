//! A file read as its index and its tables say.

use std::sync::Arc;

use packline_engine::{CancelToken, OrderedMap};
use packline_runtime::of_fault;

use super::decode::{DecodeTask, Place, Task};
use super::front::{Front, Onwards};
use super::reader::{Group, Reader};
use super::sequence::Sequence;
use super::taking::Taking;
use crate::Error;
use crate::format::{GROUP, Table};
use crate::map::first;
use crate::room::Rooms;

/// Records on their way to the workers, which read them.
pub(super) struct Follow<'a, 't> {
    pub(super) reader: &'a Reader,
    pub(super) map: &'a mut OrderedMap<DecodeTask>,
    pub(super) taking: &'a mut Taking<'t>,
    pub(super) rooms: Rooms,
    pub(super) cancel: CancelToken,
}

impl Follow<'_, '_> {
    /// Has all wanted records read.
    ///
    /// # Errors
    /// Damage that is not to be borne with; those of the map.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        let (bounds, log) = (self.taking.bounds(), self.reader.record_size().log());
        let end = bounds.end.min(self.reader.size());
        if bounds.start < end {
            for number in (bounds.start >> log) / GROUP..=((end - 1) >> log) / GROUP {
                self.group(&self.reader.group(number)?)?;
            }
        }
        self.map.drain(self.taking).map_err(of_fault)?;
        match self.taking.alone.filter(|_| self.reader.trailer.records == 1) {
            Some(root) => self.reader.check_alone(&root).or_else(|error| self.taking.damage(error)),
            None => Ok(()),
        }
    }

    fn group(&mut self, group: &Group) -> Result<(), Error> {
        match self.reader.table(group) {
            Ok(table) => self.records(group, &table),
            Err(error) if error.is_of_file() => {
                // The records are found by their heads.
                self.walk(group)?;
                self.map.drain(self.taking).map_err(of_fault)?;
                self.taking.damage(error)
            }
            Err(error) => Err(error),
        }
    }

    fn records(&mut self, group: &Group, table: &Table) -> Result<(), Error> {
        let mut offset = group.start;
        for (number, entry) in (group.first..).zip(&table.entries) {
            if self.taking.wants(number) {
                let room = 2 * Rooms::bytes(self.reader.record_size());
                let permit = self.map.reserve(room, self.taking).map_err(of_fault)?;
                let place = Place::There(Arc::clone(&self.reader.input), *entry);
                let task = Task { number, offset, length: self.reader.shape.length(number), place, permit };
                self.map.submit(task, self.taking).map_err(of_fault)?;
            }
            offset += entry.physical();
        }
        Ok(())
    }

    /// Reads the records of a group whose table is damaged. What is damaged besides ends that.
    fn walk(&mut self, group: &Group) -> Result<(), Error> {
        let mut onwards = Onwards::new(&*self.reader.input, group.start);
        let front = Front::new(&mut onwards, group.start);
        let with = (self.rooms.clone(), self.reader.record_size());
        let mut sequence = Sequence::new(front, self.map, self.taking, with, self.cancel.clone());
        match sequence.walk(group.first, group.count, group.table) {
            // It may be what has stopped the map.
            Err(error) => {
                let error = first(self.map, self.taking, error);
                self.taking.damage(error)
            }
            Ok(()) => Ok(()),
        }
    }
}
