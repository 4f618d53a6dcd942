//! Finds a command and runs it. Commands about all commands are here too, because they need the list of commands.

mod completions;
mod links;
mod man;
mod overview;
pub mod table;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use packline_codec::{LIBRARIES, Spec};
use packline_runtime::escape;

use crate::args::parser::{self, bare_parser_of, full_name, help_parser_of, without_digits};
use crate::args::single_dash::{option_of, with_two_hyphens};
use crate::args::{Compat, Entry, Invocation};
use crate::compat::squashfs_tools::partial_help;
use crate::host::fake_root;
use crate::host::streams::STDOUT;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::logging;
use crate::ui::usage::{self, Called};
use table::{find, parser_of_all, unknown_command};

/// Runs the command that `arguments` (the program's name first) request, and returns the exit status.
pub fn run(arguments: &[OsString], io: &mut Io) -> u8 {
    let (called_as, rest) = match arguments.split_first() {
        Some((name, rest)) => (Path::new(name).file_name().unwrap_or_default().to_owned(), rest),
        None => (OsString::from("packline"), arguments),
    };
    match find(&called_as).filter(|command| command.compat.is_drop_in()) {
        Some(command) => run_command(command, command.name, rest, io),
        // mount(8) runs this for the type packline.
        None if called_as == "mount.packline" => run_named(&with_name("mount", rest), io),
        None => run_named(rest, io),
    }
}

/// Runs `packline NAME ARGUMENTS...`, or handles the options before any name.
fn run_named(mut arguments: &[OsString], io: &mut Io) -> u8 {
    while let Some((level, rest)) = log_level_before_name(arguments) {
        if let Err(message) = start_log(&level, io) {
            return report(&Failure::usage(format!("--log: {message}")), "packline", 2, io);
        }
        arguments = rest;
    }
    let Some((name, rest)) = arguments.split_first() else { return run_bare(arguments, io) };
    match (name.to_str(), rest) {
        (Some("help"), []) => return run_bare(&["--help".into()], io),
        (Some("help"), [topic]) if topic == "drop-ins" => return print(&overview::drop_in_help(io.host.columns), io),
        (Some("help"), [command]) => return run_named(&[command.clone(), "--help".into()], io),
        // The parser of all commands takes longer than the rest of the process.
        (Some("version" | "--version" | "-V"), []) => {
            return print(concat!("packline ", env!("CARGO_PKG_VERSION"), "\n"), io);
        }
        (Some("version" | "--version" | "-V"), [word]) if word == "--verbose" || word == "-v" => {
            return print_versions(io);
        }
        _ => {}
    }
    if name.as_encoded_bytes().starts_with(b"-") {
        return run_bare(arguments, io);
    }
    match find(name) {
        Some(command) => run_command(command, "packline", rest, io),
        None => report(&unknown_command(name), "packline", 2, io),
    }
}

/// Returns the level in `--log LEVEL` or `--log=LEVEL` before the name of a command, and the words after it.
fn log_level_before_name(arguments: &[OsString]) -> Option<(OsString, &[OsString])> {
    let (first, rest) = arguments.split_first()?;
    if first == "--log" {
        let (level, rest) = rest.split_first()?;
        return Some((level.clone(), rest));
    }
    let level = first.as_encoded_bytes().strip_prefix(b"--log=")?;
    Some((OsStr::from_bytes(level).to_owned(), rest))
}

/// Starts the log at the level named `text`, or changes its level: the last `--log` is in force. A background process gets this level.
///
/// # Errors
/// A message for an unknown level.
fn start_log(text: &OsStr, io: &mut Io) -> Result<(), String> {
    logging::start(logging::level(&text.to_string_lossy())?, io);
    io.host.log = Some(text.to_owned());
    Ok(())
}

/// Starts the log as `PACKLINE_LOG` or a `--log` before the name of the command says. A wrong variable must not break a build that runs
/// a drop-in.
fn start_requested_log(compat: Compat, io: &mut Io) -> Result<(), Failure> {
    let Some(text) = io.host.log.clone() else { return Ok(()) };
    match start_log(&text, io) {
        Err(message) if compat.is_drop_in() => {
            io.host.log = None;
            io.warn(&format!("PACKLINE_LOG is ignored: {message}"));
            Ok(())
        }
        started => started.map_err(|message| Failure::usage(format!("PACKLINE_LOG: {message}"))),
    }
}

/// Prints `--version --verbose`: the containers, and the libraries that may change the bytes of an output.
fn print_versions(io: &mut Io) -> u8 {
    let libraries: Vec<String> = LIBRARIES.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let text = format!(
        "packline {}\nContainers: SquashFS 4.0, EROFS, lrzip 0.6 (reads 0.4 to 0.7), .pln\nCodecs: {}\nLibraries: {}\n",
        env!("CARGO_PKG_VERSION"),
        Spec::names().join(", "),
        libraries.join(", ")
    );
    print(&text, io)
}

fn print(text: &str, io: &mut Io) -> u8 {
    io.print(text).map_or_else(|failure| report(&failure, "packline", 2, io), |()| 0)
}

/// Handles a command line without a command: `--help`, `--version`, or wrong usage.
fn run_bare(arguments: &[OsString], io: &mut Io) -> u8 {
    let called = Called { by: "packline", name: "packline".to_string(), longs: Vec::new(), one_hyphen: false };
    let parser = parser_of_all().override_help(overview::help(io.host.columns));
    match parser.try_get_matches_from(with_name("packline", arguments)) {
        Ok(_) => report(&Failure::usage("missing command"), "packline", 2, io),
        Err(error) => answer(error, &called, 2, io),
    }
}

