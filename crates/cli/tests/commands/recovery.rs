//! `packline protect` and `packline repair` restore files of any kind byte for byte, or leave them unchanged.

use std::os::unix::fs::PermissionsExt;

use packline_testkit::{Random, Sandbox, tools};
use serde_json::Value;

use crate::sandbox;

fn with_file(bytes: usize) -> (Sandbox, Vec<u8>) {
    let sandbox = sandbox();
    let content = Random::new(23).noise(bytes);
    sandbox.write("f", &content);
    (sandbox, content)
}

/// A .pln file with recovery data, and its content: text, which is 10 records of 16 KiB, and noise.
fn compressed() -> (Sandbox, Vec<u8>) {
    let sandbox = sandbox();
    let mut random = Random::new(77);
    let content = [random.prose(160_000), random.noise(140_000)].concat();
    sandbox.write("f", &content);
    sandbox.good(&["compress", "-q", "--record-size", "16K", "--recovery", "10%", "f"]);
    (sandbox, content)
}

#[test]
fn recovery_data_in_a_pln_file_changes_nothing_for_its_readers() {
    let (sandbox, content) = compressed();
    sandbox.good(&["compress", "-q", "--record-size", "16K", "-o", "plain.pln", "f"]);
    let file = sandbox.read("f.pln");
    let plain = sandbox.read("plain.pln");
    assert!(file.starts_with(&plain) && file.len() > plain.len() + plain.len() / 10);
    let streamed = sandbox.good_on(&["compress", "--record-size", "16K", "--recovery", "10%", "-j", "0"], "f");
    assert!(streamed.stdout == file, "a stream gets the same bytes");
    assert!(sandbox.good(&["cat", "f.pln"]).stdout == content);
    assert!(sandbox.good(&["cat", "--range", "150000..170000", "f.pln"]).stdout == content[150_000..170_000]);
    assert!(sandbox.good_on(&["decompress"], "f.pln").stdout == content);
    assert!(sandbox.shell("cat f.pln | $P cat -").stdout == content);
    assert!(sandbox.good(&["decompress", "--stdout", "f.pln"]).stdout == content);
    let info = json(&sandbox.good(&["info", "--json", "f.pln"]).text());
    assert_eq!(info["physical_bytes"], plain.len());
    assert_eq!(info["recovery"]["recovery_bytes"], file.len() - plain.len());
    assert!(sandbox.shell("cat f.pln | $P info -").text().contains("300000 bytes"));
    sandbox.good(&["verify", "-q", "f.pln"]);
    sandbox.shell("cat f.pln | $P verify -");
    // The footer and the packets before it are damaged: the last ones that are not say where the file ends.
    let mut footless = file.clone();
    let end = footless.len();
    footless[end - 300..].fill(7);
    sandbox.write("footless.pln", &footless);
    assert!(sandbox.good(&["cat", "footless.pln"]).stdout == content);
}

#[test]
fn damaged_pln_files_are_read_from_a_repaired_copy_and_repaired() {
    let (sandbox, content) = compressed();
    let file = sandbox.read("f.pln");
    let plain = file.len() * 8 / 10;
    let damages: [fn(&mut Vec<u8>, usize); 6] = [
        |file, _| file[3] ^= 1,
        |file, plain| file[plain / 2] ^= 1,
        |file, plain| file[plain - 2000..plain].fill(9),
        |file, plain| drop(file.splice(plain / 3..plain / 3, *b"inserted")),
        |file, plain| drop(file.drain(plain / 3..plain / 3 + 1024)),
        |file, _| file.truncate(file.len() - 5000),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut damaged = file.clone();
        damage(&mut damaged, plain);
        sandbox.write("d.pln", &damaged);
        let ran = sandbox.good(&["cat", "d.pln"]);
        assert!(ran.stdout == content, "{number}");
        if number < 5 {
            assert!(ran.stderr.contains("d.pln: is damaged, and is read from a repaired copy"), "{number}: {ran:?}");
            sandbox.bad(1, &["decompress", "--test", "d.pln"]);
        }
        sandbox.good(&["decompress", "-q", "-f", "-o", "out", "d.pln"]);
        assert!(sandbox.read("out") == content, "{number}");
        sandbox.bad(1, &["verify", "-q", "d.pln"]);
        sandbox.good(&["repair", "-q", "d.pln"]);
        assert!(sandbox.read("d.pln") == file, "{number}: repaired with its recovery data");
        sandbox.good(&["verify", "-q", "d.pln"]);
    }
    let mut beyond = file.clone();
    beyond[plain / 4..plain / 2].fill(0);
    sandbox.write("d.pln", &beyond);
    let refused = sandbox.bad(1, &["decompress", "-o", "none", "d.pln"]);
    assert!(refused.contains("shards are lost, and its recovery data repairs"), "{refused}");
    assert!(!sandbox.at("none").exists());
    sandbox.bad(1, &["repair", "d.pln"]);
    assert!(sandbox.read("d.pln") == beyond);
}

