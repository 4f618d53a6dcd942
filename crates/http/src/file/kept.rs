//! Parts of a file that are kept between runs, in a store of the caller.
//!
//! The file is divided into chunks. A chunk has the pages that were read so far:
//!
//! ```text
//! 0  8  a bit for each page, the lowest for the first one
//! 8     the pages whose bits are set, in their order
//! ```
//!
//! The name of a chunk consists of the address, the version of the file and the number of the chunk, so that no chunk of another version is found.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::pages::PAGE;

/// Bytes of a chunk: a page for each bit.
pub(super) const CHUNK: u64 = 64 * PAGE;

/// Keeps bytes by names, between runs. Several threads and processes may use it at the same time.
pub trait PartStore: fmt::Debug + Send + Sync {
    /// Returns the bytes with a name. `None` if there are none, or if they are damaged.
    fn get(&self, name: &[u8]) -> Option<Vec<u8>>;

    /// Keeps bytes, in place of earlier bytes with the same name. Bytes may be removed at any time.
    fn put(&self, name: &[u8], bytes: &[u8]);
}

/// The kept parts of one version of a file.
pub(super) struct Kept {
    store: Arc<dyn PartStore>,
    /// The address and the version.
    name: String,
    /// Size of the file in bytes.
    size: u64,
    /// A chunk is read, extended and written by one thread at a time.
    writing: Mutex<()>,
}

/// The kept part of a range.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The first bytes of the range, up to the first page that is not kept.
    Bytes(Vec<u8>),
    /// The start of the range is not kept, up to this end.
    Missing(Range<u64>),
}

impl Kept {
    pub(super) fn new(store: Arc<dyn PartStore>, name: String, size: u64) -> Kept {
        Kept { store, name, size, writing: Mutex::default() }
    }

    /// Finds a range, which begins with a page.
    pub(super) fn find(&self, range: &Range<u64>) -> Found {
        let mut bytes = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let number = at / CHUNK;
            let chunk = self.chunk(number);
            let end = ((number + 1) * CHUNK).min(range.end);
            while at < end {
                match chunk.page(at % CHUNK / PAGE) {
                    Some(_) if bytes.is_empty() && at > range.start => return Found::Missing(range.start..at),
                    Some(page) => bytes.extend_from_slice(page),
                    None if bytes.is_empty() => {}
                    None => return Found::Bytes(bytes),
                }
                at = (at / PAGE + 1) * PAGE;
            }
        }
        if bytes.is_empty() { Found::Missing(range.clone()) } else { Found::Bytes(bytes) }
    }

    /// Keeps complete pages, of which the first one begins at `start`.
    pub(super) fn keep(&self, start: u64, bytes: &[u8]) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pages = (start / PAGE..).zip(bytes.chunks(PAGE as usize)).peekable();
        while let Some((first, _)) = pages.peek() {
            let number = first * PAGE / CHUNK;
            let mut chunk = self.chunk(number);
            while let Some((page, bytes)) = pages.next_if(|(page, _)| page * PAGE / CHUNK == number) {
                chunk.set(page * PAGE % CHUNK / PAGE, bytes);
            }
            self.store.put(self.name_of(number).as_bytes(), &chunk.encoded());
        }
    }

    /// Returns a chunk; an empty one if it is not kept.
    fn chunk(&self, number: u64) -> Chunk {
        let length = self.size.saturating_sub(number * CHUNK).min(CHUNK) as usize;
        let kept = self.store.get(self.name_of(number).as_bytes());
        let kept = kept.and_then(|encoded| Chunk::parse(&encoded, length));
        kept.unwrap_or_else(|| Chunk { present: 0, bytes: vec![0; length] })
    }

    fn name_of(&self, chunk: u64) -> String {
        format!("{}\n{chunk}", self.name)
    }
}

struct Chunk {
    /// A bit for each page that is here.
    present: u64,
    /// The bytes of all pages, zeros for those that are not here. The last page of the file may be shorter.
    bytes: Vec<u8>,
}

impl Chunk {
    /// Parses a chunk of `length` bytes of the file. `None` if it has another form.
    fn parse(encoded: &[u8], length: usize) -> Option<Chunk> {
        let (bits, mut rest) = encoded.split_first_chunk()?;
        let present = u64::from_le_bytes(*bits);
        let mut bytes = vec![0; length];
        let mut known = 0;
        for (number, page) in bytes.chunks_mut(PAGE as usize).enumerate() {
            if (present >> number) & 1 == 1 {
                let (found, after) = rest.split_at_checked(page.len())?;
                page.copy_from_slice(found);
                rest = after;
                known |= 1 << number;
            }
        }
        (rest.is_empty() && present == known).then_some(Chunk { present, bytes })
    }

