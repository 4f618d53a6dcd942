//! Post-processing of decoded bytes: none, or a program stored before them.

use super::fault::Fault;
use super::header::Arrays;
use super::machine::{Machine, Ran};

/// How decoded bytes are processed. The first bytes of a block's first segment choose it.
pub(super) enum Post {
    /// Not known yet.
    Open,
    /// Decoded bytes are data.
    Pass,
    /// A program transforms them.
    Program(Box<Program>),
}

/// A program that processes decoded bytes.
pub(super) struct Program {
    machine: Machine,
    /// The program's output, and how much of it was consumed.
    made: Vec<u8>,
    taken: usize,
    /// Whether the program was interrupted.
    paused: bool,
    /// Number of input bytes since the last output, and its limit: the number of bytes that the arrays can hold, and [`SWALLOWED`].
    swallowed: u64,
    most: u64,
}

/// Number of input bytes allowed without output, in addition to the bytes that the arrays hold.
const SWALLOWED: u64 = 64 * 1024;

/// The program's input at the end of a segment.
const END: u32 = u32::MAX;

impl Program {
    /// A program, if its arrays need at most `limit` bytes. It may run `steps` instructions beyond those earned.
    pub(super) fn new(program: Vec<u8>, arrays: Arrays, limit: u64, steps: u64) -> Result<Self, Fault> {
        if arrays.memory() > limit {
            return Err(Fault::Memory(arrays.memory()));
        }
        let machine = Machine::new(program, arrays, steps);
        let most = arrays.memory() + SWALLOWED;
        Ok(Program { machine, made: Vec::new(), taken: 0, paused: false, swallowed: 0, most })
    }

    /// Passes a decoded byte, or the end of a segment, to the program. All output must be consumed before.
    pub(super) fn give(&mut self, byte: Option<u8>) -> Result<(), Fault> {
        self.machine.start(byte.map_or(END, u32::from));
        self.run()?;
        self.swallowed = if self.made.is_empty() { self.swallowed + 1 } else { 0 };
        if self.swallowed > self.most {
            // A few coded bytes can decode to gigabytes that never become data.
            return Err(Fault::Bad("its program takes more than it can remember and makes nothing"));
        }
        Ok(())
    }

    /// Copies output to `out`. Returns zero only if the program needs input, or `out` is empty.
    pub(super) fn take(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        if self.taken == self.made.len() && self.paused {
            self.run()?;
        }
        let rest = &self.made[self.taken..];
        let size = rest.len().min(out.len());
        out[..size].copy_from_slice(&rest[..size]);
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
