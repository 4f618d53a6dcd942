//! What random pages need, by the map of an image.

use super::named;
use super::pages::{PAGE_BYTES, Page};
use packline_erofs::read::Image;
use packline_runtime::FileInput;
use packline_volume::{Node, Piece, ReadError, SharedVolume, ToVolume, Unit};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Bytes of metadata that are kept in memory.
const METADATA_CACHE: usize = 64 << 20;

/// Sums over pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of content of all clusters that have a byte of the page.
    pub decoded: u64,
    /// Bytes of the blocks that store these clusters.
    pub stored: u64,
}

/// Adds up the clusters of pages. A cluster counts for each page that needs it.
pub fn demand(image: &Path, pages: &[Page]) -> Result<Demand, String> {
    let file = File::open(image).and_then(FileInput::new).map_err(named(image))?;
    let broken = |cause: ReadError| format!("{}: {cause}", image.display());
    let volume = Image::open(Arc::new(file), &[], 0, METADATA_CACHE).map_err(broken)?.to_volume();
    let mut sum = Demand::default();
    for page in pages {
        let found = volume.resolve(page.file.as_os_str().as_bytes()).map_err(broken)?;
        let Some(Node::File(file)) = found.map(|inode| inode.node) else {
            return Err(format!("{}: {} is not a regular file in it", image.display(), page.file.display()));
        };
        let mut pieces = volume.pieces(&file, page.offset);
        let end = page.offset + page.length;
        while pieces.offset() < end {
            let start = pieces.offset();
            let Some(piece) = pieces.next_piece() else { break };
            let piece = piece.map_err(|missing| broken(missing.error))?;
            if pieces.offset() > page.offset {
                let within = page.offset.saturating_sub(start)..end.min(pieces.offset()) - start;
                sum.add(unit_of(&volume, piece).map_err(broken)?, within);
            }
        }
    }
    Ok(sum)
}

/// The unit of a piece, and the offset of the piece in the unit's content; `None` for a hole.
fn unit_of(volume: &SharedVolume, piece: Piece) -> Result<Option<(Unit, u64)>, ReadError> {
    Ok(match piece {
        Piece::Hole { .. } => None,
        Piece::Own { unit, start, .. } => Some((unit, start.into())),
        Piece::Shared { place, .. } => Some((volume.shared_unit(place.unit)?, place.offset.into())),
    })
}

impl Demand {
    /// Adds a piece of which a range of bytes is needed.
    fn add(&mut self, unit: Option<(Unit, u64)>, within: std::ops::Range<u64>) {
        let Some((unit, start)) = unit else { return };
        let (from, bytes) = if unit.is_plain() {
            (unit.offset + start + within.start, within.end - within.start)
        } else {
            (unit.offset, unit.stored.into())
        };
        self.stored += (from + bytes).next_multiple_of(PAGE_BYTES) - from / PAGE_BYTES * PAGE_BYTES;
        self.decoded += if unit.is_plain() { bytes } else { unit.length.into() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_volume::PLAIN;

    #[test]
    fn blocks_of_clusters_are_added() {
        let mut sum = Demand::default();
        sum.add(None, 0..4096);
        assert_eq!(sum, Demand::default());
        let compressed = Unit { offset: 5000, stored: 9000, length: 131_072, form: 1 };
        sum.add(Some((compressed, 0)), 0..4096);
        assert_eq!(sum, Demand { decoded: 131_072, stored: 12_288 });
        let plain = Unit { offset: 8192, stored: 131_072, length: 131_072, form: PLAIN };
        sum.add(Some((plain, 0)), 4096..8192);
        assert_eq!(sum, Demand { decoded: 135_168, stored: 16_384 });
    }
}
