//! The header of a block: sizes, components, and the program that computes their contexts.
//!
//! ```text
//! u16 size of what follows | H bits | M bits | PCOMP's H bits | M bits | n | n components | 0 | program | 0
//! ```
//! H is an array of `1 << bits` words of 32 bits. Its first n words are the contexts of the components. M is an array of bytes.

use super::fault::Fault;
use super::model::component::{Cm, Icm, Isse, Match, Mix2, Sse};

/// Maximum number of predictions that all components together may read for one bit. Models in use read about 60; a header could ask for
/// 65,025.
const MAX_PREDICTIONS: usize = 4096;

/// One component with its arguments, checked. `from`, `first` and `second` are indexes of earlier components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentSpec {
    /// A constant prediction.
    Const { value: u8 },
    /// Context -> probability.
    Cm { bits: u8, limit: u8 },
    /// Bit history -> probability.
    Icm { bits: u8 },
    /// The byte after the last occurrence of a context.
    Match { index_bits: u8, ring_bits: u8 },
    /// Two predictions, mixed by a fixed weight.
    Avg { first: u8, second: u8, weight: u8 },
    /// Two predictions, mixed by an adaptive weight.
    Mix2 { bits: u8, first: u8, second: u8, rate: u8, mask: u8 },
    /// `count` predictions, beginning with `from`, mixed by adaptive weights.
    Mix { bits: u8, from: u8, count: u8, rate: u8, mask: u8 },
    /// Bit history -> correction of a prediction.
    Isse { bits: u8, from: u8 },
    /// Context and prediction -> probability.
    Sse { bits: u8, from: u8, start: u8, limit: u8 },
}

/// Bytes of each kind, including its type byte.
const SIZES: [usize; 10] = [0, 2, 3, 2, 3, 4, 6, 6, 3, 5];

impl ComponentSpec {
    /// Parses the component with the index `number`. Also returns the bytes after it.
    fn parse(bytes: &[u8], number: usize) -> Result<(ComponentSpec, &[u8]), Fault> {
        let kind = bytes.first().copied().unwrap_or(0);
        let size = SIZES.get(usize::from(kind)).copied().unwrap_or(0);
        if size == 0 {
            return Err(Fault::Bad("a component of an unknown type"));
        }
        let (own, rest) = bytes.split_at_checked(size).ok_or(Fault::Bad("components longer than their header"))?;
        let kind = ComponentSpec::of(own)?;
        kind.check(number)?;
        Ok((kind, rest))
    }

    fn of(bytes: &[u8]) -> Result<ComponentSpec, Fault> {
        Ok(match *bytes {
            [1, value] => ComponentSpec::Const { value },
            [2, bits, limit] => ComponentSpec::Cm { bits, limit },
            [3, bits] => ComponentSpec::Icm { bits },
            [4, index_bits, ring_bits] => ComponentSpec::Match { index_bits, ring_bits },
            [5, first, second, weight] => ComponentSpec::Avg { first, second, weight },
            [6, bits, first, second, rate, mask] => ComponentSpec::Mix2 { bits, first, second, rate, mask },
            [7, bits, from, count, rate, mask] => ComponentSpec::Mix { bits, from, count, rate, mask },
            [8, bits, from] => ComponentSpec::Isse { bits, from },
            [9, bits, from, start, limit] => ComponentSpec::Sse { bits, from, start, limit },
            _ => return Err(Fault::Bad("a component of an unknown type")),
        })
    }

    fn check(&self, number: usize) -> Result<(), Fault> {
        let largest = match *self {
            ComponentSpec::Match { index_bits, ring_bits } => index_bits.max(ring_bits),
            ComponentSpec::Icm { bits } if bits > 26 => u8::MAX,
            ComponentSpec::Cm { bits, .. } | ComponentSpec::Icm { bits } | ComponentSpec::Mix2 { bits, .. } => bits,
            ComponentSpec::Mix { bits, .. } | ComponentSpec::Isse { bits, .. } | ComponentSpec::Sse { bits, .. } => {
                bits
            }
            ComponentSpec::Const { .. } | ComponentSpec::Avg { .. } => 0,
        };
        if largest > 32 {
            return Err(Fault::Bad("a component larger than the format allows"));
        }
        // The last component that this one reads.
        let last = match *self {
            ComponentSpec::Avg { first, second, .. } | ComponentSpec::Mix2 { first, second, .. } => {
                usize::from(first.max(second))
            }
            ComponentSpec::Mix { count: 0, .. } => usize::MAX,
            ComponentSpec::Mix { from, count, .. } => usize::from(from) + usize::from(count) - 1,
            ComponentSpec::Isse { from, .. } | ComponentSpec::Sse { from, .. } => usize::from(from),
            _ => return Ok(()),
        };
        if last >= number {
            return Err(Fault::Bad("a component that does not read an earlier one"));
        }
        match *self {
            ComponentSpec::Sse { start, limit, .. } if u32::from(start) > u32::from(limit) * 4 => {
                Err(Fault::Bad("an SSE that starts past its limit"))
            }
            _ => Ok(()),
        }
    }

    /// Memory in bytes.
    fn memory(&self) -> u64 {
        match *self {
            ComponentSpec::Const { .. } | ComponentSpec::Avg { .. } => 0,
            ComponentSpec::Cm { bits, .. } => Cm::memory(bits),
            ComponentSpec::Icm { bits } => Icm::memory(bits),
            ComponentSpec::Match { index_bits, ring_bits } => Match::memory(index_bits, ring_bits),
            ComponentSpec::Mix2 { bits, .. } => Mix2::memory(bits),
            ComponentSpec::Mix { bits, count, .. } => (4 * u64::from(count)) << bits,
            ComponentSpec::Isse { bits, .. } => Isse::memory(bits),
            ComponentSpec::Sse { bits, .. } => Sse::memory(bits),
        }
    }

