//! Reads dates with date(1), because the formats that date(1) accepts are described nowhere.

use std::process::{Command, Stdio};

/// Returns a date in seconds since 1970; `None` if date(1) cannot read it, or if it does not fit into 32 bits.
pub fn seconds(text: &str) -> Option<u32> {
    let option = format!("--date={text}");
    let ran = Command::new("date").args([&option, "+%s"]).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let printed = String::from_utf8(ran.stdout).ok().filter(|_| ran.status.success())?;
    printed.trim().parse().ok()
}
