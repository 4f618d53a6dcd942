//! Destination of a job's result. Steps of the plan refer to it before the result is available.

use std::cell::{Cell, Ref, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::{Budget, Permit};
use packline_runtime::{Buffer, TaskError};

use crate::{ReadError, Scratch, SpilledBlock, Unit, Volume};

/// Decoded bytes with their memory, shared by all steps that need them.
#[derive(Debug)]
pub(super) struct Decoded {
    bytes: Bytes,
    /// The bytes' share of the window; `None` while the bytes count as cached.
    permit: Mutex<Option<Permit>>,
}

#[derive(Debug)]
enum Bytes {
    /// Decoded bytes of a job.
    Buffer(Buffer),
    /// A tail end that was read alone.
    Own(Vec<u8>),
}

impl Decoded {
    pub(super) fn new(buffer: Buffer, permit: Permit) -> Arc<Decoded> {
        Arc::new(Decoded { bytes: Bytes::Buffer(buffer), permit: Mutex::new(Some(permit)) })
    }

    pub(super) fn own(bytes: Vec<u8>, permit: Permit) -> Arc<Decoded> {
        Arc::new(Decoded { bytes: Bytes::Own(bytes), permit: Mutex::new(Some(permit)) })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Buffer(buffer) => buffer.bytes(),
            Bytes::Own(bytes) => bytes,
        }
    }

    /// Counts the bytes in the window.
    fn count(&self, budget: &Budget) {
        self.set_permit(Some(budget.take(self.bytes().len())));
    }

    fn set_permit(&self, permit: Option<Permit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

/// Result of decoding one unit.
#[derive(Debug)]
pub(super) struct DecodedPart {
    pub(super) range: Range<usize>,
    /// The error, if decoding failed.
    pub(super) error: Option<ReadError>,
}

/// Result of a job.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) decoded: Arc<Decoded>,
    /// The parts of its units that files need, in the order of the job.
    pub(super) pieces: Vec<DecodedPart>,
}

/// Destination of the result of a job.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: RefCell<State>,
    /// Whether the memory of the slot counts as a cached block.
    kept: Cell<bool>,
    /// Spill file for the result when it is ready; `None` if the result stays in memory.
    spill_to: RefCell<Option<Arc<Scratch>>>,
    /// The shared unit.
    unit: Option<Unit>,
}

#[derive(Debug, Default)]
enum State {
    /// The job is not done.
    #[default]
    Promised,
    /// The result is available.
    Here(Product),
    /// The block is in the scratch file.
    SpilledBlock(SpilledBlock),
    /// The unit is plain: its content is in the image.
    Plain(Unit),
    /// The block was spilled, and is broken.
    Broken(Box<ReadError>),
    /// The block was spilled and cannot be read back.
    Lost,
}

