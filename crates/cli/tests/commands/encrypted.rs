//! Encrypted .pln files: each command that reads them, with keys, passphrases and none; damage; streams; the terminal.

use std::process::Stdio;

use packline_testkit::{Ran, Random, Sandbox, needed_memory, tools};
use serde_json::Value;

use crate::sandbox;

/// A key of age-keygen, used only in tests, and another.
pub const PUBLIC: &str = "age1j7m7v2r9hlr6gqdthwh2eeg804lmxgtkr2g4sc6cgkea9c83uf7sskpzat";
pub const SECRET: &str = "AGE-SECRET-KEY-1MEH7LAAAERF0NYM9XUSTT24YLK7A4Q0SFG236M7SQ804Z30QS74SWDJRQ9";
const OTHER: &str = "AGE-SECRET-KEY-1QCUG5HTACLLTL54E3SVNS0YSKCM244NRSE8X8TLYRQ9H9H9CVDSQ02GU8W";

/// A sandbox with the keys, a file `x`, and it encrypted as `x.pln`.
fn encrypted(options: &[&str]) -> (Sandbox, Vec<u8>) {
    let sandbox = sandbox();
    let content = Random::new(3).prose(700_000);
    sandbox.write("x", &content);
    sandbox.write("key", format!("# a test\n{SECRET}\n").as_bytes());
    sandbox.write("other", OTHER.as_bytes());
    sandbox.write("words", b"correct horse\n");
    sandbox.good(&[&["compress", "-q", "--record-size", "64K", "--recipient", PUBLIC][..], options, &["x"]].concat());
    (sandbox, content)
}

/// Runs a command without a terminal for questions.
fn detached(sandbox: &Sandbox, words: &[&str]) -> Ran {
    let program = env!("CARGO_BIN_EXE_packline");
    Ran::of(sandbox.program("setsid", &[&["-w", program][..], words].concat()).stdin(Stdio::null()))
}

/// `packline cat` of a file that comes through a pipe.
fn from_pipe(sandbox: &Sandbox, name: &str, options: &str) -> Ran {
    from_pipe_with(sandbox, "cat", name, options)
}

/// A command that reads a file through a pipe.
pub fn from_pipe_with(sandbox: &Sandbox, command: &str, name: &str, options: &str) -> Ran {
    let line = format!("cat {name} | {} {command} - --identity key {options}", env!("CARGO_BIN_EXE_packline"));
    Ran::of(&mut sandbox.program("sh", &["-c", &line]))
}

#[test]
fn every_command_that_reads_pln_files_reads_encrypted_ones_with_a_key() {
    let (sandbox, content) = encrypted(&[]);
    let with_key = ["--identity", "other", "--identity", "key"];
    for jobs in ["0", "1", "3"] {
        let words = ["decompress", "-qf", "-j", jobs, "-o", "back", "x.pln"];
        sandbox.good(&[&words[..], &with_key].concat());
        assert!(sandbox.read("back") == content, "{jobs}");
        for (range, expected) in [("..", &content[..]), ("65530..65550", &content[65_530..65_550])] {
            let words = ["cat", "-j", jobs, "--range", range, "x.pln"];
            assert!(sandbox.good(&[&words[..], &with_key].concat()).stdout == expected, "{jobs}, {range}");
            let piped = from_pipe(&sandbox, "x.pln", &format!("-j {jobs} --range {range}"));
            assert!(piped.stdout == expected, "{jobs}, {range}, from a pipe: {}", piped.stderr);
        }
    }
    for words in [&["verify", "x.pln"][..], &["compress", "-t", "x.pln"], &["decompress", "-t", "x.pln"]] {
        sandbox.good(&[words, &with_key].concat());
    }
    let listed = sandbox.good(&[&["compress", "-l", "--json", "x.pln"][..], &with_key].concat()).text();
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["logical_bytes"], 700_000);
}

