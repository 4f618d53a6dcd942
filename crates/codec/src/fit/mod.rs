//! Encoders that fill whole units of storage: a start of the input is encoded that is as long as fits. The input is searched once.
//!
//! The whole input is encoded first. Its size says how many units a start of it should fill. The start is then cut out of the result:
//! blocks of lz4 and DEFLATE are cut as they are, the symbols of LZMA and the sequences of zstd are coded again.

mod spec;

use crate::CodecError;
use crate::none::Stored;
use crate::traits::{Compressor, limited};

/// A result that leaves at most this number of bytes unused is not improved.
pub(crate) const SLACK: usize = 64;

/// A cut is useful if it spares at least a byte for each of this number of stored bytes that are cut off and encoded once more.
const WORTH: usize = 32;

/// How much space a result may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// Any: the whole input is encoded.
    Any,
    /// Whole units. A start of the input is encoded that fills its units almost completely. The whole input is encoded if it fits into one
    /// unit, or if a cut would spare too little.
    Units,
    /// At most this number of bytes.
    Bytes(usize),
}

/// A start of the input that was encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fitted {
    /// Bytes of the input that were encoded.
    pub content: usize,
    /// Size of the result in bytes. The result is at the start of the destination.
    pub stored: usize,
}

/// Encodes starts of inputs. The result is a pure function of the input, the space and the parameters.
pub trait FittingEncoder: Send {
    /// Encodes a start of `src` into `dst`. The input is `src`, or the first bytes of it, up to the largest input of the encoder. `dst` must
    /// be at least as long as the input.
    ///
    /// Returns `None` if the result is not smaller than its content. With [`Capacity::Units`], the units that it takes count. The input should
    /// then be stored plain; the destination's content is unspecified.
    ///
    /// # Errors
    /// [`CodecError::DestinationTooSmall`]; lack of memory.
    fn fit(&mut self, src: &[u8], capacity: Capacity, dst: &mut [u8]) -> Result<Option<Fitted>, CodecError>;
}

/// Sizes of a result at which the input may be cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    pub(crate) next: usize,
    step: usize,
}

impl Marks {
    pub(crate) const NONE: Marks = Marks { next: usize::MAX, step: usize::MAX };

    /// Continues with the first mark that is not below `size`.
    pub(crate) fn pass(&mut self, size: usize) {
        while self.next < size {
            self.next = self.next.saturating_add(self.step);
        }
    }
}

/// What a cut has to keep to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Size of the whole result in bytes.
    pub(crate) whole: usize,
    /// Largest size of the new result in bytes, less than `whole`.
    pub(crate) most: usize,
    /// The new result is useful only if it has more content than this, in bytes.
    pub(crate) least: usize,
}

/// Encodes an input, and then a start of it.
pub(crate) trait Cutter: Compressor {
    /// As [`Compressor::try_compress`]. The next cut is at one of the marks.
    fn encode(&mut self, src: &[u8], _marks: Marks, out: &mut [u8]) -> Result<Option<usize>, CodecError> {
        self.try_compress(src, out)
    }

    /// Replaces the result of `src` in `out`, which was encoded last, by the result of a start. Leaves it if no start is useful.
    fn cut(&mut self, src: &[u8], cut: &Cut, out: &mut [u8]) -> Result<Option<Fitted>, CodecError>;
}

impl Cutter for Stored {
    fn cut(&mut self, _: &[u8], _: &Cut, _: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        Ok(None)
    }
}

struct Fitter<C> {
    cutter: C,
    /// Largest input in bytes.
    largest: usize,
    /// Bytes of a unit.
    unit: usize,
}

impl<C: Cutter> Fitter<C> {
    /// The sizes at which a result may be cut.
    fn marks(&self, capacity: Capacity) -> Marks {
        match capacity {
            Capacity::Any => Marks::NONE,
            Capacity::Units => Marks { next: self.unit, step: self.unit },
            Capacity::Bytes(most) => Marks { next: most, ..Marks::NONE },
        }
    }

    /// Where a result should be cut. `None` if it is used as it is.
    fn cut(&self, capacity: Capacity, whole: Fitted) -> Option<Cut> {
        let Fitted { content, stored } = whole;
        match capacity {
            Capacity::Any => None,
            Capacity::Bytes(most) => (stored > most).then_some(Cut { whole: stored, most, least: most }),
            Capacity::Units => {
                let units = stored / self.unit;
                let most = units * self.unit;
                if units == 0 || stored == most || stored + SLACK >= most + self.unit {
                    return None;
                }
                let spared = most + self.unit - stored;
                // The content that is cut off is encoded without what was before it.
                let worth = content as u64 * (spared * WORTH) as u64 / stored as u64;
                let least = content.saturating_sub(worth as usize);
                Some(Cut { whole: stored, most, least: least.max(most) })
            }
        }
    }
}

impl<C: Cutter> FittingEncoder for Fitter<C> {
    fn fit(&mut self, src: &[u8], capacity: Capacity, dst: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let input = &src[..src.len().min(self.largest)];
        let out = limited(input, dst, self.largest)?;
        if input.len() < 2 {
            return Ok(None);
        }
        let Some(stored) = self.cutter.encode(input, self.marks(capacity), out)? else { return Ok(None) };
        let whole = Fitted { content: input.len(), stored };
        let fitted = match self.cut(capacity, whole) {
            None => Some(whole),
            Some(cut) => self.cutter.cut(input, &cut, out)?.or((capacity == Capacity::Units).then_some(whole)),
        };
        let takes =
            |stored: usize| if capacity == Capacity::Units { stored.next_multiple_of(self.unit) } else { stored };
        Ok(fitted.filter(|fitted| takes(fitted.stored) < fitted.content))
    }
}
