//! The jobs of one run queue, in the order of their keys.

use std::collections::VecDeque;

use crate::Class;
use crate::key::Key;

/// Which stage a job is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneName {
    /// Hash jobs, of items not yet decided.
    Hash,
    /// Compress jobs, of items that are decided.
    Commit,
}

impl LaneName {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Commit => "commit",
        }
    }
}

/// Whose job it is: of which line, and of which of its lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The line's number on its pool.
    pub(crate) line: u64,
    pub(crate) lane: LaneName,
}

/// A queued job.
#[derive(Debug)]
pub(crate) struct Entry<J> {
    pub(crate) key: Key,
    /// Its place in its lane.
    pub(crate) ticket: u64,
    /// The item whose decision handed it on, or that it is.
    pub(crate) item: Option<u64>,
    /// When it was queued, in nanoseconds of the tracer's clock; 0 without one.
    pub(crate) queued: u64,
    pub(crate) job: J,
}

/// Jobs of one owner and one class, which come with growing keys: a row needs no heap.
#[derive(Debug)]
struct Row<J> {
    owner: Owner,
    class: Class,
    /// The first job's key.
    head: Key,
    jobs: VecDeque<Entry<J>>,
}

/// All rows. Their number is small: a line has two, and up to four more if it uses other classes.
///
/// A line's two rows cost less than one heap (91 nanoseconds a job against 127 to 172, push and pop under a lock), and
/// the jobs of a line that ends are at hand.
#[derive(Debug)]
pub(crate) struct Rows<J> {
    /// All there is on a pool with one line. They lie beside the queue's lock: it costs a cache miss less to get at them.
    pair: [Row<J>; 2],
    more: Vec<Row<J>>,
    len: usize,
}

/// The line of a row that nobody has.
const VACANT: Owner = Owner { line: u64::MAX, lane: LaneName::Hash };

impl<J> Row<J> {
    fn new(owner: Owner, class: Class) -> Self {
        Self { owner, class, head: Key::NONE, jobs: VecDeque::new() }
    }

    /// Puts a job in its place: at the end, but for jobs whose class was changed late.
    fn insert(&mut self, entry: Entry<J>) {
        match self.jobs.back() {
            Some(last) if (last.key, last.ticket) > (entry.key, entry.ticket) => {
                let at = self.jobs.partition_point(|job| (job.key, job.ticket) < (entry.key, entry.ticket));
                self.jobs.insert(at, entry);
            }
            _ => self.jobs.push_back(entry),
        }
        self.look();
    }

    fn pop(&mut self) -> Option<Entry<J>> {
        let entry = self.jobs.pop_front();
        self.look();
        entry
    }

    fn remove(&mut self, ticket: u64) -> Option<Entry<J>> {
        let at = self.jobs.iter().position(|job| job.ticket == ticket)?;
        let entry = self.jobs.remove(at);
        self.look();
        entry
    }

    fn look(&mut self) {
        self.head = self.jobs.front().map_or(Key::NONE, |job| job.key);
    }
}