#[test]
fn without_a_key_only_its_recipients_are_shown() {
    if !tools::need(&["setsid"]) {
        return;
    }
    let (sandbox, _) = encrypted(&["--passphrase-file", "words"]);
    let shown = sandbox.good(&["info", "x.pln"]).text();
    assert!(shown.starts_with("Encrypted:   for 1 age key, 1 passphrase, in chunks of 64.0 KiB\n"), "{shown}");
    assert!(!shown.contains("BLAKE3") && !shown.contains("Record"), "{shown}");
    let object: Value = serde_json::from_str(&sandbox.good(&["info", "--json", "x.pln"]).text()).unwrap();
    assert_eq!(object["encryption"]["passphrases"], 1);
    assert_eq!(object["encryption"]["keys"]["X25519"], 1);
    assert!(object.get("blake3").is_none() && object.get("logical_bytes").is_none());
    let object = sandbox.good(&["info", "--json", "--identity", "key", "x.pln"]).text();
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!((&object["logical_bytes"], &object["encryption"]["chunk_size"]), (&700_000.into(), &65_536.into()));
    assert_eq!(object["physical_bytes"], sandbox.read("x.pln").len());
    for words in
        [&["decompress", "-o", "y", "x.pln"][..], &["cat", "x.pln"], &["verify", "x.pln"], &["compress", "-l", "x.pln"]]
    {
        let ran = detached(&sandbox, words);
        let expected =
            "x.pln: encrypted for 1 age key and 1 passphrase, and no key was given; use --identity FILE or --pass";
        assert!(ran.status == 1 && ran.stderr.contains(expected), "{words:?}: {ran:?}");
        let ran = detached(&sandbox, &[words, &["--identity", "other"]].concat());
        assert!(ran.status == 1 && ran.stderr.contains("none of the given keys opens it"), "{words:?}: {ran:?}");
    }
    assert!(!sandbox.at("y").exists());
    let mem = ["verify", "--mem", "100M", "--passphrase-file", "words", "x.pln"];
    assert!(sandbox.bad(1, &mem).contains("of memory is too little for a passphrase (scrypt), in "));
    sandbox.good(&["verify", "--passphrase-file", "words", "x.pln"]);
}

