//! The BLAKE3 of files.

use packline_engine::CancelToken;
use packline_runtime::{Input, hex, unless_cancelled};

use crate::passes::Passes;
use crate::{Error, Side};

/// Bytes read at a time.
const STEP: u64 = 1 << 20;

/// Hashes a file in a separate pass.
///
/// # Errors
/// [`Error::Input`], [`Error::Work`].
pub(crate) fn of_file(
    side: Side,
    input: &dyn Input,
    cancel: &CancelToken,
    passes: &mut Passes<'_>,
) -> Result<[u8; 32], Error> {
    passes.begin("hashing", input.size());
    let mut hasher = blake3::Hasher::new();
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < input.size() {
        unless_cancelled(cancel)?;
        bytes.resize((input.size() - at).min(STEP) as usize, 0);
        input.read_at(at, &mut bytes).map_err(Error::input(side))?;
        hasher.update(&bytes);
        at += bytes.len() as u64;
        passes.show(at);
    }
    Ok(*hasher.finalize().as_bytes())
}

/// Returns the first bytes of a hash as text.
pub(crate) fn shown(hash: &[u8; 32]) -> String {
    hex(&hash[..8])
}
