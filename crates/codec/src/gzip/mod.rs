//! gzip as containers name it: DEFLATE (RFC 1951) in a zlib wrapper (RFC 1950).

#[allow(unsafe_code)] // calls a C library
mod libdeflate;
mod params;
mod trial;
#[allow(unsafe_code)] // calls a C library
mod zlib;

pub use params::{GzipEngine, GzipParams, Strategy};

pub(crate) use libdeflate::{Deflater, Inflater, gzip_bound};

pub(crate) use trial::{Trial, contexts};
