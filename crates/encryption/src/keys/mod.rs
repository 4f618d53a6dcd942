//! Keys: recipients, for whom a file is sealed, and identities, which open it. The file key is wrapped by age, each wrap a file of age(1).

mod asking;
mod identities;
mod locked;
mod recipients;
mod unwrap;

pub use identities::{Ask, Identities};
use locked::Locked;
pub use recipients::Recipients;
pub(crate) use unwrap::unwrap;

/// Binary logarithm of scrypt's work factor that is written, as age(1) has it: about a second, and 256 MiB.
const WORK: u8 = 18;
/// The largest that is read: 1 GiB.
const WORK_MOST: u8 = 20;

/// Bytes that scrypt takes for a work factor.
fn scrypt_memory(log: u8) -> u64 {
    1024 << log.min(50)
}
