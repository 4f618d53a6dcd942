//! Runs operations with an observer that prints progress, names and warnings, and prints the summary of a pack.

use std::io::Write as _;
use std::path::Path;

use packline::requests::{DryRun, EnclosingPln, ImageSummary, PackRequest, PackSummary};
use packline::{EntryInfo, EntryKind, Observer, Progress, Source, StoredData};
use packline_archives::is_whiteout_name;
use packline_pln::Written;
use packline_runtime::{FileStamp, Problem};

use crate::ui::elapsed::{Elapsed, Started};
use crate::ui::escape::{Escape, escaped_path};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::listings::Listings;
use crate::ui::progress::{Bar, Percentage};
use crate::ui::report::{self, Details};
use crate::ui::size::count;
use crate::ui::target::without_stream;
use crate::ui::wrap::wrap;

/// Formats the summary of an image.
pub type Statistics = fn(&ImageSummary) -> String;

/// How a command reports its work.
#[derive(Debug, Clone, Copy)]
pub enum OutputStyle {
    /// packline's own style: a progress bar on a terminal, and a summary at the end.
    Packline {
        /// Print only warnings and errors.
        quiet: bool,
        /// Draw a progress bar if there is a terminal.
        bar: bool,
        /// Print the summary as JSON, to standard output.
        json: bool,
        /// Add counters of the workers and tables to the summary.
        stats: bool,
        /// Print every name: to standard output, or to standard error if the summary goes to standard output.
        verbose: bool,
        /// Warn of whiteouts in a tar that is packed alone.
        whiteouts: bool,
    },
    /// The style of squashfs-tools-ng: every name, then statistics, all on standard output.
    ToolsNg {
        /// Print only warnings and errors.
        quiet: bool,
        statistics: Statistics,
    },
    /// The style of squashfs-tools: statistics on standard output.
    SquashfsTools {
        /// Print only warnings and errors.
        quiet: bool,
        /// Print every name.
        info: bool,
        /// Draw a progress bar if there is a terminal.
        bar: bool,
        /// Print the packed percentage of the content, one number per line.
        percentage: bool,
        statistics: Statistics,
    },
}

/// Packs, and prints progress and the summary of an image.
pub fn run_pack(request: PackRequest, style: OutputStyle, io: &mut Io) -> Result<PackSummary, Failure> {
    run_pack_listing(request, style, Listings::default(), io)
}

/// Packs like [`run_pack`], into a .pln file, which the result always has.
pub fn run_pack_in_pln(
    request: PackRequest,
    pln: EnclosingPln,
    style: OutputStyle,
    io: &mut Io,
) -> Result<Done, Failure> {
    let pack = |request, observer: &mut dyn Observer| {
        packline::requests::pack_in_pln(request, pln, observer).map(|(packed, written)| (packed, Some(written)))
    };
    run_pack_by(pack, request, style, Listings::default(), io)
}

/// Packs like [`run_pack`], and writes the lists of squashfs-tools to files.
pub fn run_pack_listing(
    request: PackRequest,
    style: OutputStyle,
    listings: Listings,
    io: &mut Io,
) -> Result<PackSummary, Failure> {
    let pack =
        |request, observer: &mut dyn Observer| packline::requests::pack(request, observer).map(|packed| (packed, None));
    run_pack_by(pack, request, style, listings, io).map(|(packed, _)| packed)
}

/// A summary, and the sizes of the .pln file that has the image or tar as its content.
pub type Done = (PackSummary, Option<Written>);

fn run_pack_by(
    pack: impl FnOnce(PackRequest, &mut dyn Observer) -> Result<Done, packline::Error>,
    request: PackRequest,
    style: OutputStyle,
    listings: Listings,
    io: &mut Io,
) -> Result<Done, Failure> {
    let request = without_stream(request, io);
    let started = Started::now(&io.host);
    let bar = match style {
        OutputStyle::Packline { quiet, bar, .. } => bar && !quiet,
        OutputStyle::SquashfsTools { bar, .. } => bar,
        OutputStyle::ToolsNg { .. } => false,
    };
    let bar = (bar && io.terminal).then(|| Bar::new(&io.drawn));
    if let Some(bar) = &bar {
        bar.count(&request.source);
    }
    let percentage = matches!(style, OutputStyle::SquashfsTools { percentage: true, .. });
    let percentage = percentage.then(|| Percentage::of(&request.source));
    let is_tar = matches!(request.source, Source::TarFile { .. } | Source::TarStream { .. });
    let whiteouts = matches!(style, OutputStyle::Packline { whiteouts: true, .. } if is_tar).then_some(0);
    let mut observer = UiObserver { bar, percentage, listings, whiteouts, ..UiObserver::new(io, Names::of(style)) };
    let packed = pack(request, &mut observer);
    observer.end();
    let verified = observer.verified;
    let (packed, pln) = packed?;
    let PackSummary::Image(summary) = &packed else { return Ok((packed, pln)) };
    let peak = (io.host.peak_memory)();
    let elapsed = started.elapsed(summary.image.content_bytes);
    match style {
        // Only people read the statistics.
        OutputStyle::ToolsNg { quiet: false, .. } | OutputStyle::SquashfsTools { quiet: false, .. }
            if io.streams.stdout_closed => {}
        OutputStyle::ToolsNg { quiet: false, statistics }
        | OutputStyle::SquashfsTools { quiet: false, statistics, .. } => {
            let more = [report::read_back(summary, verified), report::cached(summary)];
            let more: String = more.into_iter().flatten().map(|line| line + "\n").collect();
            io.report_as(false, &(statistics(summary) + &more))
        }
        OutputStyle::Packline { json: true, stats, .. } => {
            let mut object = report::json(summary, peak, (elapsed, verified), stats);
            report::add_pln_sizes(&mut object, pln.as_ref());
            io.report_as(true, &format!("{object}\n"))
        }
        OutputStyle::Packline { quiet: false, stats, verbose, .. } => {
            let details = Details { stats, verbose };
            let text = report::text(summary, peak, (elapsed, verified), details) + &report::pln_line(pln.as_ref());
            let columns = if io.terminal { io.host.columns } else { usize::MAX };
            io.eprint_lines(&wrap(text.trim_end(), columns))
        }
        _ => {}
    }
    Ok((packed, pln))
}

