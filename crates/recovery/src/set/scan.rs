//! Finds packets at any offset of a file.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use packline_engine::CancelToken;
use packline_runtime::{Input, unless_cancelled};

use crate::format::packet::{HEAD_BYTES, Head, Kind, Params};
use crate::readable::{STEP, read_damaged};
use crate::{Error, MAGIC};

/// Upper bound for the sets that are remembered. The set whose last packet is the oldest is forgotten first.
const SETS_MOST: usize = 8;

/// The intact packets of a set.
#[derive(Debug, Clone)]
pub(crate) struct Packets {
    pub(crate) params: Params,
    /// The offset of each packet's payload.
    pub(crate) found: BTreeMap<(Kind, usize), u64>,
    /// Offset of the first packet.
    pub(crate) first: u64,
    /// Offset of the end of the last packet.
    pub(crate) end: u64,
}

impl Packets {
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (usize, u64)> {
        let found = self.found.range((kind, 0)..=(kind, usize::MAX));
        found.map(|(&(_, index), &at)| (index, at))
    }
}

/// Searches `input` for packets from byte `from`, and returns the set of the last packet. Recovery data follows the bytes that it protects,
/// so the file's own recovery data comes after any recovery data in its content.
///
/// # Errors
/// [`Error::Work`] after a cancellation.
pub(crate) fn scan(input: &dyn Input, from: u64, cancel: &CancelToken) -> Result<Option<Packets>, Error> {
    let spare = 2 * (input.size() - from.min(input.size()));
    let mut scanner = Scanner { input, cancel, sets: Vec::new(), spare };
    let mut at = from;
    let mut block = vec![0; STEP];
    let finder = Finder::new(&MAGIC);
    while at < input.size() {
        unless_cancelled(cancel)?;
        let length = (input.size() - at).min(STEP as u64) as usize;
        let bytes = &mut block[..length];
        read_damaged(input, at, bytes);
        at = match finder.find(bytes) {
            Some(found) => scanner.packets(at + found as u64),
            None if at + (length as u64) == input.size() => break,
            None => at + (length - (MAGIC.len() - 1)) as u64,
        };
    }
    Ok(scanner.sets.pop())
}

struct Scanner<'i> {
    input: &'i dyn Input,
    cancel: &'i CancelToken,
    /// The sets, in the order in which they were last seen.
    sets: Vec<Packets>,
    /// Bytes that may still be hashed for damaged packets. Damage costs each byte once, so only an input with many crafted heads for the same
    /// bytes exhausts this budget and ends the search.
    spare: u64,
}

impl Scanner<'_> {
    /// Adds the packets that follow each other from byte `start`. Returns where the search continues.
    fn packets(&mut self, start: u64) -> u64 {
        let mut at = start;
        while let Some(head) = self.packet(at) {
            let end = at + HEAD_BYTES as u64 + head.payload();
            self.add(&head, at, end);
            at = end;
        }
        at.max(start + 1)
    }

    fn packet(&mut self, at: u64) -> Option<Head> {
        if self.spare == 0 || self.cancel.is_cancelled() {
            return None;
        }
        match Head::read(self.input, at) {
            Ok(Ok(head)) => Some(head),
            Ok(Err(cost)) => {
                self.spare = self.spare.saturating_sub(cost);
                None
            }
            Err(_) => None,
        }
    }

    fn add(&mut self, head: &Head, at: u64, end: u64) {
        let known = self.sets.iter().position(|set| set.params == head.params);
        let mut set = match known {
            Some(index) => self.sets.remove(index),
            None => Packets { params: head.params, found: BTreeMap::new(), first: at, end },
        };
        set.end = end;
        set.found.entry((head.kind, head.index)).or_insert(at + HEAD_BYTES as u64);
        if self.sets.len() >= SETS_MOST {
            self.sets.remove(0);
        }
        self.sets.push(set);
    }
}
