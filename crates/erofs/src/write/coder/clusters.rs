//! Clusters of whole blocks: a segment of content is cut so that each cluster fills its blocks.

use packline_blocks::{BlockContent, Cluster, Coder, Form, STORED_BLOCK};
use packline_cache::{BlockCodec, BlockEncoder};
use packline_codec::{Capacity, CodecError, Fitted, FittingEncoder, Outcome, Spec};

use super::{Decoding, ImageCoders};
use crate::format::cluster::without_padding;
use crate::options::{BLOCK, INLINE_MOST};

/// Bytes of a block.
const UNIT: usize = BLOCK as usize;
/// Bytes of the map of a file that is a cluster after its inode. A file that is not compressed has none.
const MAP: usize = 24;
/// Least bytes of a block that must be unused for a cut before it: the end that is then compressed alone is longer.
const CUT_LEAST: usize = UNIT / 8;
/// Raised whenever segments are stored in other clusters, though the codec's encoder has not changed.
const REVISION: u32 = 2;
/// Content of a block in bytes, of the first cluster of a segment.
const USUAL_BLOCK: usize = 4 * UNIT;

/// Compresses segments that are not found, and decodes clusters.
pub(super) struct ClusterCoder {
    image: ImageCoders,
    /// Created on first use.
    encoder: Option<BlockEncoder>,
    decoding: Decoding,
}

impl ClusterCoder {
    pub(super) fn new(image: &ImageCoders) -> ClusterCoder {
        ClusterCoder { image: image.clone(), encoder: None, decoding: image.decoding() }
    }
}

impl Coder for ClusterCoder {
    fn compress(&mut self, block: &BlockContent<'_>, to: &mut [u8]) -> Result<Outcome, CodecError> {
        SegmentCodec::new(&self.image).cluster_of_all(block.bytes, to)
    }

    fn compress_clusters(
        &mut self,
        block: &BlockContent<'_>,
        to: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Outcome, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.image.encoder()?),
        };
        encoder.compress_clusters(block.bytes, &block.digests(), to, clusters)
    }

    fn decode<'a>(&'a mut self, form: Form, stored: &'a [u8]) -> Result<&'a [u8], String> {
        self.encoder = None;
        let is_coded = matches!(form, Form::Block { .. });
        self.decoding.decode(form, if is_coded { without_padding(stored, UNIT).unwrap_or(&[]) } else { stored })
    }
}

/// Cuts segments into clusters.
pub(in crate::write) struct SegmentCodec {
    codec: Spec,
    /// Most bytes of content of a cluster.
    most: usize,
    /// The segment size, if the end of a shorter segment may have less than a block.
    ends: Option<usize>,
    /// Created on first use.
    encoder: Option<Box<dyn FittingEncoder>>,
    decoding: Decoding,
    /// A result that may be replaced by a shorter one.
    whole: Vec<u8>,
}

impl SegmentCodec {
    pub(in crate::write) fn new(image: &ImageCoders) -> SegmentCodec {
        let ImageCoders { codec, cluster_most, ends, .. } = image;
        let decoding = image.decoding();
        SegmentCodec {
            codec: codec.clone(),
            most: *cluster_most,
            ends: *ends,
            encoder: None,
            decoding,
            whole: Vec::new(),
        }
    }

    /// Names what determines the clusters of a segment, besides the codec and the largest cluster. `ends`: whether ends may have less than a block.
    pub(super) fn form(codec: &Spec, ends: bool) -> String {
        let ends = if ends { ", short ends" } else { "" };
        format!("clusters in blocks of {UNIT} bytes{ends}, revisions {REVISION} and {}", codec.fitting_revision())
    }

    fn fit(&mut self, content: &[u8], capacity: Capacity, to: &mut [u8]) -> Result<Option<Fitted>, CodecError> {
        let encoder = match &mut self.encoder {
            Some(encoder) => encoder,
            none => none.insert(self.codec.fitting_encoder(self.most, UNIT)?),
        };
        encoder.fit(content, capacity, to)
    }

