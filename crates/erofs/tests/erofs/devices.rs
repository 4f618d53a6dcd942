//! Images whose contents are on other devices.

use packline_erofs::read::ReadError;
use packline_volume::{Visit, Walk};

use super::support::{described, expected, file_of, fixture, in_order, open, open_with};

fn tree() -> String {
    let names = ["hello", "seq", "random", "link300", "sparse"];
    let text = expected(|path| names.contains(&path) || path == "deep" || path.starts_with("deep/"));
    // The tar has one time for all entries, and `seq` without its second name.
    let shown = text.lines().map(|line| {
        let mut fields: Vec<&str> = line.split(' ').collect();
        fields[4] = "1700000000.000000000";
        fields[6] = "-";
        fields.join(" ") + "\n"
    });
    shown.collect()
}

fn without_root(text: &str) -> String {
    text.lines().skip(1).map(|line| format!("{line}\n")).collect()
}

#[test]
fn reads_a_tar_through_its_index() {
    let image = open_with(fixture("tarindex.erofs"), &[fixture("small.tar")]).unwrap();
    assert_eq!(without_root(&described(&image)), tree());
}

#[test]
fn reads_a_tar_after_its_index() {
    let mut bytes = fixture("tarindex.erofs");
    let image = open(bytes.clone()).unwrap();
    let start = image.devices()[0].unified * image.superblock().block_size();
    bytes.resize(start as usize, 0);
    bytes.extend_from_slice(&fixture("small.tar"));
    assert_eq!(without_root(&described(&open(bytes).unwrap())), tree());
}

#[test]
fn names_missing_devices() {
    let image = open(fixture("blob.erofs")).unwrap();
    let visits: Vec<Visit> = Walk::new(&image, image.root(), Vec::new()).map(|visit| visit.unwrap()).collect();
    let files: Vec<_> = visits.iter().filter_map(file_of).filter(|(path, _)| path == b"tail").collect();
    let (_, faults) = &in_order(&image, &files, 0)[b"tail".as_slice()];
    assert!(faults[0].contains("without its device"), "{faults:?}");
    assert!(faults[0].contains("(expected 1 device)"), "{faults:?}");
}

#[test]
fn rejects_another_number_of_devices() {
    for (image, devices) in [("blob.erofs", 2), ("inline.erofs", 1)] {
        let error = open_with(fixture(image), &vec![fixture("blob.bin"); devices]).unwrap_err();
        assert!(matches!(error, ReadError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains("device"), "{error}");
    }
}
