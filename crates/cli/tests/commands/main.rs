//! Tests of the program as a user runs it. They are one test binary, because linking each takes long.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bench_pack;
mod bench_unpack;
mod callers;
mod changed_inputs;
mod containers;
mod damaged_content;
mod damaged_data;
mod delta;
mod encrypted;
mod escapes;
mod exit_status;
mod fake_root;
mod few_threads;
mod foreign_files;
mod gensquashfs_order;
mod gensquashfs_peer;
mod hard_links;
mod help_examples;
mod hostile_images;
mod hostile_lrz;
mod hostile_mounts;
mod hostile_support;
mod image_pipes;
mod image_streams;
mod inspect_archives;
mod inspect_diff;
mod inspect_list;
mod inspect_rdsquashfs;
mod inspect_support;
mod interop_codecs;
mod interop_sources;
mod killed;
mod killing;
mod logging;
mod lrzip_files;
mod lrzip_trees;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod malformed_sources;
mod malformed_tars;
mod matrix_workers;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod mount_fuse;
mod pack_attributes;
mod pack_base;
mod pack_beside;
mod pack_cache;
mod pack_cache_server;
mod pack_continue;
mod pack_images;
mod pack_layout;
mod pack_manifest;
mod pack_mtree;
mod pack_names;
mod pack_offset;
mod pack_order;
mod pack_reports;
mod pack_sharing;
mod pln;
mod private_outputs;
mod read_scratch;
mod recovery;
mod replaced_outputs;
mod same_file;
mod scale_memory;
mod shells;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod sqfs2tar_options;
mod sqfs2tar_trees;
mod squashfs_tools_actions;
mod squashfs_tools_append;
mod squashfs_tools_links;
mod squashfs_tools_mksquashfs;
mod squashfs_tools_pseudo;
mod squashfs_tools_sources;
mod squashfs_tools_unsquashfs;
#[allow(clippy::disallowed_methods, reason = "a test fails by panicking")]
mod squashfuse;
mod stack;
mod stack_oci;
mod stack_support;
mod standard_streams;
mod stopping;
mod streams_killed;
mod transcripts;
mod unpack_existing;
mod unpack_interop;
mod unpack_round;
mod unpack_safety;
mod verify;
mod verity;

use packline_testkit::Sandbox;

const PACKLINE: &str = env!("CARGO_BIN_EXE_packline");

/// An empty directory to run the program in.
fn sandbox() -> Sandbox {
    Sandbox::new(PACKLINE)
}
