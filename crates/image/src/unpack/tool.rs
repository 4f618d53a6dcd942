//! The state of a worker: its decoder, and the own unit that it decoded last.

use packline_runtime::is_zero;
use packline_volume::{ReadError, Unit, UnitDecoder};

/// State of a worker.
pub struct Tool {
    pub(super) decoder: Result<Box<dyn UnitDecoder>, ReadError>,
    /// The content of the last own unit.
    pub(super) bytes: Vec<u8>,
    last: Option<LastUnit>,
}

/// The own unit whose content the worker has. A hole in an image without holes is one unit of zeros any number of times.
struct LastUnit {
    unit: Unit,
    /// Whether the unit is compressed and all bytes of its content are zero.
    is_zero: bool,
}

impl Tool {
    pub(super) fn new(decoder: Result<Box<dyn UnitDecoder>, ReadError>) -> Tool {
        Tool { decoder, bytes: Vec::new(), last: None }
    }

    /// Decodes an own unit to [`Tool::bytes`], unless it is the last one. Returns whether it is compressed and has only zeros.
    pub(super) fn decode(&mut self, unit: Unit) -> Result<bool, ReadError> {
        if let Some(last) = self.last.as_ref().filter(|last| last.unit == unit) {
            return Ok(last.is_zero);
        }
        self.last = None;
        match &mut self.decoder {
            Ok(decoder) => decoder.own(unit, &mut self.bytes)?,
            Err(cause) => return Err(cause.clone()),
        }
        let is_zero = !unit.is_plain() && is_zero(&self.bytes);
        self.last = Some(LastUnit { unit, is_zero });
        Ok(is_zero)
    }
}
