//! An open image: its superblock, devices and prefixes. Everything else is read on demand.

use std::fmt;
use std::sync::Arc;

use packline_runtime::Input;
use packline_volume::{CheckScope, DataCheck, Facts, NodeId, NodeType, ReadError};

use super::cache::Cache;
use super::contents::{Content, Contents};
use super::data::{DataPlace, node_of, number_of};
use super::decoder::ClusterDecoder;
use super::flat::PLAIN_BYTES;
use super::inode::Inodes;
use super::map::MapImage;
use super::packed::Packed;
use super::plain_packed::PlainPacked;
use super::record::{read_options, read_record};
use super::regions::Regions;
use super::span::ReadSpans;
use super::store::Store;
use super::xattr::{self, Xattrs};
use crate::format::algorithms::Algorithms;
use crate::format::corrupt;
use crate::format::device::{DeviceSlot, SLOT_BYTES};
use crate::format::inode::Layout;
use crate::format::recorded_options::RecordedOptions;
use crate::format::superblock::{
    MAGIC_BYTES, SUPERBLOCK_BYTES, SUPERBLOCK_MOST, SUPERBLOCK_START, Superblock, incompat,
};
use crate::format::xattr::LongPrefix;

/// An open image. Clones share it, and any thread may use it.
#[derive(Clone)]
pub struct Image {
    inner: Arc<Inner>,
    /// Set if the clusters that are read are compared with the image's record.
    check: Option<Arc<DataCheck>>,
}

struct Inner {
    superblock: Arc<Superblock>,
    contents: Arc<Contents>,
    prefixes: Vec<LongPrefix>,
    root: NodeId,
    facts: Facts,
}

/// How an image at a known position is opened.
#[derive(Debug, Clone, Copy)]
pub struct OpenAt {
    /// Byte of the input at which the image starts.
    pub offset: u64,
    /// Size in bytes of the cache of decompressed metadata.
    pub metadata_cache: usize,
    /// Whether a superblock with a wrong checksum is an error.
    pub checksum: bool,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("superblock", &self.inner.superblock).finish_non_exhaustive()
    }
}

impl Image {
    /// Opens the image that starts at byte `origin` of the input. Without `devices`, the contents of its devices may follow the image; otherwise,
    /// `devices` are all of its devices in the order of its device table. `metadata_cache`: bytes of the cache of metadata.
    ///
    /// # Errors
    /// [`ReadError`] if the input is not an image, breaks a rule, or needs a feature or devices that are missing.
    pub fn open(
        input: Arc<dyn Input>,
        devices: &[Arc<dyn Input>],
        origin: u64,
        metadata_cache: usize,
    ) -> Result<Image, ReadError> {
        Image::open_at(input, devices, OpenAt { offset: origin, metadata_cache, checksum: true })
    }

    /// Opens an image; `devices` as for [`Image::open`].
    ///
    /// # Errors
    /// As for [`Image::open`].
    pub fn open_at(input: Arc<dyn Input>, devices: &[Arc<dyn Input>], at: OpenAt) -> Result<Image, ReadError> {
        let superblock = Arc::new(read_superblock(input.as_ref(), at.offset, at.checksum)?);
        let found = input.size().saturating_sub(at.offset);
        Image::with(Arc::clone(&superblock), input, devices, at).map_err(|cause| cut_off(cause, &superblock, found))
    }

    /// Opens an image whose superblock has been read.
    fn with(
        superblock: Arc<Superblock>,
        input: Arc<dyn Input>,
        devices: &[Arc<dyn Input>],
        at: OpenAt,
    ) -> Result<Image, ReadError> {
        let mut regions = Regions::new(input, at.offset, superblock.block_bits);
        let slots = device_slots(&superblock, &regions)?;
        regions.add_devices(slots, devices)?;
        let store = Arc::new(Store::new(regions, &Arc::new(Cache::new(at.metadata_cache))));
        let image = MapImage {
            block_bits: superblock.block_bits,
            algorithms: Algorithms::read(&superblock, store.as_ref())?,
            end: store.regions().end(),
            zero_padding: superblock.has(incompat::ZERO_PADDING),
        };
        let (packed_place, packed) = open_packed(&superblock, &store, &image)?;
        let contents = with_metabox(&superblock, Contents::new(&store, &image, packed))?;
        let contents = Arc::new(contents);
        let prefixes = xattr::long_prefixes(&superblock, &contents, packed_place)?;
        let root = node_of(superblock.root, SUPERBLOCK_START)?;
        let facts = facts(&superblock, &contents);
        let image = Image { inner: Arc::new(Inner { superblock, contents, prefixes, root, facts }), check: None };
        image.check_root()?;
        Ok(image)
    }

