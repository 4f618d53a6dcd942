//! Content after the data area.

use packline_engine::Config;
use packline_runtime::TaskError;
use packline_testkit::Random;

use super::support::{BLOCK, Kind, RUN, SEGMENT, Setup, UNIT, add, area, decode, setup_of, text};
use crate::{Coders, CompleteData, Error, Extent, FileHints, LateContent, write};

/// Packs a file, and a content after the data area. Returns the image and the extents of the content.
fn pack(content: &[u8], setup: &Setup, config: Config) -> (Vec<u8>, Vec<Extent>) {
    let mut image = Vec::new();
    let mut area = area(&mut image, setup, config);
    add(&mut area, &text(1, 3 * BLOCK + 7), FileHints::default(), RUN).unwrap();
    let CompleteData { layout, sink, mut written, mut workers, .. } = area.complete().unwrap();
    let mut end = layout.end;
    let mut extents = Vec::new();
    let mut late = |bytes: &[u8]| -> Result<(), Error> {
        let mut store = |block: crate::LateBlock| {
            write(&mut *sink, end, block.bytes())?;
            let length = block.bytes().len() as u64;
            extents.extend(block.stored_at(end, &mut written));
            end += length;
            Ok(())
        };
        let mut late = LateContent::new(&mut workers, &setup.options, &mut store);
        bytes.chunks(999).try_for_each(|part| late.put(part))?;
        late.finish()
    };
    late(content).unwrap();
    let superblock = vec![7; setup.options.start as usize];
    let read_back = workers.finish(sink, written, &superblock, &mut |_, _| ()).unwrap();
    assert_eq!(read_back.unwrap().bytes, end);
    (image, extents)
}

#[test]
fn content_after_the_data_area_is_compressed_and_read_back() {
    let noise = Random::new(1).noise(2 * SEGMENT + 10);
    let contents = [text(3, 7 * SEGMENT + 1000), noise.clone(), [noise, text(5, SEGMENT)].concat(), Vec::new()];
    for kind in [Kind::Blocks, Kind::Clusters] {
        let mut setup = setup_of("lz4", kind);
        setup.options.verify = true;
        let unit = if matches!(kind, Kind::Clusters) { UNIT } else { 1 };
        for content in &contents {
            let (image, extents) = pack(content, &setup, Config::new(0, 0));
            let mut expected = content.clone();
            expected.resize(content.len().next_multiple_of(unit), 0);
            let found = decode(&image, extents.clone().into_iter(), &mut *setup.codec().coder(), &|_| Vec::new());
            assert!(found == expected, "{kind:?}: {} bytes", content.len());
            for (workers, window) in [(1, 0), (2, 1 << 20), (7, 100_000_000)] {
                let other = pack(content, &setup, Config::new(workers, window));
                assert!(other.0 == image && other.1 == extents, "{kind:?}: {workers} workers");
            }
        }
    }
}

#[test]
fn an_error_of_the_container_ends_the_content() {
    for workers in [0, 2] {
        let setup = setup_of("lz4", Kind::Blocks);
        let mut image = Vec::new();
        let area = area(&mut image, &setup, Config::new(workers, 1 << 20));
        let mut workers = area.complete().unwrap().workers;
        let mut count = 0;
        let mut store = |_| {
            count += 1;
            if count == 2 { Err(Error::internal("the second block".into())) } else { Ok(()) }
        };
        let mut late = LateContent::new(&mut workers, &setup.options, &mut store);
        let put = text(1, 100 * BLOCK).chunks(BLOCK).try_for_each(|part| late.put(part));
        let error = put.and_then(|()| late.finish()).unwrap_err().to_string();
        assert!(error.contains("the second block"), "{error}");
        assert_eq!(count, 2);
    }
}
