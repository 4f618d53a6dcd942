//! .pln files: round trips with every codec, pipes, ranges, damaged and truncated files.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use packline_testkit::http_cache::HttpCache;
use packline_testkit::{Ran, Random, Sandbox};
use serde_json::Value;

use crate::sandbox;

/// Runs `one | other`, in a pipe.
fn piped(sandbox: &Sandbox, input: &str, one: &[&str], other: &[&str]) -> Vec<u8> {
    let mut first = sandbox.command(one).stdin(sandbox.open(input)).stdout(Stdio::piped()).spawn().unwrap();
    let second = Ran::good(sandbox.command(other).stdin(first.stdout.take().unwrap()));
    assert!(first.wait().unwrap().success(), "{one:?}");
    second.stdout
}

/// Records of all kinds: text, noise, zeros, and content that ends in zeros.
fn content() -> Vec<u8> {
    let words = (0u32..).flat_map(|number| format!("{} ", number.wrapping_mul(2_654_435_761) >> 22).into_bytes());
    let mut bytes: Vec<u8> = words.take(150_000).collect();
    bytes.extend(Random::new(1).noise(70_000));
    bytes.resize(400_000, 0);
    bytes.extend_from_slice(b"the end, but for zeros");
    bytes.resize(431_234, 0);
    bytes
}

/// Each codec, and combinations.
const CODINGS: &[&str] = &[
    "none",
    "slack",
    "zle",
    "huff0",
    "lz4",
    "lz4hc:level=3",
    "lzo:level=1",
    "gzip:level=1",
    "bzip2:level=1",
    "xz:level=0",
    "lzma:level=0",
    "zstd:level=1",
    "slack+lz4",
    "slack+zle",
    "slack+huff0",
    "slack+zstd:level=3",
    "slack+xz:level=0",
    "auto",
];

#[test]
fn a_cache_finds_the_records_that_did_not_change() {
    let sandbox = sandbox();
    let server = HttpCache::start().unwrap();
    let a = Random::new(5).prose(400_000);
    let b = Random::new(6).prose(300_000);
    sandbox.write("a", &a);
    sandbox.write("b", &b);
    let both = format!("cache,{}", server.url());
    let compress = |files: &[&str], cache: &str| {
        let words = ["compress", "-f", "--json", "--record-size", "64K", "-c", "xz:level=1", "--cache", cache];
        let ran = sandbox.good(&[&words[..], files].concat());
        let objects = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
        let number = |object: &Value, name: &str| object["cache"][name].as_u64().unwrap();
        objects.iter().map(|object| ["found", "missed", "added"].map(|name| number(object, name))).collect::<Vec<_>>()
    };
    assert_eq!(compress(&["a"], &both), [[0, 7, 7]]);
    let expected = sandbox.read("a.pln");
    assert_eq!(compress(&["a", "b"], &both), [[7, 0, 0], [0, 5, 5]]);
    assert!(sandbox.read("a.pln") == expected);
    sandbox.good(&["compress", "-fq", "--record-size", "64K", "-c", "xz:level=1", "a"]);
    assert!(sandbox.read("a.pln") == expected);
    // Another machine; one record changes, and one is added.
    let changed = [&a[..100_000], b"changed", &a[100_007..], &b[..100]].concat();
    sandbox.write("a", &changed);
    assert_eq!(compress(&["a"], &format!("other,{}", server.url())), [[5, 2, 7]]);
    let ran = sandbox.good(&["compress", "-f", "--cache", "cache", "a"]);
    assert!(ran.stderr.contains("cache: 0 of 1 block found, 1 added"), "{ran:?}");
    for words in [["compress", "-d", "a.pln"], ["compress", "-t", "a.pln"], ["compress", "-l", "a.pln"]] {
        assert!(sandbox.bad(2, &[&words[..], &["--cache", "cache"]].concat()).contains("--cache: has no effect"));
    }
}

#[test]
fn every_coding_comes_back_the_same_with_any_number_of_threads() {
    let sandbox = sandbox();
    let plain = content();
    sandbox.write("x", &plain);
    for coding in CODINGS {
        let pack = |threads: &str, name: &str| {
            sandbox.good(&["compress", "-c", coding, "--record-size", "64K", "-T", threads, "-q", "-o", name, "x"]);
            sandbox.read(name)
        };
        let packed = pack("1", "1.pln");
        assert!(packed == pack("2", "2.pln") && packed == pack("7", "7.pln"), "{coding}: threads make a difference");
        assert!(*coding == "none" || packed.len() < plain.len(), "{coding}: {}", packed.len());
        sandbox.good(&["decompress", "-T2", "-q", "1.pln", "-o", "back"]);
        assert!(sandbox.read("back") == plain, "{coding}");
        assert!(sandbox.good(&["decompress", "-T1", "--stdout", "7.pln"]).stdout == plain, "{coding}");
        for name in ["back", "1.pln", "2.pln", "7.pln"] {
            sandbox.remove(name);
        }
    }
}

