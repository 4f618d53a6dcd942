//! Any bytes as the extended attributes of a file in an otherwise sound EROFS image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_fuzz::erofs;
use packline_testkit::hostile_erofs::{Part, planted};

fuzz_target!(|bytes: &[u8]| erofs::everything(planted(Part::Xattrs, bytes)));
