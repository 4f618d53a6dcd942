//! What happens to decoded bytes before they are data: nothing, or a program that came before them.

use super::fault::Fault;
use super::header::Arrays;
use super::machine::{Machine, Ran};

/// The way of decoded bytes. A block's first segment begins with what decides it.
pub(super) enum Post {
    /// Not known yet.
    Open,
    /// They are data.
    Pass,
    /// A program makes data of them.
    Program(Box<Program>),
}

/// A program that is given decoded bytes.
pub(super) struct Program {
    machine: Machine,
    /// What it made, and how much of that was taken.
    made: Vec<u8>,
    taken: usize,
    /// Whether it was interrupted.
    paused: bool,
}

/// What it is given at the end of a segment.
const END: u32 = u32::MAX;

impl Program {
    /// A program of these bytes, if its arrays take at most `limit` bytes.
    pub(super) fn new(program: Vec<u8>, arrays: Arrays, limit: u64) -> Result<Self, Fault> {
        if arrays.memory() > limit {
            return Err(Fault::Memory(arrays.memory()));
        }
        let machine = Machine::new(program, arrays);
        Ok(Program { machine, made: Vec::new(), taken: 0, paused: false })
    }

    /// Gives it a decoded byte, or the end of a segment. It must want one.
    pub(super) fn give(&mut self, byte: Option<u8>) -> Result<(), Fault> {
        self.machine.start(byte.map_or(END, u32::from));
        self.run()
    }

    /// Takes as much as it has made and fits into `room`. Zero only if it wants more bytes, or without room.
    pub(super) fn take(&mut self, room: &mut [u8]) -> Result<usize, Fault> {
        if self.taken == self.made.len() && self.paused {
            self.run()?;
        }
        let rest = &self.made[self.taken..];
        let size = rest.len().min(room.len());
        room[..size].copy_from_slice(&rest[..size]);
        self.taken += size;
        Ok(size)
    }

    fn run(&mut self) -> Result<(), Fault> {
        if self.taken == self.made.len() {
            self.made.clear();
            self.taken = 0;
        }
        self.paused = self.machine.run(&mut self.made)? == Ran::Paused;
        Ok(())
    }
}