#[test]
fn levels_are_codings_and_a_list_of_codings_takes_the_best() {
    let sandbox = sandbox();
    sandbox.write("x", content());
    let size = |words: &[&str]| {
        sandbox.good(&[&["compress", "-qf", "x"], words].concat());
        sandbox.read("x.pln").len()
    };
    assert_eq!(size(&["-7"]), size(&["-c", "slack+zstd:level=7"]));
    assert_eq!(size(&["--level=3"]), size(&[]));
    assert!(size(&["-12"]) < size(&["-1"]));
    let small = ["--record-size", "16K"];
    let each = ["slack", "slack+huff0", "bzip2"].map(|coding| size(&[&small[..], &["-c", coding]].concat()));
    let all = size(&[&small[..], &["-c", "slack", "-c", "slack+huff0", "-c", "bzip2"]].concat());
    assert!(each.iter().all(|one| all < *one), "{all} of {each:?}");
    assert!(size(&["--record-size", "4K"]) > size(&["--record-size", "16M"]));
}

#[test]
fn streams_and_files_give_same_bytes() {
    let sandbox = sandbox();
    let plain = content();
    sandbox.write("x", &plain);
    sandbox.good(&["compress", "-q", "x"]);
    let packed = sandbox.read("x.pln");
    assert!(sandbox.good(&["compress", "--stdout", "x"]).stdout == packed);
    assert!(sandbox.good_on(&["compress"], "x").stdout == packed);
    assert!(piped(&sandbox, "x", &["compress", "-"], &["decompress"]) == plain);
    assert!(piped(&sandbox, "x", &["compress", "-T7"], &["compress", "-dT1", "--stdout"]) == plain);
    assert!(piped(&sandbox, "x.pln", &["decompress", "-"], &["compress", "--stdout", "-"]) == packed);
    sandbox.good_on(&["decompress", "-q", "-o", "back"], "x.pln");
    assert!(sandbox.read("back") == plain);
    sandbox.write("empty", b"");
    assert!(piped(&sandbox, "empty", &["compress"], &["decompress"]).is_empty());
}

#[test]
fn ranges_are_those_of_the_content() {
    let sandbox = sandbox();
    let plain = content();
    sandbox.write("x", &plain);
    sandbox.good(&["compress", "-q", "--record-size", "32K", "x"]);
    let end = plain.len();
    for (range, expected) in [
        ("0..1", 0..1),
        ("..100", 0..100),
        ("32767..32769", 32_767..32_769),
        ("100000..300000", 100_000..300_000),
        ("64K..128K", 65_536..131_072),
        ("431000..", 431_000..end),
        ("..", 0..end),
        ("7..7", 7..7),
    ] {
        let printed = sandbox.good(&["cat", "--range", range, "x.pln"]).stdout;
        assert!(printed == plain[expected.clone()], "{range}: {} bytes", printed.len());
        let words = ["cat", "--range", range, "-j", "1", "-"];
        let streamed = sandbox.good_on(&words, "x.pln").stdout;
        assert!(streamed == plain[expected], "{range} of a stream: {} bytes", streamed.len());
    }
    assert!(sandbox.good(&["cat", "x.pln"]).stdout == plain);
    let beyond = sandbox.bad(1, &["cat", "--range", "431000..500000", "x.pln"]);
    assert!(beyond.contains("431234"), "{beyond}");
    for wrong in ["5", "a..b", "-1..5", "9..3"] {
        sandbox.bad(2, &["cat", &format!("--range={wrong}"), "x.pln"]);
    }
}

