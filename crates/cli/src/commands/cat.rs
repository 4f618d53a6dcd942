//! `packline cat` prints files of an image or a tar, or the content of a .lrz or .pln file.

use std::ffi::{OsStr, OsString};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;

use packline::requests::{Archive, ContentKind, LrzUnpackRequest, OpenedFile, PlnUnpackRequest, lrz_unpack, tar_cat};
use packline::{Input, Resources};
use packline_image::OpenedImage;
use packline_pln::Span;

use crate::args::cache::ReadCache;
use crate::args::image::{self, ArchiveArgs, refuse_keys};
use crate::args::keys::OpeningKeys;
use crate::args::registry::ContainerArgs;
use crate::args::run_options::{Machine, SchedulingOptions, Stats};
use crate::args::value::text;
use crate::args::{Command, Invocation, wrong};
use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::size::parse_size;

/// Bytes of a file that are read at a time.
const PIECE: usize = 128 << 10;

/// Print files of an image or archive, or the content of a .pln file
#[derive(Debug, clap::Args)]
pub struct Cat {
    #[command(flatten)]
    place: ArchiveArgs,
    /// The files to print, as paths in the image or the archive, in this order; patterns are not allowed
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Print only the bytes from START up to but not including END, of a .pln file or of one PATH of an image. Both may be left out
    #[arg(long, value_name = "START..END", value_parser = text(span))]
    range: Option<Span>,
    #[command(flatten)]
    container: ContainerArgs,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    cache: ReadCache,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    stats: Stats,
    #[command(flatten)]
    scheduling: SchedulingOptions,
}

impl Command for Cat {
    const NAME: &'static str = "cat";
    const ESSENTIAL: &'static [&'static str] = &["range", "offset", "identity", "passphrase-file", "jobs", "mem"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline cat root.sqfs etc/passwd etc/group",
        "packline cat src.tar.xz src/README",
        "packline cat --range 1M..2M disk.img.pln",
        "packline cat --range ..512 disks.sqfs disk.img",
    ];

    fn details() -> String {
        "# Links and sources\n\
         Links are followed inside the image or the archive. If a path does not lead to a file, nothing is printed.\n\
         Without PATH, cat prints the content of a .pln or .lrz file. With PATH, it prints files of the image or the archive \
         in it.\n\
         If a tar or a zip archive has two entries at one path, the last one counts. The layers of a container image \
         (oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:TAG] or docker://IMAGE) are merged. A tar is read twice, once for its entries and once for \
         the files, and again each time that a PATH comes before the previous one in the tar.\n\
         Without PATH, a .pln file from standard input is printed as it arrives. Anything else from a pipe is stored first, \
         in TMPDIR or /var/tmp."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let path = &self.place.image;
        self.container.check([path])?;
        self.cache.open([path], invocation, io)?;
        let options = self.scheduling.start(self.stats.stats, None, &[path], io)?;
        let resources = options.apply(self.machine.resources(&io.host));
        let (mut archive, identity) = match self.place.offset.container_image(path, &self.container, io)? {
            Some(archive) => (archive, None),
            None => {
                let input = image::input(path, io)?;
                let identity = input.opened_file().and_then(OpenedFile::identity);
                (self.place.offset.open_input(path, input, true, &resources, io)?, identity)
            }
        };
        refuse_keys(&archive, invocation)?;
        if !self.paths.is_empty()
            && let Archive::Pln(file) = archive
        {
            archive = self.place.offset.open_in_pln(file, &self.keys, &resources, io)?;
        }
        if self.range.is_some() && !matches!(archive, Archive::Pln(_) | Archive::Image(_)) {
            return Err(wrong("range", "works only for .pln files and for a file in an image"));
        }
        if matches!(archive, Archive::Image(_) | Archive::Tar(_)) && self.paths.is_empty() {
            let container = match archive.content_kind() {
                ContentKind::Cpio => "cpio archive",
                ContentKind::Zip => "zip archive",
                ContentKind::ContainerImage => "container image",
                kind if kind.is_image() => "image",
                _ => "tar",
            };
            return Err(Failure::usage(format!("a path in the {container} is missing: packline cat IMAGE PATH...")));
        }
        if let Some(file) = identity {
            io.refuse_stdout(file, &archive.display_path())?;
        }
        let paths: Vec<Vec<u8>> = self.paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        match archive {
            Archive::Pln(input) => print_pln(&self, input, resources, io)?,
            Archive::Image(image) => match self.range {
                Some(range) => print_range(&image, &paths, range, io)?,
                None => {
                    let printed = packline_image::cat(&image, &paths, &resources, &mut io.stdout, STDOUT);
                    printed.map_err(|error| explain(error, &paths))?;
                }
            },
            Archive::Lrz(opened) if paths.is_empty() => {
                let mut request = LrzUnpackRequest::new(&opened, Some(io.stdout_target()));
                request.resources = options.apply(self.machine.lrz_resources(&io.host));
                with_observer(io, false, |observer| lrz_unpack(request, observer))?;
            }
            _ => {
                let warnings = tar_cat(&mut archive, &paths, &resources, &mut io.stdout, STDOUT)?;
                warnings.iter().for_each(|warning| io.warn(warning));
            }
        }
        options.print_counters(io);
        options.write_trace(invocation, io)
    }
}

