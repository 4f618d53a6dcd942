//! `packline protect` writes recovery data of files, and `packline repair` uses it.

pub(crate) mod report;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use packline::requests::{OpenedFile, ProtectRequest, RecoveryState, RepairRequest, sidecar_of};
use packline::{Output, StreamError};
use packline_recovery::{Redundancy, Shape};
use serde_json::Value;

use crate::args::run_options::{Reporting, RunOptions};
use crate::args::value::text;
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation, wrong};
use crate::host::files_below::files_below;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::size::count;
use crate::ui::target;

/// Write recovery data for files, so that 'repair' can fix damage
#[derive(Debug, clap::Args)]
pub struct Protect {
    /// The files to protect, block devices (with -o), and directories, whose files are protected to any depth
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    /// Set how much of the file may be lost, anywhere in it: from 0.01% to 100% of its bytes
    #[arg(short, long, value_name = "PERCENT", default_value = "5%", value_parser = text(Redundancy::parse))]
    redundancy: Redundancy,
    /// Write the recovery data of one file here; - is standard output [default: FILE.recovery]
    #[arg(short, long, value_name = "SIDECAR", value_hint = clap::ValueHint::AnyPath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

/// Repair a file from its recovery data
#[derive(Debug, clap::Args)]
pub struct Repair {
    /// The file to repair
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Read the recovery data from SIDECAR [default: FILE.recovery; if it does not exist, the recovery data at the end of FILE]
    #[arg(long, value_name = "SIDECAR", value_hint = clap::ValueHint::FilePath)]
    recovery: Option<PathBuf>,
    /// Write the repaired file here and leave FILE unchanged; - is standard output [default: FILE is replaced]
    #[arg(short, long, value_name = "OUTPUT", value_hint = clap::ValueHint::AnyPath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace an existing OUTPUT; without -o, repair FILE even if it was changed after its recovery data was written
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

impl Command for Protect {
    const NAME: &'static str = "protect";
    const ESSENTIAL: &'static [&'static str] =
        &["redundancy", "output", "force", "jobs", "mem", "quiet", "no-progress", "json", "stats"];

    const EXAMPLES: &'static [&'static str] = &[
        "packline protect backup.tar.zst",
        "packline verify backup.tar.zst",
        "packline repair backup.tar.zst",
        "packline protect --redundancy 10% -o /media/usb/root.recovery root.sqfs",
        "packline protect photos letters.tar",
    ];

    fn details() -> String {
        "# Redundancy\n\
         packline cuts the file into up to 16384 shards, and can restore as many lost shards as the redundancy says. A shard \
         is lost by changed bits, by sectors that cannot be read, or by a missing end of the file. Inserted or removed bytes \
         cost only the shards that contain them; packline finds the other shards at their new offsets. The recovery data \
         repairs itself in the same way.\n\
         Small files need more than the redundancy says. With 5%, the recovery data is 8% of a file of 1 MiB, 13% of 100 KiB \
         and 31% of 10 KiB. It is larger than a file of 1 KiB.\n\
         # Files and directories\n\
         Recovery data belongs to one state of the file: run 'packline protect -f' after each change. It may contain all of \
         the content, and only users who can read the file can read it. If FILE.recovery already exists and matches the file, \
         it is kept, and the file counts as unchanged. Without -f, recovery data of another state of the file is an \
         error.\n\
         In a directory, every regular file gets its own recovery data next to it; links, empty files and recovery data are \
         skipped. If one file fails, the others are protected, and the exit status is 1.\n\
         The same file and redundancy always give the same recovery data."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (files, all_read) = self.expanded(io);
        if self.output.is_some() && (files.len() != 1 || files != self.files) {
            let hint = "without --output each file gets its own recovery data";
            return Err(wrong(
                "output",
                format!("the recovery data of several files cannot be written to one file; {hint}"),
            ));
        }
        if let (None, Some(device)) = (&self.output, files.iter().find(|file| is_block_device(file))) {
            let what = "is a block device, and a file next to it would be lost at shutdown; use -o FILE";
            return Err(Failure::usage(format!("{}: {what}", device.escaped())));
        }
        let outputs: Vec<PathBuf> =
            files.iter().map(|file| self.output.clone().unwrap_or_else(|| sidecar_of(file))).collect();
        let inputs: Vec<(&str, &Path)> = files.iter().map(|file| ("FILE", file.as_path())).collect();
        let others: Vec<&Path> = outputs.iter().map(PathBuf::as_path).collect();
        let options = self.work.start(&inputs, &others, self.force, io)?;
        let mut failed = !all_read;
        let mut unchanged = 0;
        for (file, output) in files.iter().zip(&outputs) {
            match self.protect(file, output, &options, io) {
                Ok(Done::Written) => {}
                Ok(Done::Unchanged(shown)) => {
                    unchanged += 1;
                    if self.work.reporting.json || files.len() == 1 {
                        self.work.print(shown, 0, &options, io);
                    }
                }
                Err(Failure::Failed(what)) if files.len() > 1 => {
                    io.eprintln(&format!("packline: {what}"));
                    failed = true;
                }
                Err(failure) => return Err(failure),
            }
        }
        let Reporting { json, quiet, .. } = self.work.reporting;
        if unchanged > 0 && files.len() > 1 && !json && !quiet {
            io.eprint_lines(&format!("{} unchanged", count(unchanged, "file")));
        }
        options.write_trace_or_warn(invocation, io);
        if failed { Err(Failure::AlreadyReported(1)) } else { Ok(()) }
    }
}