    /// Number of predictions that the component reads or makes for one bit.
    fn guesses(&self) -> usize {
        match *self {
            ComponentSpec::Mix { count, .. } => usize::from(count),
            ComponentSpec::Mix2 { .. } | ComponentSpec::Avg { .. } => 2,
            _ => 1,
        }
    }
}

/// The sizes of a machine's arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrays {
    /// Binary logarithm of the words of H.
    pub h_bits: u8,
    /// Binary logarithm of the bytes of M.
    pub m_bits: u8,
}

impl Arrays {
    fn new(h_bits: u8, m_bits: u8) -> Result<Self, Fault> {
        if h_bits.max(m_bits) > 32 {
            return Err(Fault::Bad("a program with more memory than the format allows"));
        }
        Ok(Arrays { h_bits, m_bits })
    }

    /// Memory in bytes.
    pub(super) fn memory(self) -> u64 {
        (4 << self.h_bits) + (1 << self.m_bits)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// The arrays of the program that computes contexts.
    pub arrays: Arrays,
    /// The arrays of a program that is stored with the data.
    pub post: Arrays,
    /// The model. Empty if data is stored.
    pub components: Vec<ComponentSpec>,
    /// The program that computes contexts, without the zero at its end.
    pub program: Vec<u8>,
}

impl Header {
    /// Parses a header, without the size before it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Header, Fault> {
        let short = Fault::Bad("a header that is too short");
        let Some((&[h, m, post_h, post_m, count], mut rest)) = bytes.split_first_chunk() else {
            return Err(short);
        };
        let mut components = Vec::with_capacity(usize::from(count));
        for number in 0..usize::from(count) {
            let (kind, after) = ComponentSpec::parse(rest, number)?;
            components.push(kind);
            rest = after;
        }
        if components.iter().map(ComponentSpec::guesses).sum::<usize>() > MAX_PREDICTIONS {
            return Err(Fault::Bad("a model with more than 4096 predictions per bit"));
        }
        let [0, program @ .., 0] = rest else {
            return Err(Fault::Bad("components or a program without an end"));
        };
        let program = program.to_vec();
        Ok(Header { arrays: Arrays::new(h, m)?, post: Arrays::new(post_h, post_m)?, components, program })
    }

    /// Memory in bytes of the model, including the arrays of its program.
    pub(super) fn memory(&self) -> u64 {
        self.arrays.memory() + self.components.iter().map(ComponentSpec::memory).sum::<u64>()
    }

    /// Memory of its mixers in bytes.
    pub(super) fn mixing(&self) -> u64 {
        self.components.iter().filter(|kind| matches!(kind, ComponentSpec::Mix { .. })).map(ComponentSpec::memory).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> &'static str {
        match Header::parse(bytes) {
            Err(Fault::Bad(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn parses_headers() {
        let header = Header::parse(&[1, 2, 3, 4, 2, 3, 16, 8, 19, 0, 0, 56, 0]).unwrap();
        assert_eq!(header.components, [ComponentSpec::Icm { bits: 16 }, ComponentSpec::Isse { bits: 19, from: 0 }]);
        assert_eq!((header.post, &header.program[..]), (Arrays { h_bits: 3, m_bits: 4 }, &[56][..]));
        assert!((37_000_000..39_000_000).contains(&header.memory()));
    }

    #[test]
    fn rejects_impossible_headers() {
        assert!(refused(&[0, 0, 0]).contains("too short"));
        assert!(refused(&[0, 0, 0, 0, 1, 10, 0, 0, 0]).contains("unknown type"));
        assert!(refused(&[0, 0, 0, 0, 1, 0, 0, 0]).contains("unknown type"));
        assert!(refused(&[0, 0, 0, 0, 1, 7, 1]).contains("longer than their header"));
        assert!(refused(&[0, 0, 0, 0, 1, 3, 27, 0, 0]).contains("larger"));
        assert!(refused(&[0, 0, 0, 0, 1, 4, 2, 33, 0, 0]).contains("larger"));
        assert!(refused(&[33, 0, 0, 0, 0, 0, 0]).contains("more memory"));
        assert!(refused(&[0, 0, 0, 33, 0, 0, 0]).contains("more memory"));
        assert!(refused(&[0, 0, 0, 0, 1, 8, 4, 0, 0, 0]).contains("an earlier one"));
        assert!(refused(&[0, 0, 0, 0, 2, 1, 9, 7, 4, 0, 2, 9, 9, 0, 0]).contains("an earlier one"));
        assert!(refused(&[0, 0, 0, 0, 2, 1, 9, 7, 4, 0, 0, 9, 9, 0, 0]).contains("an earlier one"));
        assert!(refused(&[0, 0, 0, 0, 2, 1, 9, 9, 4, 0, 5, 1, 0, 0]).contains("past its limit"));
        assert!(refused(&[0, 0, 0, 0, 1, 1, 9, 0]).contains("or a program without an end"));
        assert!(refused(&[0, 0, 0, 0, 1, 1, 9, 0, 56]).contains("or a program without an end"));
    }

    #[test]
    fn rejects_too_many_predictions() {
        let mut bytes = vec![0, 0, 0, 0, 255, 1, 1];
        (1..255).for_each(|number| bytes.extend([7, 0, 0, number, 1, 0]));
        bytes.extend([0, 0]);
        assert!(refused(&bytes).contains("4096"));
    }
}
