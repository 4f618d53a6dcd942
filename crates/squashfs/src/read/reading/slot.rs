//! A promise of decoded blocks: steps of the plan refer to it before it is kept.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use packline_engine::{Budget, Permit};

use crate::buffer::Buffer;
use crate::read::ReadError;

/// Decoded bytes with the memory they take, shared by all who still need them.
#[derive(Debug)]
pub(super) struct Decoded {
    buffer: Buffer,
    /// Their share of the window; none while they are counted as kept.
    permit: Mutex<Option<Permit>>,
}

impl Decoded {
    pub(super) fn new(buffer: Buffer, permit: Permit) -> Arc<Decoded> {
        Arc::new(Decoded { buffer, permit: Mutex::new(Some(permit)) })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    fn set_permit(&self, permit: Option<Permit>) {
        *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}

/// What came of one block.
#[derive(Debug)]
pub(super) struct Piece {
    /// Its bytes.
    pub(super) range: Range<usize>,
    /// Why it has none.
    pub(super) error: Option<ReadError>,
}

/// What came of a job.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) decoded: Arc<Decoded>,
    /// Its blocks, in the order of the job; where none failed they follow each other without a gap.
    pub(super) pieces: Vec<Piece>,
}

/// Where the product of a job will be.
#[derive(Debug, Default)]
pub(super) struct Slot {
    product: OnceCell<Product>,
    kept: Cell<bool>,
}

impl Slot {
    /// The product, once it is there.
    pub(super) fn product(&self) -> Option<&Product> {
        self.product.get()
    }

    /// Puts the product in; a slot is filled once.
    pub(super) fn fill(&self, product: Product) {
        if self.kept.get() {
            product.decoded.set_permit(None);
        }
        let _: Result<(), Product> = self.product.set(product);
    }

    /// Whether its memory is counted as that of a block that is kept.
    pub(super) fn set_kept(&self, kept: bool) {
        self.kept.set(kept);
    }

    /// It is kept no longer: if someone still needs it, its memory is the window's from now on.
    pub(super) fn let_go(self: Rc<Slot>, budget: &Budget, bytes: usize) {
        if !self.kept.replace(false) {
            return;
        }
        let Some(product) = self.product() else { return };
        if Rc::strong_count(&self) > 1 || Arc::strong_count(&product.decoded) > 1 {
            product.decoded.set_permit(Some(budget.take(bytes)));
        }
    }
}
