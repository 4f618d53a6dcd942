//! The programs that are measured, and their command lines.

pub mod codec_options;
pub mod command_line;
pub mod pack_commands;
pub mod program;
