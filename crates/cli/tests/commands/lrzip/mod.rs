//! Tests of lrzip and its drop-ins.

mod files;
mod trees;