impl Protect {
    /// Returns the files, including those in directories, and whether all directories could be read.
    fn expanded(&self, io: &mut Io) -> (Vec<PathBuf>, bool) {
        let mut files = Vec::new();
        let mut all_read = true;
        let is_wanted = |path: &Path| {
            let is_sidecar =
                path.as_os_str().as_encoded_bytes().ends_with(sidecar_of(Path::new("")).as_os_str().as_encoded_bytes());
            !is_sidecar && path.metadata().is_ok_and(|about| about.len() > 0)
        };
        for path in &self.files {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            for found in files_below(path) {
                match found {
                    Ok(file) if is_wanted(&file) => files.push(file),
                    Ok(_) => {}
                    Err(unreadable) => {
                        io.eprintln(&format!("packline: {unreadable}"));
                        all_read = false;
                    }
                }
            }
        }
        (files, all_read)
    }

    fn protect(&self, file: &Path, output: &Path, options: &RunOptions, io: &mut Io) -> Result<Done, Failure> {
        if let Some(found) = self.existing(file, output, options, io) {
            let refused = |what: &str| Failure::failed(format!("{}: {what}; --force replaces it", output.escaped()));
            let wanted = Shape::new(found.shape.length(), self.redundancy);
            return match (found.examined.is_whole(), found.recovery_is_whole) {
                (false, _) if found.changed_later => Err(refused("belongs to an earlier state of the file")),
                (false, _) => Err(Failure::failed(report::damaged_before_protection(file, output))),
                (true, false) => Err(refused("the recovery data is damaged")),
                (true, true) if wanted.ok() != Some(found.shape) => Err(refused("has another redundancy")),
                (true, true) => Ok(Done::Unchanged(report::unchanged(&found, file, output))),
            };
        }
        let target = match self.output {
            Some(_) => target::image(output, self.force, io)?,
            // The default name never refers to an existing pipe.
            None => Output::File { path: output.to_path_buf(), force: self.force },
        };
        let mut request = ProtectRequest::new(file, target, self.redundancy);
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let made = with_observer(io, bar, |observer| packline::requests::protect(request, observer))?;
        let (object, text) = report::protected(&made, file, output);
        self.work.print((object, text), made.shape.length(), options, io);
        Ok(Done::Written)
    }

    /// Compares the file with existing recovery data, unless the recovery data will be replaced.
    fn existing(&self, file: &Path, output: &Path, options: &RunOptions, io: &mut Io) -> Option<RecoveryState> {
        if self.force || target::is_stream(output) || !output.is_file() {
            return None;
        }
        let resources = options.apply(self.work.machine.resources(&io.host));
        let bar = self.work.reporting.bar();
        let file = OpenedFile::open(file).ok()?;
        // Writing the recovery data reports other files and errors.
        with_observer(io, bar, |observer| packline::requests::examine(&file, Some(output), &resources, observer)).ok()
    }
}

