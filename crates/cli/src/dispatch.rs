//! The list of commands, and how one is found and run.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use packline::tree::escape;

use crate::args::parser::{parser_of, with_help_and_version, without_digits};
use crate::args::{Args, Compat, Entry, Invocation};
use crate::commands::{bench, cat, completions, compress, diff, info, list, man, mount, pack, unpack, verify};
use crate::compat::lrzip;
use crate::compat::tools_ng::{gensquashfs, rdsquashfs, sqfs2tar, sqfsdiff, tar2sqfs};
use crate::host::streams::STDOUT;
use crate::table::command::command_of;
use crate::table::options::{Applet, Manners};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// A command of the list: one that derives its arguments, or one of the former table.
#[derive(Debug, Clone, Copy)]
pub enum Listed {
    Derived(Entry),
    Table(Applet),
}

use Listed::{Derived, Table};

/// Every command, in the order of the help.
pub static COMMANDS: &[Listed] = &[
    Derived(Entry::of::<pack::Pack>()),
    Derived(Entry::of::<unpack::Unpack>()),
    Derived(Entry::of::<list::List>()),
    Derived(Entry::of::<cat::Cat>()),
    Derived(Entry::of::<info::Info>()),
    Derived(Entry::of::<diff::Diff>()),
    Derived(Entry::of::<verify::Verify>()),
    Derived(Entry::of::<compress::Compress>()),
    Derived(Entry::of::<compress::Decompress>()),
    Derived(Entry::of::<tar2sqfs::Tar2Sqfs>()),
    Derived(Entry::of::<gensquashfs::GenSquashFs>()),
    Derived(Entry::of::<sqfs2tar::Sqfs2Tar>()),
    Derived(Entry::of::<rdsquashfs::RdSquashFs>()),
    Derived(Entry::of::<sqfsdiff::SqfsDiff>()),
    Derived(Entry::of::<lrzip::Lrzip>()),
    Derived(Entry::of::<lrzip::Lrunzip>()),
    Derived(Entry::of::<lrzip::Lrzcat>()),
    Derived(Entry::of::<lrzip::tar::Lrztar>()),
    Derived(Entry::of::<lrzip::tar::Lrzuntar>()),
    Derived(Entry::of::<mount::Mount>()),
    Derived(Entry::of::<bench::Bench>()),
    Derived(Entry::of::<completions::Completions>()),
    Derived(Entry::of::<man::ManPage>()),
];

impl Listed {
    pub fn name(&self) -> &'static str {
        match self {
            Derived(entry) => entry.name,
            Table(applet) => applet.name,
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self {
            Derived(entry) => entry.aliases,
            Table(_) => &[],
        }
    }

    /// What its help says after the options.
    pub fn details(&self) -> String {
        match self {
            Derived(entry) => (entry.details)(),
            Table(applet) => (applet.details)(),
        }
    }

    pub fn compat(&self) -> Compat {
        match self {
            Derived(entry) => entry.compat,
            Table(applet) => match applet.manners {
                Manners::Packline => Compat::Packline,
                Manners::DropIn => Compat::ToolsNg,
                Manners::DropInDiff => Compat::ExitTwo,
            },
        }
    }

    /// The parser of the command.
    pub fn parser(&'static self) -> Command {
        match self {
            Derived(entry) => parser_of(entry),
            Table(applet) => command_of(applet),
        }
    }

    /// Its words, with `-7` as the option that it is a value of.
    fn words(&self, words: &[OsString]) -> Vec<OsString> {
        let digits = match self {
            Derived(entry) => entry.digits,
            Table(applet) => applet.all_options().find(|option| option.digits).map(|option| option.long),
        };
        without_digits(digits, words)
    }

    fn run(
        &'static self,
        parser: &Command,
        matches: ArgMatches,
        words: &[OsString],
        io: &mut Io,
    ) -> Result<(), Failure> {
        let invocation = Invocation::new(self.name(), words, parser, matches.clone());
        if invocation.wants_json() {
            json_has_a_reader(io)?;
        }
        let done = match self {
            Derived(entry) => (entry.run)(&invocation, io),
            Table(applet) => (applet.run)(&Args::new(applet, matches).typed_as(words), io),
        };
        done.map_err(|failure| invocation.advise(failure))
    }
}

/// The command called so.
pub fn find(name: &OsStr) -> Option<&'static Listed> {
    let is = |known: &str| OsStr::new(known) == name;
    COMMANDS.iter().find(|command| is(command.name()) || command.aliases().iter().any(|alias| is(alias)))
}

/// The parser of the whole binary, with every command below it.
pub fn parser_of_all() -> Command {
    let command = Command::new("packline")
        .about("Packs directories, tar files and streams into compressed images")
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(COMMANDS.iter().map(Listed::parser));
    with_help_and_version(command)
}

/// Runs the command that `arguments` (the program's name first) ask for and returns the exit status.
pub fn run(arguments: &[OsString], io: &mut Io) -> u8 {
    let (called_as, rest) = match arguments.split_first() {
        Some((name, rest)) => (Path::new(name).file_name().unwrap_or_default().to_owned(), rest),
        None => (OsString::from("packline"), arguments),
    };
    match find(&called_as).filter(|command| command.compat().is_drop_in()) {
        Some(command) => run_command(command, command.name(), rest, io),
        None => run_named(rest, io),
    }
}

/// `packline NAME ARGUMENTS...`, or the options that stand before any name.
fn run_named(arguments: &[OsString], io: &mut Io) -> u8 {
    let Some((name, rest)) = arguments.split_first() else { return run_bare(arguments, io) };
    if name.as_encoded_bytes().starts_with(b"-") {
        return run_bare(arguments, io);
    }
    match find(name) {
        Some(command) => run_command(command, "packline", rest, io),
        None => report(&unknown_command(name), "packline", 2, io),
    }
}

