//! Reports that were kept as CSV, joined and shown again.

use std::fs;
use std::path::Path;

use packline::bench::{Report, read_csv};

use super::settings::Settings;
use crate::failure::Failure;
use crate::shown::Escape;

/// `bench report`.
///
/// # Errors
/// A file cannot be read, is no report, or does not belong to the first.
pub fn run(settings: &Settings) -> Result<Report, Failure> {
    let mut report = read(&settings.input)?;
    for path in &settings.further {
        let further = read(path)?;
        report.merge(further).map_err(|cause| named(path, &cause))?;
    }
    Ok(report)
}

fn read(path: &Path) -> Result<Report, Failure> {
    let text = fs::read_to_string(path).map_err(|cause| named(path, &cause))?;
    read_csv(&text).map_err(|cause| named(path, &cause))
}

fn named(path: &Path, cause: &dyn std::fmt::Display) -> Failure {
    Failure::failed(format!("{}: {cause}", path.escaped()))
}
