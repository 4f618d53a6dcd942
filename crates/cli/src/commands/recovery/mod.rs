//! `packline protect` and `packline repair`: recovery data of files, made and used.

pub(crate) mod report;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use packline::Output;
use packline::requests::{ProtectRequest, RecoveryState, RepairRequest, sidecar_of};
use packline_recovery::{Redundancy, Shape};
use serde_json::Value;

use crate::args::reporting::Reporting;
use crate::args::run_options::RunOptions;
use crate::args::value::text;
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation, wrong};
use crate::host::files_below::files_below;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::count;
use crate::ui::target;

/// Make recovery data for files of any kind, with which 'packline repair' repairs them
#[derive(Debug, clap::Args)]
pub struct Protect {
    /// Files, block devices (with -o), and directories, whose files are protected to any depth
    #[arg(value_name = "FILE", required = true, value_hint = clap::ValueHint::AnyPath)]
    files: Vec<PathBuf>,
    /// Bytes that may be lost anywhere in the file, as a share of it: from 0.01% to 100%
    #[arg(short, long, value_name = "PERCENT", default_value = "5%", value_parser = text(Redundancy::parse))]
    redundancy: Redundancy,
    /// The recovery data of one file; - is standard output [default: FILE.recovery]
    #[arg(short, long, value_name = "SIDECAR", value_hint = clap::ValueHint::AnyPath, help_heading = "Output")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(short, long, help_heading = "Output")]
    force: bool,
    #[command(flatten)]
    work: WorkOptions,
}

/// Repair a file by its recovery data
#[derive(Debug, clap::Args)]
pub struct Repair {
    /// The file
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Its recovery data [default: FILE.recovery; if there is none, FILE has it behind its content]
    #[arg(long, value_name = "SIDECAR", value_hint = clap::ValueHint::FilePath)]
    recovery: Option<PathBuf>,
    /// Write the repaired file to this one, and leave FILE as it is; - is standard output [default: FILE is replaced]
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

    const EXAMPLES: &'static [&'static str] = &[
        "packline protect backup.tar.zst",
        "packline verify backup.tar.zst",
        "packline repair backup.tar.zst",
        "packline protect --redundancy 10% -o /media/usb/root.recovery root.sqfs",
        "packline protect photos letters.tar",
    ];

    fn details() -> String {
        "The file is cut into shards, up to 16384. Any of them, as many as the redundancy says, can be lost: by changed bits, sectors that cannot \
         be read, a tail that is cut off. Bytes that were inserted or removed cost the shards that they are in; the others are \
         found where they have moved to. The recovery data repairs itself in the same way.\n\
         For small files it is more than the redundancy says: at 5% it is 8% of 1 MiB, 13% of 100 KiB, 31% of 10 KiB, and more than all of 1 KiB.\n\
         Recovery data belongs to one state of the file: after each change, 'packline protect -f' writes it again. It can have all of the \
         content, and is readable by nobody who cannot read the file. If the recovery data of a file is there and belongs to the file as it is, \
         it stays, and the file counts as unchanged. If it belongs to another state, that is an error without -f.\n\
         Of a directory every regular file gets recovery data beside it; links, empty files and recovery data are left out. If one file fails, the \
         others are protected, and the exit status is 1.\n\
         The same file and redundancy always give the same recovery data."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let (files, all_read) = self.expanded(io);
        if self.output.is_some() && (files.len() != 1 || files != self.files) {
            let expected = "one file; or no --output, for recovery data beside each";
            return Err(wrong(
                "output",
                format!("the recovery data of several files cannot go into one (expected {expected})"),
            ));
        }
        if let (None, Some(device)) = (&self.output, files.iter().find(|file| is_block_device(file))) {
            let what = "is a block device, next to which files are lost at shutdown (expected -o FILE)";
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
    /// The files, with those in directories, and whether all directories could be read.
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
            let refused =
                |what: &str| Failure::failed(format!("{}: {what} (expected --force to replace it)", output.escaped()));
            let wanted = Shape::new(found.shape.length(), self.redundancy);
            return match (found.examined.is_whole(), found.recovery_is_whole) {
                (false, _) if found.changed_later => {
                    Err(refused("is the recovery data of an earlier state of the file"))
                }
                (false, _) => Err(Failure::failed(report::damaged_before_protection(file, output))),
                (true, false) => Err(refused("the recovery data is damaged")),
                (true, true) if wanted.ok() != Some(found.shape) => Err(refused("has another redundancy")),
                (true, true) => Ok(Done::Unchanged(report::unchanged(&found, file, output))),
            };
        }
        let target = match self.output {
            Some(_) => target::image(output, self.force, io)?,
            // No one has named a pipe that is there.
            None => Output::File { path: output.to_path_buf(), force: self.force },
        };
        let mut request = ProtectRequest::new(file, target, self.redundancy);
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let made = watched(io, bar, |observer| packline::requests::protect(request, observer))?;
        let (object, text) = report::made(&made, file, output);
        self.work.print((object, text), made.shape.length(), options, io);
        Ok(Done::Written)
    }

    /// How the file compares with recovery data that is there already, if it is to stay.
    fn existing(&self, file: &Path, output: &Path, options: &RunOptions, io: &mut Io) -> Option<RecoveryState> {
        if self.force || target::is_stream(output) || !output.is_file() {
            return None;
        }
        let resources = options.apply(self.work.machine.resources(&io.host));
        let bar = self.work.reporting.bar();
        // Other files, and errors, are those of writing it.
        watched(io, bar, |observer| packline::requests::examine(file, Some(output), &resources, observer)).ok()
    }
}

/// What became of a file.
enum Done {
    Written,
    /// Its recovery data was there already. With the object and the text that say so.
    Unchanged((Value, String)),
}

impl Command for Repair {
    const NAME: &'static str = "repair";

    const EXAMPLES: &'static [&'static str] =
        &["packline repair backup.tar.zst", "packline repair --recovery old.recovery -o mended.img disk.img"];

    fn details() -> String {
        "The repaired file is written beside FILE. It takes its place when its BLAKE3 is that of the protected file; until then, and after an \
         error, FILE is as it was. A file that is whole is left alone. One that is missing is made again, if the recovery data beside it suffices. A file in which more is lost than can be repaired is left alone \
         too, and the exit status is 1.\n\
         Damage does not change the time of a file. A FILE that is newer than the file with its recovery data was probably changed on purpose: \
         it is not replaced without -f, and the exit status is 1. 'packline protect -f FILE' protects the new content.\n\
         Recovery data in a .pln file is made anew with it. One in a file of its own is left as it is, if part of it is damaged: \
         'packline protect --force' makes it again."
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
        let found = match watched(io, bar, |observer| packline::requests::repair(request, observer)) {
            Err(error @ packline::Error::ChangedLater { .. }) => {
                let way_out = recovery.map(|recovery| report::way_out(&self.file, &recovery)).unwrap_or_default();
                return Err(Failure::failed(format!("{error}. {way_out}")));
            }
            found => found?,
        };
        let (object, text) = report::repaired(&found, &self.file, &output, recovery.as_deref());
        self.work.report((object, text), found.shape.length(), &options, invocation, io);
        Ok(())
    }
}

fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.file_type().is_block_device())
}

/// The recovery data beside a file, if there is any.
pub(crate) fn sidecar_beside(path: &Path) -> Option<PathBuf> {
    Some(sidecar_of(path)).filter(|sidecar| sidecar.is_file())
}
