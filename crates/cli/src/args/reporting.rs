//! Options for progress and summary.

/// `--quiet`, `--no-progress`, `--json` and `--stats`.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct Reporting {
    /// Suppress progress and summary
    #[arg(short, long)]
    pub quiet: bool,
    /// Suppress the progress bar
    #[arg(long)]
    no_progress: bool,
    /// Print the summary as JSON to standard output
    #[arg(long)]
    pub json: bool,
    /// Add table sizes and worker counters to the summary
    #[arg(long)]
    pub stats: bool,
}

impl Reporting {
    /// Returns whether a progress bar is drawn on a terminal. Programs, which read JSON, get none.
    pub fn bar(&self) -> bool {
        !self.no_progress && !self.quiet && !self.json
    }
}
