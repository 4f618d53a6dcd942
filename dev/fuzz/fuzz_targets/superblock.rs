//! Any bytes as the superblock of an otherwise sound image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_fuzz::read;
use packline_testkit::hostile::{Part, planted};

fuzz_target!(|bytes: &[u8]| read::everything(planted(Part::Superblock, bytes)));
