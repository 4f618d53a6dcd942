//! Drop-ins for the programs of squashfs-tools 4.7.5.

pub mod date;
pub mod mksquashfs;
pub mod name_pattern;
pub mod partial_help;
pub mod posix_regex;
pub mod sqfscat;
pub mod sqfstar;
pub mod summary;
pub mod unsquashfs;
pub mod xattr_filter;
