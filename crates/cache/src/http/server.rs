//! A server as a cache of blocks: requests, uploads, and their time limits.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use packline_runtime::hex;

use super::client::{CONNECTION, Client, ENVELOPE, Failure};
use super::health::{FREE, Health, Rate};
use super::uploads::{QUEUE, THREADS, Upload, Uploads};
use super::{Url, action_result};
use crate::remote::{Remote, RemoteCounts, RemoteMemory};

pub use super::health::Clock;

/// Time that uploads may take after all other work.
const DRAIN: Duration = Duration::from_secs(3);

/// A cache on an HTTP server.
#[derive(Debug)]
pub struct Server {
    client: Arc<Client>,
    reads: Health,
    writes: Arc<Writes>,
    rate: Rate,
    /// Whether the time of compressing is of interest.
    unsure: AtomicBool,
    threads: bool,
    /// Started for the first entry. `None` if the worker sends entries itself.
    uploads: OnceLock<Option<Uploads>>,
    /// Number of entries that were dropped for lack of time.
    dropped: AtomicU64,
}

/// Shared with the threads that send.
#[derive(Debug)]
struct Writes {
    health: Health,
    added: AtomicU64,
    added_bytes: AtomicU64,
    faults: Mutex<Faults>,
}

/// The failures so far.
#[derive(Debug, Default)]
struct Faults {
    first: Option<String>,
    count: u64,
}

impl Server {
    /// Sends no request yet. `threads` says whether threads may be started, for uploads and for looking up the server's name.
    pub fn new(url: Url, threads: bool, clock: Clock) -> Server {
        let added = AtomicU64::new(0);
        let added_bytes = AtomicU64::new(0);
        let writes = Writes { health: Health::new(clock), added, added_bytes, faults: Mutex::default() };
        Server {
            client: Arc::new(Client::new(url, threads)),
            reads: Health::new(clock),
            writes: Arc::new(writes),
            rate: Rate::default(),
            unsure: AtomicBool::new(false),
            threads,
            uploads: OnceLock::new(),
            dropped: AtomicU64::new(0),
        }
    }

    /// Counts a failure. A wrong answer does not count against the server, because its entry is replaced.
    fn read_failed(&self, failure: &Failure) {
        self.writes.fault("cannot read an entry", failure);
        if !failure.is_wrong_answer() {
            self.reads.failed();
        }
        self.end_writes_with_reads();
    }

    fn reads_are_slow(&self) {
        self.writes.fault("cannot read an entry in time", &Failure::Slow);
        self.reads.end();
        self.end_writes_with_reads();
    }

    /// A server that does not answer gets no uploads either.
    fn end_writes_with_reads(&self) {
        if self.reads.has_ended() {
            self.writes.health.end();
        }
    }

    /// Time to compress a block of `most` bytes, if it is known.
    fn worth(&self, most: usize) -> Duration {
        self.rate.time_of(most).unwrap_or_default().max(FREE)
    }

    fn start_uploads(&self) -> Option<Uploads> {
        let client = self.client.clone();
        let writes = self.writes.clone();
        let start = || Uploads::start(move |upload| writes.send(&client, &upload));
        self.threads.then(start).flatten()
    }

    fn warning(&self, faults: &Faults) -> Option<String> {
        let url = self.client.url();
        let dropped = self.dropped.load(Ordering::Relaxed);
        let Some(first) = &faults.first else {
            return (dropped > 0).then(|| format!("{url}: is too slow: {dropped} entries were not added"));
        };
        Some(match faults.count {
            _ if self.reads.has_ended() => format!("{url}: {first}; it was not used after that"),
            _ if self.writes.health.has_ended() => format!("{url}: {first}; nothing was added to it after that"),
            1 => format!("{url}: {first}"),
            count => format!("{url}: {count} requests failed, the first: {first}"),
        })
    }
}

impl Remote for Server {
    fn get(&self, key: &[u8; 32], most: usize, bytes: &mut Vec<u8>) {
        bytes.clear();
        if self.reads.has_ended() {
            return;
        }
        let key = hex(key);
        let (answer, time) = self.reads.wait(self.worth(most), || self.client.get(&key, most, bytes));
        match answer {
            Ok(true) => {
                self.unsure.fetch_or(time > FREE, Ordering::Relaxed);
            }
            Ok(false) => self.reads.succeeded(),
            Err(failure) => {
                bytes.clear();
                self.read_failed(&failure);
            }
        }
        if self.reads.left().is_zero() {
            self.reads_are_slow();
        }
    }

    fn judge(&self, is_right: bool) {
        if is_right { self.reads.succeeded() } else { self.read_failed(&Failure::Wrong) }
    }

    fn put(&self, key: &[u8; 32], entry: [&[u8]; 2]) {
        if self.writes.health.has_ended() {
            return;
        }
        let upload = Upload { key: hex(key), message: action_result::encode(&entry) };
        match self.uploads.get_or_init(|| self.start_uploads()) {
            Some(uploads) => {
                let limit = self.writes.health.left();
                let (taken, _) = self.writes.health.wait(Duration::ZERO, || uploads.push(upload, limit));
                self.dropped.fetch_add(u64::from(!taken), Ordering::Relaxed);
            }
            None => {
                let worth = self.worth(upload.message.len());
                self.writes.health.wait(worth, || self.writes.send(&self.client, &upload));
                if self.writes.health.left().is_zero() {
                    self.writes.fault("cannot add an entry in time", &Failure::Slow);
                    self.writes.health.end();
                }
            }
        }
    }

    fn wants_time(&self) -> bool {
        self.unsure.load(Ordering::Relaxed) && self.rate.time_of(0).is_none()
    }

    fn encoded(&self, bytes: usize, time: Duration) {
        self.rate.add(bytes, time);
    }

    fn now(&self) -> Duration {
        self.reads.now()
    }

    fn memory(&self, most: usize) -> RemoteMemory {
        // A worker has an entry that is not yet in the queue.
        let shared = if self.threads { QUEUE + THREADS * CONNECTION } else { 0 };
        RemoteMemory { shared, per_worker: CONNECTION + ENVELOPE + most }
    }

    fn finish(&self) -> RemoteCounts {
        if let Some(Some(uploads)) = self.uploads.get() {
            let left = uploads.drain(DRAIN);
            self.dropped.fetch_add(left as u64, Ordering::Relaxed);
            if left > 0 {
                self.writes.health.end();
            }
        }
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let warning = self.warning(&self.writes.faults.lock().unwrap_or_else(PoisonError::into_inner));
        RemoteCounts {
            found: 0,
            added: of(&self.writes.added),
            added_bytes: of(&self.writes.added_bytes),
            waited: self.reads.waited() + self.writes.health.waited(),
            warning,
        }
    }
}

impl Writes {
    fn send(&self, client: &Client, upload: &Upload) {
        if self.health.has_ended() {
            return;
        }
        match client.put(&upload.key, &upload.message) {
            Ok(()) => {
                self.health.succeeded();
                self.added.fetch_add(1, Ordering::Relaxed);
                self.added_bytes.fetch_add(upload.message.len() as u64, Ordering::Relaxed);
            }
            Err(failure) => {
                self.fault("cannot add an entry", &failure);
                self.health.failed();
            }
        }
    }

    fn fault(&self, action: &str, failure: &Failure) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.count += 1;
        faults.first.get_or_insert_with(|| format!("{action}: {failure}"));
    }
}
