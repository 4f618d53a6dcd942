//! The footer: where the protected bytes of a file end whose recovery data is behind them.

/// Its first bytes.
const MAGIC: [u8; 8] = [0x8B, b'r', b'c', b'v', 0x0D, 0x0A, 0x1A, 0x0A];
/// Bytes of the footer, at the end of a file.
pub const FOOTER_BYTES: usize = 32;
/// Bytes that the check covers.
const CHECKED: usize = 24;

/// The fields of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    /// Bytes protected, from the start of the file on.
    pub(crate) length: u64,
    /// Bytes of the whole file, with packets and footer.
    pub(crate) total: u64,
}

impl Footer {
    pub(crate) fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut bytes = [0; FOOTER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..CHECKED].copy_from_slice(&self.total.to_le_bytes());
        let check = blake3::hash(&bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&check.as_bytes()[..FOOTER_BYTES - CHECKED]);
        bytes
    }

    /// The footer of a file of `size` bytes that ends with these, if it is one.
    pub(crate) fn parse(bytes: &[u8; FOOTER_BYTES], size: u64) -> Option<Footer> {
        Footer::decode(bytes).filter(|footer| footer.total == size && footer.length < size)
    }

    fn decode(bytes: &[u8; FOOTER_BYTES]) -> Option<Footer> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let footer = Footer { length: number(8), total: number(16) };
        (footer.encode() == *bytes).then_some(footer)
    }
}

/// Whether the last bytes of a file, of whatever size it is now, are the footer of recovery data.
pub fn is_footer(bytes: &[u8; FOOTER_BYTES]) -> bool {
    Footer::decode(bytes).is_some()
}
