//! The conventions that a command follows, and its exit statuses: one table for the help, the manual pages and the documents.

/// The conventions that a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// packline's own conventions: wrong usage exits with 2.
    Packline,
    /// The conventions of squashfs-tools-ng (GNU getopt): wrong usage exits with 1, long names may be abbreviated, the last of several
    /// values wins, and a value may begin with a dash. A program called by the command's name runs the command.
    ToolsNg,
    /// As [`Compat::ToolsNg`], but wrong usage exits with 2, as in lrzip(1) and diff(1), where 1 means that something differs.
    ExitTwo,
    /// The conventions of squashfs-tools: long options have one hyphen, the last of several values wins, wrong usage exits with 1.
    SquashfsTools,
    /// The conventions of mkfs.erofs and fsck.erofs: GNU getopt, and status 1 for every failure.
    ErofsUtils,
    /// As [`Compat::ErofsUtils`], but the status is the lowest byte of a negative error number, as in dump.erofs.
    DumpErofs,
    /// As [`Compat::ToolsNg`], but wrong usage exits with 254, as in squashfuse.
    #[cfg_attr(not(feature = "mount"), allow(dead_code, reason = "only a command that mounts has it"))]
    Squashfuse,
}

impl Compat {
    /// Returns whether the command replaces another program.
    pub fn is_drop_in(self) -> bool {
        self != Compat::Packline
    }

    pub fn usage_status(self) -> u8 {
        match self {
            Compat::ToolsNg | Compat::SquashfsTools | Compat::ErofsUtils => 1,
            Compat::DumpErofs => INVALID,
            Compat::Packline | Compat::ExitTwo => 2,
            Compat::Squashfuse => 254,
        }
    }
}

/// The meaning of status 0, for manual pages.
const SUCCESS: &str = "Success. The output is complete, synced and under its name. Minor problems, such as a directory that could not be \
                       synced, are only warnings. A closed pipe is not an error, except while an image, a tar or a compressed file is written to it";
/// The meaning of status 1 if the command has no other failures.
const FAILURE: &str = "Failure. An existing output file is unchanged";
const STOPPED: &str = "Stopped by signal N. Temporary files and incomplete outputs were removed";

/// The statuses of squashfuse and squashfuse_ll.
const OF_SQUASHFUSE: [(&str, &str); 5] = [
    (
        "0",
        "Success: the image is mounted; in the foreground, the image was unmounted, also by SIGINT, SIGTERM or SIGHUP",
    ),
    ("1", "squashfuse: the mount point does not exist. squashfuse_ll: the mount failed"),
    ("4", "squashfuse: the mount failed"),
    ("254", "Wrong usage; squashfuse_ll: the mount point does not exist"),
    ("255", "The file cannot be opened, or is not an image"),
];

/// The statuses of dump.erofs.
const OF_DUMP_EROFS: [(&str, &str); 5] = [
    ("0", "Success. A closed pipe is not an error"),
    ("1", "A part of the image is missing or damaged, the output failed, or there is no such inode or path"),
    ("234", "Wrong usage, or the superblock is not one of an EROFS image that can be read"),
    ("251", "The file ends before the end of the superblock"),
    (
        "254",
        "The file does not exist. Another error of opening it has the status 256 minus the number of the system's error",
    ),
];

/// Status of dump.erofs for EINVAL.
pub const INVALID: u8 = 234;
/// Status of dump.erofs for EIO, to which a read that meets the end of the file leads.
pub const CUT_OFF: u8 = 251;

/// Returns the status of dump.erofs for a positive error number of the system.
pub fn negative(error: i32) -> u8 {
    error.wrapping_neg().to_le_bytes()[0]
}

/// Returns the meaning of status 1 for a command of packline's own.
fn failure_of(name: &str) -> &'static str {
    match name {
        "verify" => "Faults, or a file could not be read",
        "diff" => "Differences",
        "list" | "unpack" => "Failure or no match",
        "compress" | "decompress" => "Failure, or a file that --rm kept. An existing output file is unchanged",
        "repair" => "Failure, or too much is lost. FILE is unchanged",
        "bench" => "Failure, or a wrong result",
        _ => FAILURE,
    }
}

/// Returns the meaning of status 2 for a command of packline's own.
fn usage_of(name: &str) -> &'static str {
    if name == "diff" { "Wrong usage or failure" } else { "Wrong usage" }
}

/// Returns whether a command of packline's own can leave out entries.
fn continues(name: &str) -> bool {
    ["pack", "unpack", ""].contains(&name)
}

/// Returns the statuses of a command on one line, for the help.
pub fn line(compat: Compat, name: &str) -> String {
    let rows = rows(compat, name).into_iter().filter(|(status, _)| *status != "128+N");
    let first_sentence = |meaning: &'static str| meaning.split(". ").next().unwrap_or_default().to_lowercase();
    let statuses: Vec<String> = rows.map(|(status, meaning)| format!("{status} {}", first_sentence(meaning))).collect();
    format!("Exit status: {}", statuses.join("; "))
}

/// Returns the statuses of a command and their meanings, for the manual page. An empty name is the whole program.
pub fn rows(compat: Compat, name: &str) -> Vec<(&'static str, &'static str)> {
    match compat {
        Compat::Squashfuse => OF_SQUASHFUSE.to_vec(),
        Compat::DumpErofs => OF_DUMP_EROFS.to_vec(),
        Compat::ErofsUtils => {
            let first = "Failure, faults of an image, or wrong usage. An existing output file is unchanged";
            vec![("0", SUCCESS), ("1", first), ("128+N", STOPPED)]
        }
        Compat::Packline => {
            let left_out =
                continues(name).then_some(("3", "Entries left out. --continue reported errors and continued"));
            let first = [("0", SUCCESS), ("1", failure_of(name)), ("2", usage_of(name))];
            first.into_iter().chain(left_out).chain([("128+N", STOPPED)]).collect()
        }
        Compat::ExitTwo => vec![("0", SUCCESS), ("1", FAILURE), ("2", "Wrong usage"), ("128+N", STOPPED)],
        Compat::ToolsNg | Compat::SquashfsTools => {
            let second = match compat {
                Compat::ToolsNg => "--continue reported errors and continued",
                _ => "Errors that did not stop the program",
            };
            let first = "Failure or wrong usage. An existing output file is unchanged";
            vec![("0", SUCCESS), ("1", first), ("2", second), ("128+N", STOPPED)]
        }
    }
}

/// Returns the table for the help of a drop-in.
pub fn text(compat: Compat) -> String {
    let rows = rows(compat, "").into_iter().map(|(status, meaning)| format!("  {status:<6} {meaning}"));
    ["Exit status:".to_string()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}
