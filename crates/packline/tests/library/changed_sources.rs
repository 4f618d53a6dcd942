//! Sources that change while they are packed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use packline::requests::{ImageRequest, PackRequest, pack};
use packline::{Image, Observer, Output, Packer, Progress, Resources, Source, Unpacker};
use packline_testkit::Random;

/// Changes a file when the first content was read. Keeps warnings.
struct Changing<C> {
    change: Option<C>,
    warnings: Vec<String>,
}

impl<C: FnOnce()> Observer for Changing<C> {
    fn advance(&mut self, _: &Progress) {
        if let Some(change) = self.change.take() {
            // The file's time must differ from its time before.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change();
        }
    }

    fn warning(&mut self, message: &str) {
        self.warnings.push(message.to_string());
    }
}

/// A directory with a tree, and the tree as a tar and as an image.
struct Place {
    top: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let top = tempfile::tempdir().unwrap();
        let place = Place { top };
        fs::create_dir(place.at("tree")).unwrap();
        for number in 0..6 {
            fs::write(place.at("tree").join(format!("f{number}")), Random::new(number).noise(1_400_000)).unwrap();
        }
        for image in ["a.sqfs", "a.erofs"] {
            Packer::new(Source::directory(place.at("tree"))).codec("none").write_to(place.at(image)).unwrap();
        }
        Unpacker::new(place.at("a.sqfs")).to_tar(place.at("a.tar")).unwrap();
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Packs a source that changes meanwhile. Returns the error or the warnings.
    fn pack(
        &self,
        source: Source,
        image: ImageRequest,
        workers: usize,
        change: impl FnOnce(),
    ) -> Result<Vec<String>, String> {
        let output = self.at("out");
        let target = Output::File { path: output.clone(), force: true };
        let mut request = PackRequest::new(source, target, image);
        request.resources = Resources::new(workers);
        let mut observer = Changing { change: Some(change), warnings: Vec::new() };
        let result = pack(request, &mut observer);
        assert!(observer.change.is_none(), "nothing changed");
        assert_eq!(output.exists(), result.is_ok());
        result.map(|_| observer.warnings).map_err(|error| error.to_string())
    }
}

/// Requests of an image of each format.
fn formats() -> [ImageRequest; 2] {
    [ImageRequest::parse(None, None).unwrap(), ImageRequest::parse_erofs(None, None).unwrap()]
}

/// Overwrites a byte near the end of a file.
fn overwrite(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(b"x", file.metadata().unwrap().len() - 100_000).unwrap();
}

#[test]
fn rejects_tars_and_images_that_change_while_they_are_packed() {
    let place = Place::new();
    for workers in [0, 1, 3] {
        for (name, open) in [
            ("a.tar", (|path| Source::tar_file(path)) as fn(PathBuf) -> Source),
            ("a.tar", |path| Source::stack([Source::tar_file(path)])),
            ("a.sqfs", |path| Source::image(Image::open(path).unwrap())),
            ("a.erofs", |path| Source::image(Image::open(path).unwrap())),
        ] {
            let path = place.at(name);
            for format in formats() {
                let message = place.pack(open(path.clone()), format, workers, || overwrite(&path)).unwrap_err();
                assert!(message.contains(&format!("{name}: changed while it was read")), "{message}");
            }
        }
    }
}

/// A tar may end after any entry, so its end does not show that it was incomplete.
#[test]
fn rejects_a_tar_that_grows_while_it_is_packed() {
    let place = Place::new();
    let whole = fs::read(place.at("a.tar")).unwrap();
    let path = place.at("growing.tar");
    // The header of the root, and two files with their headers, each padded to blocks.
    let two = 512 + 2 * (512 + 1_400_000_usize.next_multiple_of(512));
    for workers in [0, 3] {
        for format in formats() {
            fs::write(&path, &whole[..two]).unwrap();
            let append = || OpenOptions::new().append(true).open(&path).unwrap().write_all(&whole[two..]).unwrap();
            let message = place.pack(Source::tar_file(&path), format, workers, append).unwrap_err();
            assert!(message.contains("growing.tar: changed while it was read"), "{message}");
        }
    }
}

#[test]
fn reports_a_file_of_a_layer_that_is_overwritten_while_it_is_packed() {
    let place = Place::new();
    let file = place.at("tree").join("f0");
    File::open(&file).unwrap();
    for workers in [0, 3] {
        for format in formats() {
            let source = Source::stack([Source::directory(place.at("tree"))]);
            let warnings = place.pack(source, format, workers, || overwrite(&file)).unwrap();
            assert!(warnings.len() == 1 && warnings[0].ends_with("f0: file changed as we read it"), "{warnings:?}");
        }
    }
}
