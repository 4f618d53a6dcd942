//! The one file that reads the environment.
#![allow(clippy::disallowed_methods, reason = "this is the file that may")]

/// `SOURCE_DATE_EPOCH`: the time that reproducible builds ask for, as text. Text that is not UTF-8 is kept, made legible,
/// so that it is refused and not overlooked.
pub fn source_date_epoch() -> Option<String> {
    std::env::var_os("SOURCE_DATE_EPOCH").map(|value| value.to_string_lossy().into_owned())
}
