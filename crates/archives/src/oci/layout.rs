//! Finds an image in an image layout, from index.json, or in a registry, from the document of a tag: indexes, the manifest, the config.

use std::collections::BTreeSet;
use std::sync::Arc;

use packline_tree::Error;

use super::blobs::Blobs;
use super::digest::Digest;
use super::documents::{Config, Descriptor, INDEXES, Index, LayoutVersion, MANIFESTS, Manifest, Platform, parse};
use super::layer::OciLayer;
use super::registry::RegistryImage;
use super::{LAYERS_MOST, OciDetails, OciImage, OciOptions, choose, number, tags, wrong};

/// Maximum nesting of indexes.
const NESTED_MOST: usize = 4;

/// Types of layers without their compression. The content of the types in `FOREIGN` may be missing.
const LAYERS: [&str; 2] = ["application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar"];
const FOREIGN: [&str; 2] =
    ["application/vnd.oci.image.layer.nondistributable.v1.tar", "application/vnd.docker.image.rootfs.foreign.diff.tar"];
const COMPRESSIONS: [&str; 5] = ["", "+gzip", "+zstd", ".gzip", ".zstd"];

/// The start of the message of an image without the wanted platform.
const NO_PLATFORM: &str = "contains no image for the platform";

/// Whether an image was not opened because it has no image of the wanted platform, and another platform could be chosen.
pub fn lacks_platform(error: &Error) -> bool {
    matches!(error, Error::Input { what, .. } if what.starts_with(NO_PLATFORM))
}

/// The manifest of an image.
struct Found {
    manifest: Manifest,
    media_type: String,
    digest: String,
    /// Whether the platform chose it.
    chosen: bool,
}

struct Layout<'a> {
    blobs: Blobs,
    name: &'a str,
    options: &'a OciOptions,
}

pub(super) fn open(blobs: Blobs, name: String, tag: Option<&str>, options: &OciOptions) -> Result<OciImage, Error> {
    let layout = Layout { blobs, name: &name, options };
    layout.check_version()?;
    let missing = || wrong(&name, "index.json is missing", "an OCI image layout");
    let bytes = layout.blobs.document(&name, "index.json")?.ok_or_else(missing)?;
    let index: Index = parse(&name, "index.json", &bytes)?;
    let images = layout.tagged(index, tag)?;
    layout.refuse_twins(&images)?;
    layout.image(images)
}

/// Opens an image of a registry. Reads its indexes, its manifest and its config.
pub(super) fn open_registry(image: &Arc<RegistryImage>, options: &OciOptions) -> Result<OciImage, Error> {
    let name = image.root.name.clone();
    let layout = Layout { blobs: Blobs::Registry(Arc::clone(image)), name: &name, options };
    let opened = layout.image(vec![image.descriptor.clone()])?;
    image.announce(opened.layers.iter().map(|layer| (layer.key(), layer.size())));
    Ok(opened)
}

