//! Images that are read as a source. The base reuses what was decoded, and nothing if the checksum is wrong.

use packline_volume::{Reading, Request, SharedUses};

use super::*;

/// Opens an image as a source, and reads all contents that can be read.
fn source(input: impl Input + 'static, options: &Options, workers: usize) -> Result<Arc<Base>, BaseError> {
    let image = opened(input)?;
    let base = Arc::new(Base::of_source(&image, options, &settings(false, 0))?);
    let engine = Config::new(workers, 1 << 20);
    let reading = ReadSettings { engine, listener: Some(base.clone()), ..ReadSettings::default() };
    let files = Walk::new(&image, image.root(), Vec::new()).map_while(Result::ok);
    let files = files.filter_map(|visit| match visit.inode.node {
        Node::File(file) => Some(Ok(Request { tag: (), file: Some(file), weight: 0 })),
        _ => None,
    });
    let mut reading = Reading::new(&image, Box::new(files), SharedUses::new(), &reading)?;
    while let Ok(Some(_)) = reading.next_event() {}
    Ok(base)
}

/// Returns the image with a record that names the encoder of `options`, with the checksum of its data.
fn forged(mut bytes: Vec<u8>, options: &Options) -> Vec<u8> {
    let image = opened(bytes.clone()).unwrap();
    let checksum = image.data_checksum(&Config::new(0, 0).cancel).unwrap();
    let head = &bytes[..image.data_start() as usize];
    let record = crate::format::record::Record::new(options, checksum, true).encode(head);
    let at = image.superblock().bytes_used as usize;
    bytes[at..at + record.len()].copy_from_slice(&record);
    bytes
}

#[test]
fn an_image_of_the_same_contents_has_the_same_bytes() {
    for codec in CODECS {
        let mut random = Random::new(11);
        let options = options(codec);
        let old = tree(&mut random);
        let clean = image_with(old.clone(), &options, Lookup::default(), 0);
        let new = changed(&mut random, &old);
        for workers in [0, 2] {
            let base = source(clean.clone(), &options, workers).unwrap();
            assert!(with(&old, &options, &base) == clean, "{codec}");
            assert!(with(&new, &options, &base) == image_with(new.clone(), &options, Lookup::default(), 0), "{codec}");
            let counts = base.counts();
            assert!(counts.exact && counts.taken > 60 && counts.changed == 0, "{codec}: {counts:?}");
        }
    }
}

#[test]
fn any_bit_of_a_source_may_be_wrong() {
    let mut random = Random::new(12);
    let tree = tree(&mut random);
    let mut refused = 0;
    let mut used = 0;
    for codec in CODECS {
        let options = options(codec);
        let clean = image_with(tree.clone(), &options, Lookup::default(), 0);
        for _ in 0..40 {
            let mut damaged = clean.clone();
            let bit = random.below(damaged.len() as u64 * 8) as usize;
            damaged[bit / 8] ^= 1 << (bit % 8);
            let Ok(base) = source(damaged, &options, 0) else {
                refused += 1;
                continue;
            };
            used += 1;
            assert!(with(&tree, &options, &base) == clean, "{codec}, bit {bit}");
        }
    }
    assert!(refused > 100 && used > 0, "{refused} refused, {used} used");
}

/// A call of one address at a place: the x86 filter gives all of them equal bytes.
fn call(place: u32) -> [u8; 5] {
    let [a, b, c, d] = (0x10_0000u32.wrapping_sub(place)).to_le_bytes();
    [0xe8, a, b, c, d]
}

/// A hostile image can have any record and any options. No block with a filter outside the new image's codec is reused.
#[test]
fn blocks_with_other_filters_are_not_taken() {
    let code: Vec<u8> = (0..1u32 << 20).step_by(5).flat_map(call).take(BLOCK).collect();
    let tree = vec![file("code", &code)];
    let old = options("xz:x86");
    let new = options("xz");
    let clean = image_with(tree.clone(), &new, Lookup::default(), 0);
    let mut filtered = image_with(tree.clone(), &old, Lookup::default(), 0);
    // The filters in the compressor options, after a header of two bytes and the dictionary.
    filtered[102..106].fill(0);
    let filtered = forged(filtered, &new);
    assert!(filtered[..] != clean[..], "the filter is used");
    let open = || Base::open(&opened(filtered.clone()).unwrap(), &new, &settings(false, 0)).map(Arc::new);
    for base in [open().unwrap(), source(filtered.clone(), &new, 0).unwrap()] {
        assert!(with(&tree, &new, &base) == clean);
        assert_eq!(base.counts().taken, 0);
    }
}

/// A record can lie. Even then only the contents that were read are reused.
#[test]
fn a_record_that_lies_makes_no_wrong_content() {
    let mut random = Random::new(13);
    let tree = tree(&mut random);
    for (old, new) in [("gzip:level=1", "gzip"), ("zstd:level=19", "zstd"), ("lz4", "lz4:hc"), ("xz", "xz")] {
        let old = options(old);
        let new = options(new);
        let image = image_with(tree.clone(), &old, Lookup::default(), 0);
        let end = opened(image.clone()).unwrap().superblock().inode_table;
        for flips in [0, 1, 5, 50] {
            let mut damaged = image.clone();
            for _ in 0..flips {
                let bit = 8 * 200 + random.below((end - 200) * 8) as usize;
                damaged[bit / 8] ^= 1 << (bit % 8);
            }
            let base = source(forged(damaged, &new), &new, 0).unwrap();
            let packed = with(&tree, &new, &base);
            assert!(contents(&packed) == contents(&image), "{flips} flips");
            assert!(flips > 1 || base.counts().taken > 30, "{:?}", base.counts());
        }
    }
}

#[test]
fn a_source_may_change_at_any_time() {
    let mut random = Random::new(14);
    let tree = tree(&mut random);
    let options = options("zstd");
    let clean = image_with(tree.clone(), &options, Lookup::default(), 0);
    let other = image_with(changed(&mut random, &tree), &options, Lookup::default(), 0);
    let expected = contents(&clean);
    let mut changes = 0;
    for after in [other, vec![0; 100]] {
        for left in 0..120 {
            let changing = Changing { before: clean.clone(), after: after.clone(), left: AtomicU64::new(left) };
            let Ok(base) = source(changing, &options, 0) else { continue };
            assert!(contents(&with(&tree, &options, &base)) == expected, "after {left} reads");
            changes += base.counts().changed;
        }
    }
    assert!(changes > 100, "{changes}");
}

#[test]
fn the_memory_of_its_index_is_limited() {
    let options = options("gzip");
    let image = opened(image_with(tree(&mut Random::new(15)), &options, Lookup::default(), 0)).unwrap();
    let open = |memory| Base::of_source(&image, &options, &BaseSettings { memory: Some(memory), ..settings(false, 0) });
    let Err(BaseError::Memory { needed, .. }) = open(1000) else { panic!("granted") };
    assert!(open(needed).unwrap().memory() <= needed);
}
