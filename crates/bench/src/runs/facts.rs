//! The parts of a report that all benchmarks share.

use crate::programs::program::Program;
use crate::report::{Input, Measured, Report, Storage, binary_bytes};
use crate::runs::work_dir::WorkDir;
use crate::settings::{Comparison, Runs};
use crate::tasks::storage;
use crate::{Clock, Error, Machine};

/// Returns a report without results.
pub fn empty_report(runs: &Runs, machine: &Machine, programs: &[Program], input: Input) -> Report {
    Report {
        command: runs.command.clone(),
        date: machine.date.clone(),
        machine: machine.description.clone(),
        input,
        programs: programs.iter().map(Program::described).collect(),
        warmups: runs.warmups,
        notes: runs.notes.clone(),
        ..Report::default()
    }
}

/// Returns sentences on the parts of a tree that competitors do not keep.
pub fn losses(programs: &[Program]) -> impl Iterator<Item = String> {
    let lossy = programs.iter().filter(|program| !program.kind.losses().is_empty());
    lossy.map(|program| {
        let names: Vec<&str> = program.kind.losses().iter().map(|loss| loss.name()).collect();
        format!("{} does not keep {}: they were not compared.", program.label, names.join(", "))
    })
}

/// Returns a note if a peak is not larger than this process's peak, which is the minimum that the kernel reports for a child.
pub fn least_peak(measured: &[Measured], own: Option<u64>) -> Option<String> {
    let own = own?;
    let low = measured.iter().any(|measured| measured.peak() <= own);
    low.then(|| {
        format!("Peak memory below {} is not measurable: the benchmark itself has that much.", binary_bytes(own))
    })
}

/// Measures the storage of the work directory, if requested.
///
/// # Errors
/// Returns an error if the directory cannot be written or read.
pub fn measure_storage(settings: &Comparison, work_dir: &WorkDir, clock: Clock) -> Result<Option<Storage>, Error> {
    if !settings.storage {
        return Ok(None);
    }
    let shown = settings.work_dir.display().to_string();
    storage::measure(&shown, &work_dir.at("storage"), settings.storage_bytes, clock).map(Some)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::report::{Case, Cost, Tails, Task};

    use super::*;
    use crate::ProgramKind;

    #[test]
    fn notes_losses() {
        let mut program = Program::packline(PathBuf::from("x"));
        assert_eq!(losses(&[program.clone()]).count(), 0);
        program.kind = ProgramKind::Gensquashfs;
        program.label = "g".into();
        assert_eq!(
            losses(&[program]).collect::<Vec<_>>(),
            ["g does not keep attributes of the root, hard links: they were not compared."]
        );
    }

    #[test]
    fn notes_small_peaks() {
        let task = Task::Pack;
        let tails = Tails::Fragments;
        let program = String::new();
        let case = Case { task, codec: String::new(), block_size: 4096, tails, program, jobs: 1 };
        let runs = vec![Cost { wall: 1.0, user: 1.0, system: 0.0, peak: 5 << 20 }];
        let measured = [Measured { case, content_bytes: 1, image_bytes: 1, runs }];
        assert!(least_peak(&measured, Some(6 << 20)).unwrap().contains("6.0 MiB"));
        assert_eq!(least_peak(&measured, Some(4 << 20)), None);
        assert_eq!(least_peak(&measured, None), None);
    }
}