#[test]
fn a_damaged_stream_is_repaired_once_it_is_in_a_file() {
    let (sandbox, content) = with_file(700_000);
    sandbox.good(&["compress", "-q", "--record-size", "16K", "--recovery", "5%", "-o", "x.pln", "f"]);
    let mut file = sandbox.read("x.pln");
    let whole = sandbox.shell("cat x.pln | $P decompress --stdout");
    assert!(whole.status == 0 && whole.stdout == content && whole.stderr.is_empty(), "{whole:?}");
    file[300_000] ^= 1;
    file.splice(400_000..400_000, *b"inserted");
    sandbox.write("x.pln", &file);
    let expected = "; it has recovery data, which can repair a file while it is read, but not a stream";
    for command in ["decompress --stdout", "cat -", "decompress --stdout -j0", "cat --range 10.. -"] {
        let ran = sandbox.shell(&format!("cat x.pln | $P {command}"));
        let skipped = if command.contains("10") { 10 } else { 0 };
        assert!(ran.status == 1 && ran.stderr.contains(expected), "{command}: {ran:?}");
        assert!(ran.stdout.len() > 100_000 && content[skipped..].starts_with(&ran.stdout), "{command}");
    }
    assert!(sandbox.good(&["decompress", "--stdout", "x.pln"]).stdout == content);
    sandbox.good(&["compress", "-q", "-o", "y.pln", "f"]);
    let ran = sandbox.shell("head -c 300000 y.pln | $P decompress --stdout; head -c 300000 x.pln | $P cat -");
    assert!(ran.status == 1 && !ran.stderr.contains("recovery data"), "{ran:?}");
}

