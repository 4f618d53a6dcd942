//! Tests of outputs: exit statuses, existing files, streams and signals.

mod exit_status;
mod image_pipes;
pub(crate) mod image_streams;
mod private;
mod replaced;
mod same_file;
mod standard_streams;
mod stopping;
