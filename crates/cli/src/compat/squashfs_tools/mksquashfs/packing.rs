//! The groups of options that mksquashfs and sqfstar share, and the request that they describe.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use packline::requests::{ImageRequest, PackRequest, Part, Stack};
use packline::{Resources, Source};
use packline_archives::Whiteouts;
use packline_manifests::{PseudoFile, PseudoSource};
use packline_squashfs::{BlockSize, Options};
use packline_tree::{Bytes, Meta, PathFilter, Patterns, ReadErrors, Symlinks};

use super::appending::Appending;
use super::edits::{Edits, own_root};
use super::exclude::{Excludes, lines_of};
use super::named::NamedEntries;
use super::options::{Compression, Layout, Owners, Running, TarOptions, Times, Xattrs};
use super::pseudo::Pseudo;
use super::sources::{Reading, latest_time};
use super::streaming::Streaming;
use crate::args::Invocation;
use crate::args::cache::CacheOptions;
use crate::compat::squashfs_tools::name_pattern::Language;
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::listings::{ListFile, Listings, ShownPath};
use crate::ui::observer::run_pack_listing;

#[derive(Debug, clap::Args)]
pub struct Packing {
    #[command(flatten)]
    compression: Compression,
    #[command(flatten)]
    pub layout: Layout,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    owners: Owners,
    #[command(flatten)]
    xattrs: Xattrs,
    #[command(flatten)]
    pub pseudo: Pseudo,
    #[command(flatten)]
    of_tar: TarOptions,
    #[command(flatten)]
    pub running: Running,
    #[command(flatten)]
    pub streaming: Streaming,
    #[command(flatten)]
    cache: CacheOptions,
}

/// The source of an image.
pub enum Input {
    /// The tar on standard input.
    Tar(Excludes),
    /// Zip archives. Later ones overlay earlier ones.
    Zips(Vec<PathBuf>, Excludes),
    /// Definitions without a source.
    Definitions,
    /// Files and directories, and how they are read, apart from the fields of [`Packing`].
    Paths(Paths, Box<Reading>),
}

/// Files and directories of this machine.
pub enum Paths {
    /// Packed under the last names of their paths.
    Stripped(Vec<PathBuf>),
    /// Packed under all names of their paths.
    Whole(NamedEntries),
}

/// The output, and the differences between the programs.
pub struct Target {
    pub image: PathBuf,
    pub replaces: bool,
    /// Whether the image is exportable without an option.
    pub exportable: bool,
    /// The file for the offsets of data in the image.
    pub log: Option<PathBuf>,
    /// The existing image that is appended to.
    pub appending: Option<Appending>,
}

/// Returns the exclusions of the words and of the lines of files. The sources' symbolic links are followed or not.
///
/// # Errors
/// A file cannot be read, or a pattern is malformed.
pub fn excludes(
    files: &[PathBuf],
    words: Vec<OsString>,
    language: Language,
    sources: (&[PathBuf], Symlinks),
    io: &mut Io,
) -> Result<Excludes, Failure> {
    let mut excluded = Vec::new();
    for file in files {
        excluded.extend(lines_of(file)?);
    }
    excluded.extend(words);
    Excludes::new(&excluded, language, sources.0, sources.1, io)
}

impl Packing {
    /// Prints the first lines of squashfs-tools, then packs.
    pub fn run(mut self, input: Input, target: Target, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        self.running.quiet |= self.streaming.stream;
        let style = self.running.style();
        let block_size = self.compression.b;
        let quiet = self.running.quiet;
        let image = target.image.clone();
        let info_file = self.running.info_file.clone();
        let log = target.log.clone();
        let appending = target.appending.clone();
        let (request, shown) = self.request(input, target, invocation, io)?;
        if !quiet {
            announce(&image, request.resources.workers, (block_size, appending.as_ref()), io);
        }
        let create = |path: Option<PathBuf>| path.as_deref().map(ListFile::create).transpose();
        let listings = Listings { names: create(info_file)?, places: create(log)?.map(|file| (file, shown)) };
        run_pack_listing(request, style, listings, io).map(drop)
    }

