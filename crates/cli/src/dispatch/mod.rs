//! How a command is found and run. The commands that are about all commands are here too, because they need the list of them.

mod completions;
mod links;
mod man;
pub mod table;

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use packline_codec::{LIBRARIES, Spec};
use packline_runtime::escape;

use crate::args::help_options;
use crate::args::parser::{bare_parser_of, full_name, help_parser_of, parser_of, without_digits};
use crate::args::single_dash::with_two_hyphens;
use crate::args::{Compat, Entry, Invocation};
use crate::compat::squashfs_tools::{mksquashfs, partial_help};
use crate::host::fake_root;
use crate::host::streams::STDOUT;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use table::{find, is_near, parser_of_all, unknown_command};

/// Runs the command that `arguments` (the program's name first) ask for and returns the exit status.
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

/// `packline NAME ARGUMENTS...`, or the options that stand before any name.
fn run_named(arguments: &[OsString], io: &mut Io) -> u8 {
    let Some((name, rest)) = arguments.split_first() else { return run_bare(arguments, io) };
    match (name.to_str(), rest) {
        (Some("help"), []) => return run_bare(&["--help".into()], io),
        (Some("help"), [command]) => return run_named(&[command.clone(), "--help".into()], io),
        (Some("version"), []) => return run_bare(&["--version".into()], io),
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

/// `--version --verbose`: the containers, and what may make a difference to the bytes of an output.
fn print_versions(io: &mut Io) -> u8 {
    let libraries: Vec<String> = LIBRARIES.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let text = format!(
        "packline {}\nContainers: SquashFS 4.0, lrzip 0.6 (reads 0.4 to 0.7), .pln\nCodecs: {}\nLibraries: {}\n",
        env!("CARGO_PKG_VERSION"),
        Spec::names().join(", "),
        libraries.join(", ")
    );
    match io.print(&text) {
        Ok(()) => 0,
        Err(failure) => report(&failure, "packline", 2, io),
    }
}

/// Without a command: `--help`, `--version`, or wrong usage.
fn run_bare(arguments: &[OsString], io: &mut Io) -> u8 {
    let called = Called { by: "packline", command: None };
    match parser_of_all().term_width(io.host.columns).try_get_matches_from(with_name("packline", arguments)) {
        Ok(_) => report(&Failure::usage("missing command"), "packline", 2, io),
        Err(error) => answer(error, &called, io),
    }
}

/// The arguments that clap parses: the program's name first.
pub fn with_name(name: &str, arguments: &[OsString]) -> Vec<OsString> {
    std::iter::once(OsString::from(name)).chain(arguments.iter().cloned()).collect()
}

/// Parses and runs; each message starts with `called`.
fn run_command(command: &'static Entry, called: &'static str, words: &[OsString], io: &mut Io) -> u8 {
    io.called = called;
    let usage_status = command.compat.usage_status();
    // Alone it asks for help, of `list` too.
    let words = if words == ["-h"] { &[OsString::from("--help")] } else { words };
    let mut parser = bare_parser_of(command);
    let arguments = match command.compat {
        Compat::SquashfsTools => {
            // Only then are the numbers of values known.
            parser.build();
            let arguments = with_two_hyphens(&parser, words);
            match partial_help::asked(command, &arguments, &io.host) {
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
    // Help, and errors that quote it, come from the whole parser.
    let columns = match command.compat {
        Compat::SquashfsTools => help_options::columns(&typed, &io.host),
        _ => io.host.columns,
    };
    let for_help = |_| help_parser_of(command, columns).try_get_matches_from(&typed);
    match parser.try_get_matches_from_mut(&typed).or_else(for_help) {
        Ok(matches) => match run_parsed(command, &Invocation::new(command.name, words, &parser, matches), io) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called, usage_status, io),
        },
        Err(error) => answer(error, &Called { by: called, command: Some(command) }, io),
    }
}

/// How a command was called, for messages.
struct Called<'c> {
    /// The program's name, with which each message starts.
    by: &'c str,
    /// `None` for the program itself.
    command: Option<&'c Entry>,
}

impl Called<'_> {
    fn name(&self) -> String {
        self.command.map_or("packline".to_string(), full_name)
    }

    fn usage_status(&self) -> u8 {
        self.command.map_or(2, |command| command.compat.usage_status())
    }
}

fn run_parsed(command: &Entry, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
    if let Some(reason) = fake_root::refusal(command.name, io.host.is_static, io.host.fake_root) {
        return Err(Failure::failed(reason));
    }
    if invocation.wants_json() {
        json_has_a_reader(io)?;
    }
    (command.run)(invocation, io).map_err(|failure| invocation.advise(failure))
}

/// Refuses `--json` where standard output is closed, before any work whose result could not be reported.
fn json_has_a_reader(io: &Io) -> Result<(), Failure> {
    if io.streams.stdout_closed {
        return Err(Failure::failed(format!("{STDOUT} is closed (expected it to take what --json prints)")));
    }
    Ok(())
}

/// Prints an error of clap; help and version, which clap treats as errors too, go to standard output with status 0.
fn answer(error: clap::Error, called: &Called<'_>, io: &mut Io) -> u8 {
    let error = tame(error);
    let one_hyphen = called.command.is_some_and(|command| command.compat == Compat::SquashfsTools);
    let as_typed = |text: String| if one_hyphen { text.replace("--", "-") } else { text };
    let text = as_typed(error.render().to_string());
    let text = text.trim_start_matches("error: ");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match io.print(text) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called.by, called.usage_status(), io),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            io.eprint_lines(text.trim_end());
            called.usage_status()
        }
        _ => {
            let text = in_short(&error, called).map_or_else(|| text.trim_end().to_string(), as_typed);
            io.eprint_lines(&format!("{}: {text}", called.by));
            called.usage_status()
        }
    }
}