#[test]
fn passphrases_are_asked_for_on_the_terminal() {
    if !tools::need(&["setsid"]) || !tools::terminal() {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("x", b"content");
    let program = env!("CARGO_BIN_EXE_packline");
    let ask = |words: &str, answers: &str| {
        sandbox.write("answers", answers.as_bytes());
        let line = format!("{program} {words}");
        Ran::of(sandbox.program("script", &["-qec", &line, "/dev/null"]).stdin(sandbox.open("answers")))
    };
    let differ = ask("compress --passphrase x", "one\nanother\n");
    assert!(differ.status == 1 && differ.text().contains("the two passphrases differ"), "{differ:?}");
    let made = ask("compress -q --passphrase x", "some words\nsome words\n");
    assert!(made.status == 0 && made.text().contains("Passphrase: "), "{made:?}");
    let read = ask("decompress -q -o y x.pln", "some words\n");
    assert!(read.status == 0 && sandbox.read("y") == b"content", "{read:?}");
    let again = ask("decompress -qf -o y x.pln", "other words\nsome words\n");
    assert!(again.status == 0 && again.text().contains("Wrong passphrase. Try again: "), "{again:?}");
    let wrong = ask("verify x.pln", "other words\none\nmore\nsome words\n");
    assert!(wrong.status == 1 && wrong.text().contains("packline: x.pln: wrong passphrase\r\n"), "{wrong:?}");
    let given = sandbox.write("given", "other words\n");
    let given = sandbox.refused(&["verify", "--passphrase-file", given.to_str().unwrap(), "x.pln"]);
    assert!(
        given.ends_with("use another --identity or --passphrase-file, or neither, to be asked for the passphrase"),
        "{given}"
    );
    // A bar over the prompt would look like a run that hangs.
    for words in ["decompress -f -o y x.pln", "verify x.pln"] {
        let shown = ask(words, "some words\n").text();
        let before = shown.split("Passphrase: ").next().unwrap();
        assert!(shown.contains("Passphrase: ") && !before.contains("B/s"), "{words}: {shown:?}");
    }
    let none = detached(&sandbox, &["compress", "--passphrase", "-fo", "z.pln", "x"]);
    assert!(none.status == 2 && none.stderr.contains("--passphrase: cannot ask for a passphrase"), "{none:?}");
}

#[test]
fn asks_for_passphrase_of_key() {
    if !tools::need(&["age", "ssh-keygen", "setsid"]) || !tools::terminal() {
        return;
    }
    let (sandbox, content) = encrypted(&[]);
    sandbox.write("answers", b"some words\nsome words\n");
    let program = env!("CARGO_BIN_EXE_packline");
    let on_terminal = |line: &str| {
        let ran = Ran::of(sandbox.program("script", &["-qec", line, "/dev/null"]).stdin(sandbox.open("answers")));
        assert_eq!(ran.status, 0, "{line}: {ran:?}");
        ran.text()
    };
    on_terminal("age -p -o binary key");
    on_terminal("age -p -a -o armored key");
    let asked = on_terminal(&format!("{program} decompress -qfo y --identity binary x.pln"));
    assert!(asked.contains("Passphrase of the identity file binary: ") && sandbox.read("y") == content, "{asked}");
    on_terminal(&format!("age -d armored | {program} decompress -qfo z --identity /dev/stdin x.pln"));
    assert!(sandbox.read("z") == content);
    let words = ["cat", "--identity", "armored", "x.pln"];
    sandbox.write("some-words", b"some words\n");
    let given = detached(&sandbox, &[&words[..], &["--passphrase-file", "some-words"]].concat());
    assert!(given.status == 0 && given.stdout == content, "{}", given.stderr);
    let none = detached(&sandbox, &words);
    assert!(
        none.status == 1 && none.stderr.contains("no passphrase for the identity file armored; give it on a terminal"),
        "{none:?}"
    );

    let arguments = ["-q", "-t", "ed25519", "-N", "some words", "-f", "id"];
    tools::run(&mut sandbox.program("ssh-keygen", &arguments)).unwrap();
    sandbox.good(&["compress", "-qfo", "ssh.pln", "--recipients-file", "id.pub", "x"]);
    let asked = on_terminal(&format!("{program} decompress -qfo y --identity id ssh.pln"));
    assert!(asked.contains("Passphrase of the ssh key id: "), "{asked}");
    let words = ["cat", "--identity", "id", "ssh.pln", "--passphrase-file"];
    assert!(sandbox.good(&[&words[..], &["some-words"]].concat()).stdout == content);
    let wrong = detached(&sandbox, &[&words[..], &["words"]].concat());
    assert!(
        wrong.status == 1 && wrong.stderr.contains("none of the given passphrases is right for the ssh key id; "),
        "{wrong:?}"
    );
}

#[test]
fn reports_damage_and_keeps_intact_records_on_request() {
    let (sandbox, content) = encrypted(&["-c", "none"]);
    let file = sandbox.read("x.pln");
    let key = ["--identity", "key"];
    let mut flipped = file.clone();
    flipped[300_000] ^= 1;
    for (name, bytes) in [("flipped", &flipped[..]), ("cut", &file[..300_000])] {
        sandbox.write(name, bytes);
        let refused = sandbox.bad(1, &[&["decompress", "-o", "y", name][..], &key].concat());
        assert!(refused.contains(&format!("{name}: encrypted chunk 4, at byte ")), "{refused}");
        assert!(!sandbox.at("y").exists());
        sandbox.bad(1, &[&["decompress", "--keep-broken", "-fo", "part", name][..], &key].concat());
        let part = sandbox.read("part");
        assert!(part.len() >= 3 * 65_536 && part[..3 * 65_536] == content[..3 * 65_536], "{name}: {}", part.len());
        // Zeros replace lost records; later content keeps its offset.
        assert!(part.iter().zip(&content).all(|(found, expected)| found == expected || *found == 0), "{name}");
        assert!(name == "cut" || (part.len() == content.len() && part[400_000..] == content[400_000..]), "{name}");
        let verified = sandbox.run(&[&["verify", name][..], &key].concat());
        assert!(verified.status == 1 && verified.text().contains("encrypted chunk 4"), "{verified:?}");
        let streamed = from_pipe(&sandbox, name, "");
        assert!(streamed.status == 1 && content.starts_with(&streamed.stdout), "{name}: {}", streamed.stderr);
    }
    // An intact part can be read from a file with damage elsewhere.
    let words = ["cat", "--range", "500000..500100", "flipped", "--identity", "key"];
    assert!(sandbox.good(&words).stdout == content[500_000..500_100]);
}

#[test]
fn verify_names_every_damaged_range_and_the_records_in_it() {
    let (sandbox, _) = encrypted(&["-c", "none"]);
    let mut damaged = sandbox.read("x.pln");
    let file = damaged.clone();
    for at in [150_000, 200_000, 500_000] {
        damaged[at] ^= 1;
    }
    sandbox.write("damaged", &damaged);
    let words = ["verify", "--identity", "key", "damaged"];
    let text = sandbox.run(&words).text();
    let chunks: Vec<&str> = text.lines().filter(|line| line.contains(": encrypted chunk")).collect();
    assert!(
        chunks.len() == 2 && chunks[0].contains("encrypted chunks 2 to 3, at byte ") && chunks[1].contains("chunk 7,"),
        "{text}"
    );
    assert!(
        text.contains("record 2, at byte ") && text.contains("record 7, at byte ") && !text.contains("record 5"),
        "{text}"
    );
    let lines = sandbox.run(&[&words[..], &["--json"]].concat()).text();
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        found.iter().any(|object| object["part"] == "encrypted chunks 2 to 3" && object["offset"].is_u64()),
        "{lines}"
    );
    let piped = from_pipe_with(&sandbox, "verify", "damaged", "");
    assert!(
        piped.status == 1 && piped.text().contains("chunks 2 to 3") && piped.text().contains("chunk 7,"),
        "{piped:?}"
    );
    // The end, by which a file is read at offsets, and a part that is cut off.
    let mut last = file.clone();
    (last[100_000], last[file.len() - 1]) = (!last[100_000], !last[file.len() - 1]);
    for (bytes, end) in [(&last[..], "chunk 10,"), (&damaged[..600_000], "cut off")] {
        sandbox.write("damaged", bytes);
        let ran = sandbox.run(&words);
        assert!(ran.status == 1 && ran.text().contains(end), "{ran:?}");
        assert!(ran.text().contains("encrypted chunk 1,") || ran.text().contains("chunks 2 to 3"), "{ran:?}");
    }
    sandbox.good(&["verify", "--identity", "key", "x.pln"]);
}

