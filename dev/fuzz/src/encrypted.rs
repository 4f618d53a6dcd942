//! Uses any bytes as an encrypted file, as a head with correct sums, as edits of a file, and as the sealed content of a padded file.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use crate::no_bug;
use packline_encryption::{
    ChunkSize, Damage, Error, Identities, Input, Resources, SealedHead, Sealing, SealingSink, Sink,
};

/// The key that opens [`WRAP`].
const IDENTITY: &[u8] = b"AGE-SECRET-KEY-1MEH7LAAAERF0NYM9XUSTT24YLK7A4Q0SFG236M7SQ804Z30QS74SWDJRQ9";
/// The key of all files that are sealed here, and its wrap by age.
const FILE_KEY: [u8; 32] = [7; 32];
const WRAP: &[u8] = b"age-encryption.org/v1\n\
    -> X25519 wgdflRCMTu1KNDGcZ3UgC8z5ovHAYLFy7wkYieVADS4\nx7a3+6AXakgGF9EC95cD2gpsEtw1OS5a+CSWiFW8ut4\n\
    --- hx0p/xZh5WBg8om6vz+Kp+VH8SHu2owW0Zpb57IqJEg\n\
    7T\xba7\xb1V\xd6S\xfe\xcc\x16b\xa1&+n\xc7\xcd\xcd\xe6\x16\xe5\x88/\xe1\xbfK/\xc3\xe1N'\"G\x7f<\xc6\xc2y\xcc\xd0\x0d\x915\xe8F\x038$]4\xe0\xbc\xe2\x85\xc1l\xd8zF\x9e\xf4\x18 ";
/// Bytes of a chunk, and of one that is sealed.
const LOG: u8 = 12;
const STRIDE: usize = (1 << LOG) + 20;
/// Bytes of the head's fixed part.
const FIXED: usize = 32;

fn identities() -> &'static Identities {
    static KEYS: OnceLock<Identities> = OnceLock::new();
    KEYS.get_or_init(|| {
        let mut keys = Identities::default();
        keys.add_file(IDENTITY, "key").expect("a key");
        keys
    })
}

fn sealed(content: &[u8], padded: bool, given: bool) -> Vec<u8> {
    let chunk = ChunkSize::from_log(LOG).expect("a size");
    let sealing = Sealing::for_tests(FILE_KEY, &[WRAP.to_vec()], chunk, padded).expect("a head");
    let sealing = if given { sealing.with_given_padding() } else { sealing };
    let mut file = Vec::new();
    let mut sink = SealingSink::new(sealing, &mut file, &Resources::new(0)).expect("a sink");
    sink.append(content).expect("room");
    assert_eq!(sink.finish().expect("room"), file.len() as u64);
    file
}

/// The content, read at offsets, with all that a reader of all of it checks.
fn at_offsets(file: &[u8]) -> Option<Vec<u8>> {
    let file: Arc<dyn Input> = Arc::new(file.to_vec());
    let head = no_bug(SealedHead::of(&file))?;
    no_bug(head.made_for());
    let input = no_bug(no_bug(head.open(identities(), None))?.input(file))?;
    let mut content = vec![0; input.size() as usize];
    let read = input.read_at(0, &mut content).map_err(|cause| Error::from_io(cause).expect("an error of ours"));
    no_bug(read.and_then(|()| input.check_padding())).map(|()| content)
}

/// Returns the content that is read front to back, and whether there was no error.
fn onwards(file: &[u8], damage: Option<&Arc<Damage>>) -> (Vec<u8>, bool) {
    let mut rest = file;
    let mut content = Vec::new();
    let Some(head) = no_bug(SealedHead::read(&mut rest)) else { return (content, false) };
    let Some(head) = no_bug(head.open(identities(), None)) else { return (content, false) };
    let head = match damage {
        Some(damage) => head.with_damage(damage),
        None => head,
    };
    let mut stream = head.stream(rest, &Resources::new(0), None).expect("no threads are started");
    let read = stream.read_to_end(&mut content).map_err(|cause| Error::from_io(cause).expect("an error of ours"));
    (content, no_bug(read).is_some())
}

/// Checks that both ways return the same content, and that each noted fault is an error.
fn as_file(file: &[u8]) -> Option<Vec<u8>> {
    let (found, whole) = onwards(file, None);
    let by_offset = at_offsets(file);
    assert!(by_offset.is_some() == whole && by_offset.as_ref().is_none_or(|content| *content == found));
    let damage = Arc::new(Damage::default());
    let (_, opened) = onwards(file, Some(&damage));
    let noted = damage.take();
    assert!(opened != whole || noted.is_empty() == whole || !opened);
    by_offset
}

/// Corrects the sum and the check of a head, and the length of its wraps.
fn put_right(mut file: Vec<u8>) -> Option<Vec<u8>> {
    let rest = file.len().checked_sub(FIXED)?;
    file[..8].copy_from_slice(&packline_encryption::MAGIC);
    let length = u32::from_le_bytes(file[12..16].try_into().ok()?) as usize;
    let length = if length > rest { rest.min(1 << 20) } else { length };
    file[12..16].copy_from_slice(&(length as u32).to_le_bytes());
    let sum = *blake3::hash(&file[FIXED..FIXED + length]).as_bytes();
    file[16..24].copy_from_slice(&sum[..8]);
    let check = *blake3::hash(&file[..24]).as_bytes();
    file[24..32].copy_from_slice(&check[..8]);
    Some(file)
}

/// Edits a file of several chunks, three bytes for each edit. Only sealed content is returned.
fn as_edits(padded: bool, edits: &[u8]) {
    let content: Vec<u8> = (0..3 * 4096 + 500).map(|at: usize| (at * 7 + at / 251) as u8).collect();
    let original = sealed(&content, padded, false);
    let mut file = original.clone();
    for edit in edits.chunks_exact(4).take(64) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % file.len().max(1);
        let end = (at + usize::from(edit[3])).min(file.len());
        match edit[2] % 5 {
            0 => drop(file.drain(at..end)),
            1 => file.insert(at, edit[3]),
            2 => file.truncate(at),
            3 if at + 2 * STRIDE <= file.len() => file[at..at + 2 * STRIDE].rotate_left(STRIDE),
            _ if at < file.len() => file[at] ^= edit[3],
            _ => {}
        }
        if file.is_empty() {
            break;
        }
    }
    let found = as_file(&file);
    assert!(found.is_none_or(|found| found == content && file == original));
    assert!(content.starts_with(&onwards(&file, None).0));
}

/// Reads any content that a writer could seal in a padded file, with padding or other bytes in its place.
fn as_content(content: &[u8]) {
    assert!(as_file(&sealed(content, true, false)).expect("it is read again") == content);
    let expected = content.split_last_chunk::<8>().and_then(|(before, length)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok().filter(|&length| length <= before.len())?;
        before[length..].iter().all(|&byte| byte == 0).then(|| &before[..length])
    });
    assert_eq!(as_file(&sealed(content, true, true)).as_deref(), expected);
}

pub fn encrypted(bytes: &[u8]) {
    let Some((mode, rest)) = bytes.split_first() else { return };
    match mode % 5 {
        0 => drop(as_file(rest)),
        1 => drop(put_right(rest.to_vec()).and_then(|file| as_file(&file))),
        2 | 3 => as_edits(mode % 5 == 3, rest),
        _ => as_content(rest),
    }
}
