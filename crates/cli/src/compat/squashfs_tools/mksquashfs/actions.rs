//! `-action` and related options change the entries for which an expression is true.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::requests::List;
use packline_manifests::actions::{
    ActionFault, ActionHost, ActionLog, ActionReport, ActionSettings, Actions, BytesMatcher, TestedFile,
};
use packline_tree::Xattr;

use super::values;
use crate::args::Invocation;
use crate::args::text_list::{Ending, TextList};
use crate::compat::squashfs_tools::posix_regex;
use crate::host::commands;
use crate::host::names::Names;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Actions")]
pub struct ActionOptions {
    /// Apply an action to the entries for which an expression is true: 'uid(0)@name(*.c) && depth(<3)'
    #[arg(long, visible_alias = "a", value_name = "ACTION@EXPRESSION")]
    action: Vec<OsString>,
    /// Same as -action, and print the evaluation of the expression for each entry
    #[arg(long, visible_alias = "va", value_name = "ACTION@EXPRESSION")]
    log_action: Vec<OsString>,
    /// Same as -action, and print the evaluation if it is true
    #[arg(long, visible_alias = "ta", value_name = "ACTION@EXPRESSION")]
    true_action: Vec<OsString>,
    /// Same as -action, and print the evaluation if it is false
    #[arg(long, visible_alias = "fa", value_name = "ACTION@EXPRESSION")]
    false_action: Vec<OsString>,
    /// Apply the actions in FILE, one per line; a backslash at its end continues a line, and '#' begins a comment
    #[arg(long, visible_alias = "af", value_name = "FILE")]
    action_file: Vec<PathBuf>,
    /// Same as -action-file, and print the evaluation of each expression for each entry
    #[arg(long, visible_alias = "vaf", value_name = "FILE")]
    log_action_file: Vec<PathBuf>,
    /// Same as -action-file, and print the evaluations that are true
    #[arg(long, visible_alias = "taf", value_name = "FILE")]
    true_action_file: Vec<PathBuf>,
    /// Same as -action-file, and print the evaluations that are false
    #[arg(long, visible_alias = "faf", value_name = "FILE")]
    false_action_file: Vec<PathBuf>,
    /// Follow the symbolic links at the paths in the image that match a pattern: same as dereference(delete)@pathname(PATH)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["tar", "cpiostyle", "cpiostyle0"])]
    deref_path: Vec<OsString>,
}

