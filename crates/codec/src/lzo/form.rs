//! Limits of LZO1X instructions (Linux `Documentation/staging/lzo.rst`).

/// The end of a stream: a match of the farthest kind whose distance is its base.
pub(super) const END: [u8; 3] = [0x11, 0, 0];

/// Farthest distance of a match of two bytes after one to three literals.
pub(super) const M1_MOST: usize = 1 << 10;
/// After at least four literals, the same form is a match of three bytes from this distance on.
pub(super) const M1_FAR_FIRST: usize = M2_MOST + 1;
/// Farthest distance of such a match.
pub(super) const M1_FAR_MOST: usize = M2_MOST + M1_MOST;
/// Length of such a match in bytes.
pub(super) const M1_FAR_LENGTH: usize = 3;
/// Farthest distance of a match that takes two bytes.
pub(super) const M2_MOST: usize = 1 << 11;
/// Length in bytes of the longest match that takes two bytes.
pub(super) const M2_LONGEST: usize = 8;
/// Farthest distance of the nearer matches that take three bytes.
pub(super) const M3_MOST: usize = 1 << 14;
/// Longest of the nearer matches whose length needs no extra byte.
pub(super) const M3_SHORT: usize = 33;
/// Farthest distance of the format.
pub(super) const M4_MOST: usize = 0xbfff;
/// Longest of the farthest matches whose length needs no extra byte.
pub(super) const M4_SHORT: usize = 9;
