//! Images in memory, in streams and in parts of files; packs that are observed and cancelled on another thread.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex, mpsc};

use packline::{
    CancelToken, Container, Content, EntryInfo, Error, ErrorKind, Image, Input, Observer, Packer, Progress, ReadAt,
    Resources, Selection, Source, Tree,
};
use packline_testkit::Random;

fn tree() -> Tree {
    let mut random = Random::new(4);
    let mut tree = Tree::new();
    tree.file("text", random.prose(400_000)).unwrap();
    tree.file("noise", random.noise(300_000)).unwrap();
    tree
}

/// A stream whose bytes stay available.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn all_outputs_get_the_same_bytes() {
    let top = tempfile::tempdir().unwrap();
    for container in [Container::SquashFs, Container::Erofs] {
        let packer = |workers| {
            Packer::new(tree()).container(container).resources(Resources::new(workers).scratch_in(top.path()))
        };
        let path = top.path().join(container.name());
        packer(2).verify(true).write_to(&path).unwrap();
        let expected = fs::read(&path).unwrap();
        let shared = Shared::default();
        packer(4).write_stream(shared.clone()).unwrap();
        assert!(*shared.0.lock().unwrap() == expected);
        for workers in [0, 4] {
            let mut memory = Cursor::new(b"before".to_vec());
            memory.set_position(6);
            let packed = packer(workers).offset(10).write_into(&mut memory).unwrap();
            assert_eq!((packed.output_bytes, packed.container), (expected.len() as u64 + 10, container));
            assert_eq!(memory.position(), 16 + expected.len() as u64);
            let bytes = memory.into_inner();
            assert!(bytes.starts_with(b"before\0\0\0\0\0\0\0\0\0\0") && bytes[16..] == expected);
        }
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        packer(1).write_into(&mut file).unwrap();
        assert!(fs::read(&path).unwrap() == expected);
    }
}

/// The copies of a block are read from the stream.
#[test]
fn a_block_that_repeats_is_written_again() {
    let top = tempfile::tempdir().unwrap();
    let mut random = Random::new(7);
    let block = random.noise(128 << 10);
    let content = [block.repeat(3), random.noise(128 << 10), block].concat();
    for container in [Container::SquashFs, Container::Erofs] {
        let packer = || {
            let mut tree = Tree::new();
            tree.file("repeated", content.clone()).unwrap();
            Packer::new(tree).container(container).resources(Resources::new(2)).verify(true)
        };
        let mut memory = Cursor::new(Vec::new());
        packer().write_into(&mut memory).unwrap();
        let path = top.path().join(container.name());
        packer().write_to(&path).unwrap();
        assert!(memory.get_ref() == &fs::read(&path).unwrap(), "{container:?}");
        let image = Image::from_input(Input::bytes("memory", memory.into_inner())).unwrap();
        let mut read = Vec::new();
        image.read("repeated", &mut read).unwrap();
        assert!(read == content);
    }
}

#[test]
fn a_lrz_file_goes_to_a_stream() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("file"), "text").unwrap();
    let shared = Shared::default();
    let packer = || Packer::new(Source::directory(top.path())).container(Container::Lrz);
    packer().write_stream(shared.clone()).unwrap();
    assert!(shared.0.lock().unwrap().starts_with(b"LRZI"));
    let refused = [
        packer().write_into(&mut Cursor::new(Vec::new())).err(),
        packer().time(1).write_stream(io::sink()).err(),
        packer().offset(1).write_stream(io::sink()).err(),
        Packer::new(tree()).container(Container::Lrz).write_stream(io::sink()).err(),
    ];
    assert!(refused.iter().all(|error| error.as_ref().unwrap().kind() == ErrorKind::Invalid), "{refused:?}");
}

#[test]
fn rejects_outputs_that_an_option_does_not_fit() {
    let top = tempfile::tempdir().unwrap();
    let packer = || Packer::new(tree()).resources(Resources::new(1).scratch_in(top.path()));
    let refused = [
        packer().resources(Resources::new(1)).write_stream(io::sink()).err(),
        packer().container(Container::Erofs).layout(packline::Layout::STABLE).write_stream(io::sink()).err(),
        #[cfg(feature = "verity")]
        packer().verity(packline::VerityOptions::default()).write_into(&mut Cursor::new(Vec::new())).err(),
    ];
    assert!(refused.iter().all(|error| error.as_ref().unwrap().kind() == ErrorKind::Invalid), "{refused:?}");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(packer().write_stream(full).unwrap_err().kind(), ErrorKind::NoSpace);
}

/// Bytes of the caller.
struct Own(Vec<u8>);

impl ReadAt for Own {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, buffer)
    }
}

