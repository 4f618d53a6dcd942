//! Padding: the lengths of files, what is read of them, and padding that differs from what was written.

use packline_runtime::Input;

use super::support::{SMALL, at_offsets, chunk, content, head_of, input, pair, sealed, sealed_by, streamed};
use crate::{Damage, Error, Identities, Part, Recipients, SealedHead, Sealing, memory};

const SIZES: [usize; 7] = [0, 1, 4095, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1];

fn padded(recipients: Recipients) -> Recipients {
    let mut recipients = recipients;
    recipients.set_padded();
    recipients
}

/// Bytes of content and padding of a file.
fn length_within(file: &[u8], log: u8) -> u64 {
    let body = file.len() as u64 - head_of(file).length();
    body - 20 * body.div_ceil(chunk(log).stride() as u64)
}

/// Whether only the highest bits of a length vary: as few as its logarithm has binary digits.
fn is_of_the_set(length: u64) -> bool {
    let log = 63 - length.leading_zeros();
    let zeros = length.trailing_zeros();
    zeros + (32 - log.leading_zeros()) >= log
}

#[test]
fn padded_lengths_reveal_only_their_highest_bits() {
    let pair = pair();
    let recipients = padded(pair.recipients());
    let identities = pair.identities();
    // Contents that end in zeros, or consist of zeros.
    for (end, log) in [(0, SMALL), (5000, SMALL), (usize::MAX, 16)] {
        for length in SIZES {
            let mut content = content(length);
            content[length.saturating_sub(end)..].fill(0);
            let file = sealed(&recipients, &content, log);
            let within = length_within(&file, log);
            assert!(is_of_the_set(within) && within >= length as u64 + 8, "{length} in {within}");
            assert!((within - 8 - length as u64) * 100 <= (length as u64 + 8) * 12, "{length} in {within}");
            assert!(at_offsets(&file, &identities).unwrap() == content, "{length}");
            let opened = input(&file, &identities).unwrap();
            opened.check_padding().unwrap();
            opened.read_at(length as u64, &mut [0]).unwrap_err();
            for workers in [0, 2] {
                let (found, error) = streamed(&file, &identities, workers);
                assert!(error.is_none() && found == content, "{length}, {workers}: {error:?}");
            }
        }
    }
    let of = |length| length_within(&sealed(&recipients, &content(length), SMALL), SMALL);
    assert_eq!(of(1_000_000), of(1_010_000), "contents of near lengths have one length");
}

#[test]
fn bytes_do_not_depend_on_workers() {
    let seal = |workers| {
        sealed_by(Sealing::for_tests([7; 32], &[b"w".to_vec()], chunk(14), true).unwrap(), &content(1_000_000), workers)
    };
    let reference = seal(0);
    assert!([1, 2, 7].into_iter().all(|workers| seal(workers) == reference));
    let hash = blake3::hash(&reference).to_hex();
    assert_eq!(hash.as_str(), "27bce7ce7ba9a20eb0d872459474a0cdde8c8dd32d2b1a1c91c4932ca491e0ec");
}

#[test]
fn rejects_every_changed_bit_of_the_padding() {
    let pair = pair();
    let identities = pair.identities();
    // One and a half chunks of padding.
    let length = 262_146;
    let file = sealed(&padded(pair.recipients()), &content(length), SMALL);
    let start = head_of(&file).length() as usize;
    let place = |byte: usize| start + byte / 4096 * 4116 + 4 + byte % 4096;
    let end = length_within(&file, SMALL) as usize;
    assert!(end - length > 6000, "{}", end - length);
    for byte in [length, length + 1, length + 3000, end - 9, end - 8, end - 1] {
        let mut changed = file.clone();
        changed[place(byte)] ^= 1;
        let checked = input(&changed, &identities).and_then(|input| input.check_padding());
        assert!(matches!(checked, Err(Error::Corrupt { part: Part::Chunk(_), .. })), "{byte}: {checked:?}");
        let (found, error) = streamed(&changed, &identities, 1);
        assert!(error.is_some() && content(length).starts_with(&found), "{byte}");
    }
    for less in [1, 8, 9, 20, 4000, 4116, 5000] {
        assert!(input(&file[..file.len() - less], &identities).is_err(), "{less}");
        let (found, error) = streamed(&file[..file.len() - less], &identities, 1);
        assert!(error.is_some() && content(length).starts_with(&found), "{less}");
    }
}

