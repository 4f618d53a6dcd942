//! The largest unit of a volume, for memory plans.

use packline_volume::{Node, Piece, SharedVolume, Visit, Walk};

/// Maximum number of entries and of pieces that are examined: seconds.
const STEPS: u64 = 16 << 20;

/// Returns the bytes of the content of the largest unit, and at least those of usual units. Reads all metadata. Metadata that cannot be read now
/// cannot be read later either. Returns the bound of the format if the volume has too many pieces.
pub(crate) fn largest_unit(volume: &SharedVolume) -> u32 {
    let facts = volume.facts();
    let mut measured = Measured { most: facts.block_size, steps: STEPS };
    for visit in Walk::new(volume, volume.root(), Vec::new()) {
        measured.step();
        if let Ok(visit) = visit {
            measured.file(volume, visit);
        }
        if measured.steps == 0 {
            return facts.largest_unit;
        }
    }
    for key in 0..facts.shared_units {
        measured.step();
        let unit = u32::try_from(key).ok().and_then(|key| volume.shared_unit(key).ok());
        measured.note(unit.map_or(0, |unit| unit.length));
        if measured.steps == 0 {
            return facts.largest_unit;
        }
    }
    measured.most.min(facts.largest_unit)
}

struct Measured {
    most: u32,
    /// Steps left.
    steps: u64,
}

impl Measured {
    fn step(&mut self) {
        self.steps = self.steps.saturating_sub(1);
    }

    fn note(&mut self, length: u32) {
        self.most = self.most.max(length);
    }

    fn file(&mut self, volume: &SharedVolume, visit: Visit) {
        let Node::File(file) = visit.inode.node else { return };
        let mut pieces = volume.pieces(&file, 0);
        while self.steps > 0
            && let Some(piece) = pieces.next_piece()
        {
            self.step();
            if let Ok(Piece::Own { unit, .. }) = piece {
                self.note(unit.length);
            }
        }
    }
}
