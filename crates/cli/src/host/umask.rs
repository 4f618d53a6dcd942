//! Reads the umask; no other file does.

use std::fs;

/// The umask of a system that does not say it.
const USUAL: u16 = 0o022;

/// Returns the umask of this process (`Umask` of `/proc/self/status`). umask(2) can only read it by changing it.
pub fn umask() -> u16 {
    fs::read_to_string("/proc/self/status").ok().and_then(|status| umask_in(&status)).unwrap_or(USUAL)
}

fn umask_in(status: &str) -> Option<u16> {
    let digits = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u16::from_str_radix(digits.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_octal_digits() {
        assert_eq!(umask_in("Name:\tx\nUmask:\t0027\nState:\tR\n"), Some(0o27));
        assert_eq!(umask_in("Name:\tx\n"), None);
    }
}
