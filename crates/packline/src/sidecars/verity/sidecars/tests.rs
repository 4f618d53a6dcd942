//! Names of files next to an image, and sets of such files that replace another set.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use packline_squashfs::Options;

use super::*;
use crate::requests::{ImageRequest, PackRequest, VerityRequest, pack, verity};
use crate::sources::source::Source;
use packline_image::Output;
use packline_runtime::Resources;

#[test]
fn files_have_the_names_that_systemd_expects() {
    let name = |image: &str| beside(Path::new(image), ".roothash.p7s");
    assert_eq!(name("dir/app.raw"), Path::new("dir/app.roothash.p7s"));
    assert_eq!(name("app.sqfs"), Path::new("app.sqfs.roothash.p7s"));
    assert_eq!(name("app"), Path::new("app.roothash.p7s"));
}

/// Puts a directory at a path when the outputs are synced for the `at`th time: no file can have its name then.
struct Obstacle {
    path: PathBuf,
    at: u32,
    syncs: u32,
}

impl Observer for Obstacle {
    fn syncing(&mut self) {
        self.syncs += 1;
        if self.syncs == self.at {
            let _: std::io::Result<()> = fs::remove_file(&self.path);
            fs::create_dir(&self.path).unwrap();
        }
    }
}

/// The regular files in a directory, and what is in them.
fn files(directory: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = files.filter(|file| file.file_type().unwrap().is_file());
    files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect()
}

/// An old set, and the files that a failed run leaves of the set, except for the file whose name the run cannot use.
fn failed(blocked: &str, run: impl Fn(&Path, &mut dyn Observer) -> Result<(), Error>) {
    let mut failures = 0;
    for at in 1.. {
        let top = tempfile::tempdir().unwrap();
        for name in ["i.verity", "i.roothash"] {
            fs::write(top.path().join(name), "old").unwrap();
        }
        fs::write(top.path().join("i.raw"), [7; 4096 * 3]).unwrap();
        fs::create_dir(top.path().join("tree")).unwrap();
        let mut before = files(top.path());
        before.remove(&OsString::from(blocked));
        let mut obstacle = Obstacle { path: top.path().join(blocked), at, syncs: 0 };
        let ran = run(&top.path().join("i.raw"), &mut obstacle);
        if obstacle.syncs < at {
            ran.unwrap();
            break;
        }
        // The file may have its name already.
        if ran.is_err() {
            failures += 1;
            assert!(files(top.path()) == before, "{blocked}, sync {at}");
        }
    }
    assert!(failures > 1, "{blocked}");
}

#[test]
fn restores_the_old_files_if_a_new_one_cannot_get_its_name() {
    for blocked in ["i.verity", "i.roothash"] {
        failed(blocked, |image, observer| {
            let mut request = VerityRequest::new(image);
            request.force = true;
            request.resources = Resources::new(0);
            verity(request, observer).map(|_| ())
        });
    }
}

#[test]
fn restores_the_old_files_if_the_image_cannot_get_its_name() {
    for place in [VerityPlace::Files, VerityPlace::Append] {
        failed("i.raw", |image, observer| {
            let source = Source::at(image.with_file_name("tree"), &Resources::new(0))?;
            let target = Output::File { path: image.to_path_buf(), force: true };
            let options = Options::new("gzip".parse().unwrap());
            let mut request = ImageRequest::new(options);
            request.verity = Some(VerityOptions { place, ..VerityOptions::default() });
            let mut request = PackRequest::new(source, target, request);
            request.resources = Resources::new(0);
            pack(request, observer).map(|_| ())
        });
    }
}
