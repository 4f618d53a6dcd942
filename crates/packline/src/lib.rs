//! Packs directories, tars and streams into compressed images: the library behind the `packline` command.

mod error;
mod temporaries;

pub use error::Error;
pub use temporaries::Temporaries;
