//! `packline protect` and `packline repair`: recovery data of files, made and used.

pub(crate) mod report;

use std::path::{Path, PathBuf};

use packline::Output;
use packline::requests::{ProtectRequest, RepairRequest, sidecar_of};
use packline_recovery::Redundancy;

use crate::args::value::text;
use crate::args::work::WorkOptions;
use crate::args::{Command, Invocation};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::target;

/// Make recovery data for a file of any kind, with which 'packline repair' repairs it
#[derive(Debug, clap::Args)]
pub struct Protect {
    /// The file or block device
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,
    /// Bytes that may be lost anywhere in the file, as a share of it: from 0.01% to 100%
    #[arg(short, long, value_name = "PERCENT", default_value = "5%", value_parser = text(Redundancy::parse))]
    redundancy: Redundancy,
    /// The recovery data; - is standard output [default: FILE.recovery]
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
    /// Replace an existing OUTPUT
    #[arg(short, long, requires = "output", help_heading = "Output")]
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
    ];

    fn details() -> String {
        "The file is cut into shards, up to 16384. Any of them, as many as the redundancy says, can be lost: by changed bits, sectors that cannot \
         be read, a tail that is cut off. Bytes that were inserted or removed cost the shards that they are in; the others are \
         found where they have moved to. The recovery data repairs itself in the same way.\n\
         For small files it is more than the redundancy says: at 5% it is 8% of 1 MiB, 11% of 100 KiB, 17% of 10 KiB, and more than all of 1 KiB.\n\
         It is a function of the file and the redundancy alone. docs/format/recovery.md is the format."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        let output = self.output.clone().unwrap_or_else(|| sidecar_of(&self.file));
        let options = self.work.start(&[("FILE", &self.file)], &[&output], self.force, io)?;
        let target = target::image(&output, self.force, io)?;
        let mut request = ProtectRequest::new(&self.file, target, self.redundancy);
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let made = watched(io, bar, |observer| packline::requests::protect(request, observer))?;
        let (object, text) = report::made(&made, &self.file, &output);
        self.work.report((object, text), made.shape.length(), &options, invocation, io);
        Ok(())
    }
}

impl Command for Repair {
    const NAME: &'static str = "repair";

    const EXAMPLES: &'static [&'static str] =
        &["packline repair backup.tar.zst", "packline repair --recovery old.recovery -o mended.img disk.img"];

    fn details() -> String {
        "The repaired file is written beside FILE. It takes its place when its BLAKE3 is that of the protected file; until then, and after an \
         error, FILE is as it was. A file that is whole is left alone. A file in which more is lost than can be repaired is left alone \
         too, and the exit status is 1.\n\
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
        (request.recovery, request.target) = (recovery.clone(), target);
        request.resources = options.apply(self.work.machine.resources(&io.host));
        request.temporaries = io.temporaries.clone();
        let bar = self.work.reporting.bar();
        let found = watched(io, bar, |observer| packline::requests::repair(request, observer))?;
        let (object, text) = report::repaired(&found, &self.file, &output, recovery.as_deref());
        self.work.report((object, text), found.shape.length(), &options, invocation, io);
        Ok(())
    }
}

/// The recovery data beside a file, if there is any.
pub(crate) fn sidecar_beside(path: &Path) -> Option<PathBuf> {
    Some(sidecar_of(path)).filter(|sidecar| sidecar.is_file())
}
