//! Damaged files: read as their recovery data repairs them.

use std::fs;
use std::path::Path;

use packline_pln::WriteOptions;
use packline_recovery::Redundancy;
use packline_testkit::Random;

use super::*;
use crate::requests::{CompressRequest, pln_compress};
use crate::streams::encrypted::Recipients;
use packline_image::Output;
use packline_runtime::Unobserved;

const PLAIN: usize = 1_500_000;

/// A file with recovery data, and its content.
fn protected(path: &Path, recipients: Option<Recipients>) -> (Vec<u8>, Vec<u8>) {
    let content = Random::new(5).noise(PLAIN);
    let source = crate::container::input::Input::reader("noise", io::Cursor::new(content.clone()));
    let mut request = CompressRequest::new(source, Output::file(path), WriteOptions::usual().unwrap());
    request.recovery = Some(Redundancy::parse("10%").unwrap());
    request.recipients = recipients.map(Arc::new);
    request.resources = Resources::new(1);
    pln_compress(request, &mut Unobserved).unwrap();
    (fs::read(path).unwrap(), content)
}

fn options(scratch: Option<&Path>) -> StreamOptions {
    let mut options = StreamOptions::new();
    options.resources = Resources::new(2);
    options.resources.scratch = scratch.map(Path::to_path_buf);
    options
}

/// Each byte by a read of its own piece, backwards.
fn read_backwards(reader: &mut PlnReader) -> io::Result<Vec<u8>> {
    let mut content = vec![0; reader.size() as usize];
    let mut end = reader.size();
    while end > 0 {
        let start = end.saturating_sub(70_001);
        reader.seek(SeekFrom::Start(start))?;
        reader.read_exact(&mut content[start as usize..end as usize])?;
        end = start;
    }
    Ok(content)
}

#[test]
fn reads_damaged_files_from_repaired_copies() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let (whole, content) = protected(&path, None);
    let plain = whole.len() - whole.len() / 8;
    // Nothing, the header, a record, the index and trailer, the recovery data, and a part that is missing.
    let damages: [fn(&mut Vec<u8>, usize); 6] = [
        |_, _| {},
        |file, _| file[..64].fill(0),
        |file, plain| file[plain / 2] ^= 1,
        |file, _| file[PLAIN..PLAIN + 20_000].fill(9),
        |file, _| drop(file.drain(PLAIN + 30_000..PLAIN + 31_000)),
        |file, plain| drop(file.drain(plain / 3..plain / 3 + 1000)),
    ];
    for (number, damage) in damages.into_iter().enumerate() {
        let mut damaged = whole.clone();
        damage(&mut damaged, plain);
        fs::write(&path, &damaged).unwrap();
        let mut reader = PlnReader::open_repairing(&path, &options(Some(top.path()))).unwrap();
        assert!(read_backwards(&mut reader).unwrap() == content, "{number}");
        assert_eq!(reader.is_repaired(), [1, 2, 3, 5].contains(&number), "{number}");
        let plain = PlnReader::open(&path).map(|mut reader| read_backwards(&mut reader));
        assert_eq!(plain.is_ok_and(|read| read.is_ok_and(|read| read == content)), !reader.is_repaired(), "{number}");
    }
    assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
}

#[test]
fn a_file_without_recovery_data_is_read_as_it_is() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let source = crate::container::input::Input::reader("text", io::Cursor::new(b"text".to_vec()));
    let mut request = CompressRequest::new(source, Output::file(&path), WriteOptions::usual().unwrap());
    request.resources = Resources::new(0);
    pln_compress(request, &mut Unobserved).unwrap();
    let mut reader = PlnReader::open_repairing(&path, &options(Some(top.path()))).unwrap();
    assert!(read_backwards(&mut reader).unwrap() == b"text" && !reader.is_repaired());
}

#[test]
fn unrepairable_damage_is_reported_as_found() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let (mut file, content) = protected(&path, None);
    file[PLAIN / 4] ^= 1;
    fs::write(&path, &file).unwrap();
    // No directory for the copy.
    let mut reader = PlnReader::open_repairing(&path, &options(None)).unwrap();
    assert_eq!(read_backwards(&mut reader).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // Too much is lost. The rest is still read.
    file[PLAIN / 4..PLAIN / 2].fill(0);
    fs::write(&path, &file).unwrap();
    let mut reader = PlnReader::open_repairing(&path, &options(Some(top.path()))).unwrap();
    for _ in 0..2 {
        reader.seek(SeekFrom::Start(PLAIN as u64 / 3)).unwrap();
        let error = reader.read(&mut [0; 10]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
    let mut end = [0; 100];
    reader.seek(SeekFrom::End(-100)).unwrap();
    reader.read_exact(&mut end).unwrap();
    assert!(end == content[PLAIN - 100..] && !reader.is_repaired());
}

#[test]
#[cfg(feature = "encryption")]
fn encrypted_files_are_repaired_too() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let mut recipients = Recipients::default();
    let mut identities = Identities::default();
    recipients.add_key("age1j7m7v2r9hlr6gqdthwh2eeg804lmxgtkr2g4sc6cgkea9c83uf7sskpzat").unwrap();
    identities
        .add_file(b"AGE-SECRET-KEY-1MEH7LAAAERF0NYM9XUSTT24YLK7A4Q0SFG236M7SQ804Z30QS74SWDJRQ9\n", "key")
        .unwrap();
    let (whole, content) = protected(&path, Some(recipients));
    let options = StreamOptions { identities: Some(Arc::new(identities)), ..options(Some(top.path())) };
    for damaged in [150..200, PLAIN / 2..PLAIN / 2 + 9, PLAIN - 20..PLAIN + 20] {
        let mut file = whole.clone();
        file[damaged.clone()].iter_mut().for_each(|byte| *byte ^= 1);
        fs::write(&path, &file).unwrap();
        let mut reader = PlnReader::open_repairing(&path, &options).unwrap();
        assert!(read_backwards(&mut reader).unwrap() == content, "{damaged:?}");
        assert!(reader.is_repaired(), "{damaged:?}");
    }
}