pub fn print_pln(cat: &Cat, input: Input, resources: Resources, io: &mut Io) -> Result<(), Failure> {
    match cat.place.offset.given() {
        Some("offset") => return Err(wrong("offset", "has no effect on a .pln file; use --range")),
        Some(long) => return Err(wrong(long, "has no effect on a .pln file")),
        None => {}
    }
    let mut request = PlnUnpackRequest::new(input, io.stdout_target());
    request.identities = cat.keys.identities(io)?;
    request.span = cat.range.unwrap_or(Span::ALL);
    request.resources = resources;
    with_observer(io, false, |observer| packline::requests::pln_unpack(request, observer))?;
    Ok(())
}

/// Adds a hint to the error about a path that looks like a pattern.
fn explain(error: packline_image::Error, paths: &[Vec<u8>]) -> Failure {
    let is_pattern = |path: &Vec<u8>| path.iter().any(|byte| b"*?[".contains(byte));
    let is_hinted = matches!(error, packline_image::Error::Entry { .. }) && paths.iter().any(is_pattern);
    let failure = Failure::from(error);
    if is_hinted { failure.with_way_out("cat takes paths, not patterns") } else { failure }
}

/// Prints a part of one file of an image. Only the blocks of the part are decoded.
fn print_range(image: &OpenedImage, paths: &[Vec<u8>], range: Span, io: &mut Io) -> Result<(), Failure> {
    let [path] = paths else { return Err(wrong("range", "works only with one PATH")) };
    let mut file = image.open_file(path)?;
    let size = file.size();
    let end = range.length.map_or(size.max(range.start), |length| range.start.saturating_add(length));
    if end > size {
        let name = format!("{}: {}", image.display_path.escaped(), path.escaped());
        return Err(Failure::failed(format!("{name}: has no byte {} (expected a range within {size} bytes)", end - 1)));
    }
    file.seek(SeekFrom::Start(range.start)).map_err(Failure::failed)?;
    let mut left = end - range.start;
    let mut buffer = vec![0; PIECE];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE);
        let read = file.read_next(&mut buffer[..most])?;
        if read == 0 {
            break;
        }
        io.stdout.write_all(&buffer[..read]).map_err(Failure::printing)?;
        left -= read as u64;
    }
    io.stdout.flush().map_err(Failure::printing)
}

/// Parses `START..END`.
pub fn span(text: &str) -> Result<Span, String> {
    let wrong = || format!("'{text}' is not a range (expected START..END, such as 0..4K, 1M.. or ..512)");
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |part: &str| parse_size(OsStr::new(part)).map_err(|_| wrong());
    let start = if start.is_empty() { 0 } else { number(start)? };
    if end.is_empty() {
        return Ok(Span { start, length: None });
    }
    let length = number(end)?.checked_sub(start).ok_or_else(wrong)?;
    Ok(Span { start, length: Some(length) })
}
