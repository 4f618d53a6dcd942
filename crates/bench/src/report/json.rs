//! The report as JSON, with the calculated figures.

use serde::Serialize;

use super::figures::{CodecFigures, Figures, figures};
use super::fragments::{Fragments, fragments};
use super::serial::SerialFigures;
use super::verdict::verdict;
use super::{Report, Storage, serial};

/// Returns the report as one indented JSON object. The keys are always in this order, and a missing figure is `null`. Times are in seconds,
/// sizes in bytes, speeds in bytes per second, ratios shares of 1.
///
/// - `format` (`"packline-bench"`), `version` (1), `command`, `date`, `machine`, `input` (`name`, `bytes`), `programs` (each
///   `name`, `version`), `warmups`, `incomplete` (why it ended early, or `null`), `failures` (wrong answers), `notes`, `verdict`
///   (the report in sentences)
/// - `storage`: `place`, `bytes`, `read_bytes_per_s`, `write_bytes_per_s`, `direct`; or `null`
/// - `measured`, each: `task`, `codec`, `block_size`, `tails`, `program`, `jobs`, `content_bytes`, `image_bytes`, `ratio`
///   (image to content), `wall_s` and `cpu_s` (`least`, `median`, `most`), `peak_bytes`, `bytes_per_s` (content), `speedup`,
///   `efficiency`, `ceiling_bytes_per_s` (what the storage allows), `ours_to_this` (for a competitor that packline is compared with:
///   `cpu` and `wall` with `least`, `median`, `most`; `size`, `peak`), `runs` (each `wall_s`, `user_s`, `system_s`, `cpu_s`,
///   `peak_bytes`)
/// - `fragments`, each: `codec`, `block_size`, `program`, `jobs`, `fragments`, `no_tail_packing`, `no_fragments` (each
///   `image_bytes`, `speedup`, `wall_s`; or `null`), `saved` (share of the image), `speedup_kept` (speed-up with fragments
///   over without)
/// - `codecs`, each: `codec`, `block_size`, `blocks`, `not_smaller`, `content_bytes`, `stored_bytes`, `decompressed_bytes`,
///   `ratio`, `compress_bytes_per_s` and `decompress_bytes_per_s` (`least`, `median`, `most`, on one core), `compress_s`,
///   `decompress_s` (each run)
/// - `serial`, each: `input`, `step`, `codec`, `container`, `block_size`, `jobs`, `content_bytes`, `image_bytes`; medians in seconds per GB
///   (10^9 bytes) of content: `main_user_s_per_gb`, `main_system_s_per_gb`, `reading_s_per_gb`, `deciding_s_per_gb`,
///   `committing_s_per_gb`, `rest_s_per_gb`, `reader_s_per_gb`, `writer_s_per_gb`, `workers_s_per_gb`; what follows: `bound_gb_per_s`, `useful_workers`,
///   `curve_gb_per_s` (with 1, 2, 4, 8, 16, 32 and 64 workers); `locks_per_block`, `contended_per_1000_blocks`, `copied_per_byte`, `calls_per_mb`;
///   `runs` (each `wall_s`, `main_user_s`, `main_system_s`, `user_s`, `system_s`, `reading_s`, `deciding_s`, `committing_s`,
///   `reader_s`, `writer_s`, `blocks`, `locks`, `contended`, `read_bytes`, `written_bytes`, `calls`)
pub fn json(report: &Report) -> String {
    let figures = figures(report);
    let document = Document {
        format: "packline-bench",
        version: 1,
        report,
        verdict: verdict(report, &figures),
        storage: report.storage.as_ref(),
        measured: &figures,
        fragments: fragments(&figures),
        codecs: report.codecs.iter().map(CodecFigures::from).collect(),
        serial: serial::figures(report),
    };
    // Serialization fails only for maps whose keys are not strings, and there are no maps.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// A report with its calculated figures.
#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    report: &'a Report,
    verdict: Vec<String>,
    storage: Option<&'a Storage>,
    measured: &'a [Figures<'a>],
    fragments: Vec<Fragments<'a>>,
    codecs: Vec<CodecFigures<'a>>,
    serial: Vec<SerialFigures<'a>>,
}