/// Reads the entries without packing them, and prints the names if the style asks for them.
pub fn run_dry(request: PackRequest, style: OutputStyle, io: &mut Io) -> Result<DryRun, Failure> {
    let mut observer = UiObserver::new(io, Names::of(style));
    let run = packline::requests::dry_run(request, &mut observer);
    observer.end();
    Ok(run?)
}

/// Runs `work` with an observer that shows warnings and problems, and a progress bar if `bar` is set.
pub fn with_observer<T>(io: &mut Io, bar: bool, work: impl FnOnce(&mut dyn Observer) -> T) -> T {
    with_observer_and_sync(io, bar, work).0
}

/// Like [`with_observer`]; also returns whether the directory entry of the output is synced. Only then the source may be removed.
pub fn with_observer_and_sync<T>(io: &mut Io, bar: bool, work: impl FnOnce(&mut dyn Observer) -> T) -> (T, bool) {
    let bar = (bar && io.terminal).then(|| Bar::new(&io.drawn));
    let mut observer = UiObserver { bar, ..UiObserver::new(io, Names::None) };
    let done = work(&mut observer);
    observer.end();
    (done, observer.synced)
}

/// The facts that decide whether a source may be removed.
#[derive(Debug, Clone, Copy)]
pub struct ReadSource {
    /// The state of the source before it was read.
    pub before: Option<FileStamp>,
    /// Whether the output is synced to the medium.
    pub synced: bool,
}

/// Removes the source of a complete output. Prints a warning if the output is not synced, or if the source cannot be removed.
///
/// # Errors
/// [`Failure::Failed`] if the source changed since it was read: the output may lack content.
pub fn remove_source(path: &Path, source: ReadSource, io: &mut Io) -> Result<(), Failure> {
    let ReadSource { before, synced } = source;
    if !synced {
        io.warn(&format!("{}: not removed, because its output is not synced", path.escaped()));
        return Ok(());
    }
    if !before.is_some_and(|before| before.is_at(path)) {
        return Err(Failure::failed(format!("{}: not removed, because it changed while it was read", path.escaped())));
    }
    if let Err(cause) = std::fs::remove_file(path) {
        io.warn(&format!("{}: cannot remove: {cause}", path.escaped()));
    }
    Ok(())
}

struct UiObserver<'a> {
    io: &'a mut Io,
    bar: Option<Bar>,
    percentage: Option<Percentage>,
    /// `None` after a write to standard output failed.
    names: Names,
    listings: Listings,
    /// The number of entries with names of whiteouts, if they cause a warning.
    whiteouts: Option<u64>,
    /// All outputs and their names are synced.
    synced: bool,
    /// The time at which reading the output back began.
    verifying: Option<Started>,
    /// The time that reading back took, once it is done.
    verified: Option<Elapsed>,
}

/// Which names are printed, and to which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    None,
    /// In the format of squashfs-tools-ng, to standard output.
    ToolsNg,
    /// Lists paths from the root on standard output.
    Rooted,
    /// In the format of `packline list`, to standard output or standard error.
    ListFormat {
        to_stderr: bool,
    },
}

impl Names {
    fn of(style: OutputStyle) -> Names {
        match style {
            OutputStyle::ToolsNg { quiet: false, .. } => Names::ToolsNg,
            OutputStyle::Packline { verbose: true, json, .. } => Names::ListFormat { to_stderr: json },
            OutputStyle::SquashfsTools { info: true, .. } => Names::Rooted,
            _ => Names::None,
        }
    }
}

