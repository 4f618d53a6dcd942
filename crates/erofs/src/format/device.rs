//! The device table: files or disks that have contents of the image.
//!
//! A slot has 128 bytes: tag (64 bytes), number of blocks u32, unified block number u32, bits 32 to 47 of both u16, zeros. Block numbers of the
//! image and of all devices are unified: a device has the blocks from its unified block number on. A device without one has only the block
//! numbers of indexes that name it.

use super::wire::{half, put, word};

/// Length of a slot in bytes.
pub(crate) const SLOT_BYTES: usize = 128;
/// Length of a tag in bytes.
const TAG_BYTES: usize = 64;

/// A device, as the image describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceSlot {
    /// Name or digest of the device, without its padding.
    pub tag: Vec<u8>,
    /// Number of blocks.
    pub blocks: u64,
    /// Unified number of the first block; 0 if the device has none.
    pub unified: u64,
}

impl DeviceSlot {
    /// Decodes a slot. `wide`: block numbers have 48 bits.
    pub(crate) fn decode(bytes: &[u8; SLOT_BYTES], wide: bool) -> DeviceSlot {
        let number = |low: usize, high: usize| {
            let high = if wide { u64::from(half(bytes, high)) << 32 } else { 0 };
            u64::from(word(bytes, low)) | high
        };
        let tag = bytes[..TAG_BYTES].split(|byte| *byte == 0).next().unwrap_or(&[]);
        DeviceSlot { tag: tag.to_vec(), blocks: number(64, 72), unified: number(68, 74) }
    }

    /// Encodes a slot without a tag. Both numbers must have 32 bits.
    pub(crate) fn encode(blocks: u32, unified: u32) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        put(&mut bytes, 64, blocks.to_le_bytes());
        put(&mut bytes, 68, unified.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_it_encodes() {
        for wide in [false, true] {
            let slot = DeviceSlot::decode(&DeviceSlot::encode(7, u32::MAX), wide);
            assert_eq!(slot, DeviceSlot { tag: Vec::new(), blocks: 7, unified: u32::MAX.into() });
        }
    }
}
