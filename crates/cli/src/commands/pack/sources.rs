//! The sources of `packline pack`: each operand is opened by what it is. Several directories and plain files are put side by side; with
//! `--overlay`, or with a tar, an image or an OCI image among them, sources are layers, each over those before it.

mod beside;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use packline::requests::{OciPlace, Platform, Stack};
use packline::{Resources, Source};
use packline_tree::{DirectoryOptions, Patterns, Whiteouts};

use super::options::{Entries, Layout};
use crate::args::patterns::patterns;
use crate::args::value::{one_of, text};
use crate::args::{Invocation, wrong};
use crate::host::streams::STDIN;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::target;
use beside::{Beside, is_link};

/// Options that only one kind of source can honour.
pub const OF_DIRECTORIES: &[&str] =
    &["continue", "files-from", "one-file-system", "dereference", "no-hard-links", "readers"];
pub const OF_LAYERS: &[&str] = &["whiteouts", "remove", "platform", "overlay"];
const OF_TARS: &[&str] = &["lenient", "ignore-zeros"];

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Layers")]
pub struct Layers {
    /// Merge several directories into one root, each over those before it: a directory over a directory merges, and anything else
    /// replaces. Without it, several directories and files are put side by side under their own names
    #[arg(long)]
    overlay: bool,
    /// What files .wh.NAME and .wh..wh..opq (of AUFS) and devices 0:0 and the attribute overlay.opaque (of overlayfs) are: hide what
    /// lower sources have and are left out (apply), or stay in overlayfs's form (keep), or are entries like others (ignore)
    /// [default: apply for several sources and for images of containers, else ignore]
    #[arg(long, value_name = "WHICH")]
    #[arg(value_parser = one_of([("apply", Whiteouts::Apply), ("keep", Whiteouts::Keep), ("ignore", Whiteouts::Ignore)]))]
    whiteouts: Option<Whiteouts>,
    /// Remove the entries that match, and all below them, from the result of all sources; see Patterns
    #[arg(long, value_name = "PATTERN")]
    remove: Vec<OsString>,
    /// Which of the platforms of an image of containers, OS/ARCH[/VARIANT] [default: linux and this machine's]
    #[arg(long, value_name = "PLATFORM", value_parser = text(platform))]
    platform: Option<Platform>,
}

fn platform(text: &str) -> Result<Platform, String> {
    Platform::parse(text).ok_or_else(|| format!("'{text}' is not a platform (expected OS/ARCH or OS/ARCH/VARIANT)"))
}

/// What opens sources.
pub struct Opener<'a> {
    pub layers: &'a Layers,
    pub layout: &'a Layout,
    pub entries: &'a Entries,
    /// `--readers`.
    pub readers: Option<usize>,
    pub image: &'a Path,
    pub resources: &'a Resources,
    pub invocation: &'a Invocation,
}

/// What an operand is beside others.
enum Operand {
    Directory,
    Entry,
    /// A tar, an image, or a stream: its entries are merged with those of the other sources.
    Layer,
}

/// The kinds of sources that there are.
#[derive(Default)]
struct Kinds {
    words: Vec<&'static str>,
    directory: bool,
    tar: bool,
    layers: bool,
}

