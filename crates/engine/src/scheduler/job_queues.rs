//! The jobs of one run queue, in the order of their keys.

use std::collections::VecDeque;

use crate::Class;
use crate::scheduler::key::Key;

/// The stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageName {
    /// The only stage of an [`OrderedMap`](crate::OrderedMap).
    Map,
    /// The first stage of a [`Pipeline`](crate::Pipeline), before an item is decided.
    Hash,
    /// The second stage of a [`Pipeline`](crate::Pipeline), after an item is decided.
    Compress,
}

impl StageName {
    /// The name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Hash => "hash",
            Self::Compress => "compress",
        }
    }
}

/// The pipeline and the stage that a job belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Number of the pipeline in its pool, from 1.
    pub(crate) pipeline: u64,
    pub(crate) name: StageName,
}

#[derive(Debug)]
pub(crate) struct QueuedJob<J> {
    pub(crate) key: Key,
    /// The index of the job in its lane.
    pub(crate) ticket: u64,
    /// The item of a job of the first stage, or the item whose decision submitted the job.
    pub(crate) item: Option<u64>,
    /// The time of queueing, in nanoseconds of the tracer's clock; 0 without one.
    pub(crate) queued: u64,
    pub(crate) job: J,
}

/// Jobs of one owner and one class. The keys of jobs added to it grow, so it needs no heap.
#[derive(Debug)]
struct JobQueue<J> {
    owner: Owner,
    class: Class,
    /// The first job's key.
    head: Key,
    jobs: VecDeque<QueuedJob<J>>,
}

/// The job queues of all owners and classes. Their number is small: a pipeline has two, and up to two more if it uses another
/// class.
///
/// A pipeline's two queues cost less than one heap (91 nanoseconds a job against 127 to 172, push and pop under a lock), and
/// the jobs of a pipeline that ends are found without a search.
#[derive(Debug)]
pub(crate) struct JobQueues<J> {
    /// The two queues of a single pipeline, stored next to the lock to save one cache miss. Further queues are in `more`.
    pair: [JobQueue<J>; 2],
    more: Vec<JobQueue<J>>,
    len: usize,
}

/// The owner of an unused queue.
const VACANT: Owner = Owner { pipeline: u64::MAX, name: StageName::Hash };

impl<J> JobQueue<J> {
    fn new(owner: Owner, class: Class) -> Self {
        Self { owner, class, head: Key::NONE, jobs: VecDeque::new() }
    }

    /// Inserts a job by its key: at the end, except for a job whose class was changed.
    fn insert(&mut self, entry: QueuedJob<J>) {
        match self.jobs.back() {
            Some(last) if (last.key, last.ticket) > (entry.key, entry.ticket) => {
                let at = self.jobs.partition_point(|job| (job.key, job.ticket) < (entry.key, entry.ticket));
                self.jobs.insert(at, entry);
            }
            _ => self.jobs.push_back(entry),
        }
        self.update_head();
    }

    fn pop(&mut self) -> Option<QueuedJob<J>> {
        let entry = self.jobs.pop_front();
        self.update_head();
        entry
    }

    fn remove(&mut self, ticket: u64) -> Option<QueuedJob<J>> {
        let at = self.jobs.iter().position(|job| job.ticket == ticket)?;
        let entry = self.jobs.remove(at);
        self.update_head();
        entry
    }

    fn update_head(&mut self) {
        self.head = self.jobs.front().map_or(Key::NONE, |job| job.key);
    }
}

impl<J> JobQueues<J> {
    pub(crate) fn new() -> Self {
        let vacant = || JobQueue::new(VACANT, Class::Normal);
        Self { pair: [vacant(), vacant()], more: Vec::new(), len: 0 }
    }