    fn request(
        self,
        input: Input,
        target: Target,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(PackRequest, ShownPath), Failure> {
        // This is first because it prints something.
        let replaces = target.replaces || target.appending.is_some();
        let output = self.streaming.output(&target.image, replaces, io)?;
        let is_tar = matches!(input, Input::Tar(_));
        let mut options = self.image_options(&target, is_tar)?;
        let mut rules = self.rules(&target, is_tar, invocation, io)?;
        let clock = self.times.clock(&io.host)?;
        if clock.needs_latest() && rules.pseudo.is_some() {
            let expected = "expected a time in seconds";
            return Err(Failure::usage(format!(
                "the latest time is not known before definitions are packed ({expected})"
            )));
        }
        let opened = self.open(input, &target, &options, &mut rules, invocation, io)?;
        let shown = shown_path(&opened.source);
        let (source, hints, latest) = match opened.listed {
            Some(reading) => reading.list(opened.source, &target.image, options.block_size, io)?,
            None if clock.needs_latest() => {
                let latest = latest_time(&opened.source)?;
                (opened.source, None, latest)
            }
            None => (opened.source, None, 0),
        };
        options.created = clock.created(latest, &io.host);
        clock.apply(latest, &io.host, &mut rules.edits);
        let mut image = ImageRequest::new(options);
        image.append_to = target.appending.map(|appending| appending.into_request(rules.id_offset));
        image.entries.root = Some(rules.changed(own_root(&io.host), true)?);
        image.entries.defaults = rules.changed(opened.defaults, false)?;
        if self.pseudo.overrides() {
            spare_definitions(&mut rules.edits, rules.pseudo.as_mut());
        }
        image.entries.changes.filter = opened.filter;
        image.entries.changes.edit = Some(rules.edits.into_edit());
        image.entries.pseudo = rules.pseudo;
        image.offset = self.layout.offset;
        image.hints = hints;
        image.entries.tar.ignore_zeros = self.of_tar.ignore_zeros;
        image.verify = self.running.verify;
        let resources = self.running.resources(&io.host);
        image.cache = self.cache.open(resources.workers > 0, io)?;
        let mut request = PackRequest::new(source, output, image);
        request.resources = resources;
        request.temporaries = io.temporaries.clone();
        Ok((request, shown))
    }

    /// Returns the options that determine the bytes of the image, except its time.
    fn image_options(&self, target: &Target, is_tar: bool) -> Result<Options, Failure> {
        let mut options = self.compression.image()?;
        self.layout.apply(&mut options, target.exportable, is_tar);
        options.xattrs = self.xattrs.stored();
        options.mark_without_xattrs = false;
        if let Some(appending) = &target.appending {
            appending.apply(&mut options);
        }
        Ok(options)
    }

    fn rules(&self, target: &Target, is_tar: bool, invocation: &Invocation, io: &mut Io) -> Result<Rules, Failure> {
        if is_tar && self.pseudo.reads_stdin() {
            return Err(Failure::usage("-pf -: the tar is on standard input (expected a file of definitions)"));
        }
        let mut pseudo = self.pseudo.read(invocation, io)?;
        if let (Some(pseudo), Some(appending)) = (&pseudo, &target.appending) {
            appending.refuse("definitions", pseudo.root_names())?;
        }
        let mut edits = self.owners.edits(&self.xattrs, invocation, io)?;
        let id_offset = edits.id_offset;
        if let Some(pseudo) = &mut pseudo {
            // Attributes of definitions are added even if the source's attributes are filtered.
            let filter = std::mem::take(&mut edits.xattrs.filter);
            pseudo.keep_xattrs(move |name| filter.keeps(name));
        }
        Ok(Rules { edits, pseudo, id_offset })
    }

    fn open(
        &self,
        input: Input,
        target: &Target,
        options: &Options,
        rules: &mut Rules,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<OpenInput, Failure> {
        match input {
            Input::Tar(excludes) => {
                let defaults = self.of_tar.defaults(&mut rules.edits, invocation, io)?;
                let filter = excludes.filter(b"");
                let stream = io.take_stdin(Some(&target.image))?;
                let source = Source::TarStream { name: STDIN.to_string(), stream };
                Ok(OpenInput { source, defaults, filter, listed: None })
            }
            Input::Zips(paths, excludes) => {
                let defaults = self.of_tar.defaults(&mut rules.edits, invocation, io)?;
                let filter = excludes.filter(b"");
                let source = zips(&paths, &self.running.resources(&io.host))?;
                Ok(OpenInput { source, defaults, filter, listed: None })
            }
            Input::Definitions => {
                let source = definitions(rules.pseudo.take())?;
                Ok(OpenInput { source, defaults: own_root(&io.host), filter: None, listed: None })
            }
            Input::Paths(paths, mut reading) => {
                reading.hard_links = !self.layout.no_hardlinks;
                reading.xattrs = options.xattrs;
                if self.running.exit_on_error {
                    reading.errors = ReadErrors::Fail;
                }
                reading.appending = target.appending.clone();
                let source = match paths {
                    Paths::Stripped(paths) => reading.source(&paths, io)?,
                    Paths::Whole(named) => reading.named(named)?,
                };
                let defaults = reading.root;
                let listed = Some(reading).filter(|reading| reading.needs_list());
                Ok(OpenInput { source, defaults, filter: None, listed })
            }
        }
    }
}

/// The changes of the source's entries, and the added entries.
struct Rules {
    edits: Edits,
    pseudo: Option<PseudoFile>,
    /// `-uid-gid-offset`.
    id_offset: u32,
}

impl Rules {
    /// Returns the attributes of a directory that the source does not describe and that no other change reaches.
    fn changed(&self, meta: Meta, is_root: bool) -> Result<Meta, Failure> {
        let out_of_range = || Failure::failed("-uid-gid-offset: with this offset, the current user is out of range");
        self.edits.meta(meta, true, is_root).ok_or_else(out_of_range)
    }
}

/// The source of an image before anything is read.
struct OpenInput {
    source: Source,
    /// The attributes of implied directories.
    defaults: Meta,
    /// The entries that are left out of a tar.
    filter: Option<PathFilter>,
    /// How the paths are read if they are listed first.
    listed: Option<Box<Reading>>,
}

/// Returns how paths are shown: on this machine, relative to the sources; for a tar and other streams, in the image from `/`.
fn shown_path(source: &Source) -> ShownPath {
    let joined = |place: &Path, rest: &[u8]| place.join(OsStr::from_bytes(rest)).into_os_string().into_vec();
    match source {
        Source::Directory { path, .. } => {
            let path = path.clone();
            Box::new(move |shown| joined(&path, shown))
        }
        Source::Directories { parts, .. } => {
            let place = |part: &Part| match part.from.as_slice() {
                b"" => part.directory.as_os_str().as_bytes().to_vec(),
                from => joined(&part.directory, from),
            };
            let places: BTreeMap<Bytes, Bytes> = parts.iter().map(|part| (part.to.clone(), place(part))).collect();
            if let Some(directory) = places.get(&b""[..]).cloned() {
                let directory = PathBuf::from(OsString::from_vec(directory));
                return Box::new(move |shown| joined(&directory, shown));
            }
            Box::new(move |shown| {
                let (name, rest) = shown.split_at(shown.iter().position(|&byte| byte == b'/').unwrap_or(shown.len()));
                places.get(name).map_or_else(|| shown.to_vec(), |place| [place, rest].concat())
            })
        }
        _ => Box::new(|shown| [b"/", shown].concat()),
    }
}

/// Returns zip archives as one source.
fn zips(paths: &[PathBuf], resources: &Resources) -> Result<Source, Failure> {
    let mut layers = Vec::new();
    for path in paths {
        let source = Source::at(path, resources)?;
        if !matches!(source, Source::Zip { .. }) {
            return Err(Failure::failed(format!("{}: is not a zip archive (expected one, for -zip)", path.escaped())));
        }
        layers.push(source);
    }
    match layers.pop() {
        Some(one) if layers.is_empty() => Ok(one),
        last => {
            layers.extend(last);
            Ok(Source::Stack(Stack { layers, whiteouts: Whiteouts::Ignore, remove: Patterns::new(), hard_links: true }))
        }
    }
}

/// Returns definitions as the only source.
fn definitions(pseudo: Option<PseudoFile>) -> Result<Source, Failure> {
    let missing = || {
        let expected = "expected -tar, with a tar on standard input, or -p or -pf with definitions of all entries";
        Failure::usage(format!("the source is - ({expected})"))
    };
    let source = PseudoSource::alone(pseudo.ok_or_else(missing)?).map_err(Failure::failed)?;
    Ok(Source::entries("definitions", source))
}

/// Handles `-pseudo-override`: forced attributes then change the source alone.
fn spare_definitions(edits: &mut Edits, pseudo: Option<&mut PseudoFile>) {
    let forced = edits.take_forced();
    if let Some(pseudo) = pseudo {
        pseudo.change_source(move |meta, directory| forced.meta(meta, directory, false).unwrap_or(meta));
    }
}

/// Returns the first lines of mksquashfs.
fn announce(image: &Path, workers: usize, (block_size, appending): (BlockSize, Option<&Appending>), io: &mut Io) {
    let plural = if workers == 1 { "" } else { "s" };
    let processors = format!("Parallel mksquashfs: Using {workers} processor{plural}\n");
    if let Some(appending) = appending {
        appending.announce(&processors, io);
        return;
    }
    io.remark(&format!("{processors}Creating 4.0 filesystem on {}, block size {block_size}.\n", image.escaped()));
}