    /// Returns the same image, for [`Volume::compare_data`](packline_volume::Volume::compare_data) after its clusters have been read: reading
    /// computes their checksum.
    pub(crate) fn with_check(&self, scope: CheckScope) -> Image {
        let check = match read_record(self) {
            Ok(Some(placed)) => Some(DataCheck::new(scope, placed.covered())),
            _ => None,
        };
        Image { check: check.map(Arc::new), ..self.clone() }
    }

    /// The check that gets the stored bytes of each cluster that is read.
    pub(super) fn check(&self) -> Option<&Arc<DataCheck>> {
        self.check.as_ref()
    }

    fn check_root(&self) -> Result<(), ReadError> {
        let root = self.inodes().fields(self.inner.root)?;
        if root.raw.kind == NodeType::Directory {
            return Ok(());
        }
        let what = format!("root inode that is a {}", root.raw.kind);
        Err(corrupt(root.address, what, "a directory"))
    }

    /// The superblock, checked.
    pub fn superblock(&self) -> &Superblock {
        &self.inner.superblock
    }

    /// Returns the byte of the input at which the image starts.
    pub fn origin(&self) -> u64 {
        self.inner.contents.store().regions().origin()
    }

    /// Returns the devices that have contents of the image besides the image.
    pub fn devices(&self) -> &[DeviceSlot] {
        self.inner.contents.store().regions().slots()
    }

    /// Returns the long prefixes of attribute names.
    pub fn xattr_prefixes(&self) -> &[LongPrefix] {
        &self.inner.prefixes
    }

    /// Returns the number that the format gives to an inode. Its highest bit is set for an inode in the metabox.
    pub fn inode_number(&self, node: NodeId) -> u64 {
        number_of(node)
    }

    pub fn root(&self) -> NodeId {
        self.inner.root
    }

    /// Returns the options that this program packed the image with. `None` for an image without a record of them, or with a damaged one.
    pub fn recorded_options(&self) -> Option<RecordedOptions> {
        read_options(self, read_record(self).ok()??).ok()?
    }

    pub(super) fn known(&self) -> &Facts {
        &self.inner.facts
    }

    pub(crate) fn shared_superblock(&self) -> &Arc<Superblock> {
        &self.inner.superblock
    }

    pub(crate) fn contents(&self) -> &Arc<Contents> {
        &self.inner.contents
    }

    pub(crate) fn inodes(&self) -> Inodes {
        Inodes::new(&self.inner.superblock, &self.inner.contents)
    }

    /// Returns a reader of extended attributes.
    pub(crate) fn attributes(&self) -> Xattrs<'_> {
        Xattrs { superblock: &self.inner.superblock, contents: &self.inner.contents, prefixes: &self.inner.prefixes }
    }
}

/// Reads the superblock of the image at byte `origin` of the input, and compares its checksum.
pub(super) fn superblock_at(input: &dyn Input, origin: u64) -> Result<Superblock, ReadError> {
    read_superblock(input, origin, true)
}

/// Like [`superblock_at`], comparing the checksum only if `check` is set.
fn read_superblock(input: &dyn Input, origin: u64, check: bool) -> Result<Superblock, ReadError> {
    let start = origin.saturating_add(SUPERBLOCK_START);
    let space = input.size().saturating_sub(start);
    if space < SUPERBLOCK_BYTES as u64 {
        let what = format!("not an EROFS image: {} bytes", input.size().saturating_sub(origin));
        return Err(ReadError::corrupt(0, what, "at least 1152"));
    }
    let read =
        |buffer: &mut [u8]| input.read_at(start, buffer).map_err(|cause| ReadError::input(SUPERBLOCK_START, cause));
    let mut bytes = [0; SUPERBLOCK_MOST];
    let present = space.min(bytes.len() as u64) as usize;
    read(&mut bytes[..present])?;
    let superblock = Superblock::decode(&bytes)?;
    if superblock.checksum.is_some() && check {
        let length = superblock.checked_bytes();
        if length > space {
            let what = format!("superblock in a block of {} bytes", superblock.block_size());
            let cause = ReadError::corrupt(SUPERBLOCK_START, what, format!("at most {space}, the rest of the image"));
            return Err(cut_off(cause, &superblock, input.size().saturating_sub(origin)));
        }
        let mut checked = vec![0; length as usize];
        read(&mut checked)?;
        superblock.check_sum(&checked)?;
    }
    Ok(superblock)
}

