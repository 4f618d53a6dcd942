//! The commands there are, and how one is found and run.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextValue, ErrorKind};
use packline::tree::escape;

use crate::args::Args;
use crate::commands::{bench, cat, completions, compress, diff, info, list, man, mount, pack, unpack, verify};
use crate::compat::lrzip;
use crate::compat::tools_ng::{gensquashfs, rdsquashfs, sqfs2tar, sqfsdiff, tar2sqfs};
use crate::host::streams::STDOUT;
use crate::table::command::{command_of, command_of_all, with_name, without_digits};
use crate::table::options::Applet;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Every command, in the order of the help.
pub static APPLETS: &[Applet] = &[
    pack::APPLET,
    unpack::APPLET,
    list::APPLET,
    cat::APPLET,
    info::APPLET,
    diff::APPLET,
    verify::APPLET,
    compress::COMPRESS,
    compress::DECOMPRESS,
    tar2sqfs::APPLET,
    gensquashfs::APPLET,
    sqfs2tar::APPLET,
    rdsquashfs::APPLET,
    sqfsdiff::APPLET,
    lrzip::LRZIP,
    lrzip::LRUNZIP,
    lrzip::LRZCAT,
    lrzip::tar::LRZTAR,
    lrzip::tar::LRZUNTAR,
    mount::APPLET,
    bench::APPLET,
    completions::APPLET,
    man::APPLET,
];

/// The command called so.
pub fn find(name: &OsStr) -> Option<&'static Applet> {
    APPLETS.iter().find(|applet| OsStr::new(applet.name) == name)
}

/// Runs the command that `arguments` (the program's name first) ask for and returns the exit status.
pub fn run(arguments: &[OsString], io: &mut Io) -> u8 {
    let (called_as, rest) = match arguments.split_first() {
        Some((name, rest)) => (Path::new(name).file_name().unwrap_or_default().to_owned(), rest),
        None => (OsString::from("packline"), arguments),
    };
    match find(&called_as).filter(|applet| applet.manners.is_drop_in()) {
        Some(applet) => run_applet(applet, applet.name, rest, io),
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
        Some(applet) => run_applet(applet, "packline", rest, io),
        None => report(&Failure::Usage(unknown(name)), "packline", 2, io),
    }
}

fn unknown(name: &OsStr) -> String {
    let known: Vec<&str> = APPLETS.iter().map(|applet| applet.name).collect();
    format!("unknown command '{}' (commands: {})", name.escaped(), known.join(", "))
}

/// No command: `--help`, `--version`, or a mistake.
fn run_bare(arguments: &[OsString], io: &mut Io) -> u8 {
    match command_of_all(APPLETS).try_get_matches_from(with_name("packline", arguments)) {
        Ok(_) => report(&Failure::usage("missing command"), "packline", 2, io),
        Err(error) => answer(error, "packline", 2, io),
    }
}

/// Parses and runs; `called` begins each message.
fn run_applet(applet: &'static Applet, called: &str, arguments: &[OsString], io: &mut Io) -> u8 {
    let words = with_name(applet.name, &without_digits(applet, arguments));
    let matches = match command_of(applet).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => return answer(error, called, applet.usage_status(), io),
    };
    let args = Args::new(applet, matches).typed_as(arguments);
    match json_has_a_reader(&args, io).and_then(|()| (applet.run)(&args, io)) {
        Ok(()) => 0,
        Err(failure) => report(&failure.advised(applet), called, applet.usage_status(), io),
    }
}

/// Refuses `--json` where standard output is closed, before anything is done whose outcome could then not be reported.
fn json_has_a_reader(args: &Args, io: &Io) -> Result<(), Failure> {
    if io.streams.stdout_closed && args.has("json") && args.flag("json") {
        return Err(Failure::failed(format!("{STDOUT} is closed (expected it to take what --json prints)")));
    }
    Ok(())
}

/// What clap has to say: help and version go to standard output and are no failure.
fn answer(error: clap::Error, called: &str, usage_status: u8, io: &mut Io) -> u8 {
    let error = tame(error);
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match io.print(&text) {
            Ok(()) => 0,
            Err(failure) => report(&failure, called, usage_status, io),
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            io.say_lines(text.trim_end());
            usage_status
        }
        _ => {
            io.say_lines(&format!("{called}: {}", text.trim_start_matches("error: ").trim_end()));
            usage_status
        }
    }
}

/// The same with the arguments in it on one line each: a message of clap has several lines, and an argument may hold any bytes.
fn tame(mut error: clap::Error) -> clap::Error {
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
            io.say(&format!("{called}: {message}"));
            usage_status
        }
        Failure::Failed(message) | Failure::Memory(message) => {
            io.say_lines(&format!("{called}: {}", indented(message)));
            1
        }
        // As if nobody had wanted more: ripgrep ends so too.
        Failure::BrokenPipe => 0,
        Failure::Trouble(failure) => match report(failure, called, 2, io) {
            0 => 0,
            _ => 2,
        },
        Failure::Said(status) => *status,
    }
}

/// A message that quotes what another program printed has several lines: all but the first are indented, so that none can be taken
/// for a message.
fn indented(message: &str) -> String {
    message.replace('\n', "\n  ")
}
