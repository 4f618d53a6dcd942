//! Recovery data follows its document: a program written from the document alone repairs with it.

use std::process::Command;

use packline_recovery::PacketLocation;
use packline_runtime::Resources;
use packline_testkit::Random;
use packline_testkit::tools::need;

use crate::support::*;

fn repaired_by_document(file: &[u8], sidecar: Option<&[u8]>) -> Result<Vec<u8>, String> {
    let place = tempfile::tempdir().unwrap();
    let stored = |name: &str, bytes: &[u8]| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documented.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(stored("file", file));
    if let Some(sidecar) = sidecar {
        command.arg(stored("sidecar", sidecar));
    }
    let output = command.output().unwrap();
    if output.status.success() { Ok(output.stdout) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[test]
fn python_repairs_from_the_document() {
    if !need(&["python3"]) {
        return;
    }
    let resources = Resources::new(1);
    for (length, redundancy) in [(1, "5%"), (100, "100%"), (5000, "40%"), (30_000, "10%")] {
        let original = Random::new(length).noise(length as usize);
        let sidecar = protected(&original, redundancy, PacketLocation::Sidecar, &resources);
        let behind = protected(&original, redundancy, PacketLocation::Appended, &resources);
        let mut damaged = original.clone();
        damaged[length as usize / 2] ^= 1;
        let mut torn = sidecar.clone();
        torn[100] ^= 1;
        assert!(repaired_by_document(&damaged, Some(&sidecar)) == Ok(original.clone()), "{length}");
        assert!(repaired_by_document(&original, Some(&torn)) == Ok(original.clone()), "{length}");
        let mut shifted = behind.clone();
        shifted.insert(length as usize / 3, 7);
        assert!(repaired_by_document(&shifted, None) == Ok(original), "{length}");
    }
    let original = Random::new(9).noise(5000);
    let sidecar = protected(&original, "5%", PacketLocation::Sidecar, &resources);
    let mut beyond = original.clone();
    (0..5000).step_by(1000).for_each(|at| beyond[at] ^= 1);
    assert!(repaired_by_document(&beyond, Some(&sidecar)).is_err());
}
