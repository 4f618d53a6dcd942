//! Finds packets anywhere in a file.

use std::collections::BTreeMap;

use memchr::memmem::Finder;
use packline_engine::CancelToken;
use packline_runtime::{Input, unless_cancelled};

use crate::packet::{HEAD_BYTES, Head, Kind, Params};
use crate::readable::{STEP, read_damaged};
use crate::{Error, MAGIC};

/// Sets of packets that are kept apart; one that is not seen again is forgotten first.
const SETS_MOST: usize = 8;

/// The packets of a set that are whole.
#[derive(Debug, Clone)]
pub(crate) struct Packets {
    pub(crate) params: Params,
    /// Where the payload of each is.
    pub(crate) found: BTreeMap<(Kind, usize), u64>,
    /// Where the first packet begins, and the last one ends.
    pub(crate) first: u64,
    pub(crate) end: u64,
}

impl Packets {
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (usize, u64)> {
        let found = self.found.range((kind, 0)..=(kind, usize::MAX));
        found.map(|(&(_, index), &at)| (index, at))
    }
}

/// Searches `input` from byte `from` on for packets, and returns the set of the last one: recovery data is behind what it protects, so
/// that of the file is behind any in its content.
///
/// # Errors
/// [`Error::Work`].
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
    /// The one seen last is the last.
    sets: Vec<Packets>,
    /// Bytes that may still be hashed for packets that are not whole. Damage costs each byte once; who writes many heads for the same
    /// bytes finds the search at its end.
    spare: u64,
}

impl Scanner<'_> {
    /// Takes the packets that follow each other from byte `at` on. Returns where to search on.
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