    fn encoded(&self) -> Vec<u8> {
        let mut encoded = self.present.to_le_bytes().to_vec();
        (0..u64::from(u64::BITS))
            .filter_map(|number| self.page(number))
            .for_each(|page| encoded.extend_from_slice(page));
        encoded
    }

    fn page(&self, number: u64) -> Option<&[u8]> {
        let is_present = (self.present >> number) & 1 == 1;
        self.bytes.chunks(PAGE as usize).nth(number as usize).filter(|_| is_present)
    }

    /// Stores a page, unless it has another length than the page of the file.
    fn set(&mut self, number: u64, bytes: &[u8]) {
        let page = self.bytes.chunks_mut(PAGE as usize).nth(number as usize);
        if let Some(page) = page.filter(|page| page.len() == bytes.len()) {
            page.copy_from_slice(bytes);
            self.present |= 1 << number;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, Default)]
    struct Memory(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

    impl PartStore for Memory {
        fn get(&self, name: &[u8]) -> Option<Vec<u8>> {
            self.0.lock().unwrap().get(name).cloned()
        }

        fn put(&self, name: &[u8], bytes: &[u8]) {
            self.0.lock().unwrap().insert(name.to_vec(), bytes.to_vec());
        }
    }

    const SIZE: u64 = 2 * CHUNK + PAGE + 5;

    fn content(range: Range<u64>) -> Vec<u8> {
        range.map(|at| (at / 7) as u8).collect()
    }

    fn kept(store: &Arc<Memory>) -> Kept {
        let store: Arc<dyn PartStore> = store.clone();
        Kept::new(store, "name".to_string(), SIZE)
    }

    #[test]
    fn finds_what_was_kept_up_to_a_gap() {
        let store = Arc::new(Memory::default());
        let one = kept(&store);
        let end = 2 * CHUNK + PAGE;
        assert_eq!(one.find(&(0..SIZE)), Found::Missing(0..SIZE));
        for range in [CHUNK - PAGE..CHUNK + 2 * PAGE, CHUNK + 3 * PAGE..CHUNK + 4 * PAGE, end..SIZE] {
            one.keep(range.start, &content(range));
        }
        let other = kept(&store);
        assert_eq!(other.find(&(0..SIZE)), Found::Missing(0..CHUNK - PAGE));
        let whole = CHUNK - PAGE..CHUNK + 2 * PAGE;
        assert_eq!(other.find(&(whole.start..SIZE)), Found::Bytes(content(whole.clone())));
        assert_eq!(other.find(&(CHUNK..CHUNK + PAGE)), Found::Bytes(content(CHUNK..CHUNK + PAGE)));
        assert_eq!(other.find(&(whole.end..SIZE)), Found::Missing(whole.end..whole.end + PAGE));
        assert_eq!(other.find(&(end..SIZE)), Found::Bytes(content(end..SIZE)));
        // What lies between completes it.
        other.keep(0, &content(0..end));
        assert_eq!(one.find(&(0..SIZE)), Found::Bytes(content(0..SIZE)));
        let another: Arc<dyn PartStore> = store.clone();
        assert_eq!(Kept::new(another, "other".to_string(), SIZE).find(&(0..PAGE)), Found::Missing(0..PAGE));
    }

    #[test]
    fn chunks_of_another_form_are_not_found() {
        let store = Arc::new(Memory::default());
        let kept = kept(&store);
        kept.keep(2 * CHUNK, &content(2 * CHUNK..SIZE));
        let name = kept.name_of(2).into_bytes();
        let good = store.get(&name).unwrap();
        assert_eq!(good.len() as u64, 8 + PAGE + 5);
        let with = |at: usize, value: u8| {
            let mut bad = good.clone();
            bad[at] = value;
            bad
        };
        for bad in [
            good[..good.len() - 1].to_vec(),
            [&good[..], b"!"].concat(),
            with(0, 1),
            with(0, 7),
            with(7, 128),
            Vec::new(),
        ] {
            store.put(&name, &bad);
            assert_eq!(kept.find(&(2 * CHUNK..SIZE)), Found::Missing(2 * CHUNK..SIZE));
        }
    }
}
