//! Tests of the program as a user runs it. They are one test binary, because linking each takes long.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bench;
mod callers;
mod changed_inputs;
mod containers;
mod damaged;
mod delta;
mod drop_ins_ng;
mod du;
mod encrypted;
mod encrypted_trees;
mod erofs;
mod escapes;
mod fake_root;
mod few_threads;
mod file_systems;
mod foreign_files;
mod guide;
mod hard_links;
mod help_examples;
mod hostile;
mod inspect;
mod interop;
mod kept_files;
mod killing;
mod logging;
mod lrzip;
mod malformed;
mod matrix_workers;
mod missing_calls;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod mount_fuse;
mod old_squashfs;
mod outputs;
mod pack;
mod pln;
mod read_scratch;
mod recovery;
mod registry;
mod remote;
mod scale_memory;
mod shells;
mod squashfs_tools;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod squashfuse;
mod stack;
mod tars;
mod transcripts;
mod unpack;
mod verify;
mod verity;

use packline_testkit::Sandbox;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

/// An empty directory to run the program in.
fn sandbox() -> Sandbox {
    Sandbox::new(PACKLINE)
}