enum ActionSource<'a> {
    /// A pattern of a path to follow.
    Path(&'a OsString),
    Text(&'a OsString),
    File(&'a Path),
}

impl ActionOptions {
    /// Returns the actions in the order of the command line.
    ///
    /// # Errors
    /// A file cannot be read, or an action is malformed.
    pub fn parse(&self, invocation: &Invocation, io: &mut Io) -> Result<Actions, Failure> {
        let mut actions = Actions::default();
        let mut host = Machine((io.host.names)());
        for (long, log, source) in self.action_sources(invocation) {
            match source {
                ActionSource::Text(text) => {
                    actions.add(text.as_bytes(), log, &mut host).map_err(|fault| malformed(long, text, &fault))?
                }
                ActionSource::Path(path) => {
                    let text = [b"dereference(delete)@pathname(\"", &quoted(path)[..], b"\")"].concat();
                    actions.add(&text, log, &mut host).map_err(|fault| malformed(long, path, &fault))?
                }
                ActionSource::File(path) => {
                    let list = TextList::read(path, Ending::Line, io)?;
                    for (line, text) in lines(&list) {
                        actions.add(&text, log, &mut host).map_err(|fault| list.fault(line, &fault.to_string()))?;
                    }
                }
            }
        }
        Ok(actions)
    }

    fn action_sources(&self, invocation: &Invocation) -> Vec<(&'static str, ActionLog, ActionSource<'_>)> {
        let texts = [
            ("action", ActionLog::Never, &self.action),
            ("log-action", ActionLog::Always, &self.log_action),
            ("true-action", ActionLog::True, &self.true_action),
            ("false-action", ActionLog::False, &self.false_action),
        ];
        let files = [
            ("action-file", ActionLog::Never, &self.action_file),
            ("log-action-file", ActionLog::Always, &self.log_action_file),
            ("true-action-file", ActionLog::True, &self.true_action_file),
            ("false-action-file", ActionLog::False, &self.false_action_file),
        ];
        let mut all = Vec::new();
        for (long, log, texts) in texts {
            let texts = invocation.positions(long).zip(texts);
            all.extend(texts.map(|(position, text)| (position, (long, log, ActionSource::Text(text)))));
        }
        for (long, log, files) in files {
            let files = invocation.positions(long).zip(files);
            all.extend(files.map(|(position, path)| (position, (long, log, ActionSource::File(path)))));
        }
        let paths = invocation.positions("deref-path").zip(&self.deref_path);
        all.extend(
            paths.map(|(position, path)| (position, ("deref-path", ActionLog::Never, ActionSource::Path(path)))),
        );
        all.sort_by_key(|(position, _)| *position);
        all.into_iter().map(|(_, source)| source).collect()
    }
}

/// A text as it is between quotation marks.
fn quoted(text: &OsStr) -> Vec<u8> {
    let quoted = |byte: &u8| matches!(byte, b'"' | b'\\').then_some(b'\\').into_iter().chain([*byte]);
    text.as_bytes().iter().flat_map(quoted).collect()
}

fn malformed(long: &str, text: &OsStr, fault: &ActionFault) -> Failure {
    Failure::failed(format!("-{long} '{}': {fault}", text.escaped()))
}

/// Returns the actions in a file, each with the number of its first line.
fn lines(list: &TextList) -> Vec<(u64, Vec<u8>)> {
    let mut lines: Vec<(u64, Vec<u8>)> = Vec::new();
    // The number of the line that continues the last one.
    let mut continued = None;
    for (number, text) in list.items() {
        let (rest, continues) = match text {
            [.., b'\\', b'\\'] => (text, false),
            [rest @ .., b'\\'] => (rest, true),
            text => (text, false),
        };
        match lines.last_mut() {
            Some((_, line)) if continued == Some(number) => line.extend_from_slice(rest),
            _ => lines.push((number, rest.to_vec())),
        }
        continued = continues.then_some(number + 1);
    }
    for (_, line) in &mut lines {
        *line = line.trim_ascii().to_vec();
    }
    lines.retain(|(_, line)| !line.is_empty() && !line.starts_with(b"#"));
    lines
}

/// Applies the actions to the entries, and prints the logs of the actions.
///
/// # Errors
/// A file cannot be examined, or a command of a test cannot be run.
pub fn apply(actions: &Actions, list: &mut List, settings: &ActionSettings<'_>, io: &mut Io) -> Result<(), Failure> {
    let mut host = Machine((io.host.names)());
    let mut printed = Ok(());
    let mut report = |report| match report {
        ActionReport::Log(line) if printed.is_ok() => printed = io.print_names(&line),
        ActionReport::Log(_) => {}
        ActionReport::Warning(text) => io.eprintln(&text),
    };
    list.act(actions, settings, &mut host, &mut report).map_err(Failure::failed)?;
    io.excuse(printed.map_err(Failure::printing));
    Ok(())
}

struct Machine(Names);

impl ActionHost for Machine {
    fn user(&mut self, name: &[u8]) -> Option<u32> {
        self.0.user_number(name)
    }

    fn group(&mut self, name: &[u8]) -> Option<u32> {
        self.0.group_number(name)
    }

    fn regex(&mut self, text: &[u8]) -> Result<BytesMatcher, String> {
        let expression = posix_regex::compile(text)?;
        Ok(Box::new(move |text| expression.is_match(text)))
    }

    fn xattr(&mut self, text: &[u8]) -> Result<Xattr, String> {
        values::xattr(std::str::from_utf8(text).map_err(|_| format!("'{}' is not UTF-8", text.escaped()))?)
    }

    fn describe(&mut self, place: &Path) -> io::Result<Vec<u8>> {
        commands::describe(place)
    }

    fn succeeds(&mut self, command: &[u8], file: TestedFile<'_>) -> io::Result<bool> {
        let TestedFile { name, path, place } = file;
        let name = OsStr::from_bytes(name);
        let path = OsStr::from_bytes(path);
        commands::succeeds(command, [("NAME", name), ("PATHNAME", path), ("SOURCE_PATHNAME", place.as_os_str())])
    }
}
