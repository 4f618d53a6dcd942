//! Memory for blocks: many buffers of one size, cut from pieces that come from the system directly.
//!
//! A fresh page costs a trap into the kernel, and all pages of a block together take a good part of the time in which the block
//! is decoded. So the pages of a buffer are asked for at once, and buffers are used again: the one given back last comes first,
//! as the processor still has it at hand. Of those that wait the memory goes back to the system, but for a few. Large pages
//! are not asked for: many a virtual machine has to get them from its host anew each time, which takes longer than all else.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::mm::{Advice, madvise};
use rustix::param::page_size;

use crate::mapping::Mapping;

/// Bytes of a piece, or one buffer if that is larger.
const PIECE: usize = 2 << 20;

/// Buffers of one size, for any thread. Memory is taken from the system as it is needed.
#[derive(Debug)]
pub struct Slabs {
    size: usize,
    keep: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Buffers that wait, with their memory.
    ready: Vec<Place>,
    /// Buffers that wait, whose memory is with the system.
    empty: Vec<Place>,
    pieces: Vec<Mapping>,
}

/// Where a buffer is.
#[derive(Debug)]
struct Place(NonNull<u8>);

// SAFETY: a place is a part of a piece which nobody else refers to, and pieces are not tied to a thread.
unsafe impl Send for Place {}
// SAFETY: nothing can be done with a shared place but to read its bytes.
unsafe impl Sync for Place {}

/// A buffer; it goes back when it is dropped. Its bytes are zeros, or what an earlier user left.
#[derive(Debug)]
pub struct SlabBuffer {
    place: Place,
    slabs: Arc<Slabs>,
}

impl Slabs {
    /// For buffers of `size` bytes, 1 at least, rounded up to whole machine words. Of those that wait `keep` hold on to their
    /// memory.
    pub fn new(size: usize, keep: usize) -> Arc<Slabs> {
        let size = size.max(1).next_multiple_of(size_of::<u64>());
        Arc::new(Slabs { size, keep, state: Mutex::default() })
    }

    /// Bytes of each buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lists are whole at any time.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A buffer.
    ///
    /// # Errors
    /// The system has no memory.
    pub fn take(self: &Arc<Slabs>) -> io::Result<SlabBuffer> {
        let mut state = self.lock();
        if state.ready.is_empty() && state.empty.is_empty() {
            self.grow(&mut state)?;
        }
        if let Some(place) = state.ready.pop() {
            return Ok(SlabBuffer { place, slabs: Arc::clone(self) });
        }
        let place = state.empty.pop().ok_or(io::ErrorKind::OutOfMemory)?;
        drop(state);
        self.populate(&place);
        Ok(SlabBuffer { place, slabs: Arc::clone(self) })
    }

    /// Asks for all pages of a buffer. A system that does not know how gives them one by one, when they are written to.
    fn populate(&self, place: &Place) {
        // SAFETY: the bytes are part of a piece; their content stays as it is, and so does that of their neighbours.
        let _: Result<(), Errno> = unsafe { madvise(place.0.as_ptr().cast(), self.size, Advice::LinuxPopulateWrite) };
    }

    /// Another piece, cut into buffers whose memory is still with the system.
    fn grow(&self, state: &mut State) -> io::Result<()> {
        let count = (PIECE / self.size).max(1);
        let piece = Mapping::new(count * self.size)?;
        // SAFETY: each offset lies within the piece.
        let places = (0..count).rev().map(|number| Place(unsafe { piece.start().add(number * self.size) }));
        state.empty.extend(places);
        state.pieces.push(piece);
        Ok(())
    }

    fn put(&self, place: Place) {
        let mut state = self.lock();
        // Where pages are larger than buffers, or end within them, a neighbour would lose its bytes.
        if state.ready.len() < self.keep || !self.size.is_multiple_of(page_size()) {
            state.ready.push(place);
            return;
        }
        drop(state);
        // SAFETY: the bytes are whole pages, and belong to the buffer that is being dropped.
        let _: Result<(), Errno> = unsafe { madvise(place.0.as_ptr().cast(), self.size, Advice::LinuxDontNeed) };
        self.lock().empty.push(place);
    }
}

impl Deref for SlabBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are mapped as long as `slabs` is there, initialised by the system, and only this value's.
        unsafe { std::slice::from_raw_parts(self.place.0.as_ptr(), self.slabs.size) }
    }
}

impl DerefMut for SlabBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for reading, and this value is borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.place.0.as_ptr(), self.slabs.size) }
    }
}

impl Drop for SlabBuffer {
    fn drop(&mut self) {
        self.slabs.put(Place(self.place.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_do_not_overlap_and_are_used_again() {
        for size in [4096, 8192, 1 << 20, 3 << 20] {
            let slabs = Slabs::new(size, 2);
            let mut buffers: Vec<SlabBuffer> = (0..9).map(|_| slabs.take().unwrap()).collect();
            assert!(buffers.iter().all(|buffer| buffer.len() == size && buffer.iter().all(|&byte| byte == 0)));
            (1..).zip(&mut buffers).for_each(|(number, buffer)| buffer.fill(number));
            assert!((1..).zip(&buffers).all(|(number, buffer)| buffer.iter().all(|&byte| byte == number)));
            let counts = || {
                let state = slabs.lock();
                (state.ready.len(), state.pieces.len())
            };
            let pieces = counts().1;
            drop(buffers);
            assert_eq!(counts(), (2, pieces));
            // Those with memory come first.
            assert!(slabs.take().unwrap()[0] != 0);
            let again: Vec<SlabBuffer> = (0..9).map(|_| slabs.take().unwrap()).collect();
            assert_eq!((again.len(), counts()), (9, (0, pieces)));
        }
    }

    #[test]
    fn memory_that_waits_is_with_the_system() {
        let slabs = Slabs::new(1 << 20, 1);
        let mut buffers: Vec<SlabBuffer> = (0..4).map(|_| slabs.take().unwrap()).collect();
        buffers.iter_mut().for_each(|buffer| buffer.fill(7));
        drop(buffers);
        let mut kept: Vec<bool> = (0..4).map(|_| slabs.take().unwrap()).map(|buffer| buffer[9] == 7).collect();
        kept.dedup();
        // The one that kept its memory goes to and fro.
        assert_eq!(kept, [true]);
        let buffers: Vec<SlabBuffer> = (0..4).map(|_| slabs.take().unwrap()).collect();
        assert_eq!(buffers.iter().filter(|buffer| buffer[9] == 7).count(), 1);
    }

    #[test]
    fn a_buffer_outlives_its_maker() {
        let buffer = Slabs::new(4096, 0).take().unwrap();
        assert_eq!(buffer.len(), 4096);
    }
}