#[test]
fn reads_truncated_file_up_to_its_end() {
    let sandbox = sandbox();
    let plain = content();
    sandbox.write("x", &plain);
    sandbox.good(&["compress", "-q", "-c", "lz4", "--record-size", "16K", "x"]);
    let packed = sandbox.read("x.pln");
    for cut in [packed.len() - 1, packed.len() / 2, 300] {
        sandbox.write("cut.pln", &packed[..cut]);
        let ran = sandbox.run(&["decompress", "--stdout", "cut.pln"]);
        let got = ran.stdout;
        let message = ran.stderr;
        assert_eq!(ran.status, 1);
        assert!(message.contains(&format!("cut off at byte {cut}")), "{message}");
        // Whole records, and all content if only the end of the file is missing.
        assert!(
            plain.starts_with(&got) && (got.len().is_multiple_of(16 << 10) || got == plain),
            "{cut}: {}",
            got.len()
        );
        assert_eq!(got.is_empty(), cut == 300);
        assert!(sandbox.bad(1, &["decompress", "cut.pln"]).contains("cut off"));
        assert!(!sandbox.names().contains(&"cut".to_string()));
        sandbox.bad(1, &["decompress", "--keep-broken", "cut.pln"]);
        assert!(sandbox.read("cut") == got, "{cut}");
        sandbox.remove("cut");
    }
}

#[test]
fn keeps_records_after_damage_at_their_offsets() {
    let sandbox = sandbox();
    let size = 4 << 10;
    let mut plain = Random::new(3).noise(10 * size);
    // A hole at the end, and one in the middle.
    plain[4 * size..5 * size].fill(0);
    plain.extend(vec![0; 3 * size]);
    sandbox.write("x", &plain);
    sandbox.good(&["compress", "-q", "--record-size", "4K", "x"]);
    let packed = sandbox.read("x.pln");
    let place = |needle: &[u8]| packed.windows(16).position(|window| window == needle).unwrap();
    // Noise is stored: so the place of records 2 and 7 is known.
    for damaged in [&[2][..], &[7], &[2, 7], &[9]] {
        let mut bad = packed.clone();
        let mut expected = plain.clone();
        for &record in damaged {
            bad[place(&plain[record * size..record * size + 16]) + 20] ^= 1;
            expected[record * size..(record + 1) * size].fill(0);
        }
        sandbox.write("bad.pln", &bad);
        let refused = sandbox.bad(1, &["decompress", "--keep-broken", "-fo", "out", "bad.pln"]);
        let lost = damaged.len() * size;
        assert!(
            refused.contains(&format!("{} bytes of its content are intact; {lost} are lost", plain.len() - lost)),
            "{refused}"
        );
        assert!(refused.contains(&format!("record {}", damaged[0])), "{refused}");
        assert!(sandbox.read("out") == expected, "{damaged:?}");
        let streamed = sandbox.run(&["decompress", "--keep-broken", "--stdout", "bad.pln"]);
        assert!(streamed.status == 1 && streamed.stdout == expected, "{damaged:?}");
    }
}

#[test]
fn reports_flipped_bits() {
    let sandbox = sandbox();
    sandbox.write("x", content());
    sandbox.good(&["compress", "-q", "--record-size", "64K", "x"]);
    let packed = sandbox.read("x.pln");
    for (at, bit) in [(5, 3), (40, 0), (1000, 7), (packed.len() / 2, 2), (packed.len() - 9, 5)] {
        let mut bad = packed.clone();
        bad[at] ^= 1 << bit;
        sandbox.write("bad.pln", &bad);
        let message = sandbox.bad(1, &["compress", "-t", "bad.pln"]);
        let found = if at < 8 { "is not a .pln file" } else { "byte" };
        assert!(message.starts_with("packline: bad.pln: ") && message.contains(found), "{at}: {message}");
    }
    let mut bad = packed.clone();
    bad[packed.len() / 2] ^= 1;
    sandbox.write("bad.pln", &bad);
    let ran = sandbox.run(&["verify", "bad.pln"]);
    let text = ran.text();
    assert!(ran.status == 1 && text.contains("bad.pln: record ") && text.contains(", at byte "), "{text}");
    let ran = sandbox.run(&["verify", "--json", "bad.pln"]);
    let lines: Vec<serde_json::Value> = ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["part"].as_str().unwrap().starts_with("record "), "{lines:?}");
    assert!(lines[0]["offset"].as_u64().unwrap() <= packed.len() as u64 / 2, "{lines:?}");
    assert!(lines.last().unwrap()["faults"].as_u64().unwrap() > 0, "{lines:?}");
}

