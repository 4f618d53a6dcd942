//! Maps in memory. The map header is at byte 64, and the image has 2^20 blocks of 4096 bytes.

mod hostile;
mod indexes;
mod records;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_volume::ReadError;

use super::extent::{Form, Stored};
use super::window::ReadBytes;
use super::{Coded, Extent, ExtentKind, ExtentReader, Map, MapImage, MapInode};
use crate::format::algorithms::Algorithms;
use crate::format::cluster::{Cluster, Head, Inside, Start};
use crate::format::test_indexes;

const HEADER: u64 = 64;
const BLOCK: u64 = 4096;
const CONTENT: u64 = 4096;

/// Bytes of an image, which ends after them.
#[derive(Debug)]
struct Bytes {
    bytes: Vec<u8>,
    reads: AtomicU64,
}

impl ReadBytes for Bytes {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), ReadError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let end = usize::try_from(address).ok().and_then(|at| Some(at..at.checked_add(out.len())?));
        let bytes = end.and_then(|range| self.bytes.get(range));
        out.copy_from_slice(bytes.ok_or_else(|| ReadError::corrupt(address, "bytes", "bytes of the image"))?);
        Ok(())
    }
}

fn image() -> MapImage {
    MapImage { block_bits: 12, algorithms: Algorithms::for_tests(), end: BLOCK << 20, zero_padding: true }
}

struct File {
    size: u64,
    compact: bool,
    header: [u8; 8],
    /// What follows the header.
    index: Vec<u8>,
}

fn input(file: &File) -> Arc<Bytes> {
    let bytes = [&[0; HEADER as usize][..], &file.header, &file.index].concat();
    Arc::new(Bytes { bytes, reads: AtomicU64::new(0) })
}

fn try_map(file: &File) -> Result<Map, ReadError> {
    let inode = MapInode { compact: file.compact, size: file.size, end: HEADER - 5 };
    Map::open(input(file), &image(), inode)
}

fn map(file: &File) -> Arc<Map> {
    Arc::new(try_map(file).unwrap())
}

fn all(map: &Arc<Map>) -> Vec<Extent> {
    let mut reader = ExtentReader::new(map, 0);
    std::iter::from_fn(|| reader.next_extent()).map(Result::unwrap).collect()
}

/// Returns all extents of a file, after checking that all kinds of access find the same.
fn extents(file: &File) -> Vec<Extent> {
    let map = map(file);
    let extents = all(&map);
    assert_eq!(extents.iter().map(|extent| extent.length).sum::<u64>(), file.size);
    for extent in &extents {
        for offset in [extent.start, extent.start + extent.length / 2, extent.end() - 1] {
            assert_eq!(map.extent_at(offset).unwrap(), *extent, "byte {offset}");
            let mut reader = ExtentReader::new(&map, offset);
            assert!(reader.offset() <= offset);
            let found =
                std::iter::from_fn(|| reader.next_extent()).map(Result::unwrap).find(|found| found.contains(offset));
            assert_eq!(found, Some(*extent), "byte {offset}");
        }
        if extent.unit().is_some() {
            assert_eq!(map.extent_of_key(extent.key).unwrap(), *extent);
        } else if !matches!(extent.kind, ExtentKind::Hole) {
            assert!(map.extent_of_key(extent.key).is_err());
        }
    }
    assert!(map.extent_at(file.size).is_err());
    extents
}

fn fault(file: &File) -> String {
    let map = match try_map(file) {
        Ok(map) => Arc::new(map),
        Err(error) => return error.to_string(),
    };
    let mut reader = ExtentReader::new(&map, 0);
    let missing = std::iter::from_fn(|| reader.next_extent()).find_map(Result::err);
    missing.unwrap().error.to_string()
}

fn start(head: Head, offset: u32, block: u64) -> Cluster {
    Cluster::Start(Start { head, offset, block, is_partial: false })
}

fn inside(back: u32) -> Cluster {
    Cluster::Inside(Inside { back, blocks: None })
}

fn blocks(blocks: u16) -> Cluster {
    Cluster::Inside(Inside { back: 1, blocks: Some(blocks) })
}

fn full(size: u64, header: [u8; 8], clusters: &[Cluster]) -> File {
    let index = [vec![0; 8], test_indexes::full(clusters)].concat();
    File { size, compact: false, header, index }
}

fn stored(offset: u64, bytes: u32, form: Form) -> ExtentKind {
    ExtentKind::Stored(Stored { offset, bytes, form })
}

fn coded(algorithm: u8) -> Form {
    Form::Coded(Coded { algorithm, is_partial: false })
}

/// Returns start, length and kind of extents.
fn kinds(extents: &[Extent]) -> Vec<(u64, u64, ExtentKind)> {
    extents.iter().map(|extent| (extent.start, extent.length, extent.kind)).collect()
}
