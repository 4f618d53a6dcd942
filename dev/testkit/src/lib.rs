//! Generators, comparers and independent readers for the test suites.
//!
//! - [`generate`] makes trees and tars from a seed. [`plant`] writes a tree to a directory, and [`tar`] writes a tree to a tar.
//! - [`snapshot`] describes a tree (a model, a directory or a mount), and lists the differences between two descriptions.
//! - [`reader`] reads a SquashFS image by the format alone. `erofs_reader`, with the feature `erofs-rs`, reads an EROFS image with erofs-rs.
//!   [`chunker`] cuts bytes as casync does.
//! - [`views`] checks that common programs see the same tree in an image. [`mount`], [`extract`] and [`peer`] run these programs.
//! - [`c_library`] installs the C library.
//! - [`tools`] finds the programs that a test needs, and skips the test by name if a program is missing.

pub mod c_library;
pub mod certificates;
pub mod chunker;
mod clock;
mod environment;
#[cfg(feature = "erofs-rs")]
pub mod erofs_reader;
pub mod extract;
pub mod filefrag;
pub mod generate;
pub mod hostile;
pub mod hostile_erofs;
pub mod hostile_lrz;
pub mod hostile_pln;
mod http;
pub mod http_cache;
pub mod http_files;
pub mod model;
pub mod mount;
pub mod nginx;
pub mod peer;
pub mod plant;
mod random;
pub mod reader;
pub mod registry;
mod sandbox;
pub mod signal;
pub mod snapshot;
mod specimen;
pub mod tar;
pub mod tools;
pub mod views;

pub use clock::Stopwatch;
pub use environment::share;
pub use random::Random;
pub use sandbox::{Ran, Sandbox, least_memory, needed_memory};
