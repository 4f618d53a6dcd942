//! Hostile recovery data: each is rejected, or repairs what can be repaired, in bounded time and memory.

use std::sync::Arc;
use std::time::Duration;

use packline_recovery::{Error, MAGIC, PacketLocation, RecoverySet, strip};
use packline_runtime::Resources;
use packline_testkit::{Random, Stopwatch};

use crate::support::*;

/// The fields of a head.
#[derive(Clone, Copy)]
struct Head {
    kind: u8,
    log: u8,
    recovery: u32,
    length: u64,
    index: u64,
    root: [u8; 32],
}

const HEAD: Head = Head { kind: b't', log: 10, recovery: 1, length: 4096, index: 0, root: [1; 32] };

impl Head {
    /// A packet with the right check.
    fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.extend([1, self.kind, self.log, 0]);
        head.extend(self.recovery.to_le_bytes());
        head.extend(self.length.to_le_bytes());
        head.extend(self.index.to_le_bytes());
        head.extend(self.root);
        let check = blake3::hash(&[&head[..], payload].concat());
        [&head[..], &check.as_bytes()[..16], payload].concat()
    }

    /// The pieces of a table of zeros that are needed to read the table.
    fn table(&self, piece: usize, count: u64) -> Vec<u8> {
        (0..count).flat_map(|index| Head { index, ..*self }.packet(&vec![0; piece])).collect()
    }
}

/// Repairs `file` with `sidecar`, in bounded time.
#[track_caller]
fn outcome(file: &[u8], sidecar: &[u8]) -> Result<Vec<u8>, Error> {
    let started = Stopwatch::start();
    let resources = Resources::new(0).memory_limit(64 << 20);
    let outcome = Case { file, sidecar: Some(sidecar) }.repaired(&resources);
    assert!(started.elapsed() < Duration::from_secs(20));
    outcome
}

#[test]
fn ignores_packets_with_impossible_heads() {
    let file = [0; 4096];
    for head in [
        Head { kind: b'x', ..HEAD },
        Head { log: 9, ..HEAD },
        Head { log: 255, ..HEAD },
        Head { recovery: 0, ..HEAD },
        Head { recovery: u32::MAX, ..HEAD },
        Head { length: 0, ..HEAD },
        Head { length: u64::MAX, ..HEAD },
        Head { length: 1 << 40, ..HEAD },
        Head { index: 2, ..HEAD },
        Head { index: u64::MAX, ..HEAD },
        Head { kind: b'R', log: 48, length: 1 << 62, ..HEAD },
    ] {
        assert!(matches!(outcome(&file, &head.packet(&[0; 128])), Err(Error::NoData)));
    }
    let mut version = HEAD.packet(&[0; 128]);
    version[8] = 2;
    assert!(matches!(outcome(&file, &version), Err(Error::NoData)));
    assert!(matches!(outcome(&file, b""), Err(Error::NoData)));
    assert!(matches!(outcome(&file, &MAGIC), Err(Error::NoData)));
}

#[test]
fn spends_no_memory_or_time_on_a_claimed_huge_file() {
    for (log, shards) in [(48, 1), (48, 16_384), (20, 1000)] {
        let head = Head { log, length: shards << log, ..HEAD };
        let table = 24 * shards;
        let piece = table.div_ceil(32).next_multiple_of(64).max(512.min(table.next_multiple_of(64)));
        let sidecar = head.table(piece as usize, table.div_ceil(piece));
        let refused = outcome(&[0; 5000], &sidecar);
        assert!(matches!(refused, Err(Error::Beyond { repairable: 0, .. })), "{:?}", refused.map(|bytes| bytes.len()));
    }
}

/// Each head claims the same bytes as its payload. Hashing all payloads would take a day.
#[test]
fn bounds_the_hashing_for_many_heads_of_the_same_bytes() {
    let head = Head { kind: b'R', log: 21, recovery: 16_000, length: 1 << 34, ..HEAD };
    let one = &head.packet(&[])[..80];
    let sidecar: Vec<u8> = (0..50_000u64)
        .flat_map(|index| {
            let mut bytes = one.to_vec();
            bytes[24..32].copy_from_slice(&(index % 16_000).to_le_bytes());
            bytes
        })
        .collect();
    assert!(matches!(outcome(&[0; 100], &sidecar), Err(Error::NoData)));
}

