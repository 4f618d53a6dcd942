//! Errors about `pack --codec` and `pack --smallest`.

use packline_codec::CodecError;

use crate::args::wrong;
use crate::ui::failure::Failure;

/// Returns a hint for values that come from the command lines of other programs.
pub fn codec_hint(codec: Option<&str>) -> String {
    let (name, parameters) = codec.unwrap_or_default().split_once(':').unwrap_or((codec.unwrap_or_default(), ""));
    if name == "omp" {
        return "; -c is the codec, and 'packline mksquashfs' takes -comp".to_string();
    }
    if name == "deflate" {
        return "; gzip is the codec that EROFS calls deflate".to_string();
    }
    let is_level = !parameters.is_empty() && parameters.bytes().all(|byte| byte.is_ascii_digit());
    if is_level { format!("; a level is {name}:level={parameters}") } else { String::new() }
}

/// Returns the failure for a parameter that --smallest chooses.
pub fn not_smallest(error: CodecError) -> Failure {
    match error {
        CodecError::Conflict { found, .. } => {
            wrong("smallest", format!("cannot be used with {found}; leave out the parameter"))
        }
        other => wrong("smallest", other),
    }
}
