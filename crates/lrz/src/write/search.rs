//! The first phase of a chunk: finds matches and records them as opcodes, while another thread calculates checksums.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use packline_engine::CancelToken;
use packline_longrange::{FindError, Settings, Window, find};
use packline_runtime::{TaskError, WorkFault};

use super::digest::Sums;
use super::opcodes::{Counts, Recorder};
use super::policy::Policy;
use super::view::View;
use crate::Error;

/// The search for the matches of a chunk.
pub(super) struct Search<'a> {
    pub(super) view: &'a View,
    pub(super) settings: &'a Settings,
    /// Chooses the matches that are recorded.
    pub(super) policy: &'a Policy,
    /// The number of threads that search. With 0, the caller's thread does everything.
    pub(super) workers: usize,
    pub(super) cancel: &'a CancelToken,
    /// Called with the position up to which matches are known.
    pub(super) progress: &'a mut dyn FnMut(u64),
}

impl Search<'_> {
    /// Finds the matches of the chunk, records them, and adds the chunk to `sums`.
    pub(super) fn run(mut self, sums: &mut Sums, mut recorder: Recorder<'_>) -> Result<Counts, Error> {
        let parallel = if self.workers == 0 { None } else { self.beside(sums, &mut recorder)? };
        let crc = match parallel {
            Some(crc) => crc,
            None => self.alone(sums, &mut recorder)?,
        };
        recorder.finish(self.view.length(), crc)
    }

    /// Calculates the checksums, and then searches, on this thread.
    fn alone(&mut self, sums: &mut Sums, recorder: &mut Recorder<'_>) -> Result<u32, Error> {
        let view = self.view;
        let cancel = self.cancel;
        let summed = sums.chunk(view, &|| cancel.is_cancelled());
        let crc = summed_up(view, summed)?;
        self.find(&|| cancel.is_cancelled(), recorder)?;
        Ok(crc)
    }

    /// Searches while another thread calculates the checksums. Returns `None` if the system does not start a thread.
    fn beside(&mut self, sums: &mut Sums, recorder: &mut Recorder<'_>) -> Result<Option<u32>, Error> {
        let view = self.view;
        let cancel = self.cancel;
        let over = AtomicBool::new(false);
        let stop = || cancel.is_cancelled() || over.load(Ordering::Relaxed);
        thread::scope(|scope| {
            let sum = || {
                let summed = sums.chunk(view, &stop);
                over.fetch_or(summed.is_err(), Ordering::Relaxed);
                summed
            };
            let Ok(thread) = thread::Builder::new().name("sums".into()).spawn_scoped(scope, sum) else {
                return Ok(None);
            };
            let found = self.find(&stop, recorder);
            over.fetch_or(found.is_err(), Ordering::Relaxed);
            let summed = thread.join().map_err(|_| Error::internal("a thread panicked".into()))?;
            match (found, summed) {
                // The search was cancelled because the other thread failed.
                (Err(Error::Work(WorkFault::Cancelled)), Err(cause)) => Err(view.failed(cause)),
                (found, summed) => found.and_then(|()| summed_up(view, summed)).map(Some),
            }
        })
    }

    fn find(&mut self, stop: &dyn Fn() -> bool, recorder: &mut Recorder<'_>) -> Result<(), Error> {
        let Search { view, settings, policy, workers, ref mut progress, .. } = *self;
        let mut reported = 0;
        let mut each = |found: packline_longrange::Match| {
            if policy.wants(&found) {
                recorder.take(found)?;
            }
            if found.end() - reported > PROGRESS_STEP {
                reported = found.end();
                progress(reported);
            }
            Ok(())
        };
        find(Arc::new(view.clone()), settings, workers, stop, &mut each).map_err(|error| match error {
            FindError::Read { source, .. } => view.failed(source),
            FindError::Cancelled => Error::cancelled(),
            FindError::Consumer(error) => error,
            FindError::TooLong { .. } => Error::internal(error.to_string()),
        })
    }
}

/// Bytes between two reports of progress.
const PROGRESS_STEP: u64 = 1 << 20;

fn summed_up(view: &View, summed: io::Result<Option<u32>>) -> Result<u32, Error> {
    summed.map_err(|cause| view.failed(cause))?.ok_or_else(Error::cancelled)
}
