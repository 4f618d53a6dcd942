//! The image and its devices in one space of addresses.
//!
//! The bytes of a device are at its unified block number times the block size. A device without a unified number is after all others. If no
//! device is given, the bytes of the devices may follow the image at the same addresses, as the kernel reads them.

use std::fmt;
use std::sync::Arc;

use packline_runtime::Input;
use packline_volume::ReadError;

use crate::format::METABOX;
use crate::format::chunk::ChunkStart;
use crate::format::corrupt;
use crate::format::device::DeviceSlot;

/// Bytes of one input at their addresses.
#[derive(Clone)]
struct Region {
    start: u64,
    end: u64,
    input: Arc<dyn Input>,
    /// Byte of the input at the start.
    origin: u64,
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Region").field("start", &self.start).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Region {
    fn has(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// All inputs.
#[derive(Debug, Clone)]
pub(crate) struct Regions {
    block_bits: u8,
    image: Region,
    slots: Vec<DeviceSlot>,
    /// Given devices by number; none if no device is given.
    devices: Vec<Region>,
    /// Indices of `devices` in the order of their addresses.
    order: Vec<usize>,
}

impl Regions {
    /// The image alone, from byte `origin` of its input on.
    pub(super) fn new(input: Arc<dyn Input>, origin: u64, block_bits: u8) -> Regions {
        let end = input.size().saturating_sub(origin).min(METABOX - 1);
        let image = Region { start: 0, end, input, origin };
        Regions { block_bits, image, slots: Vec::new(), devices: Vec::new(), order: Vec::new() }
    }

    /// Adds the devices of the image's table.
    ///
    /// # Errors
    /// [`ReadError::Unsupported`] if another number of devices is given, but not if none is given; [`ReadError::Corrupt`] if devices overlap.
    pub(super) fn add_devices(&mut self, slots: Vec<DeviceSlot>, inputs: &[Arc<dyn Input>]) -> Result<(), ReadError> {
        self.slots = slots;
        if inputs.is_empty() {
            return Ok(());
        }
        if inputs.len() != self.slots.len() {
            let what = format!("an image with {} given", devices(inputs.len()));
            return Err(ReadError::unsupported(what, self.wanted()));
        }
        let mut free = self.slots.iter().map(|slot| self.address_of(slot.unified, slot.blocks)).max().unwrap_or(0);
        free = free.max(self.image.end);
        for (slot, input) in self.slots.iter().zip(inputs) {
            let blocks = self.address_of(0, slot.blocks);
            let length = if blocks == 0 { input.size() } else { input.size().min(blocks) };
            let start = if slot.unified == 0 { free } else { self.address_of(slot.unified, 0) };
            let end = start.saturating_add(length).min(METABOX - 1);
            free = free.max(end);
            self.devices.push(Region { start, end, input: Arc::clone(input), origin: 0 });
        }
        self.order = (0..self.devices.len()).collect();
        self.order.sort_by_key(|index| self.devices[*index].start);
        for pair in self.order.windows(2) {
            let (before, after) = (&self.devices[pair[0]], &self.devices[pair[1]]);
            if before.end > after.start {
                let what = format!("device {} from byte {} on", pair[1] + 1, after.start);
                return Err(ReadError::corrupt(86, what, format!("a start at {} or later", before.end)));
            }
        }
        Ok(())
    }

    pub(super) fn slots(&self) -> &[DeviceSlot] {
        &self.slots
    }

    /// Returns the logarithm of the block size in bytes.
    pub(super) fn block_bits(&self) -> u8 {
        self.block_bits
    }

    /// Returns the size of the image without devices in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.image.end
    }

    pub(super) fn origin(&self) -> u64 {
        self.image.origin
    }

    /// Returns the end of all addresses.
    pub(super) fn end(&self) -> u64 {
        self.devices.iter().map(|device| device.end).fold(self.image.end, u64::max)
    }

    /// Returns the address of a block; the end of all addresses if there is no such address.
    pub(crate) fn address_of(&self, block: u64, further: u64) -> u64 {
        let sum = block.checked_add(further);
        let address = sum.and_then(|block| block.checked_mul(1 << self.block_bits));
        address.unwrap_or(METABOX - 1).min(METABOX - 1)
    }

    /// Returns the index and the slot of the device that a chunk names; `None` if the block number of the chunk is unified.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the device does not exist.
    pub(super) fn device_of(&self, chunk: ChunkStart, at: u64) -> Result<Option<(usize, &DeviceSlot)>, ReadError> {
        let mask = (self.slots.len() + 1).next_power_of_two() - 1;
        let number = usize::from(chunk.device) & mask;
        let Some(index) = number.checked_sub(1) else { return Ok(None) };
        let slot = self.slots.get(index).ok_or_else(|| {
            let count = self.slots.len();
            corrupt(at, format!("chunk on device {number}"), format!("a device up to {count}"))
        })?;
        Ok(Some((index, slot)))
    }

    /// Returns the address of a chunk.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the device does not exist; [`ReadError::Unsupported`] if the device is not given.
    pub(super) fn chunk(&self, chunk: ChunkStart, at: u64) -> Result<u64, ReadError> {
        let Some((index, slot)) = self.device_of(chunk, at)? else { return Ok(self.address_of(chunk.block, 0)) };
        match self.devices.get(index) {
            Some(device) => Ok(device.start.saturating_add(self.address_of(chunk.block, 0)).min(METABOX - 1)),
            None if slot.unified == 0 => Err(self.missing(slot)),
            None => Ok(self.address_of(slot.unified, chunk.block)),
        }
    }

    /// Returns the offset of an address in the device whose unified block numbers include it, or else the address.
    pub(super) fn offset_of(&self, address: u64) -> u64 {
        let slot = self.slots.iter().find(|slot| self.unified(slot).contains(&address));
        slot.map_or(address, |slot| address - self.address_of(slot.unified, 0))
    }

    /// Returns the addresses of a device by its unified block number; none without one.
    fn unified(&self, slot: &DeviceSlot) -> std::ops::Range<u64> {
        let length = if slot.unified == 0 { 0 } else { slot.blocks };
        self.address_of(slot.unified, 0)..self.address_of(slot.unified, length)
    }

    /// Checks that bytes are on one input; `what` names them.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if they are not; [`ReadError::Unsupported`] if they are on a device that is not given.
    pub(super) fn check(&self, address: u64, length: u64, what: &str) -> Result<(), ReadError> {
        let region = self.region(address);
        let end = address.saturating_add(length);
        if end <= region.end {
            return Ok(());
        }
        let bytes = |slot: &&DeviceSlot| self.unified(slot).contains(&address);
        if let Some(slot) = self.slots.iter().find(bytes).filter(|_| self.devices.is_empty()) {
            return Err(self.missing(slot));
        }
        let what = format!("{what} to byte {end}");
        let expected = format!("an end at or before byte {}, the end of the image", region.end);
        Err(corrupt(address, what, expected))
    }

    /// Returns the range of addresses around an address that one input has.
    pub(super) fn range(&self, address: u64) -> std::ops::Range<u64> {
        let region = self.region(address);
        region.start..region.end
    }

    /// Fills `out` from an address.
    pub(super) fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.check(address, out.len() as u64, "stored bytes")?;
        let region = self.region(address);
        let place = region.origin.saturating_add(address - region.start);
        region.input.read_at(place, out).map_err(|cause| ReadError::input(address, cause))
    }

