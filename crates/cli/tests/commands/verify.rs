//! The output and the exit status of `packline verify`.

use packline_testkit::Sandbox;

use crate::sandbox;

fn with_image() -> Sandbox {
    let sandbox = sandbox();
    for number in 0..30usize {
        let content: Vec<u8> = (0..20_000 + number).map(|at| (at / 3 * (number + 7)) as u8).collect();
        sandbox.write(format!("source/file {number}"), content);
    }
    sandbox.good(&["pack", "source", "image.sqfs", "-c", "gzip", "-b", "4K", "--quiet"]);
    sandbox
}

/// The status, and both streams.
fn verify(sandbox: &Sandbox, options: &[&str]) -> (i32, String) {
    let ran = sandbox.run(&[&["verify", "image.sqfs"], options].concat());
    (ran.status, ran.text() + &ran.stderr)
}

#[test]
fn a_sound_image_is_reported_with_status_0() {
    let sandbox = with_image();
    for options in [&[][..], &["--notes"], &["-j", "0"], &["-j", "3", "--mem", "64M"], &["--offset", "0"]] {
        let (status, output) = verify(&sandbox, options);
        assert_eq!(status, 0, "{}", output);
        assert!(output.contains(": sound\n30 files, 1 directory\n"), "{}", output);
    }
    let (status, output) = verify(&sandbox, &["--quiet"]);
    assert_eq!((status, output), (0, String::new()));
}

#[test]
fn damage_is_named_with_file_and_offset() {
    let sandbox = with_image();
    let mut bytes = sandbox.read("image.sqfs");
    // The first data block follows the superblock.
    bytes[96 + 30] ^= 1;
    sandbox.write("image.sqfs", &bytes);
    let (status, output) = verify(&sandbox, &[]);
    let line = "image.sqfs: file 0: gzip: bad compressed data of ";
    assert!(output.starts_with(line) && output.contains(", in the block at byte 96\n"), "{}", output);
    assert!(output.contains(": 1 fault\n"), "{}", output);
    assert_eq!(status, 1);

    let (status, output) = verify(&sandbox, &["--json"]);
    let lines: Vec<serde_json::Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        (&lines[0]["path"], &lines[0]["offset"], &lines[0]["finding"]),
        (&"file 0".into(), &96.into(), &"fault".into())
    );
    assert_eq!((&lines[1]["faults"], &lines[1]["files"]), (&1.into(), &30.into()));
    assert_eq!(status, 1);

    let (status, output) = verify(&sandbox, &["--quiet"]);
    assert_eq!((status, output.lines().count()), (1, 1));
}

#[test]
fn a_fault_of_many_directories_is_printed_once() {
    let sandbox = sandbox();
    for number in 0..500 {
        sandbox.write(format!("source/{number:03}/f"), "x");
    }
    sandbox.good(&["pack", "-q", "source", "image.sqfs", "-c", "gzip"]);
    let mut bytes = sandbox.read("image.sqfs");
    // The superblock has the offset of the directory table at byte 72. The root's listing is not in the first block of the table.
    let table = u64::from_le_bytes(bytes[72..80].try_into().unwrap());
    bytes[table as usize + 20] ^= 1;
    sandbox.write("image.sqfs", &bytes);
    let (status, output) = verify(&sandbox, &["--json"]);
    let lines: Vec<serde_json::Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let paths: Vec<&str> = lines.iter().filter_map(|line| line["path"].as_str()).collect();
    let faults = lines.len() as u64 - 1;
    assert!(status == 1 && faults > 300 && paths.len() > 300, "{output}");
    assert_eq!(lines[faults as usize]["faults"], faults);

    let (status, output) = verify(&sandbox, &[]);
    let further = format!(
        " more entries have the fault at byte {table}: {}, {}, {}, ...; --json lists all\n",
        paths[0], paths[1], paths[2]
    );
    assert!(output.contains(&further) && output.contains(&format!("image.sqfs: {faults} faults\n")), "{output}");
    assert_eq!((status, output.matches("does not decompress").count()), (1, 1), "{output}");
}

