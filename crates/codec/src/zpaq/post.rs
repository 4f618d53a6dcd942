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
    /// Bytes given since it made any, and how many that may be: as many as it can remember.
    swallowed: u64,
    most: u64,
}

/// Bytes that a program may take without making any, beside those that its arrays hold.
const SWALLOWED: u64 = 64 * 1024;

/// What it is given at the end of a segment.
const END: u32 = u32::MAX;

impl Program {
    /// A program of these bytes, if its arrays take at most `limit` bytes. It may run `steps` instructions beyond those for each
    /// byte.
    pub(super) fn new(program: Vec<u8>, arrays: Arrays, limit: u64, steps: u64) -> Result<Self, Fault> {
        if arrays.memory() > limit {
            return Err(Fault::Memory(arrays.memory()));
        }
        let (machine, most) = (Machine::new(program, arrays, steps), arrays.memory() + SWALLOWED);
        Ok(Program { machine, made: Vec::new(), taken: 0, paused: false, swallowed: 0, most })
    }

    /// Gives it a decoded byte, or the end of a segment. It must want one.
    pub(super) fn give(&mut self, byte: Option<u8>) -> Result<(), Fault> {
        self.machine.start(byte.map_or(END, u32::from));
        self.run()?;
        self.swallowed = if self.made.is_empty() { self.swallowed + 1 } else { 0 };
        if self.swallowed > self.most {
            // A few coded bytes can stand for gigabytes that never become data.
            return Err(Fault::Bad("its program takes more than it can remember and makes nothing"));
        }
        Ok(())
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