/// Returns the arguments that clap parses: the program's name first.
pub fn with_name(name: &str, arguments: &[OsString]) -> Vec<OsString> {
    std::iter::once(OsString::from(name)).chain(arguments.iter().cloned()).collect()
}

/// Parses and runs a command; each message starts with `called`.
fn run_command(command: &'static Entry, called: &'static str, words: &[OsString], io: &mut Io) -> u8 {
    io.called = called;
    let usage_status = command.compat.usage_status();
    // A lone -h requests help, also for `list`.
    let help = if command.compat.is_drop_in() { "--help" } else { "-?" };
    let words = if words == ["-h"] { &[OsString::from(help)] } else { words };
    let mut parser = bare_parser_of(command);
    let arguments = match command.compat {
        Compat::SquashfsTools => {
            // The numbers of values are known only after this.
            parser.build();
            let arguments = with_two_hyphens(&parser, words);
            match partial_help::requested_help(command, &arguments, &io.host) {
                Ok(None) => arguments,
                Ok(Some(text)) => {
                    return io.print(&text).map_or_else(|failure| report(&failure, called, 1, io), |()| 0);
                }
                Err(failure) => return report(&failure, called, usage_status, io),
            }
        }
        _ => without_digits(command.digits, &parser, words),
    };
    let typed = with_name(command.name, &arguments);
    // The complete parser gives the help, and errors that quote it.
    let columns = match command.compat {
        Compat::SquashfsTools => parser::help_columns(&typed, &io.host),
        _ => io.host.columns,
    };
    let for_help = |_| help_parser_of(command, columns).try_get_matches_from(&typed);
    match parser.try_get_matches_from_mut(&typed).or_else(for_help) {
        Ok(matches) => match run_parsed(command, &Invocation::new(command.name, words, &parser, matches), io) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called, usage_status, io),
        },
        Err(error) => {
            if let Some(failure) = option_of_mksquashfs(command, words, &error) {
                return report(&failure, called, usage_status, io);
            }
            let one_hyphen = command.compat == Compat::SquashfsTools;
            let called = Called { by: called, name: full_name(command), longs: longs_of(&parser), one_hyphen };
            answer(error, &called, usage_status, io)
        }
    }
}

/// Returns the error for an option of mksquashfs among the words of `pack`. clap parses `-noappend` as -n, -o and so on, and its error
/// names only a letter.
fn option_of_mksquashfs(command: &Entry, words: &[OsString], error: &clap::Error) -> Option<Failure> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let letter = unknown.strip_prefix('-').filter(|letter| letter.len() == 1)?;
    if command.name != "pack" || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let parser = bare_parser_of(find("mksquashfs".as_ref())?);
    let is_meant = |word: &&OsString| {
        let text = word.to_string_lossy();
        text.len() > 2 && text.contains(letter) && option_of(&parser, word).is_some()
    };
    let word = words.iter().find(is_meant)?;
    let ours = match option_of(&bare_parser_of(command), word) {
        Some((name, _)) => Some(format!("did you mean '--{name}'? ")),
        None => word.to_str().and_then(|word| usage::hint_for_mksquashfs(word.trim_start_matches('-'))),
    };
    let hint =
        "'packline mksquashfs' takes the options of mksquashfs; 'packline pack --help' lists the options of pack";
    Some(Failure::usage(format!("unknown option '{}' ({}{hint})", word.escaped(), ours.unwrap_or_default())))
}

fn longs_of(parser: &clap::Command) -> Vec<String> {
    parser.get_arguments().filter_map(|argument| argument.get_long().map(str::to_string)).collect()
}

fn run_parsed(command: &Entry, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
    if let Some(reason) = fake_root::refusal(command.name, io.host.is_static, io.host.fake_root) {
        return Err(Failure::failed(reason));
    }
    match invocation.log_level() {
        Some(level) => logging::start(level, io),
        None => start_requested_log(command.compat, io)?,
    }
    if invocation.wants_json() {
        json_has_a_reader(io)?;
    }
    if !command.leaves_nothing {
        let failed = |cause| Failure::failed(format!("cannot start the thread that watches for signals: {cause}"));
        io.shutdown.watch().map_err(failed)?;
    }
    (command.run)(invocation, io).map_err(|failure| invocation.advise(failure))
}

/// Rejects `--json` if standard output is closed, before any work whose result could not be reported.
fn json_has_a_reader(io: &Io) -> Result<(), Failure> {
    if io.streams.stdout_closed {
        return Err(Failure::failed(format!("{STDOUT} is closed, and --json needs it")));
    }
    Ok(())
}

/// Prints an error of clap. Help and version, which clap treats as errors too, go to standard output with status 0.
fn answer(error: clap::Error, called: &Called<'_>, usage_status: u8, io: &mut Io) -> u8 {
    let error = usage::escaped(error);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match io.print(&called.help(&error)) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called.by, usage_status, io),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            io.eprint_lines(called.rendered(&error).trim_end());
            usage_status
        }
        _ => {
            io.print_error(called.by, &escape::lines(&called.message(&error)));
            usage_status
        }
    }
}

fn report(failure: &Failure, called: &str, usage_status: u8, io: &mut Io) -> u8 {
    match failure {
        Failure::Usage(message) => {
            io.print_error(called, &escape::line(message));
            usage_status
        }
        Failure::Failed(message) | Failure::Memory(message) => {
            io.print_error(called, &escape::lines(&indented(&message.to_string())));
            1
        }
        // The reader is gone; ripgrep exits with 0 too.
        Failure::BrokenPipe => 0,
        Failure::Exit(status, failure) => match report(failure, called, usage_status, io) {
            0 => 0,
            _ => *status,
        },
        Failure::AlreadyReported(status) => *status,
    }
}

/// Indents all lines except the first. They quote another program, and must not look like messages of packline.
fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}