#[test]
fn padded_files_have_few_sizes_and_all_commands_read_them() {
    let (sandbox, content) = encrypted(&["-f", "--pad", "-c", "none"]);
    let key = ["--identity", "key"];
    let size = sandbox.read("x.pln").len();
    sandbox.write("x", &content[..690_000]);
    sandbox.good(&[
        "compress",
        "-qfo",
        "less.pln",
        "-c",
        "none",
        "--pad",
        "--recipient",
        PUBLIC,
        "--record-size",
        "64K",
        "x",
    ]);
    // The wrapped keys have random stanzas.
    assert!(sandbox.read("less.pln").len().abs_diff(size) < 600, "{} and {size}", sandbox.read("less.pln").len());
    sandbox.good(&[&["decompress", "-qfo", "y", "x.pln"][..], &key].concat());
    assert!(sandbox.read("y") == content);
    for (range, expected) in [("..", &content[..]), ("699990..", &content[699_990..]), ("5..9", &content[5..9])] {
        assert!(sandbox.good(&[&["cat", "--range", range, "x.pln"][..], &key].concat()).stdout == expected, "{range}");
        assert!(from_pipe(&sandbox, "x.pln", &format!("--range {range}")).stdout == expected, "{range}, from a pipe");
    }
    sandbox.good(&[&["verify", "x.pln"][..], &key].concat());
    let info = sandbox.good(&[&["info", "--json", "x.pln"][..], &key].concat()).text();
    let info: Value = serde_json::from_str(&info).unwrap();
    assert!(info["encryption"]["padded"] == true && info["physical_bytes"] == size, "{info}");
    // A bit of the padding, at its end and before.
    for before in [30, 5000] {
        let mut damaged = sandbox.read("x.pln");
        damaged[size - before] ^= 1;
        sandbox.write("damaged", &damaged);
        for words in [&["decompress", "-fo", "z", "damaged"][..], &["verify", "damaged"], &["cat", "damaged"]] {
            let ran = sandbox.run(&[words, &key].concat());
            assert!(ran.status == 1 && (ran.text() + &ran.stderr).contains("encrypted chunk 1"), "{words:?}: {ran:?}");
        }
        assert!(!sandbox.at("z").exists());
        let piped = from_pipe(&sandbox, "damaged", "");
        assert!(piped.status == 1 && content.starts_with(&piped.stdout), "{}", piped.stderr);
    }
}

#[test]
fn padding_works_with_pipes_and_recovery_data() {
    let (sandbox, content) = encrypted(&["-f", "--pad", "--recovery", "10%"]);
    let program = env!("CARGO_BIN_EXE_packline");
    let line = format!(
        "cat x | {program} compress -q --recipient {PUBLIC} --pad --recovery 10% --record-size 64K > piped.pln"
    );
    Ran::good(&mut sandbox.program("sh", &["-c", &line]));
    let keyed = |words: &[&str]| sandbox.good(&[words, &["--identity", "key"]].concat());
    for name in ["x.pln", "piped.pln"] {
        assert!(keyed(&["cat", name]).stdout == content && from_pipe(&sandbox, name, "").stdout == content, "{name}");
        keyed(&["verify", name]);
        let mut damaged = sandbox.read(name);
        let physical: Value = serde_json::from_str(&keyed(&["info", "--json", name]).text()).unwrap();
        damaged[physical["physical_bytes"].as_u64().unwrap() as usize - 40] ^= 1;
        sandbox.write("damaged", &damaged);
        let ran = keyed(&["decompress", "-fo", "y", "damaged"]);
        assert!(sandbox.read("y") == content && ran.stderr.contains("is read from a repaired copy"), "{ran:?}");
    }
}