    /// Stores all of `content`, which is not larger than a cluster, at the start of `to`.
    fn cluster_of_all(&mut self, content: &[u8], to: &mut [u8]) -> Result<Outcome, CodecError> {
        Ok(match self.fit(content, Capacity::Any, to)? {
            Some(Fitted { stored, .. }) if stored.next_multiple_of(UNIT) < content.len() => {
                Outcome::Smaller(pad(stored, to))
            }
            _ => Outcome::NotSmaller,
        })
    }

    /// Returns how much content is encoded for the next cluster, if `left` bytes are left. All clusters of a segment should have similar content, so that no
    /// short one is at the end. A cut takes away half the content of a block on average; the cluster `before` says about how much that is.
    fn input(&self, left: usize, before: Option<&Cluster>) -> usize {
        if left <= self.most {
            return left;
        }
        let even = left.div_ceil(left.div_ceil(self.most));
        let in_block =
            before.map_or(USUAL_BLOCK, |before| UNIT * before.length as usize / before.size().max(1) as usize);
        (even + in_block / 2).min(self.most)
    }

    /// Stores a start of `content` at the start of `to`. `None` if there is no space.
    fn cluster(
        &mut self,
        content: &[u8],
        before: Option<&Cluster>,
        to: &mut [u8],
    ) -> Result<Option<Cluster>, CodecError> {
        let length = self.input(content.len(), before);
        let is_last = length == content.len();
        if to.len() >= content.len() {
            let capacity = if is_last { Capacity::Any } else { Capacity::Units };
            let fitted = self.fit(&content[..length], capacity, to)?;
            // All content of a segment is encoded at its end: what a cut saves, the rest would take again.
            if let Some(fitted) = fitted.filter(|fitted| fitted.stored.next_multiple_of(UNIT) < fitted.content) {
                let size = pad(fitted.stored, to);
                return Ok(Some(Cluster { length: fitted.content as u32, size_word: size as u32 }));
            }
        }
        // Only the last content of a segment has less than whole blocks. A base is read with the rule that all other clusters like this one have the
        // largest size.
        let length = content.len().min(self.most);
        let size = length.next_multiple_of(UNIT);
        let Some((stored, padding)) = to.get_mut(..size).map(|to| to.split_at_mut(length)) else { return Ok(None) };
        stored.copy_from_slice(&content[..length]);
        padding.fill(0);
        Ok(Some(Cluster { length: length as u32, size_word: size as u32 | STORED_BLOCK }))
    }

    /// Stores all of `content`, the end of a segment that is shorter than others, at the start of `to`, and adds its clusters: as blocks, or with an end
    /// of less than a block. Returns the stored bytes; `None` if they do not fit.
    fn end(&mut self, content: &[u8], to: &mut [u8], clusters: &mut Vec<Cluster>) -> Result<Option<usize>, CodecError> {
        if to.len() < content.len() {
            return Ok(None);
        }
        let length = content.len() as u32;
        let all = self.fit(content, Capacity::Any, to)?.map(|fitted| fitted.stored);
        if let Some(stored) = all.filter(|stored| *stored <= INLINE_MOST && stored + MAP < content.len()) {
            clusters.push(Cluster { length, size_word: stored as u32 });
            return Ok(Some(stored));
        }
        let Some(stored) = all.filter(|stored| stored.next_multiple_of(UNIT) < content.len()) else {
            return Ok(Some(plain_end(content, to, clusters)));
        };
        let unused = stored.next_multiple_of(UNIT) - stored;
        if unused >= CUT_LEAST {
            self.whole.clear();
            self.whole.extend_from_slice(&to[..stored]);
            if let Some(size) = self.cut_end(content, to, clusters)? {
                return Ok(Some(size));
            }
            to[..stored].copy_from_slice(&self.whole);
        }
        let size = pad(stored, to);
        clusters.push(Cluster { length, size_word: size as u32 });
        Ok(Some(size))
    }

