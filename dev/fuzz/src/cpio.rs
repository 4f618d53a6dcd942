//! Any bytes as cpio archives: no panic, no hang, the extents of a file add up, and seeking and joined parts find what a stream finds.

use std::io::Cursor;

use packline_archives::cpio::{CpioSource, plain};
use packline_archives::decompress::Limits;

use crate::no_bug;
use crate::tar_reader::{Found, read};

pub fn cpio(bytes: &[u8]) {
    let stream = read(CpioSource::new(bytes, "fuzz", None));
    let seeking = CpioSource::seekable(Cursor::new(bytes), "fuzz").expect("a cursor seeks");
    assert_eq!(stream, read(seeking));
    let limits = Limits { threads: 1, window: 8 << 20, buffers: 4 << 20 };
    let Some(joined) = no_bug(plain(Cursor::new(bytes.to_vec()), &limits)) else { return };
    let joined: Found = read(CpioSource::new(joined.reader, "fuzz", None));
    // A compressed part is an error without the join.
    if stream.3.is_none() {
        assert_eq!(stream, joined);
    }
}