impl<'a> UiObserver<'a> {
    fn new(io: &'a mut Io, names: Names) -> UiObserver<'a> {
        UiObserver {
            io,
            bar: None,
            percentage: None,
            names,
            listings: Listings::default(),
            whiteouts: None,
            synced: true,
            verifying: None,
            verified: None,
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.clear();
        }
        let flushed = self.io.stdout.flush();
        self.check(flushed);
        for failure in self.listings.finish() {
            self.warning(&failure);
        }
    }

    /// Stops printing names after a failure to print, which does not fail the pack.
    fn check(&mut self, printed: std::io::Result<()>) {
        let Err(cause) = printed else { return };
        let listed = std::mem::replace(&mut self.names, Names::None) != Names::ToolsNg;
        if let (true, Failure::Failed(what)) = (listed, Failure::printing(cause)) {
            self.warning(&what.to_string());
        }
    }

    fn print_percent(&mut self, percent: u64) {
        let printed = writeln!(self.io.stdout, "{percent}").and_then(|()| self.io.stdout.flush());
        if printed.is_err() {
            self.percentage = None;
        }
    }

    fn print_message(&mut self, what: &str) {
        let called = self.io.called;
        self.eprintln(&format!("{called}: {what}"));
    }

    fn eprintln(&mut self, line: &str) {
        match &self.bar {
            Some(bar) => bar.aside(|| self.io.eprintln(line)),
            None => self.io.eprintln(line),
        }
    }

    fn print_name(&mut self, entry: EntryInfo<'_>) -> std::io::Result<()> {
        match (self.names, entry.kind) {
            (Names::ToolsNg, _) if entry.path.is_empty() => Ok(()),
            (Names::Rooted, _) => self.io.print_names(&[b"/", entry.path].concat()),
            (Names::ToolsNg, EntryKind::HardLink(target)) => {
                self.io.print_names(&[b"Hard link ", entry.path, b" -> ", target].concat())
            }
            (Names::ToolsNg, _) => self.io.print_names(&[b"Packing ", entry.path].concat()),
            (Names::ListFormat { to_stderr: true }, _) => {
                self.eprintln(&escaped_path(entry.path));
                Ok(())
            }
            (Names::ListFormat { to_stderr: false }, _) => {
                let UiObserver { io, bar, .. } = self;
                let mut print = || writeln!(io.stdout, "{}", escaped_path(entry.path));
                match bar {
                    Some(bar) if io.out_terminal => bar.aside(print),
                    _ => print(),
                }
            }
            (Names::None, _) => Ok(()),
        }
    }
}

impl Observer for UiObserver<'_> {
    fn entry(&mut self, entry: EntryInfo<'_>, progress: &Progress) {
        if let Some(whiteouts) = &mut self.whiteouts {
            *whiteouts += u64::from(is_whiteout_name(entry.path));
        }
        match &mut self.listings.names {
            Some(file) => file.write(&[b"/", entry.path, b"\n"].concat()),
            None => {
                let printed = self.print_name(entry);
                self.check(printed);
            }
        }
        self.advance(progress);
    }

    fn advance(&mut self, progress: &Progress) {
        if let Some(bar) = &self.bar {
            bar.show(progress);
        }
        if let Some(percent) = self.percentage.as_ref().and_then(|percentage| percentage.next(progress)) {
            self.print_percent(percent);
        }
    }

    fn finishing(&mut self, _: &Progress) {
        if let Some(whiteouts @ 1..) = self.whiteouts.take() {
            let found = count(whiteouts, "whiteout");
            self.warning(&format!(
                "{found} of a layer (.wh.NAME), packed as plain files; --whiteouts keep stores them as overlayfs does, \
                 --whiteouts apply leaves them out"
            ));
        }
        if let Some(bar) = &self.bar {
            bar.ending("compressing the last blocks, writing tables");
        }
    }

    fn verifying(&mut self, done: u64, total: u64) {
        let started = *self.verifying.get_or_insert_with(|| Started::now(&self.io.host));
        if done == total {
            self.verified = Some(started.elapsed(total));
        }
        if let Some(bar) = self.bar.as_ref().filter(|_| done == 0) {
            bar.ending("verifying");
        }
    }

    fn lists_data(&self) -> bool {
        self.listings.places.is_some()
    }

    fn stored(&mut self, data: StoredData<'_>) {
        self.listings.stored(data);
    }

    fn syncing(&mut self) {
        if self.percentage.is_some() {
            self.print_percent(100);
        }
        if let Some(bar) = &self.bar {
            bar.ending("syncing");
        }
    }

    fn problem(&mut self, problem: Problem<'_>) {
        self.print_message(&problem.error.to_string());
    }

    fn warning(&mut self, message: &str) {
        match &self.bar {
            Some(bar) => bar.aside(|| self.io.warn(message)),
            None => self.io.warn(message),
        }
    }

    fn unsynced(&mut self, output: &Path, cause: &std::io::Error) {
        self.synced = false;
        self.warning(&packline_runtime::unsynced(output, cause));
    }
}
