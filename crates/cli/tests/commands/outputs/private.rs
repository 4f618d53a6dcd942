//! Outputs that reveal the content of private files are private too.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use packline_testkit::{Random, Sandbox, tools};

use crate::sandbox;

/// Writes a file with these permissions.
fn write(sandbox: &Sandbox, name: &str, mode: u32) {
    sandbox.write(name, [name.as_bytes(), &Random::new(4).noise(20_000)].concat());
    set_mode(sandbox, name, mode);
}

fn set_mode(sandbox: &Sandbox, name: &str, mode: u32) {
    fs::set_permissions(sandbox.at(name), Permissions::from_mode(mode)).unwrap();
}

fn mode(sandbox: &Sandbox, name: &str) -> u32 {
    sandbox.at(name).metadata().unwrap().mode() & 0o7777
}

#[test]
fn recovery_data_has_the_permissions_and_the_owner_of_its_file() {
    let sandbox = sandbox();
    for (given, expected) in [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o755, 0o644), (0o400, 0o400)] {
        write(&sandbox, "f", given);
        sandbox.good(&["protect", "-q", "-r", "100%", "f"]);
        assert_eq!(mode(&sandbox, "f.recovery"), expected, "{given:o}");
        sandbox.remove("f");
        sandbox.remove("f.recovery");
    }
    if !tools::root() {
        return;
    }
    write(&sandbox, "f", 0o640);
    chown(sandbox.at("f"), Some(1234), Some(1235)).unwrap();
    sandbox.good(&["protect", "-q", "f"]);
    let about = sandbox.at("f.recovery").metadata().unwrap();
    assert_eq!((about.uid(), about.gid(), about.mode() & 0o7777), (1234, 1235, 0o640));
}

#[test]
fn a_recovery_file_that_is_replaced_keeps_its_permissions() {
    let sandbox = sandbox();
    write(&sandbox, "f", 0o600);
    sandbox.write("f.recovery", "old");
    set_mode(&sandbox, "f.recovery", 0o640);
    sandbox.good(&["protect", "-qf", "f"]);
    assert_eq!(mode(&sandbox, "f.recovery"), 0o640);
}

#[test]
fn deltas_and_patched_files_are_as_private_as_both_of_their_inputs() {
    let sandbox = sandbox();
    write(&sandbox, "old", 0o644);
    write(&sandbox, "new", 0o644);
    for (first, second, expected) in [(0o600, 0o644, 0o600), (0o644, 0o600, 0o600), (0o640, 0o644, 0o640)] {
        set_mode(&sandbox, "old", first);
        set_mode(&sandbox, "new", second);
        sandbox.good(&["delta", "-q", "old", "new", "d.pld"]);
        assert_eq!(mode(&sandbox, "d.pld"), expected, "{first:o} {second:o}");
        set_mode(&sandbox, "d.pld", second);
        sandbox.good(&["patch", "-q", "old", "d.pld", "back"]);
        assert_eq!(mode(&sandbox, "back"), expected, "{first:o} {second:o}");
        assert!(sandbox.read("back") == sandbox.read("new"));
        sandbox.remove("d.pld");
        sandbox.remove("back");
    }
}

#[test]
fn a_delta_of_files_of_two_groups_is_for_neither() {
    if !tools::root() {
        return;
    }
    let sandbox = sandbox();
    write(&sandbox, "old", 0o640);
    write(&sandbox, "new", 0o640);
    chown(sandbox.at("old"), Some(1234), Some(1235)).unwrap();
    chown(sandbox.at("new"), Some(1236), Some(1237)).unwrap();
    sandbox.good(&["delta", "-q", "old", "new", "d.pld"]);
    let about = sandbox.at("d.pld").metadata().unwrap();
    assert_eq!((about.uid(), about.mode() & 0o7777), (0, 0o600));
}
