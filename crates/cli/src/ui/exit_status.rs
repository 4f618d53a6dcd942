//! Whose conventions a command follows, and its exit statuses: one table for the help, the manual pages and the documents.

/// Whose conventions a command follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// Ours: wrong usage exits with 2.
    Packline,
    /// Those of squashfs-tools-ng (GNU getopt): wrong usage exits with 1, long names may be abbreviated, the last of several values
    /// wins, a value may begin with a dash. The command is also found by the name that the binary is called by.
    ToolsNg,
    /// As [`Compat::ToolsNg`], but wrong usage exits with 2, as that of lrzip(1) and of diff(1), where 1 means that something differs.
    ExitTwo,
    /// Those of squashfs-tools: long options have one hyphen, the last of several values wins, wrong usage exits with 1.
    SquashfsTools,
    /// As [`Compat::ToolsNg`], but wrong usage exits with 254, as that of squashfuse.
    Squashfuse,
}

impl Compat {
    /// Whether the command replaces another program.
    pub fn is_drop_in(self) -> bool {
        self != Compat::Packline
    }

    /// Exit status of wrong usage.
    pub fn usage_status(self) -> u8 {
        match self {
            Compat::ToolsNg | Compat::SquashfsTools => 1,
            Compat::Packline | Compat::ExitTwo => 2,
            Compat::Squashfuse => 254,
        }
    }
}

/// Statuses with what they mean, for each command.
const TABLE: [(&str, &str); 5] = [
    (
        "0",
        "Success. An output is whole, synced, and under its name; an image that was verified has no faults; trees that were compared \
         are equal. What failed besides is a warning: printing the summary, writing the trace, removing the source, syncing the \
         directory. That the reader of standard output goes away is not a failure, unless it is sent an image",
    ),
    (
        "1",
        "Failure. What was under the output's name still is. Also: a file that was to be removed changed while it was read, and stays; \
         verify found faults; a comparison found differences; list or \
         unpack was given a pattern that matches nothing",
    ),
    ("2", "Wrong usage. Also: trees could not be compared"),
    ("3", "Partial success: --continue went on after errors, which were reported"),
    ("128+N", "Stopped by signal N. Temporary files were removed, and an output without its name does not get it"),
];

/// Those of squashfuse and squashfuse_ll.
const OF_SQUASHFUSE: [(&str, &str); 5] = [
    (
        "0",
        "Success: the image can be used; in the foreground, that it was unmounted, also by SIGINT, SIGTERM or SIGHUP",
    ),
    ("1", "squashfuse: there is no such mount point. squashfuse_ll: the mount is refused"),
    ("4", "squashfuse: the mount is refused"),
    ("254", "Wrong usage; squashfuse_ll: there is no such mount point"),
    ("255", "The image cannot be opened, or is none"),
];

/// The rows that apply to a command.
pub fn rows(compat: Compat) -> impl Iterator<Item = (&'static str, &'static str)> {
    let applies = move |status: &str| compat == Compat::Packline || status != "3";
    let table = if compat == Compat::Squashfuse { OF_SQUASHFUSE } else { TABLE };
    table.into_iter().filter(move |(status, _)| applies(status)).map(move |(status, meaning)| match (compat, status) {
        (Compat::ToolsNg | Compat::SquashfsTools, "1") => {
            (status, "Failure or wrong usage. What was under the output's name still is")
        }
        (Compat::SquashfsTools, "2") => (status, "Errors that did not stop the program"),
        (Compat::ToolsNg, "2") => (status, "--continue went on after errors"),
        _ => (status, meaning),
    })
}

/// The table for a command's help.
pub fn text(compat: Compat) -> String {
    let rows = rows(compat).map(|(status, meaning)| format!("  {status:<6} {meaning}"));
    ["Exit status:".to_string()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}