#[test]
fn inodes_without_a_name_after_a_broken_inode_are_printed_once() {
    let sandbox = sandbox();
    for number in 0..200 {
        sandbox.write(format!("source/d/{number:03}"), "x");
    }
    sandbox.good(&["pack", "-q", "source", "image.sqfs", "-c", "none"]);
    let mut bytes = sandbox.read("image.sqfs");
    // The superblock has the offset of the inode table at byte 64. The inode of a small file has 32 bytes and begins with its type.
    let table = u64::from_le_bytes(bytes[64..72].try_into().unwrap());
    bytes[table as usize + 2 + 100 * 32] = 0xff;
    sandbox.write("image.sqfs", &bytes);
    let (status, output) = verify(&sandbox, &["--json"]);
    let unnamed = output.matches(" without a name").count();
    assert!(status == 1 && unnamed > 50, "{output}");

    let (status, output) = verify(&sandbox, &[]);
    let further =
        format!("{} more faults like 'inode 1 without a name' at byte {table}; --json lists all\n", unnamed - 1);
    assert!(status == 1 && output.contains(&further), "{output}");
    assert_eq!(output.matches(" without a name").count(), 2, "{output}");
}

#[test]
fn notes_are_printed_when_asked_for() {
    let sandbox = with_image();
    let bytes = [sandbox.read("image.sqfs"), b"more".to_vec()].concat();
    sandbox.write("image.sqfs", &bytes);
    let (_, output) = verify(&sandbox, &[]);
    assert!(output.starts_with("image.sqfs: sound, 1 note (--notes prints it)\n"), "{}", output);
    let (status, output) = verify(&sandbox, &["--notes"]);
    assert!(output.contains("note: ") && output.contains("bytes after the image"), "{}", output);
    assert_eq!(status, 0);
}

#[test]
fn data_without_a_checksum_is_named_with_status_0() {
    let sandbox = with_image();
    let unseen =
        ": sound; the image has no checksum of its data, so changed content cannot be found\n30 files, 1 directory\n";
    let cases = [
        (&["-c", "none"][..], unseen),
        (&["-c", "zstd", "--no-pad"], unseen),
        (&["-c", "lz4", "--pad", "1"], unseen),
        (&["-c", "zstd"], ": sound\n30 files, 1 directory\n"),
        // zlib has a checksum.
        (&["-c", "gzip", "--no-pad"], ": sound\n30 files, 1 directory\n"),
    ];
    for (options, expected) in cases {
        sandbox.good(&[&["pack", "-qf", "source", "image.sqfs", "-b", "4K"], options].concat());
        let (status, output) = verify(&sandbox, &[]);
        assert!(status == 0 && output.contains(expected), "{options:?}: {output}");
        let (status, output) = verify(&sandbox, &["--json"]);
        let totals: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!((status, totals["unchecked_blocks"] != 0), (0, expected == unseen), "{options:?}: {output}");
    }
}

#[test]
fn stored_blocks_without_a_checksum_are_counted() {
    let sandbox = with_image();
    sandbox.write("source/noise", packline_testkit::Random::new(3).noise(8192));
    sandbox.good(&["pack", "-qf", "source", "image.sqfs", "-b", "4K", "-c", "gzip", "--no-pad"]);
    let (status, output) = verify(&sandbox, &[]);
    assert!(status == 0 && output.contains(": sound; 2 of "), "{output}");
    assert!(output.contains(" blocks have no checksum, so changes in them cannot be found\n"), "{output}");
}

#[test]
fn what_is_not_an_image_is_a_failure() {
    let sandbox = with_image();
    let (status, output) = verify(&sandbox, &["--mem", "1M"]);
    assert_eq!(status, 1, "{output}");
    sandbox.write("image.sqfs", vec![7; 5000]);
    let (status, output) = verify(&sandbox, &[]);
    assert_eq!(status, 1, "{output}");
}
