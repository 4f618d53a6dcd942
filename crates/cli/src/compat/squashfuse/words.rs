//! The words of `-o`: the words of squashfuse and of libfuse 3.

use super::Program;
use super::settings::Settings;
use crate::commands::mount;

/// A word of `-o`.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    pub name: &'static str,
    /// The value shown in the help; empty for a word without a value.
    pub value: &'static str,
    /// The help text.
    pub help: &'static str,
}

/// The start of the help of a word without effect, before the reason.
const WITHOUT_EFFECT: &str = "Accepted without effect: ";
/// The start of the help of a rejected word, before the alternative.
const REFUSED: &str = "Not supported yet";

const OWNER: &str = "Show this owner for every entry; for squashfuse_ll, 0 means each entry's own";
const GROUP: &str = "Show this group for every entry; for squashfuse_ll, 0 means each entry's own";
const READ_ONLY: &str = "Accepted without effect: a mount is always read-only";
const NO_TIMES: &str = "Accepted without effect: an image has no access times";
const NO_WRITES: &str = "Accepted without effect: nothing is written";
const KEPT: &str = "Accepted without effect: an image does not change, so the kernel caches it without a time limit";
const THREADS: &str = "Accepted without effect: all threads share the device and keep running";
const LABELS: &str = "Not supported yet (expected labels in the image)";
const BLOCK_DEVICE: &str = "Not supported yet (expected no such word: an image on a block device needs none)";

pub static WORDS: &[Word] = &[
    with("offset", "BYTES", "Read the image at this byte of the file [default: 0]"),
    with("subdir", "PATH", "Mount this directory of the image"),
    with(
        "notify_pipe",
        "PATH",
        "Write 's' to this named pipe once the image can be used, or 'f' if it cannot be mounted",
    ),
    with("timeout", "SECONDS", "Unmount after this time without a request and without an open file; 0 for never"),
    with("uid", "N", OWNER),
    with("gid", "N", GROUP),
    word("allow_other", "Let other users in"),
    word("allow_root", "Let root in"),
    word("auto_unmount", "Unmount even if the process is killed; needs fusermount3 or fusermount"),
    word("default_permissions", "Check the permissions of entries; without it, all admitted users may read everything"),
    with("fsname", "NAME", "Set the source that mount(8) shows"),
    with("subtype", "NAME", "Set the type that mount(8) shows after 'fuse.'"),
    with("max_threads", "N", "Use at most this many processors"),
    word("debug", "Same as -d"),
    word("suid", "Honour set-user-id bits and file capabilities"),
    word("nosuid", "Ignore set-user-id bits and file capabilities (default)"),
    word("dev", "Allow device files to work"),
    word("nodev", "Ignore device files (default)"),
    word("exec", "Allow programs to run (default)"),
    word("noexec", "Do not allow programs to run"),
    word("ro", "Mount read-only (default)"),
    word("rw", READ_ONLY),
    word("async", NO_WRITES),
    word("sync", NO_WRITES),
    word("dirsync", NO_WRITES),
    word("atime", NO_TIMES),
    word("noatime", NO_TIMES),
    word("diratime", NO_TIMES),
    word("nodiratime", NO_TIMES),
    word("relatime", NO_TIMES),
    word("norelatime", NO_TIMES),
    word("strictatime", NO_TIMES),
    word("nostrictatime", NO_TIMES),
    word("kernel_cache", KEPT),
    word("auto_cache", KEPT),
    word("noauto_cache", KEPT),
    with("entry_timeout", "SECONDS", KEPT),
    with("attr_timeout", "SECONDS", KEPT),
    with("ac_attr_timeout", "SECONDS", KEPT),
    with("negative_timeout", "SECONDS", KEPT),
    with("remember", "SECONDS", KEPT),
    word("noforget", KEPT),
    word("no_rofd_flush", "Accepted without effect: closing a file sends no request"),
    word("clone_fd", THREADS),
    with("max_idle_threads", "N", THREADS),
    with("max_read", "BYTES", "Accepted without effect: a request reads a block of the image, 128K to 1M"),
    word("nonempty", "Accepted without effect: a mount may cover a directory with entries"),
    with("user", "NAME", "Accepted without effect: for readers of /etc/mtab"),
    with("x-", "", "Accepted without effect: for readers of /etc/fstab"),
    word("blkdev", BLOCK_DEVICE),
    with("blksize", "BYTES", BLOCK_DEVICE),
    with("context", "LABEL", LABELS),
    with("fscontext", "LABEL", LABELS),
    with("defcontext", "LABEL", LABELS),
    with("rootcontext", "LABEL", LABELS),
    with("umask", "MASK", "Not supported yet (expected the modes of the image)"),
    with("modules", "NAMES", "Not supported yet (expected subdir= instead of the module of that name)"),
];