impl Opener<'_> {
    /// The source, and the entries that are excluded from what is no directory.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option that no source can honour; [`Failure::Failed`] for a source that cannot be opened.
    pub fn open(&self, paths: &[PathBuf], io: &mut Io) -> Result<(Source, Patterns), Failure> {
        if let (true, Some(long)) = (paths.len() > 1, self.given(&["files-from"])) {
            return Err(wrong(long, "names are those of one directory (expected one SOURCE)"));
        }
        let (excludes, remove) = (self.entries.excludes(io)?, patterns(&self.layers.remove)?);
        if let Some(beside) = self.beside(paths)? {
            if let Some(long) = self.given(&["files-from", "whiteouts", "remove", "platform"]) {
                return Err(wrong(long, beside::refusal(long)));
            }
            return Ok((beside.source(&self.directory_options(), &excludes)?, Patterns::new()));
        }
        let mut sources = Vec::new();
        for path in paths {
            sources.push(self.source(path, &excludes, io)?);
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
        Ok((Source::Stack(Stack { layers: sources, whiteouts, remove }), excludes))
    }

    fn source(&self, path: &Path, excludes: &Patterns, io: &mut Io) -> Result<Source, Failure> {
        if let Some(place) = OciPlace::parse(path.as_os_str()) {
            return self.oci(&place, io);
        }
        if path.as_os_str() == "-" {
            if io.in_terminal {
                let expected = "a tar: tar -C DIR -c . | packline pack - IMAGE";
                return Err(Failure::usage(format!("{STDIN} is a terminal (expected {expected})")));
            }
            let stream = io.take_stdin(Some(self.image))?;
            return Source::reader(STDIN, stream, self.resources).map_err(Failure::failed);
        }
        if is_directory(path)? {
            let mut options = self.directory_options();
            (options.excludes, options.only) = (excludes.clone(), self.entries.names(path, io)?);
            return Ok(Source::Directory { path: path.to_path_buf(), options });
        }
        self.refuse_output(path, io)?;
        if Source::is_plain_file(path)? {
            return Beside::of_file(path, self.image)?.source(&self.directory_options(), excludes);
        }
        Source::at(path, self.resources).map_err(Failure::failed)
    }

    /// How directories are read, but for their names and patterns.
    fn directory_options(&self) -> DirectoryOptions {
        let mut options = self.entries.directory_options(self.layout);
        options.readers = self.readers.unwrap_or(if self.resources.workers == 0 { 0 } else { 4 });
        options
    }

    /// Returns the sources if they are put side by side: plain files, and several directories without `--overlay`.
    ///
    /// # Errors
    /// [`Failure::Usage`] for several directories and files with a layer among them: merging them into one root could replace entries
    /// without a word.
    fn beside(&self, paths: &[PathBuf]) -> Result<Option<Beside<'_>>, Failure> {
        if self.layers.overlay {
            return Ok(None);
        }
        let mut beside = Beside::new(self.image);
        let mut layer = None;
        for path in paths {
            match self.operand(path, paths.len() > 1)? {
                Operand::Directory => beside.add_directory(path),
                Operand::Entry if paths.len() == 1 => beside.add_followed(path),
                Operand::Entry => beside.add_entry(path),
                Operand::Layer => layer = layer.or(Some(path)),
            }
        }
        match layer {
            Some(layer) if beside.count() > 1 => Err(mixed(layer)),
            Some(_) => Ok(None),
            None if beside.is_one_directory() => Ok(None),
            None => beside.checked().map(Some),
        }
    }

    /// Returns what an operand is. Among others, a symbolic link is an entry, as for tar and mksquashfs, unless it leads to a layer.
    fn operand(&self, path: &Path, among_others: bool) -> Result<Operand, Failure> {
        if OciPlace::parse(path.as_os_str()).is_some() || path.as_os_str() == "-" {
            return Ok(Operand::Layer);
        }
        let kept = among_others && is_link(path) && self.given(&["dereference"]).is_none();
        if kept && fs::metadata(path).map_or(true, |found| found.is_dir()) {
            return Ok(Operand::Entry);
        }
        if is_directory(path)? {
            return Ok(Operand::Directory);
        }
        let plain = if among_others { Source::is_plain_file_among_others(path)? } else { Source::is_plain_file(path)? };
        Ok(if plain { Operand::Entry } else { Operand::Layer })
    }

    fn oci(&self, place: &OciPlace, io: &mut Io) -> Result<Source, Failure> {
        let platform = self.layers.platform.clone();
        if place.is_stream() {
            let stream = crate::ui::io::take_stdin(Some(self.image), io)?;
            return Source::oci_reader(place, STDIN, stream, platform, self.resources).map_err(Failure::failed);
        }
        self.refuse_output(&place.path(), io)?;
        Source::oci(place, platform, self.resources).map_err(Failure::failed)
    }

    fn given(&self, longs: &[&'static str]) -> Option<&'static str> {
        longs.iter().find(|long| self.invocation.has(long)).copied()
    }

    fn refuse_output(&self, path: &Path, io: &Io) -> Result<(), Failure> {
        if target::is_stdout(self.image) { io.refuse_input(path) } else { Ok(()) }
    }

    /// Refuses options that no source can honour, or not all of several.
    fn refuse(&self, kinds: &Kinds, count: usize, stacked: bool) -> Result<(), Failure> {
        let only = |long: &str, only: &str| {
            let sources = kinds.words.join(", ");
            let verb = if count > 1 { "sources are" } else { "source is" };
            Err(wrong(long, format!("only {only} can be packed so (the {verb} {sources})")))
        };
        match (self.given(OF_DIRECTORIES), self.given(OF_TARS)) {
            (Some(long), _) if !kinds.directory => return only(long, "a directory"),
            (_, Some(long)) if !kinds.tar => return only(long, "a tar"),
            _ => {}
        }
        if let (true, Some(long)) = (stacked, self.given(&["continue"])) {
            return Err(wrong(
                long,
                "what cannot be read is left out of a directory that is packed alone, not of layers",
            ));
        }
        match (kinds.layers, self.given(&["platform"])) {
            (false, Some(long)) => only(long, "an image of containers"),
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
                    (kinds.layers, kinds.tar) = (true, true);
                    "an image of containers"
                }
                Source::Directories { .. } => {
                    kinds.directory = true;
                    "a file"
                }
                Source::Image(_) => "an image",
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
        "{name} is a tar or an image beside several other sources: --overlay merges all of them into one root; a list of names for \
         --files-from stores {name} as a file"
    ))
}

fn is_directory(path: &Path) -> Result<bool, Failure> {
    let found =
        fs::metadata(path).map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())))?;
    Ok(found.is_dir())
}
