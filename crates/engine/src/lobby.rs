//! Where workers without a job wait, and who wakes them: one for a job, and nobody while one is looking already.

use std::sync::Arc;

use crate::seat::{Call, Seat};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{self, Mutex, MutexGuard, Padded};

/// The workers that wait.
///
/// Whoever adds a job wakes one sleeper, unless one worker is searching already; a searcher that finds a job with more
/// behind it wakes the next. So while there are jobs and sleepers there is a searcher, and there are never more wake-ups
/// than jobs: between two of them a job has been taken.
///
/// No wake-up is lost: who adds a job shows it first and looks for sleepers after; who falls asleep (or stops searching)
/// says so first and looks for jobs after. One of the two sees the other.
#[derive(Debug)]
pub(crate) struct Lobby {
    /// Twice the number of sleepers, plus one while somebody searches: all that who adds a job has to know.
    sign: Padded<AtomicUsize>,
    room: Mutex<Room>,
}

#[derive(Debug)]
struct Room {
    /// Sleepers; the last to fall asleep is woken first, its cache is the warmest.
    sleepers: Vec<Arc<Seat>>,
    /// Whether a worker is awake, has no job, and will look at all queues before it sleeps.
    searching: bool,
    /// For each queue, workers woken for a job in it.
    wakes: Vec<u64>,
}

impl Lobby {
    /// An empty lobby beside `queues` queues.
    pub(crate) fn new(queues: usize) -> Self {
        let room = Room { sleepers: Vec::new(), searching: false, wakes: vec![0; queues] };
        Self { sign: Padded::default(), room: Mutex::new(room) }
    }

    /// Wakes a worker for a job that was just added to `queue`, if one is needed. Costs one load otherwise.
    pub(crate) fn call(&self, queue: usize) {
        sync::store_then_look();
        if calls(self.sign.0.load(Ordering::SeqCst)) {
            let mut room = sync::lock(&self.room);
            let seat = if room.searching { None } else { room.rouse(queue) };
            self.leave(room);
            wake(seat);
        }
    }

    /// Becomes the searcher, unless there is one. One worker searches at a time: two would burn twice the time to catch
    /// the same job.
    pub(crate) fn search(&self) -> bool {
        if searching(self.sign.0.load(Ordering::SeqCst)) {
            return false;
        }
        let mut room = sync::lock(&self.room);
        let free = !room.searching;
        room.searching = true;
        self.leave(room);
        free
    }

    /// The searcher has a job. It wakes the next if it sees one more; `any` tells where.
    pub(crate) fn found(&self, any: impl Fn() -> Option<usize>) {
        let mut room = sync::lock(&self.room);
        room.searching = false;
        let seat = any().and_then(|queue| room.rouse(queue));
        let woken = seat.is_some();
        self.leave(room);
        wake(seat);
        if !woken {
            // A job that was added since, by somebody who saw a searcher here, is this worker's to tell of.
            sync::store_then_look();
            if let Some(queue) = any() {
                self.call(queue);
            }
        }
    }

    /// Sleeps, unless `ready` says that there is a job or something else has changed. Whether this worker is the
    /// searcher after; `was_searcher` says whether it was before.
    pub(crate) fn sleep(&self, seat: &Arc<Seat>, was_searcher: bool, ready: impl Fn() -> bool) -> bool {
        let mut room = sync::lock(&self.room);
        room.searching &= !was_searcher;
        room.sleepers.push(Arc::clone(seat));
        self.leave(room);
        sync::store_then_look();
        if ready() && self.rise(seat) {
            return false;
        }
        seat.sleep() == Call::Search
    }

    /// Takes a worker that is awake out of the sleepers; false if somebody has called it meanwhile.
    fn rise(&self, seat: &Arc<Seat>) -> bool {
        let mut room = sync::lock(&self.room);
        let at = room.sleepers.iter().rposition(|sleeper| Arc::ptr_eq(sleeper, seat));
        if let Some(at) = at {
            room.sleepers.remove(at);
        } else {
            self.leave(room);
            return false;
        }
        self.leave(room);
        true
    }

    /// Wakes everybody, to see what has changed.
    pub(crate) fn wake_all(&self) {
        let mut room = sync::lock(&self.room);
        let sleepers = std::mem::take(&mut room.sleepers);
        self.leave(room);
        sleepers.iter().for_each(|seat| seat.wake(Call::LookUp));
    }

    /// For each queue, workers woken for a job in it so far.
    pub(crate) fn wakes(&self) -> Vec<u64> {
        sync::lock(&self.room).wakes.clone()
    }

    /// Puts the sign right and lets go of the room.
    fn leave(&self, room: MutexGuard<'_, Room>) {
        self.sign.0.store(room.sleepers.len() * 2 + usize::from(room.searching), Ordering::SeqCst);
    }

    /// How many sleep.
    #[cfg(test)]
    pub(crate) fn sleepers(&self) -> usize {
        sync::lock(&self.room).sleepers.len()
    }
}

/// Whether the sign says that there are sleepers and nobody searches.
fn calls(sign: usize) -> bool {
    sign >= 2 && !searching(sign)
}

fn searching(sign: usize) -> bool {
    sign % 2 == 1
}

impl Room {
    /// Takes a sleeper to wake and makes it the searcher: one at `queue` rather than one at another.
    fn rouse(&mut self, queue: usize) -> Option<Arc<Seat>> {
        let near = self.sleepers.iter().rposition(|seat| seat.queue() == queue);
        let seat = match near {
            Some(at) => self.sleepers.remove(at),
            None => self.sleepers.pop()?,
        };
        self.searching = true;
        self.wakes[queue] += 1;
        Some(seat)
    }
}

fn wake(seat: Option<Arc<Seat>>) {
    if let Some(seat) = seat {
        seat.wake(Call::Search);
    }
}
