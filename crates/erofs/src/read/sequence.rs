//! Pieces of content whose positions follow from their offsets.

use std::fmt::Debug;

use packline_volume::{Missing, Piece, Pieces};

/// Content without an index.
pub(super) trait PieceSource: Debug + Clone + Send + 'static {
    /// Returns the number of bytes.
    fn size(&self) -> u64;

    /// Returns the piece at an offset below the size.
    fn piece(&mut self, at: u64) -> Result<Piece, Missing>;
}

/// The pieces of a source from an offset on.
#[derive(Debug, Clone)]
pub(super) struct SourcePieces<S> {
    pub(super) source: S,
    /// Offset of the next piece.
    pub(super) at: u64,
}

impl<S: PieceSource> Pieces for SourcePieces<S> {
    fn next_piece(&mut self) -> Option<Result<Piece, Missing>> {
        if self.at >= self.source.size() {
            return None;
        }
        let piece = self.source.piece(self.at);
        self.at += piece.as_ref().map_or_else(|missing| missing.length, Piece::length);
        Some(piece)
    }

    fn offset(&self) -> u64 {
        self.at
    }

    fn boxed_clone(&self) -> Box<dyn Pieces> {
        Box::new(self.clone())
    }
}
