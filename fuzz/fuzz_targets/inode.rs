//! Any bytes as the inodes of an otherwise sound image.
#![no_main]

#[path = "../src/read.rs"]
mod read;

use libfuzzer_sys::fuzz_target;
use packline_testkit::hostile::{Part, planted};

fuzz_target!(|bytes: &[u8]| read::everything(planted(Part::Inodes, bytes)));