const fn word(name: &'static str, help: &'static str) -> Word {
    with(name, "", help)
}

const fn with(name: &'static str, value: &'static str, help: &'static str) -> Word {
    Word { name, value, help }
}

/// Returns the text for the help.
pub fn help() -> String {
    let paragraph = |words: &[Word]| {
        let names: Vec<String> = words.iter().map(shown).collect();
        format!("\n{}: {}", names.join(", "), words[0].help)
    };
    let words: String = WORDS.chunk_by(|one, other| one.help == other.help).map(paragraph).collect();
    format!(
        "The command returns once the image can be used, unless -f or -d is given. umount and fusermount -u end the mount, and so does SIGINT, \
         SIGTERM or SIGHUP to the process. Words of -o:{words}"
    )
}

fn shown(word: &Word) -> String {
    match (word.name, word.value) {
        (name, "") if is_beginning(name) => format!("{name}NAME"),
        (name, "") => name.to_string(),
        (name, value) => format!("{name}={value}"),
    }
}

/// Returns whether only the beginning of a word is fixed.
fn is_beginning(name: &str) -> bool {
    name.ends_with('-')
}

/// Splits a list into words. A backslash makes the next character part of a word.
pub fn split(list: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = list.chars();
    while let Some(letter) = letters.next() {
        let part = match letter {
            ',' => {
                words.push(String::new());
                continue;
            }
            '\\' => letters.next().unwrap_or(letter),
            _ => letter,
        };
        if let Some(word) = words.last_mut() {
            word.push(part);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Applies a word, or rejects it.
pub(super) fn apply(word: &str, program: &Program, settings: &mut Settings) -> Result<(), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let known = known(word, name)?;
    match known.value {
        "" if word != name && !is_beginning(known.name) => return Err(format!("{word}: {name} takes no value")),
        wanted if !wanted.is_empty() && value.is_empty() => {
            return Err(format!("{word}: a value is missing (expected {})", shown(known)));
        }
        _ => {}
    }
    if known.help.starts_with(WITHOUT_EFFECT) {
        return Ok(());
    }
    if let Some(way_out) = known.help.strip_prefix(REFUSED) {
        return Err(format!("{word}: not supported yet{way_out}"));
    }
    let request = &mut settings.request;
    match name {
        "debug" => settings.debug = true,
        "default_permissions" => request.check_permissions = true,
        "subtype" => request.subtype = value.as_bytes().to_vec(),
        // The pipe is handled before any word is applied.
        "notify_pipe" => {}
        "uid" | "gid" if program.zero_is_own && value == "0" => {}
        "max_threads" => {
            let number: usize = value.parse().map_err(|_| format!("{word}: not a number"))?;
            request.resources.workers = request.resources.workers.min(number.max(1));
        }
        _ => return mount::words::apply(word, request, &mut settings.image),
    }
    Ok(())
}

fn known(word: &str, name: &str) -> Result<&'static Word, String> {
    let is = |known: &&Word| known.name == name || is_beginning(known.name) && word.starts_with(known.name);
    WORDS.iter().find(is).ok_or_else(|| {
        let words: Vec<String> = WORDS.iter().filter(|word| !word.help.starts_with(REFUSED)).map(shown).collect();
        format!("unknown word '{word}' (expected one of {})", words.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslash_escapes_comma() {
        assert_eq!(split(r"ro,,subdir=a\,b\\c,x\"), ["ro", r"subdir=a,b\c", r"x\"]);
        assert!(split("").is_empty());
    }
}
