//! CRCs of chunks and the MD5 of the whole, on a separate thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use md5::{Digest, Md5};

use packline_runtime::TaskError;

use super::plan::SUMS_AHEAD;
use crate::Error;

/// Input of the sums, in order.
enum Item {
    Bytes(Arc<Vec<u8>>),
    /// The end of a chunk, which began at this byte of the file, and its expected CRC.
    End {
        offset: u64,
        crc: Option<u32>,
    },
}

/// The checksums so far.
struct Sums {
    md5: Option<Md5>,
    crc: crc32fast::Hasher,
}

/// A CRC that begins with 0 and is not inverted at the end, computed by a library that does both.
fn crc() -> crc32fast::Hasher {
    crc32fast::Hasher::new_with_initial(u32::MAX)
}

impl Sums {
    fn take(&mut self, item: &Item) -> Result<(), Error> {
        match item {
            Item::Bytes(bytes) => {
                self.crc.update(bytes);
                if let Some(md5) = &mut self.md5 {
                    md5.update(&**bytes);
                }
                Ok(())
            }
            Item::End { offset, crc: expected } => {
                let found = std::mem::replace(&mut self.crc, crc()).finalize() ^ u32::MAX;
                match expected {
                    Some(expected) if *expected != found => {
                        let what = format!("a chunk whose plain data have the CRC {found:08x}");
                        Err(Error::corrupt(*offset, what, format!("{expected:08x}, as it says")))
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    fn finish(self) -> Option<[u8; 16]> {
        self.md5.map(|md5| md5.finalize().into())
    }

    fn run(mut self, items: &Receiver<Item>) -> Result<Option<[u8; 16]>, Error> {
        for item in items {
            self.take(&item)?;
        }
        Ok(self.finish())
    }
}

/// Computes checksums, on this thread or on a separate one.
pub(super) struct Summing {
    place: Place,
}

enum Place {
    Here(Sums),
    There {
        items: SyncSender<Item>,
        thread: JoinHandle<Result<Option<[u8; 16]>, Error>>,
    },
    /// An error was returned.
    Over,
}

impl Place {
    /// Starts a thread; `None` if the system refuses it.
    fn there(sums: Sums) -> Option<Place> {
        let (items, received) = sync_channel(SUMS_AHEAD);
        let thread = Builder::new().name("sums".into()).spawn(move || sums.run(&received)).ok()?;
        Some(Place::There { items, thread })
    }
}

impl Summing {
    /// `md5`: whether to compute it; `thread`: whether to use a separate thread, if the system allows it.
    pub(super) fn new(md5: bool, thread: bool) -> Summing {
        let sums = || Sums { md5: md5.then(Md5::new), crc: crc() };
        let place = if thread { Place::there(sums()) } else { None };
        Summing { place: place.unwrap_or_else(|| Place::Here(sums())) }
    }

    /// Adds plain bytes.
    pub(super) fn bytes(&mut self, bytes: Arc<Vec<u8>>) -> Result<(), Error> {
        self.give(Item::Bytes(bytes))
    }

    /// Ends a chunk. A wrong CRC may be reported by this call, or by a later one.
    pub(super) fn end(&mut self, offset: u64, crc: Option<u32>) -> Result<(), Error> {
        self.give(Item::End { offset, crc })
    }

    /// The MD5 of everything.
    pub(super) fn finish(mut self) -> Result<Option<[u8; 16]>, Error> {
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::Here(sums) => Ok(sums.finish()),
            Place::There { items, thread } => {
                drop(items);
                join(thread)
            }
            Place::Over => Err(over()),
        }
    }

    fn give(&mut self, item: Item) -> Result<(), Error> {
        match &mut self.place {
            Place::Here(sums) => return sums.take(&item),
            Place::There { items, .. } if items.send(item).is_ok() => return Ok(()),
            Place::There { .. } | Place::Over => {}
        }
        // The thread ends early only with an error.
        match std::mem::replace(&mut self.place, Place::Over) {
            Place::There { thread, .. } => Err(join(thread).err().unwrap_or_else(over)),
            Place::Here(_) | Place::Over => Err(over()),
        }
    }
}

fn join(thread: JoinHandle<Result<Option<[u8; 16]>, Error>>) -> Result<Option<[u8; 16]>, Error> {
    thread.join().unwrap_or_else(|_| Err(Error::internal("the thread for sums panicked".into())))
}

fn over() -> Error {
    Error::internal("sums went on after an error".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(thread: bool, crc: u32) -> Result<Option<[u8; 16]>, Error> {
        let mut summing = Summing::new(true, thread);
        summing.bytes(Arc::new(b"1234".to_vec()))?;
        summing.bytes(Arc::new(b"56789".to_vec()))?;
        summing.end(24, Some(crc))?;
        summing.finish()
    }

    #[test]
    fn sums_are_those_of_the_format() {
        for thread in [false, true] {
            // CRC-32 of "123456789" that begins with 0 and is not inverted.
            let md5 = sum(thread, 0x2dfd_2d88).unwrap().unwrap();
            assert_eq!(md5[..4], [0x25, 0xf9, 0xe7, 0x94]);
            let wrong = sum(thread, 1).unwrap_err().to_string();
            assert!(wrong.contains("2dfd2d88") && wrong.contains("byte 24"), "{wrong}");
        }
    }
}
