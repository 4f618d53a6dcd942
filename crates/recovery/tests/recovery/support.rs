//! Helpers of all tests here.

use std::sync::Arc;

use memchr::memmem;
use packline_recovery::{
    Error, Examined, PacketLocation, RecoverySet, Redundancy, Shape, examine, protect, prove, repair,
};
use packline_runtime::{Input, Resources, Unobserved};
use packline_testkit::Random;

pub fn input(bytes: &[u8]) -> Arc<dyn Input> {
    Arc::new(bytes.to_vec())
}

/// Noise, text, zeros and repeats.
pub fn content(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let part = 1 + random.below(1 + length as u64 / 3) as usize;
        match random.below(4) {
            0 => bytes.resize(bytes.len() + part, 0),
            1 => bytes.extend(random.prose(part)),
            _ => bytes.extend(random.noise(part)),
        }
    }
    bytes.truncate(length);
    bytes
}

/// Returns the recovery data of a file, or the file with its recovery data appended.
pub fn protected(file: &[u8], redundancy: &str, place: PacketLocation, resources: &Resources) -> Vec<u8> {
    let mut sink = if place == PacketLocation::Appended { file.to_vec() } else { Vec::new() };
    let redundancy = Redundancy::parse(redundancy).unwrap();
    let made = protect(&input(file), redundancy, place, &mut sink, resources, &mut Unobserved).unwrap();
    assert_eq!(sink.len() as u64, made.bytes + if place == PacketLocation::Appended { file.len() as u64 } else { 0 });
    sink
}

/// A file and its recovery data, both of which may be damaged.
pub struct Case<'c> {
    pub file: &'c [u8],
    pub sidecar: Option<&'c [u8]>,
}

impl Case<'_> {
    pub fn set(&self, resources: &Resources) -> Result<RecoverySet, Error> {
        match self.sidecar {
            Some(sidecar) => RecoverySet::sidecar(input(sidecar), resources),
            None => RecoverySet::appended(input(self.file), resources),
        }
    }

    pub fn examined(&self, resources: &Resources) -> Result<Examined, Error> {
        examine(&input(self.file), &self.set(resources)?, resources, &mut Unobserved)
    }

    /// Returns the protected bytes, verified by their hash.
    pub fn repaired(&self, resources: &Resources) -> Result<Vec<u8>, Error> {
        let set = self.set(resources)?;
        let file = input(self.file);
        let examined = examine(&file, &set, resources, &mut Unobserved)?;
        let mut sink = Vec::new();
        repair(&file, &set, &examined, &mut sink, resources, &mut Unobserved)?;
        prove(&input(&sink), &set, resources, &mut Unobserved)?;
        Ok(sink)
    }
}

/// Whether a repair must succeed, judged from the undamaged bytes: whether enough shards and packets are still somewhere.
pub fn is_within_budget(original: &[u8], packets: &[u8], shape: &Shape, damaged: &Case<'_>) -> bool {
    let size = shape.shard_bytes() as usize;
    let place = damaged.sidecar.unwrap_or(damaged.file);
    let found = |packet: &[u8]| memmem::find(place, packet);
    // A recovery shard may replace a shard.
    let first = split(packets).into_iter().filter_map(found).min().filter(|_| damaged.sidecar.is_none());
    let file = &damaged.file[..first.unwrap_or(damaged.file.len())];
    let whole = original.chunks(size).enumerate().filter(|(index, shard)| {
        let at = index * size;
        let here = file.get(at..at + shard.len()) == Some(shard);
        // A short last shard is searched for only at the end.
        here || shard.len() == size && is_elsewhere(original, file, shard)
    });
    let lost = shape.shards() - whole.count();
    let [mut pieces, mut all_pieces, mut parity] = [0; 3];
    for packet in split(packets) {
        let found = found(packet).is_some();
        match packet[9] {
            b't' => {
                pieces += usize::from(found);
                all_pieces += 1;
            }
            _ => parity += usize::from(found),
        }
    }
    let needed = all_pieces - (all_pieces / 2).max(shape.recovery().min(32).min(all_pieces - 1));
    pieces >= needed.max(1) && lost <= parity
}

/// Whether a shard is at an offset that is searched: at that of another equal shard, or outside the present shards.
fn is_elsewhere(original: &[u8], damaged: &[u8], shard: &[u8]) -> bool {
    let here = |at: usize| damaged.get(at..at + shard.len()) == original.get(at..at + shard.len());
    memmem::find_iter(damaged, shard).any(|at| {
        let below = at / shard.len() * shard.len();
        let first = here(below);
        let second = here(below + shard.len());
        at == below || !first || !second
    })
}

/// The packets of undamaged recovery data.
pub fn split(packets: &[u8]) -> Vec<&[u8]> {
    let starts: Vec<usize> = memmem::find_iter(packets, &packline_recovery::MAGIC).collect();
    let ends = starts.iter().skip(1).copied().chain([packets.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &packets[start..end]).collect()
}
