//! An image as a source: contents out of order.

use std::fs;
use std::rc::Rc;

use packline::{Image, Packer, Resources, Source};
use packline_image::{ImageSource, SourceDemand};
use packline_testkit::Random;
use packline_tree::{Bookmark, Bytes, Extent, Keep, Kind, Source as _};

const FILES: usize = 60;

/// An image of files of which each is a few blocks and a tail end, or less.
fn image() -> (tempfile::TempDir, Image, Vec<Vec<u8>>) {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    let path = top.path().join("a.sqfs");
    fs::create_dir(&tree).unwrap();
    let mut random = Random::new(5);
    let contents: Vec<Vec<u8>> = (0..FILES).map(|number| random.prose(number * number * 20)).collect();
    for (number, content) in contents.iter().enumerate() {
        fs::write(tree.join(format!("{number:02}")), content).unwrap();
    }
    fs::hard_link(tree.join("07"), tree.join("z")).unwrap();
    Packer::new(Source::directory(&tree)).block_size(4096).codec("gzip").write_to(&path).unwrap();
    let image = Image::open(&path).unwrap();
    (top, image, contents)
}

fn open(image: &Image, workers: usize) -> ImageSource {
    let resources = Resources::new(workers);
    let plan = SourceDemand::new(&image.clone().into(), None).plan(workers, u64::MAX);
    let rule = |path: &[u8], _| if path == b"33" { Keep::Prune } else { Keep::Yes };
    ImageSource::new(image.clone().into(), &plan, &resources, Rc::new(rule))
}

fn content(source: &mut ImageSource) -> Vec<u8> {
    let mut content = Vec::new();
    let mut buffer = [0; 3000];
    loop {
        match source.read(&mut buffer).unwrap() {
            Extent::Data(count) => content.extend_from_slice(&buffer[..count]),
            Extent::Hole(count) => content.resize(content.len() + count as usize, 0),
            Extent::End => return content,
        }
    }
}

/// Lists all entries; the bookmarks of files.
fn list(source: &mut ImageSource) -> Vec<(Bytes, Bookmark)> {
    let mut files = Vec::new();
    while let Some(entry) = source.next_entry().unwrap() {
        match entry.kind {
            Kind::File { .. } => files.push((entry.path, source.bookmark().unwrap())),
            Kind::HardLink(first) => assert_eq!((&*entry.path, &*first), (&b"z"[..], &b"07"[..])),
            _ => assert!(source.bookmark().is_none()),
        }
    }
    files
}

fn number(path: &[u8]) -> usize {
    std::str::from_utf8(path).unwrap().parse().unwrap()
}

#[test]
fn contents_come_in_the_order_that_was_announced_or_in_another() {
    let (_top, image, contents) = image();
    for workers in [0, 1, 2, 7] {
        let mut source = open(&image, workers);
        let mut files = list(&mut source);
        assert_eq!((files.len(), source.progress()), (FILES - 1, (0, None)));
        Random::new(workers as u64).shuffle(&mut files);
        // Some are not announced; of the others, some are passed over.
        let announced = files.iter().enumerate().filter(|(number, _)| number % 7 != 0);
        source.expect(&mut announced.map(|(_, (_, bookmark))| bookmark.clone()));
        for (number, (path, bookmark)) in files.iter().enumerate().filter(|(number, _)| number % 5 != 0) {
            source.recall(bookmark, path).unwrap();
            let at = self::number(path);
            if number % 3 == 0 {
                assert!(source.read(&mut [0; 10]).is_ok(), "the rest is left unread");
            } else {
                assert!(content(&mut source) == contents[at], "{workers} workers: {at}");
            }
        }
    }
}

#[test]
fn a_recalled_content_does_not_disturb_the_order_of_entries() {
    let (_top, image, contents) = image();
    for workers in [0, 1, 2, 7] {
        let mut source = open(&image, workers);
        let mut early = None;
        while let Some(entry) = source.next_entry().unwrap() {
            if !matches!(entry.kind, Kind::File { .. }) {
                continue;
            }
            match number(&entry.path) {
                20 => early = source.bookmark(),
                40 => {
                    source.read(&mut [0; 100]).unwrap();
                    source.recall(early.as_ref().unwrap(), b"20").unwrap();
                    assert!(content(&mut source) == contents[20]);
                }
                number => assert!(content(&mut source) == contents[number], "{workers} workers: {number}"),
            }
        }
    }
}
