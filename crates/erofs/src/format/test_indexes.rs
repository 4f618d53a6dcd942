//! Indexes of given logical clusters, for tests.

use super::cluster::{Cluster, IndexEntry};
use super::compact_index::CompactParameters;
use super::compact_index::encode::CompactEncoder;
use super::full_index;

/// Returns the entries of logical clusters, with the distances to the next starts.
fn entries(clusters: &[Cluster]) -> impl Iterator<Item = IndexEntry> + '_ {
    clusters.iter().enumerate().map(|(number, cluster)| {
        let after = &clusters[number + 1..];
        let next = after.iter().position(|cluster| matches!(cluster, Cluster::Start(_))).unwrap_or(after.len());
        IndexEntry { cluster: *cluster, next: (next + 1).min(0x7ff) as u16 }
    })
}

/// Returns the entries of a full index.
pub(crate) fn full(clusters: &[Cluster]) -> Vec<u8> {
    entries(clusters).flat_map(full_index::encode).collect()
}

/// Returns a compact index that starts at an offset. The clusters must be stored one after another, from block `block` on.
pub(crate) fn compact(clusters: &[Cluster], start: u64, block: u32, has_short: bool, is_big: bool) -> Vec<u8> {
    let count = clusters.len() as u64;
    let parameters = CompactParameters { start, count, cluster_bits: 12, has_short, is_big };
    let mut encoder = CompactEncoder::new(parameters, block).unwrap();
    let mut bytes = Vec::new();
    entries(clusters).for_each(|entry| encoder.push(entry, &mut bytes));
    bytes
}
