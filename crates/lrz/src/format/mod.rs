//! The structures of a .lrz file: magic, chunk heads, records, opcodes.

mod back_end;
mod chunk;
mod magic;
mod opcode;

pub use back_end::{BackEnd, Filter};
pub use chunk::{ChunkHead, Record, Width, width_for};
pub(crate) use magic::ambiguous;
pub use magic::{Dialect, LzmaProps, MAGIC_SIZE, MARK, Magic, Protection};
pub use opcode::{LONGEST, Opcode, OpcodeForm};
