//! The structures of a .lrz file: magic, chunk heads, records, opcodes.

mod back_end;
mod chunk_head;
mod filter;
mod magic;
mod opcode;
mod record;
mod width;

pub use back_end::BackEnd;
pub use chunk_head::ChunkHead;
pub use filter::Filter;
pub(crate) use magic::ambiguous;
pub use magic::{Dialect, LzmaProps, MAGIC_SIZE, MARK, Magic, Protection};
pub use opcode::{LONGEST, Opcode, OpcodeForm};
pub use record::Record;
pub use width::{Width, width_for};
