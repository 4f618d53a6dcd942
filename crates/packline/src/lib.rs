//! Packs directories, tars and streams into compressed images: the library behind the `packline` command.
//!
//! A [`PackRequest`] says what goes where; [`pack`] does it and returns a [`PackSummary`]. The container follows the
//! output's name ([`Format`]). Nothing here reads the clock, the environment or the number of processors: a request says
//! it all.

mod changes;
mod dress;
mod error;
mod format;
mod listing;
mod memory;
mod observer;
mod output;
mod pack;
mod request;
mod source;
mod squashfs;
mod summary;
mod survey;
mod temporaries;
mod watched;

pub use changes::{Changes, NewRoot, Unsupported};
pub use dress::Dress;
pub use error::Error;
pub use format::Format;
pub use listing::{List, hints_of};
pub use observer::{Observer, Progress, Unobserved};
pub use pack::pack;
pub use packline_codec as codec;
pub use packline_engine::CancelToken;
pub use packline_squashfs as image;
pub use packline_tree as tree;
pub use request::{DEFAULT_META, Hints, PackRequest, Resources, SourceSpec};
pub use summary::PackSummary;
pub use survey::survey;
pub use temporaries::Temporaries;
