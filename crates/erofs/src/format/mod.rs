//! The structures of the format, each in one module.