#[test]
fn rejects_non_pln_files_without_output() {
    let sandbox = sandbox();
    sandbox.write("rubbish.pln", b"this is no such file, whatever its name says");
    sandbox.write("short.pln", b"\x8bPL");
    sandbox.write("empty.pln", b"");
    for name in ["rubbish.pln", "short.pln", "empty.pln"] {
        for words in [&["decompress", name][..], &["compress", "-d", name], &["decompress", "-t", name]] {
            let message = sandbox.bad(1, words);
            assert!(message.starts_with(&format!("packline: {name}: ")), "{message}");
        }
    }
    assert!(sandbox.bad(1, &["decompress", "missing.pln"]).contains("missing.pln: cannot open"));
    assert!(sandbox.bad(1, &["compress", "."]).contains("directory"));
    sandbox.write("x", b"content");
    assert!(sandbox.bad(1, &["decompress", "x"]).contains("does not end in '.pln'"));
    assert_eq!(sandbox.names(), ["empty.pln", "rubbish.pln", "short.pln", "x"]);
}

#[test]
fn files_are_kept_replaced_and_removed_as_asked() {
    let sandbox = sandbox();
    sandbox.write("x", b"content");
    sandbox.good(&["compress", "-k", "x"]);
    let message = sandbox.bad(1, &["compress", "-9", "x"]);
    assert!(message.contains("x.pln: already exists; --force"), "{message}");
    sandbox.good(&["compress", "--rm", "-f", "x"]);
    assert_eq!(sandbox.names(), ["x.pln"]);
    let message = sandbox.good(&["compress", "x.pln"]).stderr;
    assert!(message.contains("already has the suffix"), "{message}");
    sandbox.good(&["decompress", "--rm", "-k", "x.pln"]);
    assert_eq!(sandbox.names(), ["x", "x.pln"]);
    assert!(sandbox.bad(1, &["decompress", "x.pln"]).contains("already exists"));
    let message = sandbox.bad(2, &["decompress", "-o", "y", "-o", "z", "x.pln"]);
    assert!(message.contains("--output: was given more than once"), "{message}");
    sandbox.write("y", b"more");
    let message = sandbox.bad(1, &["compress", "--rm", "x", "missing", "y"]);
    assert!(message.contains("x.pln: already exists") && message.contains("missing: cannot open"), "{message}");
    assert_eq!(sandbox.names(), ["x", "x.pln", "y.pln"]);
    sandbox.good(&["decompress", "-f", "--rm", "x.pln", "y.pln"]);
    assert_eq!((sandbox.read("x"), sandbox.read("y")), (b"content".to_vec(), b"more".to_vec()));
    for words in [["compress", "-f", "-o", "x", "x"], ["compress", "-f", "-o", "./x", "x"]] {
        assert!(sandbox.bad(1, &words).contains("is the input itself"));
    }
}

#[test]
fn recursion_skips_compressed_files_and_continues_after_errors() {
    let sandbox = sandbox();
    sandbox.write("d/a", b"content");
    sandbox.good(&["compress", "-rq", "d"]);
    sandbox.write("d/b", b"more");
    let ran = sandbox.run(&["compress", "-r", "d"]);
    assert!(ran.status == 1 && ran.stderr.contains("packline: d/a.pln: already exists; --force"), "{ran:?}");
    assert!(ran.stderr.contains("1 file skipped: the name already ends in .pln\n"), "{ran:?}");
    assert_eq!(sandbox.names_in("d"), ["a", "a.pln", "b", "b.pln"]);
    let stderr = sandbox.good(&["compress", "-r", "-f", "d"]).stderr;
    assert!(stderr.contains("2 files skipped: the name already ends in .pln\n"), "{stderr}");
    assert_eq!(sandbox.names_in("d"), ["a", "a.pln", "b", "b.pln"]);
    // The same where a shell names all files.
    sandbox.write("d/c", b"new");
    let ran = sandbox.run(&["compress", "d/a", "d/a.pln", "d/b", "d/b.pln", "d/c"]);
    assert!(ran.status == 1 && ran.stderr.contains("d/b.pln: already exists"), "{ran:?}");
    assert!(ran.stderr.contains("d/b.pln: already has the suffix .pln, skipped\n"), "{ran:?}");
    sandbox.good(&["compress", "-q", "-o", "d/e.pln.pln", "d/c.pln"]);
    fs::rename(sandbox.at("d/c.pln"), sandbox.at("d/e.pln")).unwrap();
    let ran = sandbox.run(&["decompress", "-r", "d"]);
    assert!(ran.status == 1 && ran.stderr.contains("d/a: already exists"), "{ran:?}");
    assert!(ran.stderr.contains("d/e.pln: already exists"), "{ran:?}");
    assert_eq!(sandbox.read("d/e"), b"new");
}

