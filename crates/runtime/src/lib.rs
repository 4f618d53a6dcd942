//! Resources, inputs, outputs, temporary files and progress, for all containers. Knows no codec, file format or container.

mod base64;
mod blake3_tree;
mod buffers;
mod error;
pub mod escape;
mod fault;
mod hex;
mod identity;
mod input;
pub mod memory;
mod observer;
mod output_file;
mod resources;
mod seek;
mod sink;
mod temporaries;
pub mod threads;
mod tight;
mod unnamed;

pub use base64::from_base64;
pub use blake3_tree::Blake3Tree;
pub use buffers::{Buffer, Buffers, SharedBytes, Spares};
pub use error::{Error, Exists, ScratchError, WriteError};
pub use fault::{FormatFault, MemoryFault, TaskError, Unsupported, WorkFault, expectation, of_fault, unless_cancelled};
pub use hex::{from_hex, hex, nibble};
pub use identity::{FileIdentity, FileStamp, all_must_differ, must_differ};
pub use input::{FileInput, Input, InputChange, InputStream, Source, open_regular};
pub use observer::{
    EntryInfo, EntryKind, FailedOutput, Observer, Pass, Problem, Progress, StoredData, Unobserved, unsynced,
};
pub use output_file::{
    FileAttributes, OutputFile, Revocable, WriteBehind, WriteThread, beside_image, check_writable, checksum,
    end_of_links, recovery_beside, rename, warn_of_stale, write_file,
};
pub use resources::{MANY_WORKERS, Resources, process_limit};
pub use seek::seek_position;
pub use sink::{Sink, Stream, is_zero, zeros};
pub use temporaries::Temporaries;
pub use tight::{push_tight, reserve_tight};
pub use unnamed::{store_stream, unnamed_temp_file};
