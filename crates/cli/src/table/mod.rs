//! The former option table, used by the commands that do not derive their arguments yet.

pub mod args;
pub mod command;
pub mod options;
