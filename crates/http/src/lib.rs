//! Files on HTTP servers as inputs that are read at any offset, images in registries, and the parts of an HTTP client that a block cache on a
//! server shares.
//!
//! ```text
//! GET URL, Range: bytes=FIRST-LAST, If-Range: VALIDATOR    206 with the bytes
//! ```
//!
//! No answer of a server is trusted. [`HttpFile`] checks the range, the total size and the validator (`ETag` or `Last-Modified`) of each answer, so
//! that a file that changes on the server is an error. Tries, redirects, the time of a request and the memory are bounded. The crate reads
//! neither the environment nor a file: proxies, credentials and a store for what is kept between runs ([`PartStore`]) come from the caller.
#![forbid(unsafe_code)]

mod address;
mod agent;
mod authority;
mod fault;
mod file;
mod netrc;
mod proxies;
mod redirects;
mod refusal;
mod registry;
mod resolver;

pub use address::{Address, is_url};
pub use agent::{Builder, CONNECTION, agent, config, ignore};
pub use authority::{Parts, WrongUrl, basic, has_valid_port, split};
pub use fault::Fault;
pub use file::{Counts, HttpFile, HttpOptions, PartStore};
pub use netrc::Netrc;
pub use proxies::Proxies;
pub use registry::{Credentials, Document, FindCredentials, Reference, Registry, RegistryOptions};
