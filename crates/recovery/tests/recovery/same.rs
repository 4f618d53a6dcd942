//! Recovery data and repaired files have the same bytes for any number of workers and any memory limit.

use std::sync::Arc;

use packline_recovery::{Error, PacketLocation, Redundancy, Shape, protect};
use packline_runtime::{Input, Resources, Unobserved};

use crate::support::*;

fn resource_sets() -> Vec<Resources> {
    let limited = |workers, megabytes: u64| Resources::new(workers).memory_limit(megabytes << 20);
    vec![Resources::new(1), Resources::new(2), Resources::new(7), limited(2, 30), limited(7, 26), limited(0, 25)]
}

#[test]
fn workers_and_memory_change_no_byte() {
    for (length, redundancy) in [(1, "5%"), (1025, "100%"), (300_000, "5%"), (5 << 20, "7.5%"), (3 << 20, "60%")] {
        let file = content(length, length as u64);
        let serial = Resources::new(0);
        let expected = protected(&file, redundancy, PacketLocation::Sidecar, &serial);
        let mut damaged = file.clone();
        damaged[length / 2] ^= 1;
        let case = Case { file: &damaged, sidecar: Some(&expected) };
        for resources in resource_sets() {
            assert!(protected(&file, redundancy, PacketLocation::Sidecar, &resources) == expected, "{length}");
            assert!(case.repaired(&resources).unwrap() == file, "{length}");
        }
        let behind = protected(&file, redundancy, PacketLocation::Appended, &serial);
        assert!(behind.starts_with(&file) && behind[length..].starts_with(&expected));
    }
}

#[test]
fn undamaged_file_is_intact() {
    for length in [1, 63, 64, 65, 1023, 1024, 1025, 2048, 4096, 10_000, 1 << 18] {
        let file = content(length, 3);
        let resources = Resources::new(1);
        let sidecar = protected(&file, "10%", PacketLocation::Sidecar, &resources);
        let case = Case { file: &file, sidecar: Some(&sidecar) };
        assert!(case.examined(&resources).unwrap().is_whole());
        assert!(case.set(&resources).unwrap().is_whole());
        assert!(case.repaired(&resources).unwrap() == file);
        let behind = protected(&file, "10%", PacketLocation::Appended, &resources);
        let case = Case { file: &behind, sidecar: None };
        assert!(case.examined(&resources).unwrap().is_whole() && case.set(&resources).unwrap().is_whole());
        assert!(case.repaired(&resources).unwrap() == file);
    }
}

#[test]
fn rejects_an_empty_file() {
    let redundancy = Redundancy::parse("5%").unwrap();
    let made =
        protect(&input(b""), redundancy, PacketLocation::Sidecar, &mut Vec::new(), &Resources::new(0), &mut Unobserved);
    assert!(matches!(made, Err(Error::Unsupported { .. })));
}

#[test]
fn reports_too_little_memory() {
    let file = content(1 << 20, 1);
    let resources = Resources::new(1).memory_limit(16 << 20);
    let redundancy = Redundancy::parse("5%").unwrap();
    let made =
        protect(&input(&file), redundancy, PacketLocation::Sidecar, &mut Vec::new(), &resources, &mut Unobserved);
    assert!(matches!(made, Err(Error::Memory { .. })));
}

/// A file that becomes shorter after its size was read.
struct Shrinking(Vec<u8>);

impl Input for Shrinking {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        if offset + buffer.len() as u64 > self.size() / 2 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.0.read_at(offset, buffer)
    }
}

#[test]
fn reports_a_file_that_became_shorter_as_changed() {
    let input: Arc<dyn Input> = Arc::new(Shrinking(content(100_000, 3)));
    let redundancy = Redundancy::parse("5%").unwrap();
    let made =
        protect(&input, redundancy, PacketLocation::Sidecar, &mut Vec::new(), &Resources::new(1), &mut Unobserved);
    assert!(matches!(made, Err(Error::Changed)), "{made:?}");
}

/// The size of recovery data, minus the redundancy that was requested.
#[test]
fn overhead_is_bounded() {
    let share = |length: u64| {
        let shape = Shape::new(length, Redundancy::parse("5%").unwrap()).unwrap();
        let file = content(length as usize, 1);
        (
            protected(&file, "5%", PacketLocation::Sidecar, &Resources::new(2)).len() as f64 / length as f64,
            shape.recovery(),
        )
    };
    assert!(share(64 << 10).0 < 0.16, "{:?}", share(64 << 10));
    assert!(share(1 << 20).0 < 0.09, "{:?}", share(1 << 20));
    assert!(share(16 << 20).0 < 0.06, "{:?}", share(16 << 20));
}