impl<J> Rows<J> {
    /// No jobs.
    pub(crate) fn new() -> Self {
        let vacant = || Row::new(VACANT, Class::Normal);
        Self { pair: [vacant(), vacant()], more: Vec::new(), len: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = &Row<J>> {
        self.pair.iter().chain(&self.more)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Row<J>> {
        self.pair.iter_mut().chain(&mut self.more)
    }

    /// Jobs in all rows.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The earliest key.
    pub(crate) fn best(&self) -> Key {
        self.iter().map(|row| row.head).min().unwrap_or(Key::NONE)
    }

    /// Adds a job.
    pub(crate) fn push(&mut self, owner: Owner, entry: Entry<J>) {
        let class = entry.key.class();
        self.row(owner, class).insert(entry);
        self.len += 1;
    }

    fn row(&mut self, owner: Owner, class: Class) -> &mut Row<J> {
        let at = self.iter().position(|row| row.owner == owner && row.class == class);
        let at = at.unwrap_or_else(|| self.add(Row::new(owner, class)));
        match at.checked_sub(self.pair.len()) {
            None => &mut self.pair[at],
            Some(at) => &mut self.more[at],
        }
    }

    /// Puts a row where one is vacant: its place among all.
    fn add(&mut self, row: Row<J>) -> usize {
        if let Some(at) = self.pair.iter().position(|row| row.owner == VACANT) {
            self.pair[at] = row;
            return at;
        }
        self.more.push(row);
        self.pair.len() + self.more.len() - 1
    }

    /// Takes the earliest job.
    pub(crate) fn pop(&mut self) -> Option<(Owner, Entry<J>)> {
        self.pop_where(|_| true)
    }

    /// Takes the earliest job of `line`.
    pub(crate) fn pop_of(&mut self, line: u64) -> Option<(Owner, Entry<J>)> {
        self.pop_where(|owner| owner.line == line)
    }

    fn pop_where(&mut self, wanted: impl Fn(&Owner) -> bool) -> Option<(Owner, Entry<J>)> {
        let row = self.iter_mut().filter(|row| wanted(&row.owner)).min_by_key(|row| row.head)?;
        let taken = (row.owner, row.pop()?);
        self.len -= 1;
        Some(taken)
    }

    /// Makes the owner's job `ticket` one that is due now; whether it is here and was not so already.
    pub(crate) fn promote(&mut self, owner: Owner, ticket: u64) -> bool {
        let mut later = self.iter_mut().filter(|row| row.owner == owner && row.class != Class::Now);
        let found = later.find_map(|row| row.remove(ticket));
        drop(later);
        let Some(mut entry) = found else { return false };
        entry.key = entry.key.with_class(Class::Now);
        self.row(owner, Class::Now).insert(entry);
        true
    }

    /// Takes every job of `line` out, for the caller to drop.
    pub(crate) fn remove(&mut self, line: u64) -> impl Sized + use<J> {
        let mut gone: Vec<Row<J>> = self.more.extract_if(.., |row| row.owner.line == line).collect();
        let of_pair = self.pair.iter_mut().filter(|row| row.owner.line == line);
        gone.extend(of_pair.map(|row| std::mem::replace(row, Row::new(VACANT, Class::Normal))));
        self.len -= gone.iter().map(|row| row.jobs.len()).sum::<usize>();
        gone
    }

    /// Takes everything out, for the caller to drop.
    pub(crate) fn remove_all(&mut self) -> impl Sized + use<J> {
        std::mem::replace(self, Self::new())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(class: Class, time: u64, ticket: u64) -> Entry<u64> {
        Entry { key: Key::new(class, time), ticket, item: None, queued: 0, job: ticket }
    }

    const HASH: Owner = Owner { line: 1, lane: LaneName::Hash };
    const COMMIT: Owner = Owner { line: 1, lane: LaneName::Commit };

    fn order(rows: &mut Rows<u64>) -> Vec<(LaneName, u64)> {
        std::iter::from_fn(|| rows.pop()).map(|(owner, entry)| (owner.lane, entry.ticket)).collect()
    }

    #[test]
    fn what_is_decided_stands_before_what_is_not() {
        let mut rows = Rows::new();
        (2..5).for_each(|item| rows.push(HASH, entry(Class::Normal, item, item)));
        // Items 0 and 1 are decided: three jobs, two of them of one item.
        [(0, 0), (1, 1), (1, 2)]
            .iter()
            .for_each(|&(item, ticket)| rows.push(COMMIT, entry(Class::Normal, item, ticket)));
        let (hash, commit) = (LaneName::Hash, LaneName::Commit);
        let expected = [(commit, 0), (commit, 1), (commit, 2), (hash, 2), (hash, 3), (hash, 4)];
        assert_eq!((rows.len(), order(&mut rows)), (6, expected.to_vec()));
        assert_eq!((rows.len(), rows.best()), (0, Key::NONE));
    }

    #[test]
    fn a_promoted_job_comes_first_and_is_promoted_once() {
        let mut rows = Rows::new();
        (0..4).for_each(|n| rows.push(HASH, entry(Class::Idle, n, n)));
        rows.push(COMMIT, entry(Class::Normal, 0, 0));
        rows.push(HASH, entry(Class::Now, 9, 9));
        assert!(rows.promote(HASH, 2) && !rows.promote(HASH, 2) && !rows.promote(HASH, 7) && !rows.promote(COMMIT, 2));
        let tickets: Vec<u64> = order(&mut rows).into_iter().map(|(_, ticket)| ticket).collect();
        assert_eq!(tickets, [2, 9, 0, 0, 1, 3]);
    }

    #[test]
    fn a_line_leaves_with_its_jobs_only() {
        let mut rows = Rows::new();
        let other = Owner { line: 2, ..HASH };
        (0..3).for_each(|n| rows.push(HASH, entry(Class::Normal, n, n)));
        rows.push(other, entry(Class::Normal, 1, 0));
        drop(rows.remove(1));
        assert_eq!((rows.len(), rows.best()), (1, Key::new(Class::Normal, 1)));
        assert_eq!((rows.pop_of(1).is_none(), rows.pop_of(2).map(|(_, entry)| entry.ticket)), (true, Some(0)));
        rows.push(other, entry(Class::Normal, 1, 0));
        drop(rows.remove_all());
        assert!(rows.pop().is_none() && rows.len() == 0);
    }

    proptest! {
        #[test]
        fn jobs_leave_in_the_order_of_keys(steps in prop::collection::vec((0u64..3, any::<bool>(), 0usize..3, 0u64..3), 0..80)) {
            let (mut rows, mut keys, mut time) = (Rows::new(), Vec::new(), 0);
            for (ticket, (line, hash, class, step)) in steps.into_iter().enumerate() {
                time += step;
                let lane = if hash { LaneName::Hash } else { LaneName::Commit };
                let class = [Class::Now, Class::Normal, Class::Idle][class];
                keys.push(Key::new(class, time));
                rows.push(Owner { line, lane }, entry(class, time, ticket as u64));
            }
            keys.sort();
            prop_assert_eq!(rows.best(), keys.first().copied().unwrap_or(Key::NONE));
            let taken: Vec<Key> = std::iter::from_fn(|| rows.pop()).map(|(_, entry)| entry.key).collect();
            prop_assert_eq!(taken, keys);
        }
    }
}
