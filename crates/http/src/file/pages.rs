//! What was read of a file, in pages, and what to read next.
//!
//! A request takes at least [`LEAST`] bytes. If it continues where an earlier one ended, it takes twice as many bytes as that one:
//! a reader that goes through the file sends few requests, and one that jumps about moves few bytes. A request for bytes that were
//! announced takes all announced bytes that follow, and nothing else. A full cache evicts the oldest pages, but those that were used
//! more than once later (a clock algorithm).

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Bytes of a page. A page at the end of the file may be shorter.
pub(super) const PAGE: u64 = 4 << 10;
/// Bytes of the smallest request.
const LEAST: u64 = 12 << 10;
/// Number of readers that are recognised as going through the file.
const READERS: usize = 16;
/// Announced ranges with at most this number of bytes between them are requested together: a request takes about as long.
const GAP: u64 = 32 << 10;
/// Maximum number of announced ranges that are remembered.
const ANNOUNCED: usize = 4096;
/// Approximate memory of a page in addition to its bytes.
const OVERHEAD: usize = 64;

pub(super) struct Pages {
    /// Size of the file in bytes.
    size: u64,
    capacity: usize,
    /// Bytes of the largest request; a multiple of a page.
    most: u64,
    /// By their number.
    pages: BTreeMap<u64, Page>,
    /// The numbers of all pages, in the order in which they are considered for eviction.
    order: VecDeque<u64>,
    /// Requests in flight.
    awaited: Vec<Range<u64>>,
    /// The last request of each reader; the newest last.
    readers: VecDeque<Range<u64>>,
    /// Bytes that are read soon: ends by starts. The ranges are more than [`GAP`] apart.
    announced: BTreeMap<u64, u64>,
}

struct Page {
    bytes: Box<[u8]>,
    used: bool,
    /// How often it is considered for eviction before it is evicted. A page that was read ahead has as many chances as one that was used
    /// once, which is probably not needed again.
    chances: u8,
}

impl Pages {
    /// Keeps up to `memory` bytes, and requests at most `most` at once.
    pub(super) fn new(size: u64, memory: usize, most: u64) -> Pages {
        Pages {
            size,
            capacity: (memory / (PAGE as usize + OVERHEAD)).max(1),
            most: (most / PAGE).max(LEAST / PAGE) * PAGE,
            pages: BTreeMap::new(),
            order: VecDeque::new(),
            awaited: Vec::new(),
            readers: VecDeque::new(),
            announced: BTreeMap::new(),
        }
    }

    /// Notes bytes that are read soon.
    pub(super) fn announce(&mut self, range: Range<u64>) {
        let mut start = range.start;
        let mut end = range.end.min(self.size);
        if start >= end || self.announced.len() >= ANNOUNCED {
            return;
        }
        while let Some((&before, &ends)) = self.announced.range(..=end.saturating_add(GAP)).next_back() {
            if ends.saturating_add(GAP) < start {
                break;
            }
            self.announced.remove(&before);
            start = start.min(before);
            end = end.max(ends);
        }
        self.announced.insert(start, end);
    }

    /// Returns the end of the announced range with some of these bytes, and forgets the range.
    fn announced_end(&mut self, needed: &Range<u64>) -> Option<u64> {
        let (&start, &end) = self.announced.range(..needed.end).next_back().filter(|(_, end)| **end > needed.start)?;
        self.announced.remove(&start);
        Some(end)
    }

