//! The report before anything is in it, and what every benchmark puts into it.

use packline::bench::{Input, Measured, Report, Storage};

use super::outputs::command;
use super::program::Program;
use super::scratch::Scratch;
use super::settings::Settings;
use super::storage;
use crate::failure::Failure;
use crate::io::Io;
use crate::machine;
use crate::size::show_bytes;
use crate::utc::Moment;

/// Everything that is known before measuring.
pub fn blank(settings: &Settings, io: &Io, programs: &[Program], input: Input) -> Report {
    let date = Moment::of(io.host.now.into()).iso();
    Report {
        command: command(&settings.typed),
        date: date.split(' ').next().unwrap_or_default().to_owned(),
        machine: machine::description(),
        input,
        programs: programs.iter().map(Program::described).collect(),
        warmups: settings.warmups,
        measured: Vec::new(),
        codecs: Vec::new(),
        storage: None,
        incomplete: None,
        failures: Vec::new(),
        notes: settings.notes.clone(),
    }
}

/// What peers are known to lose was not compared, a sentence each.
pub fn losses(programs: &[Program]) -> Vec<String> {
    let lossy = programs.iter().filter(|program| !program.kind.loses().is_empty());
    let sentence = |program: &Program| {
        let names: Vec<&str> = program.kind.loses().iter().map(|lost| lost.name()).collect();
        format!("{} does not keep {}: they were not compared.", program.label, names.join(", "))
    };
    lossy.map(sentence).collect()
}

/// A note that some peaks are no smaller than this process's own, which the kernel cannot tell apart.
pub fn floor_of_peaks(measured: &[Measured], own: Option<u64>) -> Option<String> {
    let own = own?;
    let low = measured.iter().any(|measured| measured.peak() <= own);
    low.then(|| format!("Peak memory is never told as less than {}, which the benchmark itself has.", show_bytes(own)))
}

/// This program, to be started.
///
/// # Errors
/// It is not known where it is.
pub fn ours(io: &Io) -> Result<Program, Failure> {
    let path = io.host.program.clone();
    path.map(Program::ours).ok_or_else(|| Failure::failed("cannot find this program's own file, to start it"))
}

/// What the place of the outputs can do, unless nobody wants to know.
///
/// # Errors
/// It cannot be written or read.
pub fn measure_place(settings: &Settings, scratch: &Scratch) -> Result<Option<Storage>, Failure> {
    if !settings.storage {
        return Ok(None);
    }
    let shown = settings.place.display().to_string();
    storage::measure(&shown, &scratch.at("storage"), settings.bytes).map(Some)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use packline::bench::{Case, Cost, Tails, Task};

    use super::*;
    use crate::bench::program::Kind;

    #[test]
    fn what_is_lost_is_noted() {
        let mut program = Program::ours(PathBuf::from("x"));
        assert_eq!(losses(&[program.clone()]), Vec::<String>::new());
        (program.kind, program.label) = (Kind::Gensquashfs, "g".into());
        assert_eq!(losses(&[program]), ["g does not keep attributes of the root, hard links: they were not compared."]);
    }

    #[test]
    fn small_peaks_are_noted() {
        let (task, tails, program) = (Task::Pack, Tails::Fragments, String::new());
        let case = Case { task, codec: String::new(), block_size: 4096, tails, program, jobs: 1 };
        let runs = vec![Cost { wall: 1.0, user: 1.0, system: 0.0, peak: 5 << 20 }];
        let measured = [Measured { case, content_bytes: 1, image_bytes: 1, runs }];
        assert!(floor_of_peaks(&measured, Some(6 << 20)).unwrap().contains("6.0 MiB"));
        assert_eq!(floor_of_peaks(&measured, Some(4 << 20)), None);
        assert_eq!(floor_of_peaks(&measured, None), None);
    }
}