impl State {
    fn product(&self) -> Option<&Product> {
        if let State::Here(product) = self { Some(product) } else { None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Promised,
    Filled,
    /// The unit must be decoded again.
    Lost,
}

impl Slot {
    /// A slot for a shared unit, if the image has the unit.
    pub(super) fn of_shared(unit: Option<Unit>) -> Slot {
        Slot { unit, ..Slot::default() }
    }

    pub(super) fn stage(&self) -> Stage {
        match &*self.state.borrow() {
            State::Promised => Stage::Promised,
            State::Lost => Stage::Lost,
            _ => Stage::Filled,
        }
    }

    /// Returns the result, if it is available.
    pub(super) fn product(&self) -> Option<Ref<'_, Product>> {
        Ref::filter_map(self.state.borrow(), State::product).ok()
    }

    /// Stores the result, unless there is one already.
    pub(super) fn fill(&self, product: Product) {
        if self.stage() != Stage::Promised {
            return;
        }
        if self.kept.get() {
            product.decoded.set_permit(None);
        }
        let spill_to = self.spill_to.take();
        *self.state.borrow_mut() = match spill_to {
            Some(scratch) => self.spilled_state(&product, &scratch),
            None => State::Here(product),
        };
    }

    /// Sets whether the memory of the slot counts as a cached block.
    pub(super) fn set_kept(&self, kept: bool) {
        self.kept.set(kept);
    }

    /// Removes the block from the cache. If a step still needs the block, its memory counts in the window from now on.
    pub(super) fn uncache(self: Rc<Slot>, budget: &Budget) {
        if !self.kept.replace(false) {
            return;
        }
        let Some(product) = self.product() else { return };
        if Rc::strong_count(&self) > 1 || Arc::strong_count(&product.decoded) > 1 {
            product.decoded.count(budget);
        }
    }

    pub(super) fn unit(&self) -> Option<Unit> {
        self.unit
    }

    /// Whether spilling the block needs no space.
    pub(super) fn is_plain(&self) -> bool {
        self.unit.is_some_and(Unit::is_plain)
    }

    /// Spills the block, now or when the result arrives. Afterwards it uses no memory except for bytes that others hold.
    pub(super) fn spill(&self, scratch: &Arc<Scratch>, budget: &Budget) {
        self.kept.set(false);
        let Some(put) = self.product().map(|product| {
            if Arc::strong_count(&product.decoded) > 1 {
                product.decoded.count(budget);
            }
            self.spilled_state(&product, scratch)
        }) else {
            *self.spill_to.borrow_mut() = Some(Arc::clone(scratch));
            return;
        };
        *self.state.borrow_mut() = put;
    }

    fn spilled_state(&self, product: &Product, scratch: &Arc<Scratch>) -> State {
        let piece = &product.pieces[0];
        if let Some(error) = &piece.error {
            return State::Broken(Box::new(error.clone()));
        }
        if let Some(unit) = self.unit.filter(|unit| unit.is_plain()) {
            return State::Plain(unit);
        }
        scratch.put(&product.decoded.bytes()[piece.range.clone()]).map_or(State::Lost, State::SpilledBlock)
    }

    /// Marks the unit to be decoded again.
    pub(super) fn promise_again(&self) {
        *self.state.borrow_mut() = State::Promised;
    }

    /// Returns the size of the unit in bytes.
    ///
    /// # Errors
    /// The error of decoding the unit.
    pub(super) fn length(&self) -> Result<usize, ReadError> {
        match &*self.state.borrow() {
            State::Here(product) => match &product.pieces[0] {
                DecodedPart { error: Some(error), .. } => Err(error.clone()),
                DecodedPart { range, .. } => Ok(range.len()),
            },
            State::SpilledBlock(spilled) => Ok(spilled.length()),
            State::Plain(unit) => Ok(unit.stored as usize),
            State::Broken(error) => Err((**error).clone()),
            State::Promised | State::Lost => Err(ReadError::internal("a block is asked for too early".into())),
        }
    }

    /// Returns bytes that contain `range` of the unit, and the range in these bytes. Returns `None` if they cannot be read back; the unit is then
    /// lost.
    pub(super) fn bytes(
        &self,
        range: Range<usize>,
        volume: &dyn Volume,
        budget: &Budget,
    ) -> Option<(Arc<Decoded>, Range<usize>)> {
        if let Some(product) = self.product() {
            return Some((Arc::clone(&product.decoded), range));
        }
        let own = Decoded::own(self.fetch(range.clone(), volume), budget.take(range.len()));
        if own.bytes().len() < range.len() {
            *self.state.borrow_mut() = State::Lost;
            return None;
        }
        Some((own, 0..range.len()))
    }

    /// Reads a spilled block; returns no bytes if the read fails.
    fn fetch(&self, range: Range<usize>, volume: &dyn Volume) -> Vec<u8> {
        let mut bytes = vec![0; range.len()];
        let read = match &*self.state.borrow() {
            State::SpilledBlock(spilled) => spilled.read(range.start, &mut bytes).is_ok(),
            State::Plain(unit) => volume.stored(unit.offset + range.start as u64, &mut bytes).is_ok(),
            _ => false,
        };
        if read { bytes } else { Vec::new() }
    }
}