impl Layout<'_> {
    /// The image of the platform.
    fn image(&self, images: Vec<Descriptor>) -> Result<OciImage, Error> {
        let tags = images.first().and_then(Descriptor::tag).map(str::to_string);
        let found = self.find(images)?;
        let config: Config = parse(self.name, &found.manifest.config.digest, &self.document(&found.manifest.config)?)?;
        let layers = self.layers(&found, &config)?;
        let digest = self.digest(&found.manifest.config.digest)?;
        let details = OciDetails {
            tags: tags.into_iter().collect(),
            manifest: Some((found.media_type, found.digest)),
            ..OciDetails::of_config(config, Some(&digest))
        };
        Ok(OciImage { name: self.name.to_string(), layers, details })
    }

    fn check_version(&self) -> Result<(), Error> {
        let expected = match &self.blobs {
            Blobs::Directory(_) => "an OCI image layout: a directory or archive with oci-layout and index.json",
            Blobs::Archive(_) | Blobs::Registry(_) => {
                "an OCI image layout with oci-layout and index.json; docker-archive:FILE for a docker archive"
            }
        };
        let missing = || wrong(self.name, "oci-layout is missing", expected);
        let bytes = self.blobs.document(self.name, "oci-layout")?.ok_or_else(missing)?;
        let LayoutVersion { image_layout_version: version } = parse(self.name, "oci-layout", &bytes)?;
        match version.as_str() {
            "1.0.0" => Ok(()),
            _ => Err(wrong(self.name, format!("version '{version}' of the layout"), "1.0.0")),
        }
    }

    /// Returns the manifests that `tag` selects: a tag, a digest or a number. Without `tag`, returns all manifests if they have the same tag
    /// or no tag, so that the platform chooses one; otherwise the only manifest of the requested platform.
    fn tagged(&self, index: Index, tag: Option<&str>) -> Result<Vec<Descriptor>, Error> {
        let images: Vec<Descriptor> = index.manifests.into_iter().filter(|found| !found.is_attestation()).collect();
        let names = |found: &Descriptor| found.tag().unwrap_or(&found.digest).to_string();
        let tags: Vec<String> = images.iter().map(names).collect();
        let refused = |what: &str| Err(choose(self.name, what, &tags, 0));
        let Some(tag) = tag else {
            return match images.len() {
                0 => refused("contains no image"),
                _ if images.iter().all(|image| image.tag() == images[0].tag()) => Ok(images),
                count => match self.only_of_platform(&images) {
                    Some(one) => Ok(vec![one.clone()]),
                    None => refused(&format!("contains {count} images")),
                },
            };
        };
        let wanted = |found: &&Descriptor| found.tag() == Some(tag) || found.digest == tag;
        let mut found: Vec<Descriptor> = images.iter().filter(wanted).cloned().collect();
        if found.is_empty() {
            // All manifests with a tag are one image, for several platforms.
            let all: BTreeSet<&str> = images.iter().filter_map(Descriptor::tag).collect();
            let all: Vec<(usize, &str)> = all.into_iter().enumerate().collect();
            let whole = tags::find(&all, tag).map(|at| all[at].1);
            found.extend(images.iter().filter(|image| whole.is_some() && image.tag() == whole).cloned());
        }
        if found.is_empty() {
            found.extend(number(tag).and_then(|at| images.get(at)).cloned());
        }
        if found.is_empty() { refused(&format!("contains no image '{tag}'")) } else { Ok(found) }
    }

    /// The only image of the requested platform.
    fn only_of_platform<'d>(&self, images: &'d [Descriptor]) -> Option<&'d Descriptor> {
        let wanted = self.options.platform.as_ref()?;
        let mut found = images.iter().filter(|image| self.platform_of(image).is_some_and(|found| wanted.takes(&found)));
        let one = found.next()?;
        found.next().is_none().then_some(one)
    }

    /// The platform of an image, from its descriptor or its config. `None` if neither has it.
    fn platform_of(&self, descriptor: &Descriptor) -> Option<Platform> {
        let by_config = || {
            let is_manifest = MANIFESTS.contains(&descriptor.media_type.as_str());
            let bytes = is_manifest.then(|| self.document(descriptor).ok())??;
            let manifest: Manifest = parse(self.name, &descriptor.digest, &bytes).ok()?;
            let config: Config =
                parse(self.name, &manifest.config.digest, &self.document(&manifest.config).ok()?).ok()?;
            config.platform()
        };
        descriptor.platform().or_else(by_config)
    }

    /// Fails if index.json has several images of the chosen platform, because one of them may be outdated.
    fn refuse_twins(&self, from: &[Descriptor]) -> Result<(), Error> {
        let (one, _) = self.choose(from)?;
        let platform = self.platform_of(one);
        let is_twin = |found: &&Descriptor| found.digest == one.digest || self.platform_of(found) == platform;
        let mut twins: Vec<String> = from.iter().filter(is_twin).map(|twin| twin.digest.clone()).collect();
        twins.sort_unstable();
        twins.dedup();
        match twins.len() {
            1 => Ok(()),
            count => Err(choose(self.name, &format!("contains {count} images"), &twins, 0)),
        }
    }

    /// Follows indexes to the manifest of the platform.
    fn find(&self, mut from: Vec<Descriptor>) -> Result<Found, Error> {
        let mut chosen = false;
        for _ in 0..=NESTED_MOST {
            let (one, by_platform) = self.choose(&from)?;
            chosen |= by_platform;
            let bytes = self.document(one)?;
            match one.media_type.as_str() {
                found if MANIFESTS.contains(&found) => {
                    let manifest = parse(self.name, &one.digest, &bytes)?;
                    let media_type = one.media_type.clone();
                    let digest = one.digest.clone();
                    return Ok(Found { manifest, media_type, digest, chosen });
                }
                found if INDEXES.contains(&found) => from = parse::<Index>(self.name, &one.digest, &bytes)?.manifests,
                found => {
                    let what = format!("{}: media type '{found}'", one.digest);
                    return Err(wrong(self.name, what, "an index or a manifest of an image"));
                }
            }
        }
        Err(wrong(self.name, "indexes in indexes", format!("at most {NESTED_MOST} deep")))
    }

    /// The image of the platform, and whether the platform was requested and is known.
    fn choose<'d>(&self, from: &'d [Descriptor]) -> Result<(&'d Descriptor, bool), Error> {
        let images: Vec<&Descriptor> = from.iter().filter(|found| !found.is_attestation()).collect();
        if let [one] = images[..] {
            match (&self.options.platform, one.platform()) {
                (Some(wanted), Some(found)) if !wanted.takes(&found) => {}
                (wanted, found) => return Ok((one, wanted.is_some() && found.is_some())),
            }
        }
        let wanted = self.options.platform.clone().unwrap_or_else(Platform::this_machine);
        let by_descriptor = images.iter().find(|found| found.platform().is_some_and(|found| wanted.takes(&found)));
        // Manifests may be missing, so the config is read only if no descriptor has the platform.
        let by_config =
            || images.iter().find(|found| self.platform_of(found).is_some_and(|found| wanted.takes(&found)));
        let found = by_descriptor.or_else(by_config).map(|found| (*found, true));
        found.ok_or_else(|| self.no_platform(&wanted, images.iter().filter_map(|found| self.platform_of(found))))
    }

    fn no_platform(&self, wanted: &Platform, found: impl Iterator<Item = Platform>) -> Error {
        let found: Vec<String> = found.map(|platform| platform.to_string()).collect();
        let expected = if found.is_empty() { "one that names its platform".to_string() } else { found.join(", ") };
        wrong(self.name, format!("{NO_PLATFORM} {wanted}"), expected)
    }

    fn document(&self, descriptor: &Descriptor) -> Result<Vec<u8>, Error> {
        let digest = self.digest(&descriptor.digest)?;
        let bytes = self.blobs.described(self.name, descriptor, &digest)?;
        if bytes.len() as u64 == descriptor.size {
            Ok(bytes)
        } else {
            Err(self.size(&digest, bytes.len() as u64, descriptor.size))
        }
    }

    fn size(&self, digest: &Digest, found: u64, expected: u64) -> Error {
        wrong(self.name, format!("{digest} has {found} bytes"), format!("{expected}, as its descriptor says"))
    }

    fn digest(&self, text: &str) -> Result<Digest, Error> {
        Digest::parse(text)
            .ok_or_else(|| wrong(self.name, format!("digest '{text}'"), "sha256 or sha512, in lower case"))
    }

    fn layers(&self, found: &Found, config: &Config) -> Result<Vec<OciLayer>, Error> {
        let layers = found.manifest.layers.as_deref().unwrap_or_default();
        check_config(self.name, config, layers.len(), self.options.platform.as_ref().filter(|_| !found.chosen))?;
        let layers = layers.iter().zip(config.rootfs.diff_ids.iter().flatten()).enumerate();
        layers.map(|(at, (layer, diff_id))| self.layer(at, layer, diff_id)).collect()
    }

    fn layer(&self, at: usize, descriptor: &Descriptor, diff_id: &str) -> Result<OciLayer, Error> {
        let digest = self.digest(&descriptor.digest)?;
        let diff_id = self.digest(diff_id)?;
        let name = format!("{}: layer {} ({})", self.name, at + 1, digest.short());
        let foreign = check_media_type(&name, &descriptor.media_type)?;
        let Some(blob) = self.blobs.content(&digest, descriptor.size)? else {
            let what = if foreign {
                "its content is not in the image, which only says where it is"
            } else {
                "its content is missing"
            };
            return Err(wrong(&name, what, digest.path()));
        };
        if blob.size() != descriptor.size {
            let expected = format!("{}, as the manifest says", descriptor.size);
            return Err(wrong(&name, format!("it has {} bytes", blob.size()), expected));
        }
        let mut layer = OciLayer::new(name, blob, Some(digest), diff_id);
        layer.media_type = Some(descriptor.media_type.clone());
        Ok(layer)
    }
}

