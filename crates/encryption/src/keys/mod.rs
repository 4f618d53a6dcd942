//! Keys: recipients, for whom a file is sealed, and identities, which open it. age wraps the file key; each wrap is an age(1) file.

mod identities;
mod locked;
mod recipients;
mod unwrap;

pub use identities::{Ask, Identities};
use locked::LockedKeys;
pub use recipients::Recipients;
pub(crate) use unwrap::unwrap;

/// Binary logarithm of scrypt's work factor when writing, as in age(1): about a second, and 256 MiB.
const WORK: u8 = 18;
/// Largest accepted binary logarithm of the work factor: 1 GiB.
const MAX_WORK: u8 = 20;

/// Memory in bytes of scrypt for a work factor.
fn scrypt_memory(log: u8) -> u64 {
    1024 << log.min(50)
}
