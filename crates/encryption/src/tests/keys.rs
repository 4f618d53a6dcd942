//! Keys: several of each kind, wrong ones, and keys of other programs.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use packline_testkit::tools;

use super::support::{SMALL, at_offsets, content, head_of, pair, passphrase, sealed};
use crate::{Error, Identities, Recipients};

fn with_passphrases(recipients: &mut Recipients, passphrases: &[&str]) {
    recipients.set_test_work(4);
    passphrases.iter().for_each(|text| recipients.add_passphrase(passphrase(text)));
}

#[test]
fn every_key_and_passphrase_opens_the_file() {
    let pairs = [pair(), pair(), pair()];
    let mut recipients = Recipients::default();
    pairs[..2].iter().for_each(|pair| recipients.add_key(&pair.public).unwrap());
    recipients.add_list(&format!("# a list\n\n{}\n", pairs[2].public)).unwrap();
    with_passphrases(&mut recipients, &["one", "two ö"]);
    let content = content(10_000);
    let file = sealed(&recipients, &content, SMALL);
    assert_eq!(head_of(&file).made_for().unwrap().to_string(), "3 age keys and 2 passphrases");
    for pair in &pairs {
        assert!(at_offsets(&file, &pair.identities()).unwrap() == content);
    }
    for text in ["one", "two ö"] {
        let mut identities = Identities::default();
        identities.add_passphrase(passphrase("wrong"));
        identities.add_passphrase(passphrase(text));
        assert!(at_offsets(&file, &identities).unwrap() == content);
    }
}

