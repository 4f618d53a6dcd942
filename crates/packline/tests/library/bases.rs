//! Base images through the requests: an image that is not of this encoder, or none at all, changes nothing where that is asked for.

use std::fs;
use std::path::Path;

use packline::requests::{BaseBlocks, BaseImage, ImageSummary, PackOptions, PackRequest, PackSummary, pack};
use packline::{Container, Error, Output, Resources, Source, Unobserved};
use packline_image::ImagePlace;

use crate::place;

fn packed(tree: &Path, image: &Path, codec: &str, base: Option<(&Path, BaseBlocks)>) -> Result<ImageSummary, Error> {
    let options = PackOptions::parse(Container::SquashFs, Some(codec), Some(4096))?;
    let output = Output::File { path: image.to_path_buf(), force: true };
    let mut request = PackRequest::new(Source::directory(tree), output, options);
    request.resources = Resources::new(2);
    request.base.extend(base.map(|(path, blocks)| {
        let mut base = BaseImage::new(ImagePlace::new(path));
        base.blocks = blocks;
        base
    }));
    let PackSummary::SquashFs(summary) = pack(request, &mut Unobserved)? else {
        unreachable!("an image was asked for")
    };
    Ok(*summary)
}

#[test]
fn a_base_of_another_encoder_counts_for_nothing_if_that_is_asked_for() {
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