/// The error for a command that does not exist, with the nearest one that does.
pub fn unknown_command(name: &OsStr) -> Failure {
    let text = name.to_string_lossy();
    let known = || COMMANDS.iter().flat_map(|command| [&[command.name()], command.aliases()].concat());
    let hint = match known().filter(|known| is_near(&text, known)).min_by_key(|known| distance(&text, known)) {
        Some(near) => format!("did you mean '{near}'? 'packline --help' lists the commands"),
        None => format!("commands: {}", COMMANDS.iter().map(Listed::name).collect::<Vec<_>>().join(", ")),
    };
    Failure::usage(format!("unknown command '{}' ({hint})", name.escaped()))
}

/// No command: `--help`, `--version`, or a mistake.
fn run_bare(arguments: &[OsString], io: &mut Io) -> u8 {
    match parser_of_all().try_get_matches_from(with_name("packline", arguments)) {
        Ok(_) => report(&Failure::usage("missing command"), "packline", 2, io),
        Err(error) => answer(error, "packline", 2, io),
    }
}

/// The arguments that clap parses: the program's name first.
pub fn with_name(name: &str, arguments: &[OsString]) -> Vec<OsString> {
    std::iter::once(OsString::from(name)).chain(arguments.iter().cloned()).collect()
}

/// Parses and runs; `called` begins each message.
fn run_command(command: &'static Listed, called: &str, words: &[OsString], io: &mut Io) -> u8 {
    let usage_status = command.compat().usage_status();
    let mut parser = command.parser();
    match parser.try_get_matches_from_mut(with_name(command.name(), &command.words(words))) {
        Ok(matches) => match command.run(&parser, matches, words, io) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called, usage_status, io),
        },
        Err(error) => answer(error, called, usage_status, io),
    }
}

/// Refuses `--json` where standard output is closed, before anything is done whose outcome could then not be reported.
fn json_has_a_reader(io: &Io) -> Result<(), Failure> {
    if io.streams.stdout_closed {
        return Err(Failure::failed(format!("{STDOUT} is closed (expected it to take what --json prints)")));
    }
    Ok(())
}

/// Prints what clap answers: help and version go to standard output and are no failure.
fn answer(error: clap::Error, called: &str, usage_status: u8, io: &mut Io) -> u8 {
    let error = tame(error);
    let text = error.render().to_string();
    let text = text.trim_start_matches("error: ");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match io.print(text) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called, usage_status, io),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            io.eprint_lines(text.trim_end());
            usage_status
        }
        _ => {
            let text = in_short(&error).unwrap_or_else(|| text.trim_end().to_string());
            io.eprint_lines(&format!("{called}: {text}"));
            usage_status
        }
    }
}

/// Our words for the mistakes that commands report by themselves too.
fn in_short(error: &clap::Error) -> Option<String> {
    let names = |kind| match error.get(kind)? {
        ContextValue::String(name) => Some(vec![name.clone()]),
        ContextValue::Strings(names) => Some(names.clone()),
        _ => None,
    };
    let wrong = names(ContextKind::InvalidArg)?;
    let option = |name: &String| name.split(' ').next().unwrap_or_default().to_string();
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            let names = wrong.iter().map(|name| option(name).trim_matches(['<', '>', '.']).to_string());
            Some(format!("missing argument: {}", names.collect::<Vec<_>>().join(", ")))
        }
        ErrorKind::ArgumentConflict => {
            let (first, other) = (option(wrong.first()?), option(names(ContextKind::PriorArg)?.first()?));
            (first != other).then(|| format!("{first}: cannot be used with {other}"))
        }
        _ => None,
    }
}

/// Whether two names are so alike that one is likely to be meant by the other.
fn is_near(name: &str, known: &str) -> bool {
    distance(name, known) <= name.len().min(known.len()).div_ceil(3)
}

/// Letters to insert, remove or replace to make one name of the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, against) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

/// The same with the arguments in it on one line each, since a message of clap has several lines and an argument may hold any bytes;
/// and without an option that it suggests for another that is not near.
fn tame(mut error: clap::Error) -> clap::Error {
    let is_far = match (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(near))) => !is_near(typed, near),
        _ => false,
    };
    if is_far {
        error.remove(ContextKind::SuggestedArg);
    }
    let context: Vec<_> = error.context().map(|(kind, value)| (kind, value.clone())).collect();
    let line = |text: String| escape::line(&text).into_owned();
    for (kind, value) in context {
        let value = match value {
            ContextValue::String(text) => ContextValue::String(line(text)),
            ContextValue::Strings(texts) => ContextValue::Strings(texts.into_iter().map(line).collect()),
            ContextValue::StyledStrs(texts) => {
                let tips = texts.into_iter().map(|text| line(text.to_string()).into());
                ContextValue::StyledStrs(tips.collect())
            }
            _ => continue,
        };
        error.insert(kind, value);
    }
    error
}

fn report(failure: &Failure, called: &str, usage_status: u8, io: &mut Io) -> u8 {
    match failure {
        Failure::Usage(message) => {
            io.eprintln(&format!("{called}: {message}"));
            usage_status
        }
        Failure::Failed(message) | Failure::Memory(message) => {
            io.eprint_lines(&format!("{called}: {}", indented(message)));
            1
        }
        // As if nobody had wanted more: ripgrep ends so too.
        Failure::BrokenPipe => 0,
        Failure::ExitTwo(failure) => match report(failure, called, 2, io) {
            0 => 0,
            _ => 2,
        },
        Failure::AlreadyReported(status) => *status,
    }
}

/// A message that quotes what another program printed has several lines: all but the first are indented, so that none can be taken
/// for a message.
fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}