/// Every window has the checksum of every shard, and no window has the hash of one.
#[test]
fn bounds_the_time_for_checksums_that_match_everywhere() {
    let shards = 8000;
    let piece = 6016;
    let head = Head { length: shards * 1024, ..HEAD };
    let sidecar = head.table(piece, (24 * shards).div_ceil(piece as u64));
    let refused = outcome(&vec![0; 8 << 20], &sidecar);
    assert!(matches!(refused, Err(Error::Beyond { lost: 8000, .. })), "{:?}", refused.map(|bytes| bytes.len()));
}

#[test]
fn rejects_wrong_contents_with_right_checks() {
    let original = Random::new(3).noise(100_000);
    let sidecar = protected(&original, "5%", PacketLocation::Sidecar, &Resources::new(0));
    let mut damaged = original.clone();
    damaged[50_000] ^= 1;
    let forged = |change: fn(&mut Vec<u8>)| -> Vec<u8> {
        let packets = split(&sidecar).into_iter().flat_map(|packet| {
            let mut packet = packet.to_vec();
            change(&mut packet);
            let check = blake3::hash(&[&packet[..64], &packet[80..]].concat());
            packet[64..80].copy_from_slice(&check.as_bytes()[..16]);
            packet
        });
        packets.collect()
    };
    let wrong_parity = forged(|packet| packet[100] ^= u8::from(packet[9] == b'R'));
    assert!(matches!(outcome(&damaged, &wrong_parity), Err(Error::Unproven)));
    let wrong_root = forged(|packet| packet[40] ^= 1);
    assert!(matches!(outcome(&damaged, &wrong_root), Err(Error::Unproven)));
    let wrong_length = forged(|packet| packet[16] ^= 1);
    assert!(outcome(&damaged, &wrong_length).is_err());
    assert!(outcome(&damaged, &forged(|_| {})).unwrap() == original);
}

#[test]
fn uses_the_last_of_many_sets() {
    let original = Random::new(3).noise(50_000);
    let sidecar = protected(&original, "5%", PacketLocation::Sidecar, &Resources::new(0));
    let others = (0..100u8).flat_map(|root| Head { root: [root; 32], ..HEAD }.packet(&[0; 128]));
    let many: Vec<u8> = others.chain(sidecar.iter().copied()).collect();
    assert!(outcome(&original, &many).unwrap() == original);
    assert!(matches!(outcome(&original, &[&sidecar[..], &HEAD.packet(&[0; 128])].concat()), Err(Error::Beyond { .. })));
}

#[test]
fn ignores_footers_with_wrong_lengths() {
    let footer = |length: u64, total: u64| {
        let mut bytes = [0x8B, b'r', b'c', b'v', 0x0D, 0x0A, 0x1A, 0x0A].to_vec();
        bytes.extend([length.to_le_bytes(), total.to_le_bytes()].concat());
        let check = blake3::hash(&bytes);
        bytes.extend(&check.as_bytes()[..8]);
        bytes
    };
    let stripped = |bytes: &[u8]| strip(input(bytes)).unwrap().input.size();
    for (length, total, size) in [(100, 131, 132), (132, 132, 132), (u64::MAX, 132, 132), (0, 132, 0), (50, 132, 50)] {
        let file = [vec![0; 100], footer(length, total)].concat();
        assert_eq!(stripped(&file), size);
        assert!(matches!(RecoverySet::appended(Arc::new(file), &Resources::new(0)), Err(Error::NoData)));
    }
    // Recovery data of another file, as content, is not the recovery data of this file.
    let original = Random::new(3).noise(5000);
    let behind = protected(&original, "5%", PacketLocation::Appended, &Resources::new(0));
    assert_eq!((stripped(&behind), stripped(&[&[7; 50], &behind[..]].concat())), (5000, behind.len() as u64 + 50));
    assert_eq!(stripped(&behind[..behind.len() - 1]), 5000);
}
