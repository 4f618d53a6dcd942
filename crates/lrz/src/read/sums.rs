//! The CRCs of chunks and the MD5 of the file, calculated on a separate thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use md5::{Digest, Md5};

use packline_runtime::TaskError;

use super::plan::SUMS_AHEAD;
use crate::Error;

/// The input of the checksums, in order.
enum Item {
    Bytes(Arc<Vec<u8>>),
    /// The end of a chunk: the chunk's offset in the file, and its expected CRC.
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

/// Begins a CRC that starts with 0 and is not inverted at the end. The library starts with all ones and inverts.
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
                        let what = format!("a chunk whose plain data has the CRC {found:08x}");
                        Err(Error::corrupt(*offset, what, format!("{expected:08x}, as the chunk states")))
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

/// Calculates checksums, on this thread or on a separate one.
pub(super) struct Summing {
    state: State,
}

enum State {
    OnThisThread(Sums),
    OnThread {
        items: SyncSender<Item>,
        thread: JoinHandle<Result<Option<[u8; 16]>, Error>>,
    },
    /// An error was returned.
    Failed,
}

impl State {
    /// Starts a thread. Returns `None` if the system does not start one.
    fn on_thread(sums: Sums) -> Option<State> {
        let (items, received) = sync_channel(SUMS_AHEAD);
        let thread = Builder::new().name("sums".into()).spawn(move || sums.run(&received)).ok()?;
        Some(State::OnThread { items, thread })
    }
}

impl Summing {
    /// `md5`: whether to calculate the MD5; `thread`: whether to use a separate thread, if the system allows it.
    pub(super) fn new(md5: bool, thread: bool) -> Summing {
        let sums = || Sums { md5: md5.then(Md5::new), crc: crc() };
        let state = if thread { State::on_thread(sums()) } else { None };
        Summing { state: state.unwrap_or_else(|| State::OnThisThread(sums())) }
    }

    /// Adds plain bytes.
    pub(super) fn bytes(&mut self, bytes: Arc<Vec<u8>>) -> Result<(), Error> {
        self.submit(Item::Bytes(bytes))
    }

    /// Ends a chunk. A wrong CRC may be reported by this call, or by a later one.
    pub(super) fn end(&mut self, offset: u64, crc: Option<u32>) -> Result<(), Error> {
        self.submit(Item::End { offset, crc })
    }

    /// Returns the MD5 of all plain bytes.
    pub(super) fn finish(mut self) -> Result<Option<[u8; 16]>, Error> {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::OnThisThread(sums) => Ok(sums.finish()),
            State::OnThread { items, thread } => {
                drop(items);
                join(thread)
            }
            State::Failed => Err(failed_before()),
        }
    }

    fn submit(&mut self, item: Item) -> Result<(), Error> {
        match &mut self.state {
            State::OnThisThread(sums) => return sums.take(&item),
            State::OnThread { items, .. } if items.send(item).is_ok() => return Ok(()),
            State::OnThread { .. } | State::Failed => {}
        }
        // The thread ends early only after an error.
        match std::mem::replace(&mut self.state, State::Failed) {
            State::OnThread { thread, .. } => Err(join(thread).err().unwrap_or_else(failed_before)),
            State::OnThisThread(_) | State::Failed => Err(failed_before()),
        }
    }
}

fn join(thread: JoinHandle<Result<Option<[u8; 16]>, Error>>) -> Result<Option<[u8; 16]>, Error> {
    thread.join().unwrap_or_else(|_| Err(Error::internal("the thread for checksums panicked".into())))
}

fn failed_before() -> Error {
    Error::internal("checksums continued after an error".into())
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
    fn checksums_equal_those_of_the_format() {
        for thread in [false, true] {
            // CRC-32 of "123456789" that begins with 0 and is not inverted.
            let md5 = sum(thread, 0x2dfd_2d88).unwrap().unwrap();
            assert_eq!(md5[..4], [0x25, 0xf9, 0xe7, 0x94]);
            let wrong = sum(thread, 1).unwrap_err().to_string();
            assert!(wrong.contains("2dfd2d88") && wrong.contains("byte 24"), "{wrong}");
        }
    }
}
