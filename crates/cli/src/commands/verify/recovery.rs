//! `packline verify` of a file with recovery data compares every byte with its hash.

use std::path::Path;

use packline::requests::OpenedFile;

use super::{Verify, outcome};
use crate::args::run_options::RunOptions;
use crate::commands::recovery::report;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;

/// Compares a file, shown as `shown`, with its recovery data; `None` means that the recovery data is in the file.
///
/// # Errors
/// [`Failure::AlreadyReported`] if the file or its recovery data is damaged.
pub fn run(
    verify: &Verify,
    shown: &Path,
    file: &OpenedFile,
    recovery: Option<&Path>,
    options: &RunOptions,
    io: &mut Io,
) -> Result<(), Failure> {
    let resources = options.apply(verify.machine.resources(&io.host));
    let bar = !verify.quiet && !verify.json;
    let found = with_observer(io, bar, |observer| packline::requests::examine(file, recovery, &resources, observer))?;
    let (object, text) = report::state(&found, shown, recovery);
    let printed = verify.report(shown, (object, text, found.shape.length()), options, io);
    outcome(u64::from(!found.is_whole()), printed)
}
