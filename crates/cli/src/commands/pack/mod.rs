//! `packline pack` packs directories, tars, cpio and zip archives, images or standard input into an image or an archive.

mod attributes;
mod codec_errors;
mod details;
mod erofs;
mod in_pln;
mod lrz;
mod manifest;
pub(super) mod options;
mod order;
mod prepend;
mod sources;
mod tar;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use packline::requests::{FileKind, ImageOptions, ImageRequest, OciPlace, PackContainer, PackRequest, PackSummary};
use packline::{Container, Output, Resources, Source};
use packline_manifests::{MtreeSource, PseudoFile, PseudoSource};
use packline_tree::Patterns;

use crate::args::cache::CacheOptions;
use crate::args::image::PlnOpener;
use crate::args::keys::{OpeningKeys, RecipientOptions};
use crate::args::run_options::{Machine, Reporting, SchedulingOptions};
use crate::args::value::{number, text};
use crate::args::verity::PackVerity;
use crate::args::{Command, Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::{OutputStyle, run_dry, run_pack, run_pack_in_pln};
use crate::ui::{report, target};
use attributes::Attributes;
use codec_errors::{codec_hint, not_smallest};
use erofs::ErofsOptions;
use manifest::{Definitions, Manifest};
use options::{BaseOptions, Compression, Entries, Layout, Time, seconds_expected};
use order::OrderOptions;
use prepend::prepended;
use sources::{Layers, SourceOpener};

/// Pack directories, tars, images or standard input into an image, a tar or a .lrz file
#[derive(Debug, clap::Args)]
#[command(override_usage = "packline pack [OPTIONS] <SOURCE>... <IMAGE>")]
pub struct Pack {
    /// The directories, tars, cpio or zip archives, images, container images or files to pack, then the image or archive to write; - is standard input or output
    #[arg(required = true, num_args = 1.., value_name = "SOURCE... IMAGE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    compression: Compression,
    #[command(flatten)]
    layout: Layout,
    #[command(flatten)]
    order: OrderOptions,
    #[command(flatten)]
    erofs: ErofsOptions,
    #[command(flatten)]
    entries: Entries,
    #[command(flatten)]
    layers: Layers,
    #[command(flatten)]
    attributes: Attributes,
    #[command(flatten)]
    manifest: Manifest,
    #[command(flatten)]
    machine: Machine,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    scheduling: SchedulingOptions,
    #[command(flatten)]
    cache: CacheOptions,
    #[command(flatten)]
    base: BaseOptions,
    #[command(flatten)]
    verity: PackVerity,
    #[command(flatten)]
    recipients: RecipientOptions,
    #[command(flatten)]
    keys: OpeningKeys,
    #[command(flatten)]
    output: OutputOptions,
    /// Print each packed entry: to standard output, or with --json to standard error
    #[arg(short, long, help_heading = "Output")]
    verbose: bool,
    #[command(flatten)]
    reporting: Reporting,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources")]
struct Threads {
    /// Read the files of a directory ahead with N threads [default: 4, or none with --jobs=0]
    #[arg(long, value_name = "N", value_parser = number::<usize>(0..=64))]
    readers: Option<usize>,
    /// Run without threads and queues; all other runs must give the same bytes
    #[arg(long)]
    #[arg(conflicts_with_all = ["jobs", "queue_per", "policy", "main_thread_works", "trace"])]
    serial: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputOptions {
    /// Replace an existing image, or overwrite a block device
    #[arg(short, long)]
    force: bool,
    /// Read the entries without their contents, print how many there are, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Read the finished image back and compare each block with the packed content
    #[arg(long, conflicts_with = "dry_run")]
    verify: bool,
    /// Rejected: an image cannot contain recovery data; use 'packline protect' on the output
    #[arg(long, value_name = "PERCENT", num_args = 0..=1, default_missing_value = "", hide_long_help = true)]
    recovery: Option<OsString>,
    /// Choose the container, instead of deriving it from IMAGE's name: squashfs, erofs, tar, lrz
    #[arg(long, value_parser = text(Container::for_tree))]
    format: Option<Container>,
}

impl Command for Pack {
    const NAME: &'static str = "pack";
    const ALIASES: &'static [&'static str] = &["create"];
    const ESSENTIAL: &'static [&'static str] =
        &["codec", "block-size", "exclude", "exclude-from", "time", "cache", "smallest", "verify", "force", "json"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline pack rootfs/ rootfs.sqfs",
        "packline pack rootfs/ rootfs.sqfs -x '*.pyc' -x '/var/{cache,log}/**'",
        "packline pack -c xz:x86 -b 1M rootfs.tar.gz rootfs.sqfs",
        "podman export x | packline pack --time 0 - x.sqfs",
        "packline pack -c xz -b 1M old.sqfs new.sqfs",
        "packline pack rootfs.sqfs rootfs.erofs",
        "packline pack home etc backup.sqfs",
        "packline pack --overlay base/ site/ rootfs.sqfs --remove /var/cache",
        "packline pack oci:images:v2 rootfs.sqfs",
        "packline pack rootfs/ rootfs.tar.zst",
        "packline pack --recipients-file team.txt home/ home.sqfs.pln",
        "packline pack --format tar -c gzip:level=9 rootfs.sqfs - | ssh host tar -xzf -",
    ];

    fn details() -> String {
        details::details()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if self.output.recovery.is_some() {
            let what = "images and .lrz files cannot contain recovery data; run 'packline protect IMAGE' afterwards";
            return Err(wrong("recovery", what));
        }
        invocation.need(&NEED)?;
        invocation.need(&PackVerity::NEED)?;
        let Reporting { quiet, json, stats, .. } = self.reporting;
        match self.container()? {
            Container::Lrz => lrz::refuse_options(invocation, json && self.image().as_os_str() == "-")?,
            Container::Erofs => erofs::refuse_options(invocation)?,
            Container::Tar => tar::refuse_options(invocation)?,
            _ => erofs::refuse_own_options(invocation)?,
        }
        if json && !self.output.dry_run && target::is_stdout(self.image()) {
            return Err(wrong("json", "the image goes to standard output; write it to a file"));
        }
        if !self.sources().is_empty() && !target::is_stdout(self.image()) && self.image().is_dir() {
            let hint = "the image to write comes last: packline pack SOURCE... IMAGE";
            return Err(Failure::failed(format!("{}: is a directory; {hint}", self.image().escaped())));
        }
        let whiteouts = !invocation.has("whiteouts") && self.container()? != Container::Lrz;
        let bar = self.reporting.bar();
        let style = OutputStyle::Packline { quiet, bar, json, stats, verbose: self.verbose, whiteouts };
        let operands: Vec<&Path> = self.paths.iter().map(PathBuf::as_path).collect();
        let options = self.scheduling.start(stats, Some(self.output.force), &operands, io)?;
        let enclosing = self.enclosing_pln(invocation, io)?;
        let mut request = self.request(invocation, io)?;
        request.resources = options.apply(request.resources);
        let errors = if self.output.dry_run {
            let run = run_dry(request, style, io)?;
            options.report((json, quiet), report::dry_run_json(&run), report::dry_run_text(&run), 0, io);
            run.errors
        } else {
            let done = match enclosing {
                Some(pln) => run_pack_in_pln(request, pln, style, io),
                None => run_pack(request, style, io).map(|packed| (packed, None)),
            };
            let (packed, pln) = done.map_err(|failure| self.explain(failure))?;
            match packed {
                PackSummary::Image(summary) => summary.errors,
                PackSummary::Tar(packed) => {
                    let peak = (io.host.peak_memory)();
                    let mut object = tar::as_json(&packed, peak);
                    report::add_pln_sizes(&mut object, pln.as_ref());
                    let text = format!("{}\n{}", tar::as_text(&packed, peak), report::pln_line(pln.as_ref()));
                    options.report((json, quiet), object, text.trim_end().to_string(), packed.content_bytes, io);
                    packed.errors
                }
                PackSummary::Lrz(written) => {
                    options.report((json, quiet), lrz::as_json(&written), lrz::as_text(&written), written.plain, io);
                    0
                }
            }
        };
        options.write_trace_or_warn(invocation, io);
        if errors > 0 { Err(Failure::AlreadyReported(3)) } else { Ok(()) }
    }
}

impl Pack {
    /// Adds the option that leaves out what cannot be read.
    fn explain(&self, failure: Failure) -> Failure {
        if self.entries.leaves_out() || !failure.is_denied_entry() {
            return failure.of_incomplete_file();
        }
        failure.with_way_out("--continue leaves out what cannot be read")
    }

    fn image(&self) -> &Path {
        self.paths.last().map_or(Path::new(""), PathBuf::as_path)
    }

    fn sources(&self) -> &[PathBuf] {
        self.paths.split_last().map_or(&[], |(_, sources)| sources)
    }

    /// Returns the request that the arguments describe.
    pub(crate) fn request(&self, invocation: &Invocation, io: &mut Io) -> Result<PackRequest, Failure> {
        let container = self.container()?;
        let mut changes = self.entries.changes()?;
        let mut options = self.container_options(container, invocation)?;
        let mut resources = self.machine.lrz_resources(&io.host);
        let mut definitions = None;
        if container != Container::Lrz {
            let time = self.time(io)?;
            changes.mtime_most = time.map(i64::from);
            changes.edit = self.attributes.edit((changes.uid, changes.gid), io)?;
            self.apply_options(&mut options, time.unwrap_or(0), invocation, io)?;
            resources = self.machine.resources(&io.host);
            definitions = self.manifest.read(time.unwrap_or(0).into(), io)?;
        }
        resources.workers = if self.threads.serial { 0 } else { resources.workers };
        let mut opener = PlnOpener::new(&self.keys, resources);
        let (source, exclude) = self.source(invocation, io, &mut opener, &mut definitions)?;
        if !self.is_in_pln() || invocation.has("identity") {
            opener.refuse_unused_keys(invocation)?;
        }
        let mut resources = opener.resources;
        changes.exclude = exclude;
        let is_tar = matches!(source, Source::TarFile { .. } | Source::TarStream { .. });
        let whole = container == Container::Lrz && is_tar;
        let unfit = ["exclude", "exclude-from", "no-xattrs"].into_iter().find(|long| whole && invocation.has(long));
        if let Some(long) = unfit {
            return Err(wrong(long, "has no effect on a tar that is packed into a .lrz file"));
        }
        let entries = match &mut options {
            PackContainer::Image(image) => {
                image.prepended = prepended(self.layout.prepend.as_deref(), &source, io)?;
                self.fill_image(image, invocation)?;
                if !self.output.dry_run && image.options.looks_up() && !self.encrypts(invocation)? {
                    image.cache = self.cache.open(resources.workers > 0, io)?;
                }
                Some(&mut image.entries)
            }
            PackContainer::Tar(tar) => Some(&mut tar.entries),
            PackContainer::Lrz(lrz) => {
                lrz.changes = changes.clone();
                lrz.no_xattrs = invocation.has("no-xattrs");
                None
            }
            _ => None,
        };
        if let Some(entries) = entries {
            entries.changes = changes;
            entries.tar = self.entries.tar();
            entries.order = self.order.order(invocation, self.compression.smallest)?;
            entries.pseudo = definitions.map(|definitions| self.additions(definitions)).transpose()?;
        }
        let mut request = PackRequest::new(source, self.target(container, io)?, options);
        // Sources on servers are open now.
        resources.memory = io.host.left(resources.memory);
        request.resources = resources;
        request.temporaries = io.temporaries.clone();
        Ok(request)
    }

    /// Sets the options of the container, except the codec and the block size.
    fn apply_options(
        &self,
        options: &mut PackContainer,
        time: u32,
        invocation: &Invocation,
        io: &mut Io,
    ) -> Result<(), Failure> {
        match options {
            PackContainer::Image(image) => {
                self.layout.apply(&self.compression, time, &mut image.options);
                if let ImageOptions::Erofs(options) = &mut image.options {
                    self.erofs.apply(options, invocation, io)?;
                    erofs::refuse_cache(options, invocation)?;
                }
            }
            PackContainer::Tar(tar) => tar::apply(tar, &self.inner_name(), &self.layout, invocation),
            _ => {}
        }
        Ok(())
    }

    /// Returns the container with its codec and block size.
    fn container_options(&self, container: Container, invocation: &Invocation) -> Result<PackContainer, Failure> {
        let codec = invocation.has("codec").then_some(&*self.compression.codec);
        let block_size = match container {
            Container::SquashFs => Some(self.compression.block_size),
            // The default depends on the codec.
            Container::Erofs => invocation.has("block-size").then_some(self.compression.block_size),
            _ => None,
        };
        let options = PackContainer::parse(container, codec, block_size);
        let mut options = options.map_err(|error| wrong("codec", format!("{error}{}", codec_hint(codec))))?;
        if let PackContainer::Image(image) = &mut options
            && self.compression.smallest
        {
            let codec = image.options.codec_mut();
            *codec = codec.smallest().map_err(not_smallest)?;
        }
        Ok(options)
    }

    /// Sets the fields of an image that depend only on options.
    fn fill_image(&self, image: &mut ImageRequest, invocation: &Invocation) -> Result<(), Failure> {
        image.offset = self.layout.offset;
        image.verify = self.output.verify;
        image.base = self.base.images();
        self.refuse_hash_tree(invocation)?;
        image.verity = self.verity.options()?;
        Ok(())
    }

    /// Rejects a hash tree for an image that cannot have one.
    fn refuse_hash_tree(&self, invocation: &Invocation) -> Result<(), Failure> {
        if self.verity.is_given() && self.image().as_os_str() == "-" {
            return Err(wrong("verity", "the image goes to standard output; write it to a file"));
        }
        if self.verity.is_given() && self.layout.prepend.is_some() {
            return Err(wrong("verity", "cannot be used with --prepend: the image would not begin at byte 0"));
        }
        if self.verity.is_given() && invocation.has("no-pad") {
            return Err(wrong("verity", "cannot be used with --no-pad"));
        }
        Ok(())
    }

    fn target(&self, container: Container, io: &mut Io) -> Result<Output, Failure> {
        let path = self.image();
        let force = self.output.force;
        match container {
            Container::Lrz => target::target(path, force, path, io),
            Container::Tar if !self.output.dry_run => target::target(path, force, path, io),
            _ if self.output.dry_run => Ok(target::unwritten(path, force, io)),
            _ => target::image(path, force, io),
        }
    }

    /// Returns the container: `--format`, or the container for the ending of the name.
    fn container(&self) -> Result<Container, Failure> {
        let inner = self.inner_name();
        let named = || if self.is_system_image() { Ok(Container::SquashFs) } else { Container::for_tree_at(&inner) };
        if self.is_in_pln() && self.output.format.is_none() && FileKind::of_path(&inner).is_none() {
            let what = "the name does not say what the .pln file holds";
            let expected = "an ending such as .sqfs.pln, .erofs.pln or .tar.pln; --format chooses for any name";
            return Err(Failure::usage(format!("{}: {what} (expected {expected})", self.image().escaped())));
        }
        let explained = |error| Failure::usage(format!("{error}; --format chooses the container for any name"));
        self.output.format.map_or_else(named, Ok).map_err(explained)
    }

    /// Returns whether the name is that of a system image with a hash tree, as systemd names them.
    fn is_system_image(&self) -> bool {
        self.verity.is_given() && self.image().extension().is_some_and(|ending| ending == "raw")
    }

    /// Returns `--time`, or `SOURCE_DATE_EPOCH`.
    fn time(&self, io: &Io) -> Result<Option<u32>, Failure> {
        let epoch = io.host.source_date_epoch.as_deref().filter(|text| !text.is_empty());
        match (self.layout.time, epoch) {
            (Some(Time::Now), _) => Ok(Some(io.host.now)),
            (Some(Time::Seconds(seconds)), _) => Ok(Some(seconds)),
            (None, Some(text)) => text.parse().map(Some).map_err(|_| {
                let expected = seconds_expected();
                Failure::usage(format!("SOURCE_DATE_EPOCH={text} is not a time (expected {expected})"))
            }),
            (None, None) => Ok(None),
        }
    }

    /// Returns the source, and the entries that are excluded from a tar.
    fn source(
        &self,
        invocation: &Invocation,
        io: &mut Io,
        pln: &mut PlnOpener<'_>,
        definitions: &mut Option<Definitions>,
    ) -> Result<(Source, Patterns), Failure> {
        let sources = self.sources();
        if sources.is_empty() {
            return self.manifest_alone(invocation, io, &pln.resources, definitions);
        }
        let takes_stdin = |path: &PathBuf| {
            path.as_os_str() == "-" || OciPlace::parse(path.as_os_str()).is_some_and(|place| place.is_stream())
        };
        let of_manifest = self.manifest.is_stdin().then_some("manifest");
        if let (true, Some(long)) = (sources.iter().any(takes_stdin), self.entries.stdin_option().or(of_manifest)) {
            return Err(wrong(long, "standard input is already the source; name a file"));
        }
        if !self.output.dry_run && !self.encrypts(invocation)? {
            self.cache.keep_parts(sources, io)?;
        }
        let opener = SourceOpener {
            layers: &self.layers,
            layout: &self.layout,
            entries: &self.entries,
            readers: self.threads.readers,
            bar: self.reporting.bar(),
            image: self.image(),
            resources: &pln.resources.clone(),
            invocation,
        };
        opener.open(sources, pln, io)
    }

    /// Returns the definitions as the only source.
    fn manifest_alone(
        &self,
        invocation: &Invocation,
        io: &mut Io,
        resources: &Resources,
        definitions: &mut Option<Definitions>,
    ) -> Result<(Source, Patterns), Failure> {
        if !self.manifest.is_given() {
            return Err(Failure::usage("the image to write is missing: packline pack SOURCE... IMAGE"));
        }
        sources::refuse_for_definitions(invocation)?;
        let missing = || wrong("manifest", "a .lrz file cannot be packed from definitions; write an image");
        let source = match definitions.take().ok_or_else(missing)? {
            Definitions::Pseudo(pseudo) => {
                Source::entries("manifest", PseudoSource::alone(pseudo).map_err(Failure::failed)?)
            }
            Definitions::Mtree(mtree) => {
                let readers = if resources.workers == 0 { 0 } else { 4 };
                let time = self.time(io)?.unwrap_or(0).into();
                Source::entries("manifest", MtreeSource::new(mtree, time, readers))
            }
        };
        Ok((source, self.entries.excludes(io)?))
    }

    /// Returns the definitions that are added to a source.
    fn additions(&self, definitions: Definitions) -> Result<PseudoFile, Failure> {
        match definitions {
            Definitions::Pseudo(pseudo) => Ok(pseudo),
            Definitions::Mtree(_) => {
                let hint = "leave out SOURCE, or use the format of mksquashfs -pf";
                Err(wrong("manifest", format!("an mtree manifest describes a complete tree; {hint}")))
            }
        }
    }
}

/// The options that need another one, and the other one.
const NEED: [(&str, &str); 3] =
    [("no-symlink-retarget", "root-becomes"), ("base-any", "base"), ("run-commands", "manifest")];