#[test]
fn an_image_is_read_from_any_input() {
    let top = tempfile::tempdir().unwrap();
    for container in [Container::SquashFs, Container::Erofs] {
        let mut memory = Cursor::new(Vec::new());
        Packer::new(tree()).container(container).write_into(&mut memory).unwrap();
        let bytes = memory.into_inner();
        let path = top.path().join(container.name());
        let between = [&b"front"[..], &bytes, b"the end"].concat();
        fs::write(&path, &between).unwrap();
        let range = 5..5 + bytes.len() as u64;
        let inputs = [
            Input::bytes("memory", bytes.clone()),
            Input::seekable("cursor", Cursor::new(bytes.clone())).unwrap(),
            Input::custom("own", Own(bytes.clone())),
            Input::bytes("part", between).part(range.clone()).unwrap(),
            Input::file(&path).part(range).unwrap().part(..).unwrap(),
        ];
        for input in inputs {
            let image = Image::from_input(input).unwrap();
            assert_eq!((image.container(), image.verify(&Resources::new(2)).unwrap()), (container, vec![]));
            // A source, too.
            let mut again = Cursor::new(Vec::new());
            Packer::new(image).container(container).write_into(&mut again).unwrap();
            assert!(again.into_inner() == bytes);
        }
    }
    let refused = |input| Image::from_input(input).unwrap_err().kind();
    assert_eq!(refused(Input::reader("stream", io::empty())), ErrorKind::Invalid);
    assert_eq!(refused(Input::bytes("text", "neither")), ErrorKind::WrongFormat);
    assert_eq!(refused(Input::bytes("nothing", "")), ErrorKind::WrongFormat);
    assert!(Input::bytes("short", "abc").part(2..5).is_err());
}

/// Sends the paths of entries to another thread.
struct Sent(mpsc::Sender<String>);

impl Observer for Sent {
    fn entry(&mut self, entry: EntryInfo<'_>, _progress: &Progress) {
        self.0.send(String::from_utf8(entry.path.to_vec()).unwrap()).unwrap();
    }
}

/// Sets a token at the first content.
struct Cancelling(CancelToken);

impl Observer for Cancelling {
    fn advance(&mut self, _progress: &Progress) {
        self.0.cancel();
    }
}

#[test]
fn a_pack_on_another_thread_is_observed() {
    let (sender, entries) = mpsc::channel();
    let packer = Packer::new(tree()).observe(Sent(sender)).resources(Resources::new(2));
    let pack = std::thread::Builder::new().spawn(move || packer.write_into(&mut Cursor::new(Vec::new()))).unwrap();
    assert_eq!(entries.iter().collect::<Vec<_>>(), ["noise", "text"]);
    assert_eq!(pack.join().unwrap().unwrap().content_bytes, 700_000);
}

#[test]
fn a_cancelled_pack_says_so_and_leaves_nothing() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    Packer::new(tree()).write_to(at("a.sqfs")).unwrap();
    fs::create_dir(at("directory")).unwrap();
    fs::write(at("directory/file"), Random::new(5).prose(3_000_000)).unwrap();
    let image = || Source::image(Image::open(at("a.sqfs")).unwrap());
    for workers in [0, 2] {
        let sources = [
            Source::directory(at("directory")),
            tree().into(),
            image(),
            image().with(Source::directory(at("directory"))),
        ];
        for (number, source) in sources.into_iter().enumerate() {
            let token = CancelToken::new();
            let resources = Resources::new(workers).cancelled_by(&token);
            let packer = Packer::new(source).observe(Cancelling(token)).resources(resources).codec("xz");
            let error: Error = packer.write_to(at("b.sqfs")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "source {number}, {workers} workers: {error}");
            assert!(!at("b.sqfs").exists());
        }
    }
    let token = CancelToken::new();
    token.cancel();
    let verified = Image::open(at("a.sqfs")).unwrap().verify(&Resources::new(2).cancelled_by(&token));
    assert_eq!(verified.unwrap_err().kind(), ErrorKind::Cancelled);
    let unpacker = packline::Unpacker::new(at("a.sqfs")).resources(Resources::new(2).cancelled_by(&token));
    assert_eq!(unpacker.to_directory(at("d")).unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(Image::open(at("a.sqfs")).unwrap().entries(&Selection::all()).count(), 3);
}

/// A reader without an end, which cancels the pack, and fails if it is read on.
struct Endless {
    token: CancelToken,
    reads: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        match self.reads {
            3 => self.token.cancel(),
            1000 => return Err(io::Error::other("read after the cancellation")),
            _ => {}
        }
        Ok(buffer.len())
    }
}

#[test]
fn a_cancelled_pack_stops_reading_contents_without_end() {
    let top = tempfile::tempdir().unwrap();
    for workers in [0, 2] {
        for size in [None, Some(1 << 40)] {
            let token = CancelToken::new();
            let reader = Endless { token: token.clone(), reads: 0 };
            let content = match size {
                None => Content::reader(reader),
                Some(size) => Content::sized(reader, size),
            };
            let mut tree = Tree::new();
            tree.file("a", content).unwrap();
            let mut resources = Resources::new(workers).cancelled_by(&token);
            resources.scratch = Some(top.path().to_path_buf());
            let error = Packer::new(tree).resources(resources).write_to(top.path().join("a.sqfs")).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "size {size:?}, {workers} workers: {error}");
            assert_eq!(fs::read_dir(top.path()).unwrap().count(), 0);
        }
    }
}