#[test]
fn keeps_permissions_and_time() {
    let sandbox = sandbox();
    sandbox.write("x", b"content");
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_007);
    fs::set_permissions(sandbox.at("x"), fs::Permissions::from_mode(0o640)).unwrap();
    File::options().write(true).open(sandbox.at("x")).unwrap().set_modified(time).unwrap();
    sandbox.good(&["compress", "--rm", "x"]);
    sandbox.good(&["decompress", "--rm", "x.pln"]);
    let about = fs::metadata(sandbox.at("x")).unwrap();
    assert_eq!((about.mode() & 0o7777, about.mtime()), (0o640, 1_000_000_007));
}

#[test]
fn summaries_match_files() {
    let sandbox = sandbox();
    let plain = content();
    sandbox.write("x", &plain);
    let words = ["compress", "--json", "-c", "slack+lz4", "--record-size", "128K", "-T2", "--mem", "200M", "x"];
    let made: serde_json::Value = serde_json::from_slice(&sandbox.good(&words).stdout).unwrap();
    let size = sandbox.read("x.pln").len();
    assert_eq!(
        (&made["file"], &made["output"], &made["codings"][0]),
        (&"x".into(), &"x.pln".into(), &"slack+lz4".into())
    );
    assert_eq!((&made["logical_bytes"], &made["physical_bytes"]), (&plain.len().into(), &size.into()));
    assert_eq!((&made["records"], &made["record_size"]), (&4.into(), &131_072.into()));
    let info: serde_json::Value = serde_json::from_slice(&sandbox.good(&["info", "--json", "x.pln"]).stdout).unwrap();
    assert_eq!((&info["blake3"], &info["physical_bytes"]), (&made["blake3"], &made["physical_bytes"]));
    let kinds = info["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|kind| kind["records"].as_u64().unwrap()).sum::<u64>(), 4);
    assert!(kinds.iter().any(|kind| kind["coding"] == "slack+lz4"), "{info}");
    let text = sandbox.good(&["info", "x.pln"]).text();
    assert!(text.contains(made["blake3"].as_str().unwrap()) && text.contains("slack+lz4"), "{text}");
    let sound: serde_json::Value =
        serde_json::from_slice(&sandbox.good(&["verify", "--json", "x.pln"]).stdout).unwrap();
    assert_eq!((&sound["faults"], &sound["blake3"]), (&0.into(), &made["blake3"]));
    let tested = sandbox.good(&["decompress", "-t", "--json", "x.pln"]).stdout;
    let tested: serde_json::Value = serde_json::from_slice(&tested).unwrap();
    assert_eq!((&tested["bytes"], &tested["output"]), (&plain.len().into(), &serde_json::Value::Null));
    assert_eq!(tested["blake3"], made["blake3"]);
}

#[test]
fn summaries_go_to_standard_error_unless_suppressed() {
    let sandbox = sandbox();
    sandbox.write("x", content());
    let stderr = |words: &[&str]| sandbox.good(words).stderr;
    assert!(stderr(&["compress", "-f", "x"]).starts_with("x: "));
    assert!(stderr(&["compress", "-f", "-v", "--no-progress", "x"]).contains("BLAKE3"));
    assert_eq!(stderr(&["compress", "-fq", "x"]), "");
    assert_eq!(stderr(&["compress", "--stdout", "x"]), "");
    assert!(stderr(&["compress", "--stdout", "-v", "x"]).starts_with("x: "));
    assert!(stderr(&["decompress", "-f", "x.pln"]).contains(" => x, "));
    assert!(stderr(&["decompress", "-t", "x.pln"]).contains("sound"));
    assert_eq!(stderr(&["decompress", "-tq", "x.pln"]), "");
    sandbox.good(&["verify", "-q", "x.pln"]);
}

#[test]
fn too_little_memory_is_refused_and_enough_makes_the_same() {
    let sandbox = sandbox();
    sandbox.write("x", content());
    sandbox.good(&["compress", "-q", "-o", "usual.pln", "x"]);
    sandbox.good(&["compress", "-q", "--mem", "256M", "-o", "less.pln", "x"]);
    assert!(sandbox.read("usual.pln") == sandbox.read("less.pln"));
    for words in [&["compress", "--mem", "1M", "x"][..], &["decompress", "--mem", "1M", "-o", "y", "usual.pln"]] {
        let message = sandbox.bad(1, words);
        assert!(message.contains("memory") && message.contains("--mem"), "{message}");
    }
    assert_eq!(sandbox.names(), ["less.pln", "usual.pln", "x"]);
}