/// Reads the device table: at most 65,535 slots.
fn device_slots(superblock: &Superblock, regions: &Regions) -> Result<Vec<DeviceSlot>, ReadError> {
    let wide = superblock.has(incompat::WIDE);
    let mut slots = Vec::new();
    for number in 0..u64::from(superblock.devices) {
        let mut slot = [0; SLOT_BYTES];
        regions.read(superblock.device_table + number * SLOT_BYTES as u64, &mut slot)?;
        slots.push(DeviceSlot::decode(&slot, wide));
    }
    Ok(slots)
}

/// Reads the position of the content of an inode that has parts of others.
fn special(superblock: &Arc<Superblock>, contents: &Arc<Contents>, number: u64) -> Result<DataPlace, ReadError> {
    let node = node_of(number, SUPERBLOCK_START)?;
    Inodes::new(superblock, contents).fields(node).map(|inode| inode.place())
}

type OpenPacked = (Option<DataPlace>, Option<Arc<dyn Packed>>);

fn open_packed(superblock: &Arc<Superblock>, store: &Arc<Store>, image: &MapImage) -> Result<OpenPacked, ReadError> {
    let Some(number) = superblock.packed else { return Ok((None, None)) };
    let contents = Arc::new(Contents::new(store, image, None));
    let place = special(superblock, &contents, number)?;
    let packed: Arc<dyn Packed> = match place.layout {
        _ if place.size == 0 => Arc::new(PlainPacked::new(&contents, place)),
        Layout::CompressedFull | Layout::CompressedCompact => Arc::new(contents.map(&place)?),
        _ => Arc::new(PlainPacked::new(&contents, place)),
    };
    Ok((Some(place), Some(packed)))
}

/// Opens the metabox, if there is one. Its own inode and index are not in the metabox.
fn with_metabox(superblock: &Arc<Superblock>, contents: Contents) -> Result<Contents, ReadError> {
    let Some(number) = superblock.metabox else { return Ok(contents) };
    let contents = Arc::new(contents);
    let place = special(superblock, &contents, number)?;
    let metabox: Arc<dyn ReadSpans> = Arc::new(Content::new(&contents, place).without_holes());
    let store = Arc::new(contents.store().with_metabox(metabox));
    Ok(Contents::new(&store, contents.image(), contents.packed().cloned()))
}

/// Returns the cause of a fault: the image is cut off if its superblock says more than the `found` bytes. Without a fault the number does not
/// matter, because it is not needed to read an image.
fn cut_off(cause: ReadError, superblock: &Superblock, found: u64) -> ReadError {
    let stated = superblock.blocks.saturating_mul(superblock.block_size());
    match cause {
        ReadError::Corrupt(_) if stated > found => ReadError::cut_off(SUPERBLOCK_START + 36, found, stated),
        cause => cause,
    }
}

fn facts(superblock: &Superblock, contents: &Contents) -> Facts {
    let image = contents.image();
    let regions = contents.store().regions();
    let stated = superblock.blocks << superblock.block_bits;
    Facts {
        codec: image.algorithms.names(),
        block_size: PLAIN_BYTES as u32,
        largest_unit: image.algorithms.largest_unit().max(PLAIN_BYTES as u32),
        decoder: ClusterDecoder::memory(image),
        bytes: if (1..regions.size()).contains(&stated) { stated } else { regions.size() },
        inodes: superblock.inodes,
        shared_units: contents.packed().map_or(0, |packed| packed.keys()),
        origin: regions.origin(),
        nanoseconds: true,
    }
}

/// Whether the magic of an image that starts at byte `origin` is in its place. The image may still be damaged.
pub fn has_magic(input: &dyn Input, origin: u64) -> bool {
    let mut magic = [0; MAGIC_BYTES.len()];
    input.read_at(origin.saturating_add(SUPERBLOCK_START), &mut magic).is_ok() && magic == MAGIC_BYTES
}
