//! Finds an image in a Docker archive: manifest.json, the config, and a tar for each layer.

use packline_tree::Error;

use super::blobs::Blobs;
use super::digest::Digest;
use super::documents::{Config, DockerImage, parse};
use super::layer::OciLayer;
use super::layout::check_config;
use super::{OciDetails, OciImage, OciOptions, choose, number, tags, wrong};

const MANIFEST: &str = "manifest.json";

pub(super) fn open(blobs: Blobs, name: String, tag: Option<&str>, options: &OciOptions) -> Result<OciImage, Error> {
    let expected = "an archive as docker save and podman save write it";
    let bytes = blobs.document(&name, MANIFEST)?.ok_or_else(|| wrong(&name, "manifest.json is missing", expected))?;
    let image = tagged(&name, parse(&name, MANIFEST, &bytes)?, tag)?;
    let config: Config = parse(&name, &image.config, &config(&blobs, &name, &image.config)?)?;
    let digest = digest_of(&image.config);
    let paths = image.layers.unwrap_or_default();
    check_config(&name, &config, paths.len(), options.platform.as_ref())?;
    let layers = paths.iter().zip(config.rootfs.diff_ids.iter().flatten()).enumerate();
    let layers =
        layers.map(|(at, (path, diff_id))| layer(&blobs, &name, at, path, diff_id)).collect::<Result<_, _>>()?;
    let tags = image.repo_tags.unwrap_or_default();
    let details = OciDetails { tags, ..OciDetails::of_config(config, digest.as_ref()) };
    Ok(OciImage { name, layers, details })
}

fn tagged(name: &str, images: Vec<DockerImage>, tag: Option<&str>) -> Result<DockerImage, Error> {
    let tags: Vec<String> = images.iter().flat_map(|image| image.repo_tags.iter().flatten()).cloned().collect();
    let count = images.len();
    let is_named = images.iter().all(|image| image.repo_tags.iter().flatten().next().is_some());
    let refused = |what: &str| choose(name, what, &tags, if is_named { 0 } else { count });
    let found = match tag {
        None if count == 1 => Some(0),
        None if count == 0 => return Err(refused("contains no image")),
        None => return Err(refused(&format!("contains {count} images"))),
        Some(tag) => position(&images, tag),
    };
    let missing = || refused(&format!("contains no image '{}'", tag.unwrap_or_default()));
    found.and_then(|at| images.into_iter().nth(at)).ok_or_else(missing)
}

/// The index of the image that the tag selects, or its number.
fn position(images: &[DockerImage], tag: &str) -> Option<usize> {
    let all = images.iter().enumerate();
    let tags: Vec<(usize, &str)> =
        all.flat_map(|(at, image)| image.repo_tags.iter().flatten().map(move |found| (at, found.as_str()))).collect();
    tags::find(&tags, tag).or_else(|| number(tag))
}

/// The config. If its name is a digest, the digest is checked.
fn config(blobs: &Blobs, name: &str, path: &str) -> Result<Vec<u8>, Error> {
    if let Some(digest) = digest_of(path) {
        return blobs.checked(name, path, &digest);
    }
    let missing = || wrong(name, format!("{path} is missing"), "all documents of the image");
    blobs.document(name, path)?.ok_or_else(missing)
}

/// The digest in a path: `HEX.json` of Docker, `sha256:HEX` of go-containerregistry, or a blob of a layout. Jib writes
/// `config.json`.
fn digest_of(path: &str) -> Option<Digest> {
    let path = path.strip_suffix(".json").unwrap_or(path);
    match path.strip_prefix("blobs/") {
        Some(blob) => Digest::parse(&blob.replacen('/', ":", 1)),
        None => Digest::parse(path).or_else(|| Digest::parse(&format!("sha256:{path}"))),
    }
}

fn layer(blobs: &Blobs, name: &str, at: usize, path: &str, diff_id: &str) -> Result<OciLayer, Error> {
    let no_digest = || wrong(name, format!("digest '{diff_id}'"), "sha256 or sha512, in lower case");
    let diff_id = Digest::parse(diff_id).ok_or_else(no_digest)?;
    let name = format!("{name}: layer {} ({})", at + 1, diff_id.short());
    match blobs.find(path)? {
        Some(blob) => Ok(OciLayer::new(name, blob, None, diff_id)),
        None => Err(wrong(&name, "its content is missing", path)),
    }
}

#[cfg(test)]
mod tests {
    use super::digest_of;

    #[test]
    fn knows_which_names_of_configs_are_digests() {
        let hex = "a".repeat(64);
        let expected = format!("sha256:{hex}");
        for path in [format!("{hex}.json"), expected.clone(), format!("blobs/sha256/{hex}"), hex.clone()] {
            assert_eq!(digest_of(&path).unwrap().to_string(), expected, "{path}");
        }
        for path in ["config.json", "", "sha256:", "blobs/sha256/config", "x/config.json"] {
            assert_eq!(digest_of(path), None, "{path}");
        }
    }
}