/// The result for a file.
enum Done {
    Written,
    /// The recovery data already existed; with the object and the text that say so.
    Unchanged((Value, String)),
}

impl Command for Repair {
    const NAME: &'static str = "repair";
    const ESSENTIAL: &'static [&'static str] =
        &["recovery", "output", "force", "jobs", "mem", "quiet", "no-progress", "json", "stats"];

    const EXAMPLES: &'static [&'static str] =
        &["packline repair backup.tar.zst", "packline repair --recovery old.recovery -o mended.img disk.img"];

    fn details() -> String {
        "The repaired file is written next to FILE, and replaces FILE when it has the BLAKE3 hash of the protected file. \
         Until then, and after an error, FILE is unchanged. An intact file is left alone. A missing file is rebuilt if the \
         recovery data suffices. If more is lost than can be repaired, FILE is unchanged and the exit status is 1.\n\
         # Changed files\n\
         Damage does not change the time of a file. A FILE that is newer than its recovery data was probably changed on \
         purpose: without -f it is not replaced, and the exit status is 1. 'packline protect -f FILE' protects the new \
         content.\n\
         Recovery data inside a .pln file is rebuilt with the file. Damaged recovery data in a separate file stays as it is; \
         'packline protect --force' writes it again."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let output = self.output.clone().unwrap_or_else(|| self.file.clone());
        let force = self.output.is_none() || self.force;
        let options = self.work.start(&[("FILE", &self.file)], &[], force, io)?;
        let target: Option<Output> =
            self.output.as_ref().map(|output| target::image(output, self.force, io)).transpose()?;
        let recovery = self.recovery.clone().or_else(|| sidecar_beside(&self.file));
        let mut request = RepairRequest::new(&self.file);
        request.recovery = recovery.clone();
        request.target = target;
        request.revert = self.force;
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let found = match with_observer(io, bar, |observer| packline::requests::repair(request, observer)) {
            Err(error @ packline::Error::ChangedLater { .. }) => {
                let hint =
                    recovery.map(|recovery| report::hint_after_change(&self.file, &recovery)).unwrap_or_default();
                return Err(Failure::failed(format!("{error}. {hint}")));
            }
            Err(error) if recovery.is_none() && has_no_data(&error) => {
                let failure = Failure::from(error);
                return Err(failure.with_way_out("--recovery FILE reads recovery data from another file"));
            }
            Err(error) => {
                let recovery = recovery.filter(|_| is_all_lost(&error)).map(|recovery| recovery.escaped());
                return Err(recovery.map_or_else(|| error.into(), |recovery| self.without_any_shard(&recovery)));
            }
            Ok(found) => found,
        };
        let (object, text) = report::repaired(&found, &self.file, &output, recovery.as_deref());
        self.work.report((object, text), found.shape.length(), &options, invocation, io);
        Ok(())
    }
}

impl Repair {
    /// Returns the failure for a file that has no shard of the protected file.
    fn without_any_shard(&self, recovery: &str) -> Failure {
        let file = self.file.escaped();
        Failure::failed(if self.file.symlink_metadata().is_ok() {
            format!("{file}: has nothing in common with the protected file; check that {recovery} is its recovery data")
        } else {
            format!("{file}: does not exist, and {recovery} alone cannot rebuild it (expected a redundancy of 100%)")
        })
    }
}

/// Returns whether all shards are lost, and the recovery data is intact but not sufficient.
fn is_all_lost(error: &packline::Error) -> bool {
    use packline_recovery::Error::Beyond;
    let packline::Error::Stream { cause, .. } = error else { return false };
    matches!(**cause, StreamError::Recovery(Beyond { lost, shards, repairable, recovery, .. }) if lost == shards && repairable == recovery)
}

/// Returns whether there is no recovery data at the place where it is expected.
fn has_no_data(error: &packline::Error) -> bool {
    let packline::Error::Stream { cause, .. } = error else { return false };
    matches!(**cause, StreamError::Recovery(packline_recovery::Error::NoData))
}

fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.file_type().is_block_device())
}

/// Returns the recovery data next to a file, if it exists.
pub(crate) fn sidecar_beside(path: &Path) -> Option<PathBuf> {
    Some(sidecar_of(path)).filter(|sidecar| sidecar.is_file())
}