    fn iter(&self) -> impl Iterator<Item = &JobQueue<J>> {
        self.pair.iter().chain(&self.more)
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut JobQueue<J>> {
        self.pair.iter_mut().chain(&mut self.more)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The earliest key.
    pub(crate) fn best(&self) -> Key {
        self.iter().map(|queue| queue.head).min().unwrap_or(Key::NONE)
    }

    pub(crate) fn push(&mut self, owner: Owner, entry: QueuedJob<J>) {
        let class = entry.key.class();
        self.queue(owner, class).insert(entry);
        self.len += 1;
    }

    fn queue(&mut self, owner: Owner, class: Class) -> &mut JobQueue<J> {
        let at = self.iter().position(|queue| queue.owner == owner && queue.class == class);
        let at = at.unwrap_or_else(|| self.add(JobQueue::new(owner, class)));
        match at.checked_sub(self.pair.len()) {
            None => &mut self.pair[at],
            Some(at) => &mut self.more[at],
        }
    }

    /// Adds a queue, in place of a vacant one if there is one, and returns its index.
    fn add(&mut self, queue: JobQueue<J>) -> usize {
        if let Some(at) = self.pair.iter().position(|queue| queue.owner == VACANT) {
            self.pair[at] = queue;
            return at;
        }
        self.more.push(queue);
        self.pair.len() + self.more.len() - 1
    }

    /// Takes the earliest job.
    pub(crate) fn pop(&mut self) -> Option<(Owner, QueuedJob<J>)> {
        self.pop_where(|_| true)
    }

    /// Takes the earliest job of `pipeline`.
    pub(crate) fn pop_of(&mut self, pipeline: u64) -> Option<(Owner, QueuedJob<J>)> {
        self.pop_where(|owner| owner.pipeline == pipeline)
    }

    fn pop_where(&mut self, wanted: impl Fn(&Owner) -> bool) -> Option<(Owner, QueuedJob<J>)> {
        let queue = self.iter_mut().filter(|queue| wanted(&queue.owner)).min_by_key(|queue| queue.head)?;
        let taken = (queue.owner, queue.pop()?);
        self.len -= 1;
        Some(taken)
    }

    /// Moves the owner's job `ticket` to [`Class::Now`]; false if it is not in these queues or has that class already.
    pub(crate) fn promote(&mut self, owner: Owner, ticket: u64) -> bool {
        let mut later = self.iter_mut().filter(|queue| queue.owner == owner && queue.class != Class::Now);
        let found = later.find_map(|queue| queue.remove(ticket));
        drop(later);
        let Some(mut entry) = found else { return false };
        entry.key = entry.key.with_class(Class::Now);
        self.queue(owner, Class::Now).insert(entry);
        true
    }

    /// Removes every job of `pipeline`, for the caller to drop.
    pub(crate) fn remove(&mut self, pipeline: u64) -> impl Sized + use<J> {
        let mut gone: Vec<JobQueue<J>> = self.more.extract_if(.., |queue| queue.owner.pipeline == pipeline).collect();
        let of_pair = self.pair.iter_mut().filter(|queue| queue.owner.pipeline == pipeline);
        gone.extend(of_pair.map(|queue| std::mem::replace(queue, JobQueue::new(VACANT, Class::Normal))));
        self.len -= gone.iter().map(|queue| queue.jobs.len()).sum::<usize>();
        gone
    }

    /// Removes all jobs, for the caller to drop.
    pub(crate) fn remove_all(&mut self) -> impl Sized + use<J> {
        std::mem::replace(self, Self::new())
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(class: Class, time: u64, ticket: u64) -> QueuedJob<u64> {
        QueuedJob { key: Key::new(class, time), ticket, item: None, queued: 0, job: ticket }
    }

    const HASH: Owner = Owner { pipeline: 1, name: StageName::Hash };
    const COMMIT: Owner = Owner { pipeline: 1, name: StageName::Compress };

    fn order(queues: &mut JobQueues<u64>) -> Vec<(StageName, u64)> {
        std::iter::from_fn(|| queues.pop()).map(|(owner, entry)| (owner.name, entry.ticket)).collect()
    }

    #[test]
    fn jobs_of_decided_items_come_first() {
        let mut queues = JobQueues::new();
        (2..5).for_each(|item| queues.push(HASH, entry(Class::Normal, item, item)));
        // Items 0 and 1 are decided and have three jobs, two of them of item 1.
        [(0, 0), (1, 1), (1, 2)]
            .iter()
            .for_each(|&(item, ticket)| queues.push(COMMIT, entry(Class::Normal, item, ticket)));
        let hash = StageName::Hash;
        let commit = StageName::Compress;
        let expected = [(commit, 0), (commit, 1), (commit, 2), (hash, 2), (hash, 3), (hash, 4)];
        assert_eq!((queues.len(), order(&mut queues)), (6, expected.to_vec()));
        assert_eq!((queues.len(), queues.best()), (0, Key::NONE));
    }

    #[test]
    fn a_promoted_job_comes_first_and_is_promoted_once() {
        let mut queues = JobQueues::new();
        (0..4).for_each(|n| queues.push(HASH, entry(Class::Normal, n, n)));
        queues.push(COMMIT, entry(Class::Normal, 0, 0));
        queues.push(HASH, entry(Class::Now, 9, 9));
        assert!(
            queues.promote(HASH, 2)
                && !queues.promote(HASH, 2)
                && !queues.promote(HASH, 7)
                && !queues.promote(COMMIT, 2)
        );
        let tickets: Vec<u64> = order(&mut queues).into_iter().map(|(_, ticket)| ticket).collect();
        assert_eq!(tickets, [2, 9, 0, 0, 1, 3]);
    }

    #[test]
    fn removes_only_the_jobs_of_one_pipeline() {
        let mut queues = JobQueues::new();
        let other = Owner { pipeline: 2, ..HASH };
        (0..3).for_each(|n| queues.push(HASH, entry(Class::Normal, n, n)));
        queues.push(other, entry(Class::Normal, 1, 0));
        drop(queues.remove(1));
        assert_eq!((queues.len(), queues.best()), (1, Key::new(Class::Normal, 1)));
        assert_eq!((queues.pop_of(1).is_none(), queues.pop_of(2).map(|(_, entry)| entry.ticket)), (true, Some(0)));
        queues.push(other, entry(Class::Normal, 1, 0));
        drop(queues.remove_all());
        assert!(queues.pop().is_none() && queues.len() == 0);
    }

    proptest! {
        #[test]
        fn jobs_leave_in_the_order_of_keys(steps in prop::collection::vec((0u64..3, any::<bool>(), 0usize..2, 0u64..3), 0..80)) {
            let mut queues = JobQueues::new();
            let mut keys = Vec::new();
            let mut time = 0;
            for (ticket, (pipeline, hash, class, step)) in steps.into_iter().enumerate() {
                time += step;
                let lane = if hash { StageName::Hash } else { StageName::Compress };
                let class = [Class::Now, Class::Normal][class];
                keys.push(Key::new(class, time));
                queues.push(Owner { pipeline, name: lane }, entry(class, time, ticket as u64));
            }
            keys.sort();
            prop_assert_eq!(queues.best(), keys.first().copied().unwrap_or(Key::NONE));
            let taken: Vec<Key> = std::iter::from_fn(|| queues.pop()).map(|(_, entry)| entry.key).collect();
            prop_assert_eq!(taken, keys);
        }
    }
}
