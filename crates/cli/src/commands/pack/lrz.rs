//! `packline pack` to a .lrz file: the options without effect, and the summary.

use packline::Container;
use packline_lrz::Written;
use serde_json::{Value, json};

use super::tar::OF_ANY_TAR;
use crate::args::run_options::NAMES;
use crate::args::{Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::size::{count, show_bytes, show_ratio};

/// Why a .lrz file has no cache: in two versions of a tar of 170 MB that differ in 20 of 5000 files, no block was alike.
const NO_CACHE: &str = "has no effect on a .lrz file, whose blocks rarely repeat";

/// Why a .lrz file has no order of contents.
const NO_ORDER: &str =
    "a .lrz file stores a tar in its own order, and finds repeats at any distance (expected an image)";

/// Rejects options without effect on a .lrz file. `json_and_stream` is whether both would go to standard output.
pub fn refuse_options(invocation: &Invocation, json_and_stream: bool) -> Result<(), Failure> {
    if let Some(long) = invocation.explicit_except(&[OF_ANY_TAR, &NAMES].concat()) {
        let why = match long {
            "cache" | "cache-size" | "no-cache" => NO_CACHE,
            "order" => NO_ORDER,
            _ => "not supported for .lrz output",
        };
        return Err(wrong(long, why));
    }
    if json_and_stream { Err(wrong("json", "the .lrz file goes to standard output")) } else { Ok(()) }
}

pub fn as_text(written: &Written) -> String {
    let plain = show_bytes(written.plain);
    let stored = show_bytes(written.stored);
    let ratio = show_ratio(written.stored, written.plain);
    let chunks = count(written.chunks, "chunk");
    let workers = count(written.workers as u64, "worker");
    format!("lrz: {plain} of tar, {stored} written{ratio}, {chunks}, {workers}")
}

pub fn as_json(written: &Written) -> Value {
    json!({
        "format": Container::Lrz.name(),
        "tar_bytes": written.plain,
        "output_bytes": written.stored,
        "chunks": written.chunks,
        "matches": written.matches,
        "match_bytes": written.match_bytes,
        "literal_bytes": written.literal_bytes,
        "md5": crate::ui::escape::hex(&written.md5),
        "workers": written.workers,
    })
}
