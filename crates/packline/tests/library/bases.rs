//! Base images through the requests: an image that is not of this encoder, or none at all, changes nothing where that is asked for; and the
//! image before an appended source.

use std::fs;
use std::path::Path;

use packline::requests::{
    AppendTo, BaseBlocks, BaseImage, ImagePlace, ImageRequest, ImageSummary, PackRequest, PackSummary, pack,
};
use packline::{Error, Image, MemoryFault, Output, Resources, Source, Unobserved};
use packline_squashfs::BlockSize;
use packline_testkit::Random;

use crate::place;

fn image(codec: &str) -> Result<ImageRequest, Error> {
    ImageRequest::parse(Some(codec), Some(BlockSize::MIN))
}

fn request(tree: &Path, path: &Path, image: ImageRequest) -> PackRequest {
    let output = Output::File { path: path.to_path_buf(), force: true };
    let mut request = PackRequest::new(Source::directory(tree), output, image);
    request.resources = Resources::new(2);
    request
}

fn packed(tree: &Path, image: &Path, codec: &str, base: Option<(&Path, BaseBlocks)>) -> Result<ImageSummary, Error> {
    let mut packed = self::image(codec)?;
    packed.base.extend(base.map(|(path, blocks)| {
        let mut base = BaseImage::new(ImagePlace::new(path));
        base.blocks = blocks;
        base
    }));
    summary(request(tree, image, packed))
}

fn summary(request: PackRequest) -> Result<ImageSummary, Error> {
    let PackSummary::Image(summary) = pack(request, &mut Unobserved)? else { unreachable!("an image was asked for") };
    Ok(*summary)
}

#[test]
fn ignores_bases_of_another_encoder_on_request() {
    let (top, tree) = place();
    let at = |name: &str| top.path().join(name);
    packed(&tree, &at("clean"), "gzip", None).unwrap();
    packed(&tree, &at("other"), "gzip:level=1", None).unwrap();
    packed(&tree, &at("xz"), "xz", None).unwrap();
    let mut damaged = fs::read(at("clean")).unwrap();
    damaged[200] ^= 1;
    fs::write(at("damaged"), damaged).unwrap();
    for name in ["other", "xz", "damaged", "clean"] {
        let path = at(name);
        let base = |blocks| Some((&*path, blocks));
        let exact = packed(&tree, &at("new"), "gzip", base(BaseBlocks::Exact));
        assert_eq!(exact.is_ok(), name == "clean", "{name}");
        let summary = packed(&tree, &at("new"), "gzip", base(BaseBlocks::ExactOrNone)).unwrap();
        assert!(fs::read(at("new")).unwrap() == fs::read(at("clean")).unwrap(), "{name}");
        assert_eq!(summary.base.map(|counts| counts.taken > 0), (name == "clean").then_some(true), "{name}");
    }
    fs::write(at("text"), "no image").unwrap();
    let text = at("text");
    assert!(packed(&tree, &at("new"), "gzip", Some((&text, BaseBlocks::ExactOrNone))).is_err());
}

/// Blocks of the earlier image are kept, whatever encoder wrote them. If their index does not fit, the pack fails and writes no other blocks.
#[test]
fn appending_does_not_depend_on_the_memory_limit() {
    let (top, tree) = place();
    let at = |name: &str| top.path().join(name);
    let mut random = Random::new(31);
    let before = at("before");
    fs::create_dir(&before).unwrap();
    (0..300).for_each(|file| fs::write(before.join(file.to_string()), random.prose(20_000)).unwrap());
    let appended = |old: &str, memory| {
        let mut new = image("gzip")?;
        let old = Image::open(at(old))?;
        new.append_to = Some(AppendTo { image: old.into(), directory: b"before".to_vec(), edit: None });
        let mut request = request(&tree, &at("new"), new);
        request.resources.memory = memory;
        summary(request).map(|summary| summary.base)
    };
    packed(&before, &at("foreign"), "gzip:level=1", None).unwrap();
    packed(&before, &at("own"), "gzip", None).unwrap();
    for (old, refusals) in [("foreign", 1), ("own", 0)] {
        let counts = appended(old, None).unwrap().unwrap();
        assert!(counts.taken > 1000 && counts.exact == (old == "own"), "{old}: {counts:?}");
        let expected = fs::read(at("new")).unwrap();
        let mut memory = 1;
        let mut refused = 0;
        while let Err(error) = appended(old, Some(memory)) {
            let Error::Memory(MemoryFault { needed, what, .. }) = error else { unreachable!("{error}") };
            assert!(needed > memory, "{what}");
            refused += u32::from(what.contains("an index of the"));
            memory = needed;
        }
        assert!(fs::read(at("new")).unwrap() == expected && refused == refusals, "{old}: {refused} refusals");
    }
}

/// An EROFS image reuses blocks of EROFS images, and of SquashFS images if both have the same blocks.
#[test]
fn an_erofs_image_reuses_blocks_of_its_own_encoder() {
    let (top, tree) = place();
    let at = |name: &str| top.path().join(name);
    packed(&tree, &at("clean"), "gzip", None).unwrap();
    let erofs = |name: &str, codec: &str, base: Option<(&str, BaseBlocks)>, append_to| {
        let mut new = ImageRequest::parse_erofs(Some(codec), None).unwrap();
        new.base.extend(base.map(|(path, blocks)| {
            let mut base = BaseImage::new(ImagePlace::new(at(path)));
            base.blocks = blocks;
            base
        }));
        new.append_to = append_to;
        summary(request(&tree, &at(name), new)).map(|summary| summary.base)
    };
    erofs("lzma", "lzma:level=1", None, None).unwrap();
    erofs("zstd1", "zstd:level=1", None, None).unwrap();
    erofs("zstd", "zstd", None, None).unwrap();
    for (base, expected) in [
        (
            "clean",
            "is a SquashFS image, whose blocks differ from those of the new image (expected an EROFS image, or a new image for Linux 6.15 or later)",
        ),
        ("lzma", "is compressed with lzma (expected zstd, as in the new image)"),
        ("zstd1", "was packed with codec zstd:level=1 (expected codec zstd, as in the new image)"),
    ] {
        for blocks in [BaseBlocks::Exact, BaseBlocks::Any] {
            let message = erofs("new", "zstd", Some((base, blocks)), None).unwrap_err().to_string();
            assert!(message.contains(&format!("{base}: {expected}")), "{message}");
        }
        assert!(!at("new").exists());
        assert_eq!(erofs("new", "zstd", Some((base, BaseBlocks::ExactOrNone)), None).unwrap(), None);
        fs::remove_file(at("new")).unwrap();
    }
    let counts = erofs("new", "zstd", Some(("zstd", BaseBlocks::Exact)), None).unwrap().unwrap();
    assert!(counts.exact && counts.taken == counts.blocks && counts.taken > 0, "{counts:?}");
    assert!(fs::read(at("new")).unwrap() == fs::read(at("zstd")).unwrap());
    fs::remove_file(at("new")).unwrap();
    let before = AppendTo { image: Image::open(at("clean")).unwrap().into(), directory: Vec::new(), edit: None };
    assert!(matches!(erofs("new", "zstd", None, Some(before)), Err(Error::Request { .. })));
    assert!(!at("new").exists());
}
