//! Reads the parts of a delta in order, one part ahead.

use std::sync::Arc;

use packline_runtime::Input;

use crate::Error;
use crate::format::head::HEAD_BYTES;
use crate::format::part::{Part, PartKind};

pub(super) struct Parts {
    delta: Arc<dyn Input>,
    /// Offset of the part that is read next.
    offset: u64,
    ahead: Option<Part>,
}

impl Parts {
    /// Begins with the first part.
    pub(super) fn new(delta: &Arc<dyn Input>) -> Parts {
        Parts { delta: Arc::clone(delta), offset: HEAD_BYTES as u64, ahead: None }
    }

    /// Returns the kind of the next part.
    pub(super) fn peek(&mut self) -> Result<PartKind, Error> {
        let part = match self.ahead.take() {
            Some(part) => part,
            None => Part::read(self.delta.as_ref(), self.offset)?,
        };
        self.offset = part.end();
        Ok(self.ahead.insert(part).kind)
    }

    /// Returns the next part if it has this kind.
    pub(super) fn next_if(&mut self, kind: PartKind) -> Result<Option<Part>, Error> {
        Ok(if self.peek()? == kind { self.ahead.take() } else { None })
    }

    /// Returns the next part, which must have this kind. `expected` names the part for the error.
    pub(super) fn expect(&mut self, kind: PartKind, expected: &str) -> Result<Part, Error> {
        let part = self.next_if(kind)?;
        part.ok_or_else(|| Error::corrupt(self.next_offset(), "an unexpected part", expected))
    }

    /// Offset of the next part.
    pub(super) fn next_offset(&self) -> u64 {
        self.ahead.as_ref().map_or(self.offset, |part| part.offset)
    }

    /// Checks that the delta ends here.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.expect(PartKind::End, "the end of the delta")?;
        if self.offset == self.delta.size() {
            return Ok(());
        }
        Err(Error::corrupt(self.offset, format!("{} bytes follow the end", self.delta.size() - self.offset), "none"))
    }
}
