//! Uploads beside the work: a queue, and threads that empty it.
//!
//! These threads are not of the engine: they wait for a server nearly all the time, and a worker that waited in their place would not
//! compress. What they do changes no output. The queue has a limit of bytes; a worker waits for space in it for a limited time.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes in the queue, those that are being sent included; one larger entry is taken if there is none else.
pub const QUEUE: usize = 4 << 20;
/// Threads that send.
pub const THREADS: usize = 4;

/// An entry to be sent.
pub struct Upload {
    pub key: String,
    pub message: Vec<u8>,
}

/// A queue with threads that send what is in it. They end when this is dropped.
pub struct Uploads(Arc<Queue>);

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    uploads: VecDeque<Upload>,
    /// Of those in the queue, and of those that are being sent.
    bytes: usize,
    closed: bool,
}

impl Uploads {
    /// Starts the threads; `None` where the system starts none.
    pub fn start(send: impl Fn(Upload) + Clone + Send + 'static) -> Option<Uploads> {
        let queue = Arc::new(Queue::default());
        let started = (0..THREADS).filter(|_| {
            let queue = queue.clone();
            let send = send.clone();
            thread::Builder::new().name("upload".into()).spawn(move || queue.work(&send)).is_ok()
        });
        (started.count() > 0).then(|| Uploads(queue))
    }

    /// Puts an entry into the queue, for which it waits that long at most. False if there was no space.
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

    /// Waits until all is sent, that long at most. The rest is dropped then; returns how many these are.
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

    /// A thread.
    fn work(&self, send: &dyn Fn(Upload)) {
        while let Some(upload) = self.next() {
            let size = upload.message.len();
            send(upload);
            self.state().bytes -= size;
            self.changed.notify_all();
        }
    }

    /// The next entry; `None` when there will be no more.
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
    fn all_are_sent() {
        let (send, sent) = mpsc::channel();
        let uploads = Uploads::start(move |upload: Upload| drop(send.send(upload.key))).unwrap();
        assert!((0..1000).all(|number| uploads.push(upload(number, QUEUE / 7), LONG)));
        assert_eq!(uploads.drain(LONG), 0);
        let mut keys: Vec<usize> = sent.try_iter().map(|key| key.parse().unwrap()).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..1000));
    }

    #[test]
    fn a_full_queue_takes_no_more_and_what_is_left_is_dropped() {
        let (release, wait) = mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let uploads = Uploads::start(move |_| wait.lock().unwrap().recv().unwrap_or_default()).unwrap();
        // More than all there may be, if it is alone.
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
