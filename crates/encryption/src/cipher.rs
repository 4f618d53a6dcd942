//! The file key, the keys derived from it, and the sealing of one chunk.

use std::fmt;
use std::ops::Range;

use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit};
use zeroize::{Zeroize, Zeroizing};

use packline_runtime::TaskError;

use crate::Error;
use crate::format::{ChunkSize, HEADER, KEY_CHECK, TAG};

/// Bytes of a file key.
pub(crate) const FILE_KEY: usize = 32;
/// Contexts of BLAKE3's key derivation.
const PAYLOAD: &str = "packline encrypted 1: payload key";
const CHECK: &str = "packline encrypted 1: key check";
/// The bit of a chunk's header that marks the last chunk.
const LAST: u32 = 1 << 31;

/// The random key of a file, which the wraps hold. It is wiped when it is dropped.
pub(crate) struct FileKey(Zeroizing<[u8; FILE_KEY]>);

/// The key of the chunks. It is wiped when it is dropped.
pub(crate) struct PayloadKey(Aes256Gcm);

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileKey(..)")
    }
}

impl fmt::Debug for PayloadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PayloadKey(..)")
    }
}

impl FileKey {
    pub(crate) fn random() -> Result<FileKey, Error> {
        let mut key = Zeroizing::new([0; FILE_KEY]);
        getrandom::getrandom(&mut key[..]).map_err(|cause| Error::Randomness(cause.to_string()))?;
        Ok(FileKey(key))
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<FileKey> {
        let mut key = Zeroizing::new([0; FILE_KEY]);
        (bytes.len() == FILE_KEY).then(|| key.copy_from_slice(bytes))?;
        Some(FileKey(key))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0[..]
    }

    /// Derives a key from the file key and the head.
    fn derive(&self, context: &str, bound: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(self.bytes()).update(bound);
        let mut hash = hasher.finalize();
        let derived = Zeroizing::new(*hash.as_bytes());
        hasher.zeroize();
        hash.zeroize();
        derived
    }

    /// The key of the chunks after the head `bound`.
    pub(crate) fn payload(&self, bound: &[u8]) -> PayloadKey {
        PayloadKey(Aes256Gcm::new((&*self.derive(PAYLOAD, bound)).into()))
    }

    /// The hash that commits a head to this key. AES-GCM alone would let one file open to two contents with two keys.
    pub(crate) fn check(&self, bound: &[u8]) -> [u8; KEY_CHECK] {
        *self.derive(CHECK, bound)
    }

    /// Whether `check` belongs to this key and the head. Compares in constant time.
    pub(crate) fn is_checked_by(&self, bound: &[u8], check: [u8; KEY_CHECK]) -> bool {
        // BLAKE3's hashes compare in constant time.
        blake3::Hash::from(self.check(bound)) == blake3::Hash::from(check)
    }
}

/// The header of a chunk with `length` bytes of content.
pub(crate) fn header(length: usize, last: bool) -> [u8; HEADER] {
    (length as u32 | if last { LAST } else { 0 }).to_le_bytes()
}

/// Returns the length of a chunk and whether it is the last, from its header. `None` if no chunk of this size and number can have that
/// header.
pub(crate) fn parse_header(bytes: [u8; HEADER], number: u64, size: ChunkSize) -> Option<(usize, bool)> {
    let word = u32::from_le_bytes(bytes);
    let length = (word & !LAST) as usize;
    let last = word & LAST != 0;
    // All chunks except the last are full. The last chunk is empty only if it is the only one.
    let least = if !last { size.bytes() } else { usize::from(number > 0) };
    (least..=size.bytes()).contains(&length).then_some((length, last))
}

/// The nonce of a chunk holds its number, so that no chunk passes for another, and whether it is the last, so that none is dropped or
/// added.
fn nonce(number: u64, last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    nonce[11] = u8::from(last);
    nonce
}

impl PayloadKey {
    /// Seals a chunk in place. The content is between the space for the header and the space for the tag.
    ///
    /// # Errors
    /// [`Error::Work`] for a bug in this program.
    pub(crate) fn seal(&self, number: u64, last: bool, chunk: &mut [u8]) -> Result<(), Error> {
        let length = chunk.len() - HEADER - TAG;
        chunk[..HEADER].copy_from_slice(&header(length, last));
        let (header, rest) = chunk.split_at_mut(HEADER);
        let (content, place) = rest.split_at_mut(length);
        let sealed = self.0.encrypt_inout_detached((&nonce(number, last)).into(), header, content.into());
        place.copy_from_slice(&sealed.map_err(|_| Error::internal("a chunk that cannot be sealed".into()))?);
        Ok(())
    }

    /// Opens a sealed chunk in place and returns the range of its content. `None` if the chunk is not authentic; its bytes are then
    /// unchanged.
    pub(crate) fn open(&self, number: u64, last: bool, chunk: &mut [u8]) -> Option<Range<usize>> {
        let end = chunk.len().checked_sub(TAG).filter(|&end| end >= HEADER)?;
        let (sealed, tag) = chunk.split_at_mut(end);
        let (header, content) = sealed.split_at_mut(HEADER);
        let tag: &[u8; TAG] = (&*tag).try_into().ok()?;
        let opened = self.0.decrypt_inout_detached((&nonce(number, last)).into(), header, content.into(), tag.into());
        opened.ok().map(|()| HEADER..end)
    }
}