/// The maker sealed it, but it is not valid padding.
#[test]
fn both_readers_reject_malformed_padding() {
    let pair = pair();
    let length = |number: u64| number.to_le_bytes().to_vec();
    let zoo: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("half a length", vec![0; 7]),
        ("a length of more than there is", [content(100), length(101)].concat()),
        ("a length without end", [content(100), length(u64::MAX)].concat()),
        ("something in the padding", [content(5000), length(4990)].concat()),
        ("something in the padding, far from its end", [&[1; 10][..], &[0; 9000], &length(9)].concat()),
    ];
    for (name, bytes) in zoo {
        let recipients = padded(pair.recipients());
        let identities = pair.identities();
        let sealing = Sealing::new(&recipients, chunk(SMALL), None).unwrap().with_given_padding();
        let file = sealed_by(sealing, &bytes, 0);
        let checked = input(&file, &identities).and_then(|input| input.check_padding());
        assert!(matches!(checked, Err(Error::Corrupt { part: Part::Padding, .. })), "{name}: {checked:?}");
        let (_, error) = streamed(&file, &identities, 0);
        assert!(matches!(error, Some(Error::Corrupt { part: Part::Padding, .. })), "{name}: {error:?}");
    }
    let sealing = Sealing::new(&padded(pair.recipients()), chunk(SMALL), None).unwrap().with_given_padding();
    let file = sealed_by(sealing, &[&content(5000)[..], &[0; 100_000], &length(5000)].concat(), 0);
    assert!(streamed(&file, &pair.identities(), 0).0 == content(5000), "a reader takes any amount");
    assert!(at_offsets(&file, &pair.identities()).unwrap() == content(5000));
}

/// Returns everything noted for a file that is read beyond damage, and its content, read at offsets or as a stream.
fn noted(file: &[u8], identities: &Identities, stream: bool) -> (Vec<u8>, Vec<String>) {
    use std::io::Read;
    let damage = std::sync::Arc::new(Damage::default());
    let mut rest = file;
    let head = SealedHead::read(&mut rest).unwrap().open(identities, None).unwrap().with_damage(&damage);
    let mut content = Vec::new();
    if stream {
        head.stream(rest, &packline_runtime::Resources::new(2), None).unwrap().read_to_end(&mut content).unwrap();
    } else {
        let input = head.input(std::sync::Arc::new(file.to_vec())).unwrap();
        content.resize(input.size() as usize, 0);
        input.read_at(0, &mut content).unwrap();
        input.note_damage().unwrap();
    }
    (content, damage.take().iter().map(ToString::to_string).collect())
}

#[test]
fn notes_every_damaged_range_and_reads_the_rest() {
    let pair = pair();
    let identities = pair.identities();
    let expected = content(40 * 4096 + 5);
    for recipients in [pair.recipients(), padded(pair.recipients())] {
        let mut file = sealed(&recipients, &expected, SMALL);
        let start = head_of(&file).length() as usize;
        for stream in [false, true] {
            assert!(noted(&file, &identities, stream) == (expected.clone(), Vec::new()), "{stream}");
        }
        for number in [2, 3, 4, 17] {
            file[start + number * 4116 + 100] ^= 1;
        }
        // A header is damaged too; the next chunk is found without it.
        file[start + 30 * 4116] ^= 0xFF;
        let mut zeroed = expected.clone();
        for number in [2, 3, 4, 17, 30] {
            zeroed[number * 4096..][..4096].fill(0);
        }
        for stream in [false, true] {
            let (found, texts) = noted(&file, &identities, stream);
            assert!(found == zeroed, "{stream}");
            let [one, two, three] = &texts[..] else { panic!("{texts:?}") };
            assert!(one.starts_with(&format!("encrypted chunks 2 to 4, at byte {}: they", start + 2 * 4116)), "{one}");
            assert!(
                two.starts_with("encrypted chunk 17, at") && three.starts_with("encrypted chunk 30, at"),
                "{texts:?}"
            );
        }
        let (_, texts) = noted(&file[..start + 20 * 4116], &identities, true);
        assert!(texts.len() == 3 && texts[2].contains("cut off"), "{texts:?}");
    }
    let mut file = sealed(&padded(pair.recipients()), &content(262_146), SMALL);
    let at = file.len() - 6000;
    file[at] ^= 1;
    let (_, texts) = noted(&file, &identities, false);
    assert!(texts.len() == 1 && texts[0].starts_with("encrypted chunk 64,"), "damage to the padding alone: {texts:?}");
}

#[test]
fn long_padding_takes_no_memory() {
    let pair = pair();
    let sealing = Sealing::new(&padded(pair.recipients()), chunk(SMALL), None).unwrap().with_given_padding();
    let file = sealed_by(sealing, &[&[0; 8 << 20][..], &3u64.to_le_bytes()].concat(), 0);
    let (found, error) = streamed(&file, &pair.identities(), 0);
    assert!(found == [0; 3] && error.is_none());
    assert!(memory(&packline_runtime::Resources::new(0), chunk(SMALL)) < 2 << 20);
}
