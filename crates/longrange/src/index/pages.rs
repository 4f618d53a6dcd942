//! Memory of the index: entries in reused pages, so that sorting needs no second copy of the index.

use std::sync::{Arc, Mutex, PoisonError};

/// Entries in a page: 8 KiB.
pub(crate) const PAGE: usize = 1024;

/// Bytes of a page, with the allocator's overhead.
pub(crate) const PAGE_BYTES: u64 = PAGE as u64 * 8 + 64;

#[derive(Default)]
pub(crate) struct PagePool {
    free: Mutex<Vec<Vec<u64>>>,
}

impl PagePool {
    fn take(&self) -> Vec<u64> {
        let page = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        page.unwrap_or_else(|| Vec::with_capacity(PAGE))
    }

    fn give(&self, pages: impl Iterator<Item = Vec<u64>>) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(pages.map(|mut page| {
            page.clear();
            page
        }));
    }
}

/// A list of entries in pages.
#[derive(Default)]
pub(crate) struct Pile {
    pages: Vec<Vec<u64>>,
}

impl Pile {
    pub(crate) fn push(&mut self, entry: u64, pool: &PagePool) {
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(entry),
            _ => {
                let mut page = pool.take();
                page.push(entry);
                self.pages.push(page);
            }
        }
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.pages.append(&mut other.pages);
    }

    /// Moves the entries into `flat`, which is cleared first, and the pages into `pool`.
    pub(crate) fn flatten(self, flat: &mut Vec<u64>, pool: &PagePool) {
        flat.clear();
        flat.reserve_exact(self.pages.iter().map(Vec::len).sum());
        self.pages.iter().for_each(|page| flat.extend_from_slice(page));
        pool.give(self.pages.into_iter());
    }

    /// Puts `entries` into pages of `pool`. All pages except the last are full, so that [`Pile::get`] finds the entries.
    pub(crate) fn from_entries(entries: &[u64], pool: &PagePool) -> Self {
        let fill = |entries: &[u64]| {
            let mut page = pool.take();
            page.extend_from_slice(entries);
            page
        };
        Self { pages: entries.chunks(PAGE).map(fill).collect() }
    }

    /// Entry `index` of a pile made by [`Pile::from_entries`].
    pub(crate) fn get(&self, index: usize) -> Option<u64> {
        self.pages.get(index / PAGE)?.get(index % PAGE).copied()
    }
}

/// Piles by number, filled by one worker.
pub(crate) struct Piles {
    pool: Arc<PagePool>,
    piles: Vec<Pile>,
}

impl Piles {
    pub(crate) fn new(count: usize, pool: &Arc<PagePool>) -> Self {
        Self { pool: Arc::clone(pool), piles: (0..count).map(|_| Pile::default()).collect() }
    }

    pub(crate) fn push(&mut self, number: usize, entry: u64) {
        if let Some(pile) = self.piles.get_mut(number) {
            pile.push(entry, &self.pool);
        }
    }

    /// Merges the piles of all workers by number. One job takes each merged pile.
    pub(crate) fn merge(workers: Vec<Self>, count: usize) -> Vec<Mutex<Pile>> {
        let mut merged: Vec<Pile> = (0..count).map(|_| Pile::default()).collect();
        for worker in workers {
            merged.iter_mut().zip(worker.piles).for_each(|(pile, part)| pile.append(part));
        }
        merged.into_iter().map(Mutex::new).collect()
    }
}

pub(crate) fn take_pile(pile: &Mutex<Pile>) -> Pile {
    std::mem::take(&mut *pile.lock().unwrap_or_else(PoisonError::into_inner))
}
