//! Our own searches for matches: candidates at each position, the cheapest paths through them for zstd and LZMA, and the longest matches
//! for lz4 and gzip.

#[allow(unsafe_code)] // the hot loops
pub(crate) mod candidates;
#[cfg(test)]
pub(crate) mod hard_inputs;
#[allow(unsafe_code)] // loads without bounds checks
pub(crate) mod load_position;
pub(crate) mod log;
pub(crate) mod longest;
#[allow(unsafe_code)] // the hot loops
pub(crate) mod lzma;
#[allow(unsafe_code)] // calls a function that requires AVX2
pub(crate) mod zstd;
