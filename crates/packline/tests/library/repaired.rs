//! Damaged .pln files with recovery data are decompressed completely, whatever byte is damaged and wherever their zeros are.

use std::fs;
use std::path::Path;

use packline::requests::{CompressRequest, PlnUnpackRequest, pln_codings, pln_compress, pln_unpack};
use packline::{Input, Output, Resources, Unobserved};
use packline_pln::{RecordSize, WriteOptions};
use packline_recovery::Redundancy;
use packline_testkit::Random;

/// Contents of a few records of 4 KiB: zeros at the end, at the beginning, everywhere, in between, and nothing at all.
fn contents() -> Vec<Vec<u8>> {
    let mut random = Random::new(20_261);
    let zeros = |count: usize| vec![0; count];
    let mut contents = vec![zeros(0), zeros(1), zeros(4095), zeros(4096), zeros(4097), zeros(70_000)];
    let words = ["", "x", "a line of text\n", "zeros follow this"];
    for (index, word) in words.iter().enumerate() {
        let text = word.repeat(index * 100).into_bytes();
        contents.push([text.clone(), zeros(5000 + 4096 * index)].concat());
        contents.push([zeros(4096 * index + 1), text.clone()].concat());
        contents.push([text.clone(), zeros(40_000), text].concat());
    }
    // The beginning of a record, its end, and a hole that begins in the middle of one.
    contents.push([random.noise(4096), zeros(8192)].concat());
    contents.push([random.noise(4095), zeros(1)].concat());
    contents
}

fn compressed(place: &Path, content: &[u8]) -> Vec<u8> {
    let plain = place.join("plain");
    let packed = place.join("packed");
    fs::write(&plain, content).unwrap();
    let options = WriteOptions { record_size: RecordSize::MIN, codings: pln_codings(&["slack+zstd"]).unwrap() };
    let mut request = CompressRequest::new(Input::File(plain), file(&packed), options);
    request.recovery = Some(Redundancy::parse("10%").unwrap());
    request.resources = resources(place);
    pln_compress(request, &mut Unobserved).unwrap();
    fs::read(packed).unwrap()
}

fn resources(place: &Path) -> Resources {
    let mut resources = Resources::new(0);
    resources.scratch = Some(place.to_path_buf());
    resources
}

fn file(path: &Path) -> Output {
    Output::File { path: path.to_path_buf(), force: true }
}

/// A directory in memory, if one can be made there: outputs are synced.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// Damages every `step`th byte of each file, one at a time.
fn damage_bytes(step: usize) {
    let place = place();
    let damaged = place.path().join("damaged");
    let out = place.path().join("out");
    for (number, content) in contents().iter().enumerate() {
        let whole = compressed(place.path(), content);
        for at in (number % step..whole.len()).step_by(step) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0xaa;
            fs::write(&damaged, bytes).unwrap();
            let mut request = PlnUnpackRequest::new(Input::File(damaged.clone()), file(&out));
            request.resources = resources(place.path());
            let unpacked = pln_unpack(request, &mut Unobserved);
            assert_eq!(unpacked.unwrap().bytes, content.len() as u64, "content {number}, byte {at}");
            assert!(fs::read(&out).unwrap() == *content, "content {number}, byte {at}");
        }
    }
}

#[test]
fn repairs_each_damaged_byte() {
    damage_bytes(41);
}

#[test]
#[ignore = "long: cargo test -p packline --test library repaired -- --ignored"]
fn no_damaged_byte_costs_a_byte_of_the_content() {
    damage_bytes(1);
}
