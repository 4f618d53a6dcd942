//! Post-processing of decoded bytes: none, or a program stored before them.

use super::fault::Fault;
use super::header::Arrays;
use super::machine::{Machine, RunEnd};

/// How decoded bytes are processed. The first bytes of a block's first segment choose it.
pub(super) enum Post {
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
    output: Vec<u8>,
    consumed: usize,
    /// Whether the program was interrupted.
    paused: bool,
    /// Number of input bytes since the last output, and its limit: the number of bytes that the arrays can hold, and [`SILENT_INPUT`].
    silent_input: u64,
    max_silent_input: u64,
}

/// Number of input bytes allowed without output, in addition to the bytes that the arrays hold.
const SILENT_INPUT: u64 = 64 * 1024;

/// The program's input at the end of a segment.
const END: u32 = u32::MAX;

impl Program {
    /// Returns an error if the arrays of the program need more than `limit` bytes. The program may run `steps` instructions in addition to the
    /// number that its input allows.
    pub(super) fn new(program: Vec<u8>, arrays: Arrays, limit: u64, steps: u64) -> Result<Self, Fault> {
        if arrays.memory() > limit {
            return Err(Fault::Memory(arrays.memory()));
        }
        let machine = Machine::new(program, arrays, steps);
        let max_silent_input = arrays.memory() + SILENT_INPUT;
        Ok(Program { machine, output: Vec::new(), consumed: 0, paused: false, silent_input: 0, max_silent_input })
    }

    /// Passes a decoded byte, or the end of a segment, to the program. All output must be consumed before.
    pub(super) fn write(&mut self, byte: Option<u8>) -> Result<(), Fault> {
        self.machine.start(byte.map_or(END, u32::from));
        self.run()?;
        self.silent_input = if self.output.is_empty() { self.silent_input + 1 } else { 0 };
        if self.silent_input > self.max_silent_input {
            // A few coded bytes can decode to gigabytes that never become data.
            return Err(Fault::Bad("its program reads more than its memory holds and writes nothing"));
        }
        Ok(())
    }

    /// Copies output to `out`. Returns zero only if the program needs input, or `out` is empty.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, Fault> {
        if self.consumed == self.output.len() && self.paused {
            self.run()?;
        }
        let rest = &self.output[self.consumed..];
        let size = rest.len().min(out.len());
        out[..size].copy_from_slice(&rest[..size]);
        self.consumed += size;
        Ok(size)
    }

    fn run(&mut self) -> Result<(), Fault> {
        if self.consumed == self.output.len() {
            self.output.clear();
            self.consumed = 0;
        }
        self.paused = self.machine.run(&mut self.output)? == RunEnd::Paused;
        Ok(())
    }
}
