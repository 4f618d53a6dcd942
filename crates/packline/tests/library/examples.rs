//! The examples that bundle, merge, compare and make images.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use packline::{Image, Input, Packer, Resources, Source};

use crate::{app_image, firmware, image_diff, place};

#[test]
fn an_app_image_is_a_runtime_and_an_image() {
    let (top, tree) = place();
    let runtime = top.path().join("runtime");
    let target = top.path().join("app");
    fs::write(&runtime, vec![7; 5000]).unwrap();
    app_image::bundle(&runtime, &tree, &target).unwrap();
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(fs::read(&target).unwrap().starts_with(&[7; 5000]));
    let image = Image::from_input(Input::file(&target).part(5000..).unwrap()).unwrap();
    let mut content = Vec::new();
    image.read("etc/os-release", &mut content).unwrap();
    assert_eq!(content, b"NAME=test\n");
    assert_eq!(image.verify(&Resources::new(2)).unwrap(), []);
    assert!(app_image::bundle(&runtime, &tree, &target).is_err(), "an existing file was replaced");
}

#[test]
fn an_image_of_a_firmware_is_in_memory_and_the_same_every_time() {
    let bytes = firmware::image("box").unwrap();
    assert_eq!(firmware::image("box").unwrap(), bytes);
    let image = Image::from_input(Input::bytes("firmware", bytes)).unwrap();
    let mut content = Vec::new();
    image.read("etc/hostname", &mut content).unwrap();
    assert_eq!(content, b"box\n");
    assert_eq!(image.entry("root").unwrap().meta().mode, 0o700);
}

#[test]
fn differences_of_two_images_are_listed() {
    let (top, tree) = place();
    let [old, new] = ["old.sqfs", "new.erofs"].map(|name| top.path().join(name));
    Packer::new(Source::directory(&tree)).write_to(&old).unwrap();
    let [old_image, same] = [&old, &old].map(|path| Image::open(path).unwrap());
    assert_eq!(image_diff::differences(&old_image, &same).unwrap(), [] as [&str; 0]);
    fs::write(tree.join("main.o"), b"Object").unwrap();
    fs::write(tree.join("etc/conf/large"), b"small").unwrap();
    fs::remove_file(tree.join("release")).unwrap();
    fs::write(tree.join("release-2"), b"").unwrap();
    Packer::new(Source::directory(&tree)).mtime(0).write_to(&new).unwrap();
    let lines = image_diff::differences(&old_image, &Image::open(&new).unwrap()).unwrap();
    for line in ["! main.o", "! etc/conf/large", "- release", "+ release-2"] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
}
