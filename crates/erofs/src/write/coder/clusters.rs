//! Clusters of whole blocks: a segment of content is cut so that each cluster fills its blocks.

use packline_blocks::{BlockContent, BlockSize, Cluster, Coder, Form, STORED_BLOCK};
use packline_codec::{Capacity, CodecError, Fitted, FittingEncoder, Outcome, Spec};

use super::Decoding;
use crate::options::BLOCK;

/// Bytes of a block.
const UNIT: usize = BLOCK as usize;

pub(super) struct ClusterCoder {
    codec: Spec,
    /// Most bytes of content of a cluster.
    most: usize,
    /// Created on first use.
    encoder: Option<Box<dyn FittingEncoder>>,
    decoding: Decoding,
}

impl ClusterCoder {
    pub(super) fn new(codec: &Spec, block_size: BlockSize, decoding: Decoding) -> ClusterCoder {
        ClusterCoder { codec: codec.clone(), most: block_size.bytes(), encoder: None, decoding }
    }

    fn fit(&mut self, content: &[u8], capacity: Capacity, to: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.codec.fitting_encoder(self.most, UNIT)?),
        };
        encoder.fit(content, capacity, to)
    }

    /// Stores a start of `content` at the start of `to`. `None` if there is no space.
    fn cluster(&mut self, content: &[u8], to: &mut [u8]) -> Result<Option<Cluster>, CodecError> {
        if to.len() >= content.len()
            && let Some(Fitted { content: length, stored }) = self.fit(content, Capacity::Units, to)?
        {
            let size = pad(stored, to);
            return Ok(Some(Cluster { length: length as u32, size_word: size as u32 }));
        }
        // Only the last content of a segment has less than whole blocks.
        let length = content.len().min(self.most);
        let size = length.next_multiple_of(UNIT);
        let Some((stored, padding)) = to.get_mut(..size).map(|to| to.split_at_mut(length)) else { return Ok(None) };
        stored.copy_from_slice(&content[..length]);
        padding.fill(0);
        Ok(Some(Cluster { length: length as u32, size_word: size as u32 | STORED_BLOCK }))
    }
}

impl Coder for ClusterCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        Ok(match self.fit(block.bytes, Capacity::Any, to)? {
            Some(Fitted { stored, .. }) if stored.next_multiple_of(UNIT) < block.bytes.len() => {
                Outcome::Smaller(pad(stored, to))
            }
            _ => Outcome::NotSmaller,
        })
    }

    fn compress_clusters(
        &mut self,
        block: &BlockContent<'_>,
        to: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Outcome, CodecError> {
        let mut content = block.bytes;
        let mut at = 0;
        while !content.is_empty() {
            let Some(cluster) = self.cluster(content, &mut to[at..])? else { return Ok(Outcome::NotSmaller) };
            content = &content[cluster.length as usize..];
            at += cluster.size() as usize;
            clusters.push(cluster);
        }
        Ok(if at < block.bytes.len() { Outcome::Smaller(at) } else { Outcome::NotSmaller })
    }

    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        self.encoder = None;
        let zeros = stored.iter().take(UNIT).take_while(|byte| **byte == 0).count();
        let is_coded = matches!(form, Form::Block { .. });
        self.decoding.decode(form, if is_coded { &stored[zeros..] } else { stored })
    }
}

/// Puts zeros before compressed bytes, so that they end at the end of a block. Returns the length with the zeros.
fn pad(stored: usize, bytes: &mut [u8]) -> usize {
    let size = stored.next_multiple_of(UNIT);
    bytes.copy_within(..stored, size - stored);
    bytes[..size - stored].fill(0);
    size
}

/// Returns a cluster of zeros.
///
/// # Errors
/// Errors of the codec.
pub(in crate::write) fn zeros(coder: &mut dyn Coder, length: usize) -> Result<Vec<u8>, CodecError> {
    let content = vec![0; length];
    let mut bytes = vec![0; length];
    let block = BlockContent { bytes: &content, digest: None, parts: None };
    if let Outcome::Smaller(size) = coder.compress(&block, &mut bytes)? {
        bytes.truncate(size);
    }
    Ok(bytes)
}