/// Checks the config, which describes `count` layers and, if a platform is given, must be of that platform.
pub(super) fn check_config(
    name: &str,
    config: &Config,
    count: usize,
    platform: Option<&Platform>,
) -> Result<(), Error> {
    let diff_ids = config.rootfs.diff_ids.as_ref().map_or(0, Vec::len);
    let of_other = config.platform().filter(|found| platform.is_some_and(|wanted| !wanted.takes(found)));
    match (config.rootfs.kind.as_str(), of_other, platform) {
        ("layers", Some(found), Some(wanted)) => Err(wrong(name, format!("an image for {found}"), wanted.to_string())),
        ("layers", ..) if count > LAYERS_MOST => {
            Err(wrong(name, format!("an image of {count} layers"), format!("at most {LAYERS_MOST}")))
        }
        ("layers", ..) if diff_ids != count => {
            let what = format!("{count} layers in the manifest, {diff_ids} in the config");
            Err(wrong(name, what, "as many"))
        }
        ("layers", ..) => Ok(()),
        (kind, ..) => Err(wrong(name, format!("a root file system of the type '{kind}'"), "layers")),
    }
}

/// Whether the content of a layer may be missing.
fn check_media_type(name: &str, media_type: &str) -> Result<bool, Error> {
    let is_one = |bases: [&str; 2]| {
        bases.iter().any(|base| media_type.strip_prefix(base).is_some_and(|rest| COMPRESSIONS.contains(&rest)))
    };
    let expected = "a layer that is a tar, plain or compressed with gzip or zstd";
    match (is_one(LAYERS), is_one(FOREIGN)) {
        (true, _) => Ok(false),
        (_, true) => Ok(true),
        _ if media_type.ends_with("+encrypted") => {
            Err(wrong(name, format!("it is encrypted ('{media_type}')"), expected))
        }
        _ => Err(wrong(name, format!("media type '{media_type}'"), expected)),
    }
}
