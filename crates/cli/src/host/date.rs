//! Dates as date(1) reads them: there is no other description of what it accepts.

use std::process::{Command, Stdio};

/// Seconds since 1970 of a date; `None` if date(1) does not read it, or it is not a time of 32 bits.
pub fn seconds(text: &str) -> Option<u32> {
    let option = format!("--date={text}");
    let ran = Command::new("date").args([&option, "+%s"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let printed = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
    printed.trim().parse().ok()
}
