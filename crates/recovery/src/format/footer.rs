//! The footer of a file that ends with its recovery data: where the protected bytes end.

/// The first bytes of the footer.
const MAGIC: [u8; 8] = [0x8B, b'r', b'c', b'v', 0x0D, 0x0A, 0x1A, 0x0A];
/// The size of the footer in bytes. It is at the end of a file.
pub const FOOTER_BYTES: usize = 32;
/// Bytes that the check covers.
const CHECKED: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Footer {
    /// The number of protected bytes, from the start of the file.
    pub(crate) length: u64,
    /// The size of the file, with packets and footer.
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

    /// Parses the last bytes of a file of `size` bytes. Returns `None` if they are not a footer.
    pub(crate) fn parse(bytes: &[u8; FOOTER_BYTES], size: u64) -> Option<Footer> {
        Footer::decode(bytes).filter(|footer| footer.total == size && footer.length < size)
    }

    fn decode(bytes: &[u8; FOOTER_BYTES]) -> Option<Footer> {
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let footer = Footer { length: number(8), total: number(16) };
        (footer.encode() == *bytes).then_some(footer)
    }
}

/// Whether the last bytes of a file are the footer of recovery data. The size of the file is not checked.
pub fn is_footer(bytes: &[u8; FOOTER_BYTES]) -> bool {
    Footer::decode(bytes).is_some()
}
