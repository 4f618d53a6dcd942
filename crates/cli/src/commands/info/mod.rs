//! `packline info` shows codec, sizes, tables and entry counts of an image.

mod container;
mod delta;
mod erofs;
mod image;
mod largest;
pub(crate) mod lrz;
pub(crate) mod pln;
mod recovery;
mod squashfs;
mod tar;

use packline::requests::{Archive, ContentKind, OciImage, OciOptions, OciPlace, OpenedFile};
use packline_image::{ImageInfo, OpenedImage, TreeCounts, Usage};

use crate::args::cache::ReadCache;
use crate::args::image::{ArchiveArgs, input};
use crate::args::keys::{OPENING, OpeningKeys};
use crate::args::registry::ContainerArgs;
use crate::args::value::number;
use crate::args::{Command, Invocation, wrong};
use crate::host::streams::STDIN;
use crate::ui::failure::Failure;
use crate::ui::hash_tree;
use crate::ui::io::{Io, take_stdin};
use crate::ui::password::wants_password;

/// Describe an image, an archive, a .lrz, .pln, .pld or recovery file
#[derive(Debug, clap::Args)]
#[command(mut_arg("image", |image| image.help(IMAGE)))]
pub struct Info {
    #[command(flatten)]
    place: ArchiveArgs,
    /// Print everything as one JSON object
    #[arg(long)]
    json: bool,
    /// Leave out entry counts, size of contents and ratio, which need a walk over all inodes
    #[arg(long)]
    quick: bool,
    /// Also show the N files that take most of the image, as 'packline du --by file' counts them
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=i64::MAX))]
    top: Option<usize>,
    #[command(flatten)]
    container: ContainerArgs,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
}

/// The help of the operand.
const IMAGE: &str = "An image, a block device with an image, a tar, a cpio or zip archive, a .lrz, .pln or .pld file, recovery data, a container image (oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or docker://IMAGE), or a URL; - for standard input";

impl Command for Info {
    const NAME: &'static str = "info";
    const ESSENTIAL: &'static [&'static str] =
        &["json", "quick", "top", "offset", "device", "platform", "identity", "passphrase-file", "cache"];

    const LEAVES_NOTHING: bool = true;

    fn details() -> String {
        "# Sources\n\
         For an encrypted .pln file without a key, info shows for whom the file was encrypted.\n\
         For a container image, info shows the layers, with the digests, media types and sizes that the image has, the \
         platform, and how a container is run. The digests of layers are not compared: pack does that.\n\
         For an image, info reads no file contents, and offsets are in bytes from the start of the image. A tar is read to \
         its end.\n\
         A tar from standard input is read as it arrives. Anything else from a pipe is stored first, in TMPDIR or /var/tmp."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let path = &self.place.image;
        self.container.check([path])?;
        self.cache.open([path], invocation, io)?;
        if let Some(place) = self.container.place(path, true, io)? {
            return self.show_container(&place, invocation, io);
        }
        let input = input(path, io)?;
        let resources = io.host.resources();
        let file = input.opened_file().cloned();
        if let Some(file) = file.as_ref().filter(|_| path.as_os_str() != "-" && !invocation.has("offset")) {
            if file.content_kind() == Some(ContentKind::Delta) {
                refuse_options(ContentKind::Delta, invocation)?;
                return delta::run(file, self.json, io);
            }
            if recovery::is_recovery(file) {
                if let Some(long) = invocation.explicit_except(&[&["json"][..], &ReadCache::NAMES].concat()) {
                    return Err(wrong(long, "has no effect on recovery data"));
                }
                return recovery::run(file, self.json, io);
            }
        }
        let opened = self.place.offset.open_with(input, false, &resources, None);
        let detail = lrz::Detail { json: self.json, verbosity: 0 };
        if opened.as_ref().is_err_and(wants_password) {
            refuse_options(ContentKind::Lrz, invocation)?;
            return lrz::show(detail, path, Err(Failure::AlreadyReported(0)), io);
        }
        let archive = opened?;
        refuse_options(archive.content_kind(), invocation)?;
        match archive {
            Archive::Image(image) => self.show_image(&image, file.as_ref(), io),
            Archive::Pln(input) => pln::run(input, &self.keys, self.json, io),
            Archive::Lrz(opened) => lrz::show(detail, &opened.display_path.clone(), Ok(opened), io),
            mut archive => tar::run(&mut archive, self.json, io),
        }
    }
}

/// Rejects options that the container does not have.
fn refuse_options(container: ContentKind, invocation: &Invocation) -> Result<(), Failure> {
    let mut honoured = [&["json"][..], &ReadCache::NAMES].concat();
    match container {
        kind if kind.is_image() => honoured.extend(["quick", "top", "offset", "device"]),
        ContentKind::Pln => honoured.extend(OPENING),
        _ => {}
    }
    match invocation.explicit_except(&honoured) {
        Some(long) => Err(wrong(long, format!("has no effect on {container}"))),
        None => Ok(()),
    }
}

impl Info {
    fn show_container(&self, place: &OciPlace, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let honoured = [&["json", "platform", "registry-insecure"][..], &ReadCache::NAMES].concat();
        if let Some(long) = invocation.explicit_except(&honoured) {
            return Err(wrong(long, "has no effect on a container image"));
        }
        let mut options = OciOptions::new();
        options.platform.clone_from(&self.container.platform);
        options.scratch = Some(io.host.scratch.clone());
        let opened = if place.is_stream() {
            OciImage::open_stream(place, STDIN, take_stdin(None, io)?, &options)
        } else {
            OciImage::open(place, &options)
        };
        let image = opened.map_err(packline::Error::from)?;
        container::run(place, &image, self.json, io)
    }

    fn show_image(&self, image: &OpenedImage, file: Option<&OpenedFile>, io: &mut Io) -> Result<(), Failure> {
        let info = ImageInfo::of(image);
        let counts = if self.quick { None } else { Some(TreeCounts::of(image)?) };
        let (mut object, mut text) = image::described(&info, counts.as_ref());
        if let Some((tree, lines)) = file.and_then(hash_tree::tree_of) {
            object["verity"] = tree;
            text.push_str(&lines);
        }
        let mut sound = true;
        if let Some(top) = self.top {
            let usage = Usage::of(image, io.host.resources().memory)?;
            usage.faults().iter().for_each(|fault| io.print_message(&fault.to_string()));
            sound = usage.faults().is_empty();
            let (largest, lines) = largest::largest(&usage, top);
            object["largest_files"] = largest;
            text.push_str(&lines);
        }
        io.print_as(self.json, &if self.json { format!("{object}\n") } else { text })?;
        if sound { Ok(()) } else { Err(Failure::AlreadyReported(1)) }
    }
}
