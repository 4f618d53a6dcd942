//! Files of images and contents of .pln files, read at any position: compared with a cursor over the plain bytes.

use std::fs;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use packline::{
    Container, Error, Image, Input, Output, Packer, PlnReader, Resources, Source, StreamOptions, Unobserved, compress,
};
use packline_testkit::Random;

/// Seeks and reads at random, to beyond the end and to before the start.
fn same_as_plain(mut read: impl Read + Seek + Send + 'static, plain: &[u8], seed: u64) {
    let mut cursor = Cursor::new(plain);
    let mut random = Random::new(seed);
    let size = plain.len() as u64;
    for step in 0..200 {
        // One read in eight continues where the previous read ended.
        if random.below(8) > 0 {
            let offset = random.below(2 * size + 20) as i64 - size as i64 - 10;
            let to = match random.below(3) {
                0 => SeekFrom::Start(random.below(size + 10)),
                1 => SeekFrom::Current(offset),
                _ => SeekFrom::End(offset),
            };
            let found = read.seek(to);
            let expected = cursor.seek(to);
            assert_eq!(found.as_ref().ok(), expected.as_ref().ok(), "step {step}, {to:?}");
            assert!(found.err().is_none_or(|error| error.kind() == ErrorKind::InvalidInput), "{to:?}");
        }
        let length = if random.below(8) == 0 { random.below(size / 4 + 10) } else { random.below(300) };
        let mut found = Vec::new();
        let mut expected = Vec::new();
        read.by_ref().take(length).read_to_end(&mut found).unwrap();
        cursor.by_ref().take(length).read_to_end(&mut expected).unwrap();
        assert!(found == expected, "step {step}: {} bytes instead of {}", found.len(), expected.len());
        assert_eq!(read.stream_position().unwrap(), cursor.position());
    }
    read.rewind().unwrap();
    let mut whole = Vec::new();
    read.read_to_end(&mut whole).unwrap();
    assert!(whole == plain);
}

/// Files of blocks of 4 KiB: with and without a tail end, of a tail end alone, empty, with holes.
fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let mut random = Random::new(3);
    let mut holes = random.prose(100_000);
    holes[4096..50_000].fill(0);
    holes[90_000..].fill(0);
    vec![
        ("blocks", random.prose(10 * 4096)),
        ("blocks and a tail", random.prose(300_001)),
        ("tail", random.prose(700)),
        ("empty", Vec::new()),
        ("holes", holes),
        ("hole", vec![0; 20_000]),
    ]
}

#[test]
fn files_of_an_image_are_read_at_any_position() {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    let packed = top.path().join("a.sqfs");
    fs::create_dir(&tree).unwrap();
    let contents = contents();
    contents.iter().for_each(|(name, content)| fs::write(tree.join(name), content).unwrap());
    std::os::unix::fs::symlink("/tail", tree.join("link")).unwrap();
    for block_size in [4096, 128 << 10] {
        let packer = Packer::new(Source::directory(&tree)).replace(true);
        packer.codec("lz4").block_size(block_size).resources(Resources::new(2)).write_to(&packed).unwrap();
        for (seed, (name, content)) in contents.iter().enumerate() {
            let file = Image::open(&packed).unwrap().open_file(name).unwrap();
            assert_eq!(file.size(), content.len() as u64);
            same_as_plain(file, content, seed as u64);
        }
    }
    let image = Image::open(&packed).unwrap();
    let mut linked = Vec::new();
    image.open_file("link").unwrap().read_to_end(&mut linked).unwrap();
    assert!(linked == contents[2].1);
    for path in ["", "none", "tail/none"] {
        assert!(matches!(image.open_file(path), Err(Error::Entry { .. })), "{path}");
    }
}

/// Compresses noise in records of the default size, and returns it.
fn pln(path: &Path, length: usize, codec: Option<&str>) -> Vec<u8> {
    let mut options = StreamOptions::new();
    let content = Random::new(5).noise(length);
    options.codec = codec.map(str::to_string);
    let source = Input::reader("noise", Cursor::new(content.clone()));
    compress(source, Container::Pln, &options, Output::file(path), &mut Unobserved).unwrap();
    content
}

#[test]
fn the_content_of_a_pln_file_is_read_at_any_position() {
    let top = tempfile::tempdir().unwrap();
    for (name, length, codec) in
        [("empty", 0, None), ("one", 5000, None), ("many", 5_000_000, None), ("zstd", 3 << 20, Some("zstd:level=1"))]
    {
        let path = top.path().join(name);
        let content = pln(&path, length, codec);
        let reader = PlnReader::open(&path).unwrap();
        assert_eq!(reader.size(), length as u64);
        same_as_plain(reader, &content, length as u64);
    }
    fs::write(top.path().join("other"), b"neither").unwrap();
    assert!(matches!(PlnReader::open(top.path().join("other")), Err(Error::Stream { .. })));
    assert!(matches!(PlnReader::open(top.path()), Err(Error::Source { .. })));
}

#[test]
fn reports_damage_only_where_it_is() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.pln");
    let content = pln(&path, 4_000_000, None);
    let mut bytes = fs::read(&path).unwrap();
    bytes[2_500_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let mut reader = PlnReader::open(&path).unwrap();
    let mut part = vec![0; 1000];
    for _ in 0..2 {
        reader.seek(SeekFrom::Start(2_500_000)).unwrap();
        let error = reader.read(&mut part).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidData && error.to_string().contains("a.pln: record "), "{error}");
        assert!(matches!(error.get_ref().unwrap().downcast_ref(), Some(Error::Stream { .. })));
        assert_eq!(reader.stream_position().unwrap(), 2_500_000);
        reader.seek(SeekFrom::Start(3_990_000)).unwrap();
        reader.read_exact(&mut part).unwrap();
        assert!(part == content[3_990_000..3_991_000]);
    }
}

#[test]
fn damage_of_an_image_names_the_file_in_it() {
    let top = tempfile::tempdir().unwrap();
    let tree = top.path().join("tree");
    let packed = top.path().join("a.sqfs");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("file"), Random::new(9).prose(600_000)).unwrap();
    Packer::new(Source::directory(&tree)).codec("xz").write_to(&packed).unwrap();
    let mut bytes = fs::read(&packed).unwrap();
    bytes[96..20_000].fill(0xff);
    fs::write(&packed, &bytes).unwrap();
    let mut file = Image::open(&packed).unwrap().open_file("file").unwrap();
    let error = file.read(&mut [0; 10]).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidData && error.to_string().contains("a.sqfs: file: "), "{error}");
    assert!(matches!(error.get_ref().unwrap().downcast_ref(), Some(Error::Read { .. })));
    file.seek(SeekFrom::End(-10)).unwrap();
    file.read_exact(&mut [0; 10]).unwrap();
}
