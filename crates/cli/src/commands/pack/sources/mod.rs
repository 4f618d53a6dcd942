//! The sources of `packline pack`; the kind of an operand decides how it is opened. Several directories and plain files are put side by
//! side. With `--overlay`, or with a tar, an image or an OCI image among them, sources are layers, each over those before it.

mod beside;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use packline::requests::{ContentKind, ImagePlace, OciPlace, Stack};
use packline::{Resources, Source};
use packline_archives::Whiteouts;
use packline_archives::decompress;
use packline_tree::{DirectoryOptions, Patterns};

use super::options::{Entries, Layout};
use crate::args::image::PlnOpener;
use crate::args::patterns::patterns;
use crate::args::registry::{ContainerArgs, is_in_registry};
use crate::args::value::one_of;
use crate::args::{Invocation, remote, wrong};
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::target;
use beside::{Operand, OperandKind, SideBySide, is_link};

/// The options that apply to one kind of source only.
pub const OF_DIRECTORIES: &[&str] =
    &["continue", "files-from", "one-file-system", "dereference", "no-hard-links", "readers"];
pub const OF_LAYERS: &[&str] = &["whiteouts", "remove", "platform", "registry-insecure", "overlay"];
const OF_TARS: &[&str] = &["lenient", "ignore-zeros"];

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Layers")]
pub struct Layers {
    /// Merge the sources into one root; later ones overlay earlier ones. Without it, directories and files are side by side, tars and images
    /// merged
    #[arg(long)]
    overlay: bool,
    /// Apply whiteouts, keep them as overlayfs does, or pack them as files [default: apply for layers]
    #[arg(long, value_name = "WHICH")]
    #[arg(value_parser = one_of([("apply", Whiteouts::Apply), ("keep", Whiteouts::Keep), ("ignore", Whiteouts::Ignore)]))]
    whiteouts: Option<Whiteouts>,
    /// Remove the entries that match PATTERN, and everything below them, from the merged result
    #[arg(long, value_name = "PATTERN")]
    remove: Vec<OsString>,
    #[command(flatten)]
    container: ContainerArgs,
}

/// Opens sources.
pub struct SourceOpener<'a> {
    pub layers: &'a Layers,
    pub layout: &'a Layout,
    pub entries: &'a Entries,
    /// `--readers`.
    pub readers: Option<usize>,
    /// Whether a bar is drawn while layers are fetched.
    pub bar: bool,
    pub image: &'a Path,
    pub resources: &'a Resources,
    pub invocation: &'a Invocation,
}

#[derive(Default)]
struct Kinds {
    words: Vec<&'static str>,
    directory: bool,
    tar: bool,
    layers: bool,
}