#[test]
fn rejects_recovery_option_for_other_outputs() {
    let (sandbox, _) = with_file(1000);
    for words in [&["pack", "--recovery=5%", "f", "x.lrz"][..], &["compress", "--recovery", "5%", "-o", "x.lrz", "f"]] {
        let refused = sandbox.bad(2, words);
        assert!(refused.contains("packline protect"), "{refused}");
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn a_damaged_file_is_repaired_in_place_with_its_attributes() {
    let (sandbox, content) = with_file(300_000);
    std::fs::set_permissions(sandbox.at("f"), std::fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.good(&["protect", "-q", "f"]);
    for workers in ["0", "1", "2"] {
        sandbox.good(&["protect", "-q", "-j", workers, "--mem", "64M", "-o", "again", "-f", "f"]);
        assert!(sandbox.read("again") == sandbox.read("f.recovery"));
    }
    let mut damaged = content.clone();
    damaged[123_456] ^= 1;
    damaged.splice(1000..1000, *b"inserted");
    sandbox.damage("f", &damaged);
    let found = sandbox.run(&["verify", "--json", "f"]);
    assert_eq!((found.status, &json(&found.text())["can_be_repaired"]), (1, &Value::from(true)));
    let repaired = json(&sandbox.good(&["repair", "--json", "f"]).text());
    assert!(repaired["lost_shards"] == 2 || repaired["lost_shards"] == 1, "{repaired}");
    assert!(sandbox.read("f") == content);
    assert_eq!(sandbox.at("f").metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(json(&sandbox.good(&["repair", "--json", "f"]).text())["whole"] == true);
}

#[test]
fn keeps_file_if_too_much_is_lost() {
    let (sandbox, content) = with_file(300_000);
    sandbox.good(&["protect", "-q", "--redundancy", "1%", "f"]);
    let damaged = &content[..200_000];
    sandbox.write("f", damaged);
    let refused = sandbox.bad(1, &["repair", "f"]);
    assert!(refused.contains("of 147 shards of 2048 bytes are lost, but only 3 can be repaired"), "{refused}");
    assert!(sandbox.read("f") == damaged);
    sandbox.bad(1, &["repair", "-o", "out", "f"]);
    sandbox.write("f.recovery", &content[..5000]);
    let refused = sandbox.bad(1, &["repair", "f"]);
    assert!(refused.contains("f.recovery: no intact recovery data found"), "{refused}");
    assert!(!sandbox.at("out").exists() && sandbox.read("f") == damaged);
}

#[test]
fn rebuilds_missing_file_if_recovery_data_suffices() {
    let (sandbox, content) = with_file(30_000);
    sandbox.good(&["protect", "-q", "--redundancy", "100%", "f"]);
    sandbox.remove("f");
    let made = json(&sandbox.good(&["repair", "--json", "f"]).text());
    assert_eq!((&made["missing"], &made["lost_shards"]), (&Value::from(true), &made["shards"]));
    assert!(sandbox.read("f") == content);
    sandbox.remove("f");
    assert!(sandbox.good(&["repair", "-o", "-", "f"]).stdout == content && !sandbox.at("f").exists());
    sandbox.good(&["repair", "-q", "--recovery", "f.recovery", "-o", "g", "nowhere"]);
    assert!(sandbox.read("g") == content);
    sandbox.good(&["protect", "-q", "-f", "--redundancy", "10%", "g"]);
    sandbox.remove("g");
    let refused = sandbox.bad(1, &["repair", "g"]);
    assert!(refused.contains("g: does not exist, and g.recovery alone cannot rebuild it"), "{refused}");
    assert!(!sandbox.at("g").exists());
    sandbox.write("g", Random::new(24).noise(30_000));
    let refused = sandbox.bad(1, &["repair", "-f", "g"]);
    assert!(
        refused.contains("g: has nothing in common with the protected file; check that g.recovery is "),
        "{refused}"
    );
    let refused = sandbox.bad(1, &["repair", "none"]);
    assert!(refused.contains("none: cannot open"), "{refused}");
}

#[test]
fn several_files_and_directories_are_protected() {
    let sandbox = sandbox();
    for name in ["a", "d/b", "d/e/c"] {
        sandbox.write(name, name.repeat(3000));
    }
    sandbox.write("d/empty", "");
    sandbox.good(&["protect", "-q", "a", "d"]);
    for name in ["a", "d/b", "d/e/c"] {
        sandbox.good(&["verify", "-q", name]);
    }
    assert!(!sandbox.at("d/empty.recovery").exists());
    // Recovery data is not protected in turn.
    sandbox.good(&["protect", "-q", "-f", "d"]);
    assert!(!sandbox.at("d/b.recovery.recovery").exists());
    // A file that fails does not keep others from being protected.
    sandbox.write("d/new", "new");
    let refused = sandbox.bad(1, &["protect", "-q", "none", "d"]);
    assert!(refused.contains("none: cannot open") && refused.lines().count() == 1, "{refused}");
    sandbox.good(&["verify", "-q", "d/new"]);
    let refused = sandbox.bad(2, &["protect", "-o", "x", "a", "d"]);
    assert!(
        refused.contains("--output: the recovery data of several files cannot be written to one file"),
        "{refused}"
    );
    sandbox.bad(2, &["protect", "-o", "x", "d"]);
}

#[test]
fn recovery_data_that_is_current_stays_and_other_is_an_error() {
    let sandbox = sandbox();
    for name in ["d/b", "d/e/c"] {
        sandbox.write(name, name.repeat(3000));
    }
    sandbox.good(&["protect", "-q", "d"]);
    let before = sandbox.at("d/b.recovery").metadata().unwrap().modified().unwrap();
    sandbox.write("d/new", "new");
    let ran = sandbox.good(&["protect", "d"]);
    assert!(ran.stderr.contains("d/new.recovery") && ran.stderr.ends_with("2 files unchanged\n"), "{ran:?}");
    assert_eq!(sandbox.at("d/b.recovery").metadata().unwrap().modified().unwrap(), before);
    let ran = sandbox.good(&["protect", "d/b"]);
    assert!(ran.stderr.starts_with("d/b: unchanged since d/b.recovery was written, "), "{ran:?}");
    let ran = sandbox.good(&["protect", "--json", "d/b"]);
    assert_eq!(json(&ran.text())["unchanged"], true);
    let force = "; --force replaces it\n";
    let refused = sandbox.bad(1, &["protect", "--redundancy", "50%", "d/b"]);
    assert_eq!(refused, format!("packline: d/b.recovery: has another redundancy{force}"));
    sandbox.damage("d/b", "d/c".repeat(3000));
    let refused = sandbox.bad(1, &["protect", "-q", "d"]);
    let expected = "packline: d/b: is damaged: it differs from the protected file and is not newer than ";
    assert!(refused.starts_with(expected) && refused.lines().count() == 1, "{refused}");
    sandbox.write("d/b", "changed");
    let refused = sandbox.bad(1, &["protect", "-q", "d"]);
    let expected = "packline: d/b.recovery: belongs to an earlier state of the file";
    assert_eq!(refused, format!("{expected}{force}"));
    sandbox.write("d/b.recovery", "something else");
    let refused = sandbox.bad(1, &["protect", "-q", "d"]);
    assert_eq!(refused, format!("packline: d/b.recovery: already exists{force}"));
    sandbox.good(&["protect", "-qf", "d"]);
    sandbox.good(&["verify", "-q", "d/b"]);
}

/// Writes a file, and gives it a time after that of its recovery data.
fn write_later(sandbox: &Sandbox, bytes: &[u8]) {
    let path = sandbox.write("f", bytes);
    let protected = sandbox.at("f.recovery").metadata().unwrap().modified().unwrap();
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(protected + std::time::Duration::from_secs(1)).unwrap();
}

#[test]
fn does_not_revert_changed_file() {
    let (sandbox, content) = with_file(50_000);
    sandbox.good(&["protect", "-q", "f"]);
    let mut newer = content.clone();
    newer[7] ^= 1;
    write_later(&sandbox, &newer);
    let what = "f: differs from the protected file; it was changed after f.recovery was written. \
                If you changed it, protect it again (packline protect -f f); \
                if not, packline repair -f f restores the protected content\n";
    let found = sandbox.run(&["verify", "f"]);
    assert!(found.status == 1 && found.text().starts_with(what), "{found:?}");
    assert_eq!(json(&sandbox.run(&["verify", "--json", "f"]).text())["changed_after_protection"], true);
    assert_eq!(sandbox.bad(1, &["repair", "f"]), format!("packline: {what}"));
    sandbox.shell("cp -p f.recovery r");
    let refused = sandbox.bad(1, &["repair", "--recovery", "r", "f"]);
    assert!(refused.contains("(packline protect -f -o r f)"), "{refused}");
    assert!(refused.contains("packline repair -f --recovery r f restores"), "{refused}");
    assert!(sandbox.read("f") == newer);
    sandbox.good(&["repair", "-q", "-o", "g", "f"]);
    assert!(sandbox.read("g") == content && sandbox.read("f") == newer);
    sandbox.good(&["repair", "-q", "-f", "f"]);
    assert!(sandbox.read("f") == content);
    // An intact file is intact, whatever its time.
    write_later(&sandbox, &content);
    sandbox.good(&["verify", "-q", "f"]);
    sandbox.good(&["repair", "-q", "f"]);
    let other = Random::new(99).noise(60_000);
    write_later(&sandbox, &other);
    let found = sandbox.run(&["verify", "f"]);
    let what = "(packline protect -f f); if not, it is damaged and cannot be repaired\n";
    assert!(found.status == 1 && found.text().contains(what), "{found:?}");
    sandbox.bad(1, &["repair", "-f", "f"]);
    assert!(sandbox.read("f") == other);
    sandbox.good(&["protect", "-qf", "f"]);
    sandbox.good(&["verify", "-q", "f"]);
}

#[test]
fn recovery_data_of_a_device_needs_a_name() {
    let sandbox = sandbox();
    let device = ["device", "b", "7", "250"];
    let made = sandbox.program("mknod", &device).status();
    if !made.is_ok_and(|status| status.success()) {
        tools::skip("needs the right to make device nodes");
        return;
    }
    let refused = sandbox.bad(2, &["protect", "device"]);
    assert!(refused.contains("device: is a block device") && refused.contains("use -o FILE"), "{refused}");
    assert_eq!(sandbox.names(), ["device"]);
}

#[test]
fn outputs_are_files_or_streams() {
    let (sandbox, content) = with_file(50_000);
    sandbox.good(&["protect", "-q", "f"]);
    let streamed = sandbox.good(&["protect", "-o", "-", "f"]);
    assert!(streamed.stdout == sandbox.read("f.recovery"));
    let mut damaged = content.clone();
    damaged[1] ^= 1;
    sandbox.write("f", &damaged);
    sandbox.good(&["repair", "-q", "-o", "g", "f"]);
    assert!(sandbox.good(&["repair", "-o", "-", "f"]).stdout == content);
    assert!(sandbox.read("g") == content && sandbox.read("f") == damaged);
    sandbox.bad(1, &["repair", "-o", "g", "f"]);
    sandbox.good(&["repair", "-q", "-f", "-o", "g", "--recovery", "f.recovery", "f"]);
}
