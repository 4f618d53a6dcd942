//! Uploads in the background: a queue, and threads that empty it.
//!
//! These threads are not the engine's: they wait for a server nearly all the time, and a waiting worker would not compress. They
//! change no output. The queue is limited in bytes, and a worker waits for space in it for a limited time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes in the queue, including entries that are being sent. An entry that is larger is accepted if the queue is empty.
pub const QUEUE: usize = 4 << 20;
/// Threads that send.
pub const THREADS: usize = 4;

pub struct Upload {
    pub key: String,
    pub message: Vec<u8>,
}

/// A queue with threads that send its entries. The threads end when it is dropped.
pub struct Uploads(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    uploads: VecDeque<Upload>,
    /// Bytes of the entries in the queue and of the entries that are being sent.
    bytes: usize,
    closed: bool,
}

impl Uploads {
    /// Starts the threads. `None` if the system cannot start a thread.
    pub fn start(send: impl Fn(Upload) + Clone + Send + 'static) -> Option<Uploads> {
        let queue = Arc::new(Queue::default());
        let started = (0..THREADS).filter(|_| {
            let queue = queue.clone();
            let send = send.clone();
            thread::Builder::new().name("upload".into()).spawn(move || queue.work(&send)).is_ok()
        });
        (started.count() > 0).then(|| Uploads(queue))
    }

    /// Adds an entry to the queue. Waits for space for at most `limit`, and returns false if there is none.
    pub fn push(&self, upload: Upload, limit: Duration) -> bool {
        let size = upload.message.len();
        let mut state = self.0.wait(limit, |state| state.bytes > 0 && state.bytes + size > QUEUE);
        if state.bytes > 0 && state.bytes + size > QUEUE {
            return false;
        }
        state.bytes += size;
        state.uploads.push_back(upload);
        self.0.changed.notify_all();
        true
    }

    /// Waits until all entries are sent, for at most `limit`. Then drops the rest and returns their number.
    pub fn drain(&self, limit: Duration) -> usize {
        let mut state = self.0.wait(limit, |state| state.bytes > 0);
        state.drop_all()
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, limit: Duration, is_unready: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.changed.wait_timeout_while(self.state(), limit, |state| is_unready(state));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The work of a thread.
    fn work(&self, send: &dyn Fn(Upload)) {
        while let Some(upload) = self.next() {
            let size = upload.message.len();
            send(upload);
            self.state().bytes -= size;
            self.changed.notify_all();
        }
    }

    /// Waits for the next entry. `None` after the queue is closed.
    fn next(&self) -> Option<Upload> {
        let is_idle = |state: &mut State| state.uploads.is_empty() && !state.closed;
        let waited = self.changed.wait_while(self.state(), is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).uploads.pop_front()
    }
}

impl State {
    fn drop_all(&mut self) -> usize {
        self.bytes -= self.uploads.iter().map(|upload| upload.message.len()).sum::<usize>();
        self.uploads.drain(..).count()
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        state.drop_all();
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(60);

    fn upload(number: usize, length: usize) -> Upload {
        Upload { key: number.to_string(), message: vec![0; length] }
    }

    #[test]
    fn sends_all_entries() {
        let (send, sent) = mpsc::channel();
        let uploads = Uploads::start(move |upload: Upload| drop(send.send(upload.key))).unwrap();
        assert!((0..1000).all(|number| uploads.push(upload(number, QUEUE / 7), LONG)));
        assert_eq!(uploads.drain(LONG), 0);
        let mut keys: Vec<usize> = sent.try_iter().map(|key| key.parse().unwrap()).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..1000));
    }

    #[test]
    fn rejects_entries_when_full_and_drops_the_rest() {
        let (release, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let uploads = Uploads::start(move |_| wait.lock().unwrap().recv().unwrap_or_default()).unwrap();
        // An entry larger than the queue is accepted alone.
        assert!(uploads.push(upload(0, 3 * QUEUE), Duration::ZERO));
        assert!(!uploads.push(upload(1, 1), Duration::from_millis(1)));
        release.send(()).unwrap();
        let count = 2 * THREADS;
        assert!((0..count).all(|number| uploads.push(upload(number, QUEUE / count), LONG)));
        assert!(!uploads.push(upload(1, QUEUE / count), Duration::from_millis(1)));
        let left = uploads.drain(Duration::from_millis(100));
        assert!((count - THREADS..=count).contains(&left), "{left}");
        (0..THREADS).for_each(|_| release.send(()).unwrap());
        assert_eq!(uploads.drain(LONG), 0);
    }
}
