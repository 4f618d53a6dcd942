//! Threads that read batches ahead of the caller. What they give does not depend on their number or speed.
//!
//! One lock guards a queue of batches to read and a list of those that are read. A reader is woken only if one sleeps, the
//! caller only if it waits, and a batch that no reader has begun when the caller needs it is read by the caller itself: a
//! hand-over costs two short turns of the lock for some dozens of files.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::batch::Batch;
use super::fault::Fault;
use super::xattr::XattrReader;

/// The threads, and what they share with the caller.
pub(super) struct Readers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to read, or the end has come.
    work: Condvar,
    /// The batch that the caller waits for is read.
    ready: Condvar,
    root: PathBuf,
}

#[derive(Default)]
struct State {
    todo: VecDeque<(u64, Batch)>,
    done: BTreeMap<u64, Batch>,
    asleep: usize,
    awaited: Option<u64>,
    closed: bool,
}

impl Readers {
    /// Starts `count` threads, or as many as the operating system grants; with none the caller reads everything.
    pub fn start(count: usize, root: &Path) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            ready: Condvar::new(),
            root: root.to_owned(),
        });
        let threads = (0..count).map_while(|_| spawn(&shared)).collect();
        Self { shared, threads }
    }

    /// Hands over a batch under a number that is larger than all before.
    pub fn submit(&self, number: u64, batch: Batch) {
        let mut state = self.shared.lock();
        state.todo.push_back((number, batch));
        if state.asleep > 0 {
            state.asleep -= 1;
            drop(state);
            self.shared.work.notify_one();
        }
    }

    /// The batch with a number, read. Numbers are asked for in the order they were submitted.
    pub fn take(&self, number: u64, xattrs: &mut XattrReader) -> Batch {
        let mut state = self.shared.lock();
        if state.todo.front().is_some_and(|&(first, _)| first == number)
            && let Some((_, mut batch)) = state.todo.pop_front()
        {
            drop(state);
            batch.load(xattrs, &self.shared.root);
            return batch;
        }
        loop {
            if let Some(batch) = state.done.remove(&number) {
                state.awaited = None;
                return batch;
            }
            state.awaited = Some(number);
            state = self.shared.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.todo.clear();
        drop(state);
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A reader that ended early has said so in its batch.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<(u64, Batch)> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if let Some(batch) = state.todo.pop_front() {
                return Some(batch);
            }
            state.asleep += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, number: u64, batch: Batch) {
        let mut state = self.lock();
        state.done.insert(number, batch);
        if state.awaited == Some(number) {
            drop(state);
            self.ready.notify_one();
        }
    }
}

/// A batch in a reader's hands. It goes back whatever happens, lest the caller wait for ever.
struct Held<'a> {
    shared: &'a Shared,
    number: u64,
    batch: Batch,
    loaded: bool,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        if !self.loaded {
            batch.fail(Fault::Reader);
        }
        self.shared.finish(self.number, batch);
    }
}

fn spawn(shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("reader".into()).spawn(move || serve(&shared)).ok()
}

fn serve(shared: &Shared) {
    let mut xattrs = XattrReader::default();
    while let Some((number, batch)) = shared.next() {
        let mut held = Held { shared, number, batch, loaded: false };
        held.batch.load(&mut xattrs, &shared.root);
        held.loaded = true;
    }
}