impl SourceOpener<'_> {
    /// Returns the source, and the entries that are excluded from sources other than directories.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option that no source can honour; [`Failure::Failed`] for a source that cannot be opened.
    pub fn open(&self, paths: &[PathBuf], pln: &mut PlnOpener<'_>, io: &mut Io) -> Result<(Source, Patterns), Failure> {
        if let (true, Some(long)) = (paths.len() > 1, self.explicit_option(&["files-from"])) {
            return Err(wrong(long, "works only with one SOURCE, a directory"));
        }
        self.layers.container.check_registry(paths)?;
        let excludes = self.entries.excludes(io)?;
        let remove = patterns(&self.layers.remove)?;
        let operands = self.operands(paths, pln, io)?;
        if self.are_side_by_side(&operands)? {
            if let Some(long) = self.explicit_option(&["files-from", "whiteouts", "remove", "platform"]) {
                return Err(wrong(long, beside::refusal(long)));
            }
            let source = SideBySide::new(operands, self.image)?.source(&self.directory_options(), &excludes)?;
            return Ok((source, Patterns::new()));
        }
        let mut sources = Vec::new();
        for operand in operands {
            sources.push(self.source(operand, &excludes, io)?);
        }
        let kinds = Kinds::of(&sources);
        let stacked = sources.len() > 1 || kinds.layers || !remove.is_empty();
        let whiteouts = self.layers.whiteouts;
        let stacked = stacked || whiteouts.is_some_and(|whiteouts| whiteouts != Whiteouts::Ignore);
        self.refuse(&kinds, sources.len(), stacked)?;
        if !stacked && let Some(source) = sources.pop() {
            let excludes = if kinds.directory { Patterns::new() } else { excludes };
            return Ok((source, excludes));
        }
        let several = sources.len() > 1 || kinds.layers;
        let default = if several { Whiteouts::Apply } else { Whiteouts::Ignore };
        let whiteouts = whiteouts.unwrap_or(default);
        Ok((Source::Stack(Stack { layers: sources, whiteouts, remove, hard_links: true }), excludes))
    }

    fn source(&self, operand: Operand<'_>, excludes: &Patterns, io: &mut Io) -> Result<Source, Failure> {
        let path = operand.path;
        match operand.kind {
            OperandKind::Layer => self.layer(&operand.place, io),
            OperandKind::Directory => {
                warn_of_container_image(path, io);
                let mut options = self.directory_options();
                options.excludes = excludes.clone();
                options.only = self.entries.names(path, io)?;
                Ok(Source::Directory { path: path.to_path_buf(), options })
            }
            OperandKind::File | OperandKind::FollowedFile => {
                self.refuse_output(path, io)?;
                SideBySide::new(vec![operand], self.image)?.source(&self.directory_options(), excludes)
            }
        }
    }

    fn layer(&self, place: &ImagePlace, io: &mut Io) -> Result<Source, Failure> {
        let path = &place.path;
        let local = || OciPlace::parse(path.as_os_str());
        if let Some(place) = self.layers.container.place(path, self.bar, io)?.or_else(local) {
            return self.oci(&place, io);
        }
        if path.as_os_str() == "-" {
            if io.in_terminal {
                let hint = "pipe a tar to packline: tar -C DIR -c . | packline pack - IMAGE";
                return Err(Failure::usage(format!("{STDIN} is a terminal; {hint}")));
            }
            let stream = io.take_stdin(Some(self.image))?;
            return Ok(Source::reader(STDIN, stream, self.resources)?);
        }
        self.refuse_output(path, io)?;
        warn_of_container_archive(place, io);
        Ok(Source::at_place(place, self.resources)?)
    }

    /// Returns how directories are read, apart from their names and patterns.
    fn directory_options(&self) -> DirectoryOptions {
        let mut options = self.entries.directory_options(self.layout);
        options.readers = self.readers.unwrap_or(if self.resources.workers == 0 { 0 } else { 4 });
        options
    }

    /// Returns whether the sources are put side by side: plain files, and several directories without `--overlay`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a layer among several directories and files without `--overlay`: merging them could silently replace entries.
    fn are_side_by_side(&self, operands: &[Operand<'_>]) -> Result<bool, Failure> {
        if self.layers.overlay || matches!(operands, [Operand { kind: OperandKind::Directory, .. }]) {
            return Ok(false);
        }
        let (layers, others): (Vec<_>, Vec<_>) =
            operands.iter().partition(|operand| operand.kind == OperandKind::Layer);
        match layers.first() {
            Some(layer) if others.len() > 1 => Err(mixed(&layer.place.path)),
            Some(_) => Ok(false),
            None => Ok(true),
        }
    }

    fn operands<'p>(
        &self,
        paths: &'p [PathBuf],
        pln: &mut PlnOpener<'_>,
        io: &mut Io,
    ) -> Result<Vec<Operand<'p>>, Failure> {
        let mut operands = Vec::new();
        for path in paths {
            let place = remote::open(path, io)?.map_or_else(|| ImagePlace::new(path), ImagePlace::of_file);
            let kind = self.operand_kind(&place, paths.len() > 1)?;
            // A plain file is closed: there may be more operands than files that may be open.
            let place = match kind {
                // Looking at the content of a pipe would take it from the source.
                OperandKind::Layer if place.is_remote() || path.is_file() => pln.content(place, io)?,
                OperandKind::Layer => place,
                _ => ImagePlace::new(path),
            };
            operands.push(Operand { path, kind, place });
        }
        Ok(operands)
    }

    /// Returns the kind of an operand. Among several sources, a symbolic link is stored as a link, as in tar and mksquashfs, unless it
    /// leads to a layer.
    fn operand_kind(&self, place: &ImagePlace, among_others: bool) -> Result<OperandKind, Failure> {
        let path = place.path.as_path();
        if is_in_registry(path)
            || OciPlace::parse(path.as_os_str()).is_some()
            || path.as_os_str() == "-"
            || place.is_remote()
        {
            return Ok(OperandKind::Layer);
        }
        let keeps_links = among_others && !self.layers.overlay && self.explicit_option(&["dereference"]).is_none();
        if keeps_links && is_link(path) && fs::metadata(path).map_or(true, |found| found.is_dir()) {
            return Ok(OperandKind::File);
        }
        if is_directory(path)? {
            return Ok(OperandKind::Directory);
        }
        let plain =
            if among_others { Source::is_plain_file_among_others(place)? } else { Source::is_plain_file(place)? };
        if !plain {
            return Ok(OperandKind::Layer);
        }
        let follows_links = self.layers.overlay || !among_others;
        Ok(if follows_links { OperandKind::FollowedFile } else { OperandKind::File })
    }

    fn oci(&self, place: &OciPlace, io: &mut Io) -> Result<Source, Failure> {
        let platform = self.layers.container.platform.clone();
        if place.is_stream() {
            let stream = crate::ui::io::take_stdin(Some(self.image), io)?;
            return Ok(Source::oci_reader(place, STDIN, stream, platform, self.resources)?);
        }
        if let Some(path) = place.path() {
            self.refuse_output(&path, io)?;
        }
        Ok(Source::oci(place, platform, self.resources)?)
    }

    fn explicit_option(&self, longs: &[&'static str]) -> Option<&'static str> {
        longs.iter().find(|long| self.invocation.has(long)).copied()
    }

    fn refuse_output(&self, path: &Path, io: &Io) -> Result<(), Failure> {
        if target::is_stdout(self.image) { io.refuse_input(path) } else { Ok(()) }
    }

    /// Rejects options that apply to none of the sources, or not to all of them.
    fn refuse(&self, kinds: &Kinds, count: usize, stacked: bool) -> Result<(), Failure> {
        let only = |long: &str, only: &str| {
            let sources = kinds.words.join(", ");
            let verb = if count > 1 { "sources are" } else { "source is" };
            Err(wrong(long, format!("works only with {only} (the {verb} {sources})")))
        };
        match (self.explicit_option(OF_DIRECTORIES), self.explicit_option(OF_TARS)) {
            (Some(long), _) if !kinds.directory => return only(long, "a directory"),
            (_, Some(long)) if !kinds.tar => return only(long, "a tar"),
            _ => {}
        }
        if let (true, Some(long)) = (stacked, self.explicit_option(&["continue"])) {
            return Err(wrong(long, "works only with a single directory, not with layers"));
        }
        match (kinds.layers, self.explicit_option(&["platform"])) {
            (false, Some(long)) => only(long, "a container image"),
            _ => Ok(()),
        }
    }
}

impl Kinds {
    fn of(sources: &[Source]) -> Kinds {
        let mut kinds = Kinds::default();
        for source in sources {
            let word = match source {
                Source::Directory { .. } => {
                    kinds.directory = true;
                    "a directory"
                }
                Source::Oci(_) => {
                    kinds.layers = true;
                    kinds.tar = true;
                    "a container image"
                }
                Source::Directories { .. } => {
                    kinds.directory = true;
                    "a file"
                }
                Source::Image(_) => "an image",
                Source::Zip { .. } => "a zip archive",
                Source::TarFile { opened: Some(file), .. } if file.content_kind() == Some(ContentKind::Cpio) => {
                    "a cpio archive"
                }
                _ => {
                    kinds.tar = true;
                    "a tar"
                }
            };
            if !kinds.words.contains(&word) {
                kinds.words.push(word);
            }
        }
        kinds
    }
}

fn mixed(layer: &Path) -> Failure {
    let name = layer.escaped();
    Failure::usage(format!(
        "{name} is a tar or an image among several other sources: use --overlay to merge them into one root, or --files-from to store \
         {name} as a file"
    ))
}

/// Warns if a directory is an OCI image layout: its blobs are packed, and not the files of the container image.
fn warn_of_container_image(directory: &Path, io: &mut Io) {
    if ["oci-layout", "index.json"].iter().all(|name| directory.join(name).is_file()) {
        let name = directory.escaped();
        io.warn(&format!("{name}: is an OCI image layout, packed as it is; oci:{name} packs the container image"));
    }
}

/// The bytes of a SHA-256 hash in hexadecimal digits.
const NAME: usize = 64;
/// The bytes of a compressed tar that are read for its first name: a block of bzip2 has up to 900 KB.
const COMPRESSED_MOST: usize = 1 << 20;

/// Warns if a tar begins like an archive of a container image: its layers are packed as files.
fn warn_of_container_archive(place: &ImagePlace, io: &mut Io) {
    // Opening a named pipe, as the look at the content does too, would take it from the source.
    let kind = place.content_kind().filter(|_| place.path.is_file());
    let most = match kind {
        Some(ContentKind::Compressed(_)) => COMPRESSED_MOST,
        Some(ContentKind::Tar) => NAME,
        _ => return,
    };
    let mut head = Vec::new();
    if File::open(&place.path).and_then(|file| file.take(most as u64).read_to_end(&mut head)).is_err() {
        return;
    }
    let head = decompress::start_of(&head, NAME);
    if head.len() < NAME {
        return;
    }
    let begins = |name: &str| head.starts_with(name.as_bytes());
    let form = if ["blobs/", "index.json", "oci-layout"].into_iter().any(begins) {
        "oci-archive"
    } else if begins("manifest.json") || (head.iter().all(u8::is_ascii_hexdigit) && !begins("0707")) {
        // The names of layers are SHA-256 hashes. The header of a cpio archive consists of digits too.
        "docker-archive"
    } else {
        return;
    };
    let name = place.path.escaped();
    io.warn(&format!(
        "{name}: seems to be a container image, packed as it is; {form}:{name} packs the container image"
    ));
}

fn is_directory(path: &Path) -> Result<bool, Failure> {
    let found = fs::metadata(path).map_err(|cause| {
        let name = path.escaped();
        Failure::failed(format!("{name}: cannot open: {cause}"))
    })?;
    Ok(found.is_dir())
}

/// Rejects options without effect on definitions.
pub(super) fn refuse_for_definitions(invocation: &Invocation) -> Result<(), Failure> {
    let longs = [OF_DIRECTORIES, OF_LAYERS].concat();
    match longs.iter().find(|long| invocation.has(long)) {
        Some(long) => Err(wrong(long, "works only with a SOURCE (there is only a manifest)")),
        None => Ok(()),
    }
}
