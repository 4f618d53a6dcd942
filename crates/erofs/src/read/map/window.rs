//! Reads indexes in windows, because most readers need neighbouring entries.

use std::fmt::Debug;
use std::sync::Arc;

use packline_volume::ReadError;

/// Bytes of a window. No entry of an index crosses a multiple of this size.
const WINDOW_BYTES: u64 = 4096;

/// Reads bytes at addresses of an image. Any thread may read.
pub(crate) trait ReadBytes: Debug + Send + Sync {
    /// Fills `out` from an address on.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if there are no such bytes, [`ReadError::Input`].
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError>;
}

/// The bytes around the entry that was read last. A clone shares them.
#[derive(Debug, Clone)]
pub(super) struct Window {
    input: Arc<dyn ReadBytes>,
    start: u64,
    bytes: Arc<Vec<u8>>,
}

impl Window {
    pub(super) fn new(input: &Arc<dyn ReadBytes>) -> Window {
        Window { input: Arc::clone(input), start: 0, bytes: Arc::default() }
    }

    /// Returns `N` bytes of an entry, which must not cross the end of a window.
    ///
    /// # Errors
    /// Errors of [`ReadBytes::read`].
    pub(super) fn entry<const N: usize>(&mut self, address: u64) -> Result<[u8; N], ReadError> {
        if let Some(entry) = self.known(address) {
            return Ok(entry);
        }
        let start = address - address % WINDOW_BYTES;
        let mut bytes = vec![0; WINDOW_BYTES as usize];
        if self.input.read(start, &mut bytes).is_ok() {
            self.start = start;
            self.bytes = Arc::new(bytes);
            if let Some(entry) = self.known(address) {
                return Ok(entry);
            }
        }
        // The window extends beyond the image, or it is damaged elsewhere.
        let mut entry = [0; N];
        self.input.read(address, &mut entry)?;
        Ok(entry)
    }

    fn known<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let at = usize::try_from(address.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..)?.first_chunk().copied()
    }
}