#[test]
fn keeps_memory_limit_without_changing_output() {
    let (sandbox, content) = encrypted(&["--mem", "24M", "-f"]);
    for mem in ["24M", "100M", "1G"] {
        sandbox.good(&["decompress", "-qf", "--mem", mem, "-o", "y", "--identity", "key", "x.pln"]);
        assert!(sandbox.read("y") == content, "{mem}");
    }
    let refused = sandbox.bad(1, &["compress", "-f", "--mem", "13M", "--recipient", PUBLIC, "x"]);
    let needed = needed_memory(&refused);
    sandbox.good(&["compress", "-fq", "--mem", needed, "--recipient", PUBLIC, "x"]);
}

#[test]
fn a_recipients_file_and_a_cache_from_the_environment() {
    let (sandbox, content) = encrypted(&[]);
    sandbox.write("team", format!("# the team\n{PUBLIC}\n\n").as_bytes());
    let words = ["compress", "-qf", "--recipients-file", "team", "x"];
    Ran::good(sandbox.command(&words).env("PACKLINE_CACHE", sandbox.at("cache")));
    assert!(!sandbox.at("cache").exists(), "a cache has records that are not encrypted");
    assert!(sandbox.good(&["cat", "--identity", "key", "x.pln"]).stdout == content);
    sandbox.write("team", b"# no one\n");
    assert!(sandbox.bad(1, &words).contains("team: a list without recipients (expected one a line"));
    sandbox.write("team", b"ssh-ed25519 AAAA\n");
    assert!(sandbox.bad(1, &words).contains("team: line 1: not a valid recipient"));
}

#[test]
fn recovery_data_repairs_encrypted_files() {
    let (sandbox, content) = encrypted(&["-f", "--recovery", "20%"]);
    let file = sandbox.read("x.pln");
    let key = ["--identity", "key"];
    assert!(from_pipe(&sandbox, "x.pln", "").stdout == content, "recovery data is read over");
    assert!(sandbox.good(&["info", "x.pln"]).text().contains("Recovery: "));
    let info: Value =
        serde_json::from_str(&sandbox.good(&["info", "--json", "x.pln", "--identity", "key"]).text()).unwrap();
    assert!(info["recovery"]["recovery_bytes"].as_u64().unwrap() > 0 && info["logical_bytes"] == 700_000);
    sandbox.good(&[&["verify", "x.pln"][..], &key].concat());
    verifies_without_key(&sandbox, "x.pln");
    // The magic, a wrapped key, a chunk, the end of the encrypted part.
    let sealed = info["physical_bytes"].as_u64().unwrap() as usize;
    for at in [2, 60, sealed / 2, sealed - 10] {
        let mut damaged = file.clone();
        damaged[at] ^= 0x55;
        sandbox.write("damaged", &damaged);
        let ran = sandbox.good(&[&["decompress", "-f", "-o", "y", "damaged"][..], &key].concat());
        assert!(sandbox.read("y") == content && ran.stderr.contains("is read from a repaired copy"), "{at}: {ran:?}");
        assert!(sandbox.good(&[&["cat", "damaged"][..], &key].concat()).stdout == content, "{at}");
        sandbox.bad(1, &[&["verify", "damaged"][..], &key].concat());
        assert_eq!(detached(&sandbox, &["verify", "damaged"]).status, 1, "{at}");
        sandbox.good(&["repair", "damaged"]);
        assert!(sandbox.read("damaged") == file, "{at}");
    }
}

#[test]
fn a_host_without_the_key_verifies_a_file_by_its_recovery_data() {
    let (sandbox, _) = encrypted(&[]);
    sandbox.good(&["protect", "-q", "x.pln"]);
    verifies_without_key(&sandbox, "x.pln");
    sandbox.damage("x.pln", sandbox.read("x.pln").iter().rev().copied().collect::<Vec<u8>>());
    assert_eq!(detached(&sandbox, &["verify", "x.pln"]).status, 1);
}

fn verifies_without_key(sandbox: &Sandbox, name: &str) {
    let ran = detached(sandbox, &["verify", name]);
    let note = "only compared with its recovery data; its content was not decrypted, because no key was given";
    assert!(ran.status == 0 && ran.text().contains("intact, unchanged since it was protected"), "{ran:?}");
    assert_eq!(ran.stderr, format!("packline: warning: {name}: {note}\n"));
    let other = detached(sandbox, &["verify", name, "--identity", "other"]);
    assert!(other.status == 1 && other.stderr.contains("none of the given keys opens it"), "{other:?}");
}
