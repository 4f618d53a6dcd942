//! Memory from the system: buffers for blocks, large mappings, and freed memory that goes back.

mod heap;
#[allow(unsafe_code)] // maps memory
pub(crate) mod mapping;
#[allow(unsafe_code)] // maps memory
mod slabs;

pub use heap::release_freed_memory;
pub use slabs::{SlabBuffer, Slabs};
