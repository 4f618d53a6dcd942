//! Finds an image in an archive of Docker: manifest.json, the config, and a tar for each layer.

use super::blobs::Blobs;
use super::digest::Digest;
use super::documents::{Config, DockerImage, parse};
use super::layer::OciLayer;
use super::layout::check_config;
use super::{OciImage, OciOptions, choose, wrong};
use crate::Error;

const MANIFEST: &str = "manifest.json";

pub(super) fn open(blobs: Blobs, name: String, tag: Option<&str>, options: &OciOptions) -> Result<OciImage, Error> {
    let expected = "an archive as docker save and podman save write it";
    let bytes = blobs.document(&name, MANIFEST)?.ok_or_else(|| wrong(&name, "manifest.json is missing", expected))?;
    let image = tagged(&name, parse(&name, MANIFEST, &bytes)?, tag)?;
    let config: Config = parse(&name, &image.config, &config(&blobs, &name, &image.config)?)?;
    check_config(&name, &config, image.layers.len(), options.platform.as_ref())?;
    let layers = image.layers.iter().zip(&config.rootfs.diff_ids).enumerate();
    let layers =
        layers.map(|(at, (path, diff_id))| layer(&blobs, &name, at, path, diff_id)).collect::<Result<_, _>>()?;
    Ok(OciImage { name, layers })
}

fn tagged(name: &str, images: Vec<DockerImage>, tag: Option<&str>) -> Result<DockerImage, Error> {
    let tags: Vec<String> = images.iter().flat_map(|image| image.repo_tags.iter().flatten()).cloned().collect();
    let count = images.len();
    let is_wanted = |found: &String| tag.is_some_and(|tag| names(found, tag));
    let mut wanted =
        images.into_iter().filter(|image| tag.is_none() || image.repo_tags.iter().flatten().any(is_wanted));
    match (wanted.next(), tag) {
        (Some(image), Some(_)) => Ok(image),
        (Some(image), None) if count == 1 => Ok(image),
        (_, Some(tag)) => Err(choose(name, &format!("there is no image '{tag}' in it"), &tags)),
        (Some(_), None) => Err(choose(name, &format!("there are {count} images in it"), &tags)),
        (None, None) => Err(choose(name, "there is no image in it", &tags)),
    }
}

/// Whether a name without the registry or the tag that Docker and podman add to it is that of an image.
fn names(found: &str, tag: &str) -> bool {
    let rest =
        ["", "docker.io/", "docker.io/library/", "localhost/"].iter().filter_map(|prefix| found.strip_prefix(prefix));
    rest.filter_map(|rest| rest.strip_prefix(tag)).any(|rest| rest.is_empty() || rest == ":latest")
}

/// The config, whose name is its digest.
fn config(blobs: &Blobs, name: &str, path: &str) -> Result<Vec<u8>, Error> {
    let hex = path.strip_prefix("blobs/sha256/").unwrap_or(path);
    match Digest::parse(&format!("sha256:{}", hex.strip_suffix(".json").unwrap_or(hex))) {
        Some(digest) => blobs.checked(name, path, &digest),
        None => Err(wrong(name, format!("config '{path}'"), "a name that is its digest")),
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
    use super::names;

    #[test]
    fn names_need_not_be_whole() {
        for (found, tag, expected) in [
            ("docker.io/library/box:latest", "box", true),
            ("docker.io/library/box:1", "box", false),
            ("docker.io/library/box:1", "box:1", true),
            ("localhost/box:latest", "box:latest", true),
            ("quay.io/box:latest", "box", false),
            ("quay.io/box:latest", "quay.io/box", true),
            ("docker.io/library/box:1", "bo", false),
        ] {
            assert_eq!(names(found, tag), expected, "{found} {tag}");
        }
    }
}
