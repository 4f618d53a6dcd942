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
    /// As [`Compat::ToolsNg`], but wrong usage exits with 254, as in squashfuse.
    Squashfuse,
}

impl Compat {
    /// Returns whether the command replaces another program.
    pub fn is_drop_in(self) -> bool {
        self != Compat::Packline
    }

    pub fn usage_status(self) -> u8 {
        match self {
            Compat::ToolsNg | Compat::SquashfsTools => 1,
            Compat::Packline | Compat::ExitTwo => 2,
            Compat::Squashfuse => 254,
        }
    }
}

/// Exit statuses and their meanings, for each command.
const TABLE: [(&str, &str); 5] = [
    (
        "0",
        "Success: the output is complete, synced and under its name. Minor problems, such as a directory that could not be synced, are \
         only warnings. A closed pipe is not an error, except while an image is written to it",
    ),
    (
        "1",
        "Failure: an existing output file is unchanged. Also: verify found faults; a comparison found differences; a pattern of list or \
         unpack matched nothing; a file that was to be removed changed while it was read, and was kept",
    ),
    ("2", "Wrong usage. Also: trees could not be compared"),
    ("3", "Partial success: --continue reported errors and continued"),
    ("128+N", "Stopped by signal N. Temporary files and incomplete outputs were removed"),
];

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

/// Returns the rows that apply to a command.
pub fn rows(compat: Compat) -> impl Iterator<Item = (&'static str, &'static str)> {
    let applies = move |status: &str| compat == Compat::Packline || status != "3";
    let table = if compat == Compat::Squashfuse { OF_SQUASHFUSE } else { TABLE };
    table.into_iter().filter(move |(status, _)| applies(status)).map(move |(status, meaning)| match (compat, status) {
        (Compat::ToolsNg | Compat::SquashfsTools, "1") => {
            (status, "Failure or wrong usage. An existing output file is unchanged")
        }
        (Compat::SquashfsTools, "2") => (status, "Errors that did not stop the program"),
        (Compat::ToolsNg, "2") => (status, "--continue reported errors and continued"),
        _ => (status, meaning),
    })
}

/// Returns the table for a command's help.
pub fn text(compat: Compat) -> String {
    let rows = rows(compat).map(|(status, meaning)| format!("  {status:<6} {meaning}"));
    ["Exit status:".to_string()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}
