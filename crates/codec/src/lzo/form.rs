//! Limits of LZO1X instructions (Linux `Documentation/staging/lzo.rst`).

/// The end of a stream: a match of the farthest kind with no distance beyond its base.
pub(super) const END: [u8; 3] = [0x11, 0, 0];

/// Farthest distance of a match of two bytes after one to three literals.
pub(super) const M1_MOST: usize = 1 << 10;
/// After four literals or more the same form means three bytes from here on.
pub(super) const M1_FAR_FIRST: usize = M2_MOST + 1;
/// Farthest of these.
pub(super) const M1_FAR_MOST: usize = M2_MOST + M1_MOST;
/// Length of these, bytes.
pub(super) const M1_FAR_LENGTH: usize = 3;
/// Farthest distance of a match in two bytes.
pub(super) const M2_MOST: usize = 1 << 11;
/// Longest of these, bytes.
pub(super) const M2_LONGEST: usize = 8;
/// Farthest distance of the nearer matches in three bytes.
pub(super) const M3_MOST: usize = 1 << 14;
/// Longest of these whose length needs no byte of its own.
pub(super) const M3_SHORT: usize = 33;
/// Farthest distance there is.
pub(super) const M4_MOST: usize = 0xbfff;
/// Longest of the farthest matches whose length needs no byte of its own.
pub(super) const M4_SHORT: usize = 9;