    /// Tells an input that bytes from an address on are read soon.
    pub(super) fn will_read(&self, address: u64, length: u64) {
        let region = self.region(address);
        region.input.will_read(region.origin.saturating_add(address - region.start), length);
    }

    fn region(&self, address: u64) -> &Region {
        let after = self.order.partition_point(|index| self.devices[*index].start <= address);
        let device = after.checked_sub(1).map(|before| &self.devices[self.order[before]]);
        device.filter(|device| device.has(address)).unwrap_or(&self.image)
    }

    fn missing(&self, slot: &DeviceSlot) -> ReadError {
        ReadError::without_device(&slot.tag, self.wanted())
    }

    /// Describes the devices of the image.
    fn wanted(&self) -> String {
        const SHOWN: usize = 4;
        let named = self.slots.iter().filter(|slot| !slot.tag.is_empty());
        let tags = named.take(SHOWN).map(|slot| format!("\"{}\"", slot.tag.escape_ascii()));
        let more = if self.slots.len() > SHOWN { ", ..." } else { "" };
        let tags = tags.collect::<Vec<_>>().join(", ");
        format!("{}{}{tags}{more}", devices(self.slots.len()), if tags.is_empty() { "" } else { ": " })
    }
}

fn devices(count: usize) -> String {
    if count == 1 { "1 device".into() } else { format!("{count} devices") }
}