#[test]
fn wrong_key_and_no_key_are_different_errors() {
    let mut recipients = pair().recipients();
    with_passphrases(&mut recipients, &["right"]);
    let file = sealed(&recipients, b"content", SMALL);
    let error = at_offsets(&file, &Identities::default()).unwrap_err();
    assert_eq!(error.to_string(), "encrypted for 1 age key and 1 passphrase, and no key was given");
    let mut wrong = pair().identities();
    wrong.add_passphrase(passphrase("wrong"));
    let error = at_offsets(&file, &wrong).unwrap_err();
    let expected = "encrypted for 1 age key and 1 passphrase, and none of the given keys opens it";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn asks_for_a_passphrase_only_without_keys() {
    let pair = pair();
    let mut recipients = pair.recipients();
    with_passphrases(&mut recipients, &["right", "other"]);
    let file = sealed(&recipients, b"content", SMALL);
    let ask = |answer: Option<&'static str>| {
        let asked = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let count = asked.clone();
        let ask: crate::Ask = Arc::new(move |_| {
            count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            answer.map(passphrase)
        });
        (ask, asked)
    };
    for (answer, opens) in [(Some("right"), true), (Some("other"), true), (Some("x"), false), (None, false)] {
        let (ask, asked) = ask(answer);
        let mut identities = Identities::default();
        identities.set_ask(ask);
        let opened = at_offsets(&file, &identities);
        let times = if opens || answer.is_none() { 1 } else { 3 };
        assert_eq!((opened.is_ok(), asked.load(std::sync::atomic::Ordering::SeqCst)), (opens, times), "{answer:?}");
        assert!(opens || matches!(opened, Err(Error::WrongPassphrase | Error::NoKey(_))));
    }
    // The second answer is right.
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let prompts = asked.clone();
    let mut identities = Identities::default();
    identities.set_ask(Arc::new(move |prompt| {
        let mut prompts = prompts.lock().unwrap();
        prompts.push(prompt.to_owned());
        Some(passphrase(if prompts.len() == 2 { "right" } else { "wrong" }))
    }));
    at_offsets(&file, &identities).unwrap();
    assert_eq!(*asked.lock().unwrap(), ["Passphrase", "Wrong passphrase. Try again"]);
    let (ask, asked) = ask(Some("right"));
    let mut identities = pair.identities();
    identities.set_ask(ask);
    at_offsets(&file, &identities).unwrap();
    assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn rejects_invalid_keys_without_showing_them() {
    let mut recipients = Recipients::default();
    let secret = pair().secret;
    let weak = "ssh-dss AAAAB3NzaC1kc3MAAACBAP";
    for text in ["", "age1", "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq", secret.as_str(), weak, "ssh-rsa x", "\u{1b}[2J"] {
        let error = recipients.add_key(text).unwrap_err().to_string();
        assert!(error.contains("expected") && !error.contains("AGE-SECRET") && !error.contains('\u{1b}'), "{error}");
    }
    assert!(recipients.add_list("# none\n").is_err() && recipients.is_empty());
    let error = recipients.add_list(&format!("{}\n\nx", pair().public)).unwrap_err();
    assert!(error.to_string().starts_with("line 3: "), "{error}");
    let mut identities = Identities::default();
    for file in [
        &b""[..],
        b"# none\n",
        b"AGE-SECRET-KEY-1QQQ",
        b"\xff",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nx",
        b"age-encryption.org/v1\n",
        b"-----BEGIN AGE ENCRYPTED FILE-----\nAA",
    ] {
        let error = identities.add_file(file, "x").unwrap_err().to_string();
        assert!(error.contains("expected") && !error.contains("QQQ"), "{error}");
    }
    assert!(identities.is_empty());
}

#[test]
fn debug_output_shows_no_secrets() {
    let pair = pair();
    let mut recipients = pair.recipients();
    with_passphrases(&mut recipients, &["hidden"]);
    let mut identities = pair.identities();
    identities.add_passphrase(passphrase("hidden"));
    let sealing = crate::Sealing::new(&recipients, super::support::chunk(SMALL), None).unwrap();
    let key = crate::cipher::FileKey::random().unwrap();
    let shown = format!("{recipients:?} {identities:?} {sealing:?} {key:?} {:?}", key.payload(b""));
    assert_eq!(
        shown,
        "Recipients(1 keys, 1 passphrases) Identities(1 keys, 1 passphrases) Sealing { chunk: ChunkSize(12), .. } FileKey(..) \
         PayloadKey(..)"
    );
}

#[test]
fn rejects_expensive_passphrases_before_the_work() {
    let mut recipients = Recipients::default();
    with_passphrases(&mut recipients, &["x"]);
    let file = sealed(&recipients, b"content", SMALL);
    let wrap = head_of(&file).wraps().next().unwrap().1.to_vec();
    let text = String::from_utf8_lossy(&wrap);
    let salt = text.split(' ').nth(2).unwrap();
    let hostile = |work: &str| {
        let from = format!("scrypt {salt} 4\n");
        let to = format!("scrypt {salt} {work}\n");
        let at = wrap.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let wrap = [&wrap[..at], to.as_bytes(), &wrap[at + from.len()..]].concat();
        let mut head = crate::format::Head::bound(super::support::chunk(SMALL), false, &[wrap]).unwrap();
        head.extend_from_slice(&[0; 32]);
        let mut identities = Identities::default();
        identities.add_passphrase(passphrase("x"));
        at_offsets(&head, &identities).unwrap_err()
    };
    assert!(matches!(hostile("21"), Error::WorkFactor { found: 21, most: 20 }));
    assert!(matches!(hostile("63"), Error::WorkFactor { found: 63, .. }));
    assert!(hostile("256").is_of_file() && hostile("-1").is_of_file());
    let limited = recipients.wrap(&crate::cipher::FileKey::random().unwrap(), Some(1 << 20));
    assert!(matches!(limited, Err(Error::Memory { .. })));
}

/// The wrapped key as the age program writes it.
fn age(arguments: &[&str], directory: &Path) -> Vec<u8> {
    tools::run(Command::new("age").args(arguments).current_dir(directory)).unwrap().stdout
}

#[test]
fn age_opens_our_wraps_and_we_open_its() {
    if !tools::need(&["age", "age-keygen"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    tools::run(Command::new("age-keygen").args(["-o", "key"]).current_dir(place.path())).unwrap();
    let identity = std::fs::read_to_string(at("key")).unwrap();
    let public = identity.lines().find_map(|line| line.strip_prefix("# public key: ")).unwrap().to_owned();
    let mut recipients = Recipients::default();
    recipients.add_key(&public).unwrap();
    recipients.add_key(&pair().public).unwrap();
    let content = content(9000);
    let file = sealed(&recipients, &content, SMALL);
    std::fs::write(at("wrap"), head_of(&file).wraps().next().unwrap().1).unwrap();
    let key = age(&["-d", "-i", "key", "wrap"], place.path());
    let head = head_of(&file);
    assert!(crate::cipher::FileKey::from_bytes(&key).unwrap().is_checked_by(&head.bound, head.key_check));

    std::fs::write(at("file-key"), [9; 32]).unwrap();
    let wrap = age(&["-r", &public, "file-key"], place.path());
    let sealing = crate::Sealing::for_tests([9; 32], &[wrap], super::support::chunk(SMALL), false).unwrap();
    let file = super::support::sealed_by(sealing, &content, 1);
    let mut identities = Identities::default();
    identities.add_file(identity.as_bytes(), "key").unwrap();
    assert!(at_offsets(&file, &identities).unwrap() == content);
}

/// Checks that keys with a passphrase open a file once they have it, given or asked for.
fn assert_passphrase_opens(file: &[u8], content: &[u8], identities: &mut Identities, name: &str, secret: &'static str) {
    let refused = |identities: &Identities| at_offsets(file, identities).unwrap_err().to_string();
    assert!(refused(identities).starts_with(&format!("no passphrase for {name}; give it")));
    identities.add_passphrase(passphrase("wrong"));
    assert!(refused(identities).starts_with(&format!("none of the given passphrases is right for {name}; give it")));
    identities.set_ask(Arc::new(|_| Some(passphrase("wrong too"))));
    assert_eq!(refused(identities), format!("wrong passphrase for {name}"));
    let asked = format!("Passphrase of {name}");
    identities.set_ask(Arc::new(move |prompt| Some(passphrase(if prompt == asked { secret } else { "x" }))));
    assert!(at_offsets(file, identities).unwrap() == content);
    identities.set_ask(Arc::new(|_| panic!("it is asked for once")));
    assert!(at_offsets(file, identities).unwrap() == content);
}

/// An identity file as `age -p` encrypts it, with less work.
fn locked(text: &[u8], secret: &str, armored: bool) -> Vec<u8> {
    use std::io::Write;
    let mut recipient = age::scrypt::Recipient::new(passphrase(secret));
    recipient.set_work_factor(2);
    let encryptor = age::Encryptor::with_recipients(std::iter::once(&recipient as _)).unwrap();
    let form = if armored { age::armor::Format::AsciiArmor } else { age::armor::Format::Binary };
    let mut out = encryptor.wrap_output(age::armor::ArmoredWriter::wrap_output(Vec::new(), form).unwrap()).unwrap();
    out.write_all(text).unwrap();
    out.finish().and_then(|armor| armor.finish()).unwrap()
}

#[test]
fn opens_identity_files_with_a_passphrase() {
    let pair = pair();
    let content = content(5000);
    let file = sealed(&pair.recipients(), &content, SMALL);
    for armored in [false, true] {
        let mut identities = super::support::pair().identities();
        let file_of_age = locked(format!("# a key\n{}\n", pair.secret).as_bytes(), "words", armored);
        identities.add_file(&file_of_age, "a.age").unwrap();
        assert_passphrase_opens(&file, &content, &mut identities, "the identity file a.age", "words");
        let mut given = Identities::default();
        given.add_file(&locked(pair.secret.as_bytes(), "words", armored), "a.age").unwrap();
        assert!(!given.is_empty() && !format!("{given:?}").contains("words"));
        ["wrong", "words"].iter().for_each(|text| given.add_passphrase(passphrase(text)));
        assert!(at_offsets(&file, &given).unwrap() == content);
    }
    let refused = |bytes: &[u8]| {
        let mut identities = Identities::default();
        identities.add_passphrase(passphrase("words"));
        let added = identities.add_file(bytes, "a.age");
        added.map(|()| at_offsets(&file, &identities)).and_then(|read| read).unwrap_err()
    };
    assert!(
        refused(&locked(b"no key", "words", true))
            .to_string()
            .starts_with("no identity in the identity file a.age (expected")
    );
    let whole = locked(pair.secret.as_bytes(), "words", false);
    assert!(refused(&whole[..whole.len() - 1]).to_string().starts_with("the identity file a.age: "));
    assert!(refused(&whole[..60]).to_string().starts_with("an encrypted identity that is malformed"));
    let work = String::from_utf8_lossy(&whole).find(" 2\n").unwrap();
    let costly = [&whole[..work], b" 21\n", &whole[work + 3..]].concat();
    assert!(matches!(refused(&costly), Error::WorkFactor { found: 21, .. }));
    for wrong in [&b" \n"[..], b" 256\n", b" two\n", b"\n"] {
        let without = [&whole[..work], wrong, &whole[work + 3..]].concat();
        let error = refused(&without).to_string();
        assert!(
            error.starts_with(
                "an encrypted identity whose head has no valid work factor of scrypt (expected a file that age -p"
            ),
            "{error}"
        );
    }
    let for_keys = head_of(&file).wraps().next().unwrap().1.to_vec();
    assert!(refused(&for_keys).to_string().starts_with("an identity that is encrypted for keys"));
}

#[test]
fn does_not_ask_for_key_passphrases_that_cannot_help() {
    let mut recipients = Recipients::default();
    with_passphrases(&mut recipients, &["right"]);
    let file = sealed(&recipients, b"content", SMALL);
    let mut identities = Identities::default();
    identities.add_file(&locked(pair().secret.as_bytes(), "words", false), "a.age").unwrap();
    identities.set_ask(Arc::new(|_| panic!("no key opens it")));
    assert!(matches!(at_offsets(&file, &identities), Err(Error::WrongKey(_))));
}

#[test]
fn ssh_keys_open_files() {
    if !tools::need(&["ssh-keygen", "age"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for (kind, bits, secret) in [("ed25519", "256", ""), ("rsa", "2048", ""), ("ed25519", "256", "words")] {
        let name = format!("{kind}{secret}");
        let arguments = ["-q", "-t", kind, "-b", bits, "-N", secret, "-f", &name];
        tools::run(Command::new("ssh-keygen").args(arguments).current_dir(place.path())).unwrap();
        let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
        let mut recipients = Recipients::default();
        recipients.add_list(&read(&format!("{name}.pub"))).unwrap();
        let content = content(5000);
        let file = sealed(&recipients, &content, SMALL);
        assert_eq!(head_of(&file).made_for().unwrap().to_string(), format!("1 ssh-{kind} key"));
        let mut identities = Identities::default();
        identities.add_file(read(&name).as_bytes(), &name).unwrap();
        if !secret.is_empty() {
            assert_passphrase_opens(&file, &content, &mut identities, &format!("the ssh key {name}"), secret);
        }
        assert!(at_offsets(&file, &identities).unwrap() == content, "{name}");
        if secret.is_empty() {
            std::fs::write(place.path().join("wrap"), head_of(&file).wraps().next().unwrap().1).unwrap();
            let key = age(&["-d", "-i", &name, "wrap"], place.path());
            assert_eq!(key.len(), 32);
        }
    }
}