    /// Stores `content` as a cluster of whole blocks, and an end of less than a block. `None` if that is not possible.
    fn cut_end(
        &mut self,
        content: &[u8],
        to: &mut [u8],
        clusters: &mut Vec<Cluster>,
    ) -> Result<Option<usize>, CodecError> {
        let fitted = self.fit(content, Capacity::Units, to)?.filter(|fitted| fitted.content < content.len());
        let Some(Fitted { content: cut, stored }) = fitted else { return Ok(None) };
        let size = pad(stored, to);
        let (start, rest) = content.split_at(cut);
        if size >= start.len() || to.len() - size < rest.len() {
            return Ok(None);
        }
        let end = self.fit(rest, Capacity::Any, &mut to[size..])?.map(|fitted| fitted.stored);
        let Some(end) = end.filter(|end| *end <= INLINE_MOST) else { return Ok(None) };
        clusters.push(Cluster { length: start.len() as u32, size_word: size as u32 });
        clusters.push(Cluster { length: rest.len() as u32, size_word: end as u32 });
        Ok(Some(size + end))
    }

    /// Whether `stored` are the bytes of a cluster with this content. `may_end`: whether they may be less than a block.
    fn is_cluster_of(&mut self, content: &[u8], stored: &[u8], is_compressed: bool, may_end: bool) -> bool {
        let is_end = may_end && stored.len() <= INLINE_MOST;
        if content.len() > self.most || stored.is_empty() || !(is_end || stored.len().is_multiple_of(UNIT)) {
            return false;
        }
        if !is_compressed {
            let padded = stored.len() == if is_end { content.len() } else { content.len().next_multiple_of(UNIT) };
            return padded && stored.starts_with(content) && stored[content.len()..].iter().all(|byte| *byte == 0);
        }
        let Some(coded) = without_padding(stored, UNIT) else { return false };
        let form = Form::Block { content: content.len() as u32 };
        stored.len() <= content.len() && self.decoding.decode(form, coded).is_ok_and(|decoded| decoded == content)
    }
}

impl BlockCodec for SegmentCodec {
    fn encode(&mut self, src: &[u8], dst: &mut [u8], clusters: &mut Vec<Cluster>) -> Result<Outcome, CodecError> {
        let mut content = src;
        let mut at = 0;
        let has_end = self.ends.is_some_and(|segment| src.len() < segment);
        while !content.is_empty() {
            if has_end && self.input(content.len(), clusters.last()) == content.len() {
                let Some(size) = self.end(content, &mut dst[at..], clusters)? else { return Ok(Outcome::NotSmaller) };
                at += size;
                break;
            }
            let Some(cluster) = self.cluster(content, clusters.last(), &mut dst[at..])? else {
                return Ok(Outcome::NotSmaller);
            };
            content = &content[cluster.length as usize..];
            at += cluster.size() as usize;
            clusters.push(cluster);
        }
        Ok(if at < src.len() { Outcome::Smaller(at) } else { Outcome::NotSmaller })
    }

    fn is_block_of(&mut self, mut content: &[u8], mut stored: &[u8], clusters: &[Cluster]) -> bool {
        let has_end = self.ends.is_some_and(|segment| content.len() < segment);
        for (number, cluster) in clusters.iter().enumerate() {
            let may_end = has_end && number + 1 == clusters.len();
            let content_parts = content.split_at_checked(cluster.length as usize);
            let stored_parts = stored.split_at_checked(cluster.size() as usize);
            let Some(((of_content, content_rest), (of_stored, stored_rest))) = content_parts.zip(stored_parts) else {
                return false;
            };
            if !self.is_cluster_of(of_content, of_stored, cluster.is_compressed(), may_end) {
                return false;
            }
            content = content_rest;
            stored = stored_rest;
        }
        content.is_empty() && stored.is_empty()
    }
}

/// Stores the end of a segment as it is: whole blocks, and an end of less than a block if it is short enough. Returns the stored bytes. `to` has space for
/// the content.
fn plain_end(content: &[u8], to: &mut [u8], clusters: &mut Vec<Cluster>) -> usize {
    let end = Some(content.len() % UNIT).filter(|end| *end <= INLINE_MOST).unwrap_or(0);
    let size = (content.len() - end).next_multiple_of(UNIT) + end;
    let Some(stored) = to.get_mut(..size) else { return size };
    stored[..content.len()].copy_from_slice(content);
    stored[content.len()..].fill(0);
    for length in [content.len() - end, end].into_iter().filter(|length| *length > 0) {
        let size = if length == end { end } else { length.next_multiple_of(UNIT) };
        clusters.push(Cluster { length: length as u32, size_word: size as u32 | STORED_BLOCK });
    }
    size
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