/// Options of other programs, and what does the same here.
const ELSEWHERE: [(&[&str], &str); 5] = [
    (&["--compression", "--comp", "--compressor", "--algo"], "--codec"),
    (&["--level", "-l", "--compression-level", "--fast", "--best", "--ultra"], "--codec NAME:level=N"),
    (&["--threads", "--processors", "--num-jobs", "--cores", "-T", "-p"], "--jobs"),
    (&["--memory", "--mem-limit", "--maxram"], "--mem"),
    (&["-c", "--to-stdout"], "--stdout"),
];

/// Our words for an error of clap, where those are shorter, or those with which commands report the same error.
fn in_short(error: &clap::Error, called: &Called<'_>) -> Option<String> {
    let names = |kind| match error.get(kind)? {
        ContextValue::String(name) => Some(vec![name.clone()]),
        ContextValue::Strings(names) => Some(names.clone()),
        _ => None,
    };
    let wrong = names(ContextKind::InvalidArg)?;
    let first = wrong.first()?;
    let bare = |name: &String| {
        let name = name.trim_matches(['<', '>', '[', ']', '.']);
        name.split([' ', '[', '=']).next().unwrap_or_default().to_string()
    };
    let usage = || error.get(ContextKind::Usage).map_or(String::new(), |usage| format!("\n{usage}"));
    let help = format!("'{} --help' lists the options", called.name());
    match error.kind() {
        ErrorKind::MissingRequiredArgument => {
            // One argument may be several operands.
            let operands = |name: &String| name.trim_matches(['<', '>', '[', ']', '.']).replace("... ", ", ");
            let name = |name: &String| if name.starts_with("<") { operands(name) } else { bare(name) };
            let missing: Vec<String> = wrong.iter().map(name).collect();
            Some(format!("missing argument: {}{}\n{help}", missing.join(", "), usage()))
        }
        ErrorKind::ArgumentConflict => {
            let other = bare(names(ContextKind::PriorArg)?.first()?);
            (bare(first) != other).then(|| format!("{}: cannot be used with {other}", bare(first)))
        }
        ErrorKind::UnknownArgument if first.starts_with('-') => {
            let near = names(ContextKind::SuggestedArg).and_then(|near| near.into_iter().next());
            let near = near.or_else(|| elsewhere(first, called).map(str::to_string));
            let hint = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
            Some(format!("unknown option '{first}' ({hint}{help})"))
        }
        ErrorKind::UnknownArgument => Some(format!("unexpected argument '{first}'{}", usage())),
        ErrorKind::InvalidValue => {
            let value = names(ContextKind::InvalidValue)?.first()?.clone();
            let known = names(ContextKind::ValidValue).filter(|known| !known.is_empty());
            if let (Some(known), "--comp", false) = (&known, bare(first).as_str(), value.is_empty()) {
                return Some(mksquashfs::unknown_compressor(called.by, &value, known));
            }
            let known = known.map(|known| format!(" (expected one of {})", known.join(", ")));
            let known = known.unwrap_or_default();
            // Where -c is the codec, who typed it alone means what zstd(1) and gzip(1) call so.
            let stdout =
                bare(first) == "--codec" && called.command.is_some_and(|command| has_option(command, "stdout"));
            Some(match value.is_empty() {
                true if stdout => format!("{}: a value is missing (--stdout writes to standard output)", bare(first)),
                true => format!("{}: a value is missing{known}", bare(first)),
                false => format!("{}: unknown value '{value}'{known}", bare(first)),
            })
        }
        _ => None,
    }
}

/// What an option of another program is called here, if the command has it.
fn elsewhere(typed: &str, called: &Called<'_>) -> Option<&'static str> {
    let is_level = typed.len() > 1 && typed[1..].bytes().all(|byte| byte.is_ascii_digit());
    let known = |names: &[&str]| names.contains(&typed) || is_level && names.contains(&"--level");
    let (_, ours) = ELSEWHERE.into_iter().find(|(names, _)| known(names))?;
    let long = ours.split(' ').next()?.trim_start_matches('-');
    has_option(called.command?, long).then_some(ours)
}

fn has_option(command: &Entry, long: &str) -> bool {
    parser_of(command).get_arguments().any(|argument| argument.get_long() == Some(long))
}

/// The error with each argument in it escaped to one line, because arguments may hold line feeds, and without suggestions of options that
/// are not near.
fn tame(mut error: clap::Error) -> clap::Error {
    let is_far = match (error.get(ContextKind::InvalidArg), error.get(ContextKind::SuggestedArg)) {
        (Some(ContextValue::String(typed)), Some(ContextValue::String(near))) => !is_near(typed, near),
        _ => false,
    };
    if is_far {
        error.remove(ContextKind::SuggestedArg);
        // It names the suggestion too.
        error.remove(ContextKind::Usage);
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
            io.eprint_lines(&format!("{called}: {}", indented(&message.to_string())));
            1
        }
        // The reader wants no more; ripgrep exits with 0 too.
        Failure::BrokenPipe => 0,
        Failure::Exit(status, failure) => match report(failure, called, usage_status, io) {
            0 => 0,
            _ => *status,
        },
        Failure::AlreadyReported(status) => *status,
    }
}

/// Indents all lines but the first, which quote another program, so that none is mistaken for a message of ours.
fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}