    /// Copies bytes from `offset` on, as far as they are here. Returns their number.
    pub(super) fn copy(&mut self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = offset + done as u64;
            let Some(page) = self.pages.get_mut(&(at / PAGE)) else { break };
            page.chances = if page.used { 2 } else { 1 };
            page.used = true;
            let rest = page.bytes.get((at % PAGE) as usize..).unwrap_or_default();
            let count = rest.len().min(buffer.len() - done);
            if count == 0 {
                break;
            }
            buffer[done..done + count].copy_from_slice(&rest[..count]);
            done += count;
        }
        done
    }

    /// Whether a request in flight brings this byte.
    pub(super) fn is_awaited(&self, offset: u64) -> bool {
        self.awaited.iter().any(|range| range.contains(&offset))
    }

    /// The number of requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.awaited.len()
    }

    /// Chooses the next request, for a reader that needs the bytes of `needed`. Its first page is neither here nor awaited.
    pub(super) fn request(&mut self, needed: &Range<u64>) -> Range<u64> {
        let start = needed.start / PAGE * PAGE;
        let announced = self.announced_end(needed);
        let wanted = match announced {
            Some(end) => end.max(needed.end) - start,
            None => (needed.end - start).max(self.ahead(start)),
        };
        let end = start.saturating_add(wanted.min(self.most)).div_ceil(PAGE).saturating_mul(PAGE);
        let present = self.pages.range(start / PAGE + 1..).next().map(|(number, _)| number * PAGE);
        let awaited = self.awaited.iter().map(|range| range.start).filter(|begin| *begin > start);
        let end = awaited.chain(present).fold(end, u64::min).min(self.size);
        let range = start..end;
        if let Some(rest) = announced.filter(|rest| *rest > end) {
            self.announced.insert(end, rest);
        }
        self.awaited.push(range.clone());
        if announced.is_none() {
            self.readers.push_back(range.clone());
            self.readers.drain(..self.readers.len().saturating_sub(READERS));
        }
        range
    }

    /// Returns how many bytes to request from `start` on. Forgets the earlier request that this one continues. A reader may have skipped as
    /// many bytes as it read.
    fn ahead(&mut self, start: u64) -> u64 {
        let continues = |range: &Range<u64>| {
            let gap = start.checked_sub(range.end);
            gap.is_some_and(|gap| gap < range.end - range.start)
        };
        let Some(index) = self.readers.iter().rposition(continues) else { return LEAST };
        let before = self.readers.remove(index);
        before.map_or(LEAST, |range| (2 * (range.end - range.start)).max(LEAST))
    }

    /// Ends a request. Stores its bytes, if it has brought any. If they are not all, the next request for the rest is chosen as if it had asked
    /// for these only.
    pub(super) fn answered(&mut self, range: &Range<u64>, bytes: &[u8]) {
        if let Some(index) = self.awaited.iter().position(|awaited| awaited == range) {
            self.awaited.swap_remove(index);
        }
        let end = range.start + bytes.len() as u64;
        if !bytes.is_empty() && end < range.end {
            match self.readers.iter_mut().rfind(|reader| *reader == range) {
                Some(reader) => reader.end = end,
                None => self.announce(end..range.end),
            }
        }
        for (page, bytes) in (range.start / PAGE..).zip(bytes.chunks(PAGE as usize)) {
            while self.order.len() >= self.capacity {
                self.evict();
            }
            if self.pages.insert(page, Page { bytes: bytes.into(), used: false, chances: 1 }).is_none() {
                self.order.push_back(page);
            }
        }
    }

    /// Evicts one page.
    fn evict(&mut self) {
        while let Some(number) = self.order.pop_front() {
            match self.pages.get_mut(&number) {
                Some(page) if page.chances > 0 => page.chances -= 1,
                _ => {
                    self.pages.remove(&number);
                    return;
                }
            }
            self.order.push_back(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 100 << 20;

    fn pages() -> Pages {
        Pages::new(SIZE, 8 << 20, 2 << 20)
    }

    /// Requests what a read needs, and answers it. Returns the starts and the ends of the requests.
    fn read(pages: &mut Pages, offset: u64, length: usize) -> Vec<(u64, u64)> {
        let mut buffer = vec![0; length];
        let mut done = 0;
        let mut requests = Vec::new();
        while done < length {
            let copied = pages.copy(offset + done as u64, &mut buffer[done..]);
            done += copied;
            if copied == 0 {
                let range = pages.request(&(offset + done as u64..offset + length as u64));
                let bytes: Vec<u8> = range.clone().map(|at| (at / 7) as u8).collect();
                pages.answered(&range, &bytes);
                requests.push((range.start, range.end));
            }
        }
        assert!(buffer.iter().zip(offset..).all(|(byte, at)| *byte == (at / 7) as u8), "{offset}");
        requests
    }

    #[test]
    fn a_jump_moves_little() {
        let mut pages = pages();
        for offset in [50 << 20, 3 << 20, 90 << 20] {
            let requests = read(&mut pages, offset + 5000, 8194);
            assert_eq!(requests, [(offset + PAGE, offset + PAGE + LEAST)]);
            assert!(read(&mut pages, offset + 6000, 8194).is_empty());
        }
        assert_eq!(read(&mut pages, SIZE - 10, 10), [(SIZE - PAGE, SIZE)]);
    }

    #[test]
    fn readers_side_by_side_send_few_requests() {
        let mut pages = pages();
        let mut requests = 0;
        for at in (0..12 << 20).step_by(10_000) {
            requests += read(&mut pages, at, 10_000).len();
            requests += read(&mut pages, (50 << 20) + at, 10_000).len();
        }
        // 12 KiB, 24 KiB, ... 1.5 MiB, and then 2 MiB each.
        assert!((24..=34).contains(&requests), "{requests}");
    }

    #[test]
    fn announced_bytes_are_requested_together_and_alone() {
        let mut pages = pages();
        // Announced in any order, with small gaps, and up to 5 MiB in all.
        for part in [3, 1, 0, 4, 2] {
            let start = (10 << 20) + part * (1 << 20);
            pages.announce(start..start + (1 << 20) - GAP);
        }
        pages.announce(30 << 20..(30 << 20) + 100);
        assert_eq!(pages.announced.len(), 2);
        let mut requests = Vec::new();
        for at in (10 << 20..(15 << 20) - GAP).step_by(64 << 10) {
            requests.extend(read(&mut pages, at, 32 << 10));
        }
        assert_eq!(requests, [(10 << 20, 12 << 20), (12 << 20, 14 << 20), (14 << 20, (15 << 20) - GAP)]);
        assert_eq!(read(&mut pages, 30 << 20, 100), [(30 << 20, (30 << 20) + PAGE)]);
        assert!(pages.announced.is_empty());
        pages.announce(SIZE..SIZE + 10);
        pages.announce(u64::MAX - 5..u64::MAX);
        assert!(pages.announced.is_empty());
        (0..10_000).for_each(|number| pages.announce(number * 3 * GAP..number * 3 * GAP + 1));
        assert!(pages.announced.len() <= ANNOUNCED);
    }

    #[test]
    fn a_large_read_is_divided() {
        let mut pages = pages();
        let requests = read(&mut pages, 1000, 5 << 20);
        assert_eq!(requests.len(), 3);
        assert_eq!(requests.iter().map(|(start, end)| end - start).sum::<u64>(), 3 * (2 << 20));
    }

    #[test]
    fn nothing_is_requested_twice() {
        let mut pages = pages();
        read(&mut pages, 1 << 20, 1000);
        assert_eq!(read(&mut pages, (1 << 20) - 9000, 30_000).len(), 2);
        let range = pages.request(&(0..10));
        assert!(pages.is_awaited(LEAST - 1) && !pages.is_awaited(LEAST) && pages.in_flight() == 1);
        let next = pages.request(&(LEAST..LEAST + 10));
        assert_eq!(next.start, range.end);
        pages.answered(&range, &[]);
        assert!(!pages.is_awaited(0) && pages.copy(0, &mut [0; 10]) == 0);
    }

    #[test]
    fn a_short_answer_is_continued() {
        let mut pages = pages();
        pages.announce(10 << 20..11 << 20);
        let range = pages.request(&(10 << 20..(10 << 20) + 100));
        pages.answered(&range, &[1; PAGE as usize]);
        assert_eq!(read(&mut pages, (10 << 20) + PAGE, 100), [((10 << 20) + PAGE, 11 << 20)]);
        let range = pages.request(&(1 << 20..(1 << 20) + 100_000));
        pages.answered(&range, &[1; 8 * PAGE as usize]);
        let start = (1 << 20) + 8 * PAGE;
        assert_eq!(read(&mut pages, start, 10), [(start, start + 16 * PAGE)]);
    }

    #[test]
    fn memory_is_bounded_and_used_pages_stay() {
        let mut pages = Pages::new(SIZE, 40 * (PAGE as usize + OVERHEAD), 64 << 10);
        read(&mut pages, 0, 100);
        for at in (1 << 20..20 << 20).step_by(30_000) {
            read(&mut pages, at, 10_000);
            assert!(read(&mut pages, 0, 100).is_empty(), "{at}");
        }
        assert!(pages.pages.len() <= 40 && pages.order.len() == pages.pages.len());
    }
}
