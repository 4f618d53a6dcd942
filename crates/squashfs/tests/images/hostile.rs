//! Reads every image of the zoo: each one has the expected result, and the reader never panics.

use std::sync::Arc;

use packline_engine::Config;
use packline_squashfs::read::{BlockDecoder, FileData as BlockList, Image, Opening, Origin, ReadError, ReadSettings};
use packline_testkit::hostile::{self, Expect};
use packline_volume::{Event, FileData, Inode, Node, Reading, Request, SharedUses, Visit, Volume, Walk};

/// Maximum number of bytes of contents that are read of one image: some images claim to have very many.
const ENOUGH: u64 = 8 << 20;
/// Maximum number of names of one image that are looked up again by their path, and of files that are read alone.
const SAMPLE: usize = 300;

fn open(bytes: Vec<u8>) -> Result<Image, ReadError> {
    Image::open(Arc::new(bytes), Opening { origin: Origin::Find, metadata_cache: 1 << 20 })
}

/// Results of reading an image.
#[derive(Debug, Default)]
struct Found {
    entries: usize,
    tree: Vec<String>,
    contents: Vec<String>,
    attributes: Vec<String>,
}

impl Found {
    fn faults(&self) -> Vec<Expect> {
        let parts =
            [(Expect::Tree, &self.tree), (Expect::Contents, &self.contents), (Expect::Attributes, &self.attributes)];
        parts.into_iter().filter(|(_, faults)| !faults.is_empty()).map(|(part, _)| part).collect()
    }
}

fn describe(path: &[u8], error: &ReadError) -> String {
    assert!(!matches!(error, ReadError::Work(_)), "{error}");
    format!("{}: {error}", path.escape_ascii())
}

/// Reads everything, within bounds.
fn read(image: &Image) -> Found {
    let mut found = Found::default();
    let mut files = Vec::new();
    for visit in Walk::new(image, image.root(), Vec::new()) {
        match visit {
            Ok(visit) => entry(image, visit, &mut files, &mut found),
            Err((path, error)) => found.tree.push(describe(&path, &error)),
        }
    }
    one_by_one(image, &files, &mut found);
    let in_order = in_order(image, &files, 0);
    assert_eq!(in_order, self::in_order(image, &files, 2), "workers change what is read");
    found.contents.extend(in_order);
    found
}

fn entry(image: &Image, visit: Visit, files: &mut Vec<(Vec<u8>, FileData)>, found: &mut Found) {
    if let Err(error) = Volume::xattrs(image, &visit.inode) {
        found.attributes.push(describe(&visit.path, &error));
    }
    if let Node::File(file) = &visit.inode.node {
        files.push((visit.path.clone(), file.clone()));
    }
    found.entries += 1;
    if found.entries < SAMPLE {
        again(image, &visit.path, &visit.inode);
    }
}

/// Finds an entry by its path and its number. Any answer or error is allowed, but no panic.
fn again(image: &Image, path: &[u8], inode: &Inode) {
    let _ = image.resolve(path).map_err(|error| describe(path, &error));
    let _ = image.numbered(inode.number).map_err(|error| describe(path, &error));
}

/// Decodes block by block.
fn one_by_one(image: &Image, files: &[(Vec<u8>, FileData)], found: &mut Found) {
    let mut decoder = BlockDecoder::new(image).unwrap();
    let mut out = Vec::new();
    let mut left = ENOUGH;
    for (path, file) in files.iter().take(SAMPLE) {
        let mut fault = |error: ReadError| found.contents.push(describe(path, &error));
        let file = BlockList::of(file);
        for block in image.blocks(&file).take(5000) {
            let decoded = block.and_then(|block| match block.place {
                Some(place) if left > 0 => decoder.data(place, block.length, &mut out).map(|()| block.length),
                _ => Ok(0),
            });
            match decoded {
                Ok(length) => left = left.saturating_sub(length.into()),
                Err(error) => fault(error),
            }
        }
        let Some(tail) = file.tail else { continue };
        match image.fragment(tail.fragment).and_then(|place| decoder.fragment(place, &mut out)) {
            Ok(()) => left = left.saturating_sub(out.len() as u64),
            Err(error) => fault(error),
        }
    }
}

/// Reads ahead, in order; returns the faults.
fn in_order(image: &Image, files: &[(Vec<u8>, FileData)], workers: usize) -> Vec<String> {
    let mut uses = SharedUses::new();
    files.iter().for_each(|(_, file)| uses.note(image, file));
    let requests = files
        .iter()
        .map(|(path, file)| Ok(Request { tag: path.clone(), file: Some(file.clone()), weight: path.len() }));
    let settings =
        ReadSettings { shared: 2 << 20, scratch: None, engine: Config::new(workers, 4 << 20), listener: None };
    let mut reading = Reading::new(image, Box::new(requests), uses, &settings).unwrap();
    let mut faults = Vec::new();
    let mut path = Vec::new();
    let mut left = ENOUGH;
    let mut events = 200_000;
    while let Some(event) = reading.next_event().unwrap() {
        match event {
            Event::Begin(tag) => path = tag,
            Event::Data(chunk) => left = left.saturating_sub(chunk.len() as u64),
            Event::Hole(length) => assert!(length > 0),
            Event::Failed { error, .. } => faults.push(describe(&path, &error)),
        }
        events -= 1;
        if left == 0 || events == 0 {
            break;
        }
    }
    faults
}

#[test]
fn every_specimen_has_the_expected_result() {
    let mut wrong = Vec::new();
    for specimen in hostile::all() {
        let (expected, message) = match open(specimen.bytes()) {
            Err(error) => (specimen.expect == Expect::Refused, format!("refused: {}", describe(b"", &error))),
            Ok(image) => {
                let found = read(&image);
                let faults = found.faults();
                let right = match specimen.expect {
                    Expect::Refused => false,
                    Expect::Rules | Expect::Sound | Expect::Huge => faults.is_empty(),
                    fault => faults == [fault],
                };
                (right, format!("{found:?}").chars().take(600).collect())
            }
        };
        if !expected {
            wrong.push(format!("{} ({:?}): {message}", specimen.name, specimen.expect));
        }
    }
    assert!(wrong.is_empty(), "{} specimens:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_good_images_are_read_without_a_fault() {
    for codec in ["none", "gzip", "xz", "lzma", "lzo", "lz4", "zstd"] {
        let found = read(&open(hostile::good_with(codec)).unwrap());
        assert_eq!(found.faults(), [], "{codec}: {found:?}");
    }
}
