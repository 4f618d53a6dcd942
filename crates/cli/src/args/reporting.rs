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
    /// Whether a progress bar is drawn if there is a terminal: not for programs, which read JSON.
    pub fn bar(&self) -> bool {
        !self.no_progress && !self.quiet && !self.json
    }
}
