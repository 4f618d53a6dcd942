//! `packline man` prints manual pages, derived from the parser's arguments.

use std::path::{Path, PathBuf};

use clap::Arg;
use roff::{Inline, Roff, bold, italic, roman};

use crate::args::help::{headings, options_under, split_details, term};
use crate::args::parser::parser_of;
use crate::args::{Command, Compat, Entry, Invocation};
use crate::dispatch::overview;
use crate::dispatch::table::{COMMANDS, GROUPS, command_name, find, parser_of_all, unknown_command};
use crate::ui::escape::Escape;
use crate::ui::exit_status;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::wrap::wrap;

/// Print a manual page in roff, or write all manual pages
#[derive(Debug, clap::Args)]
pub struct ManPage {
    /// The command [default: packline]
    #[arg(value_parser = command_name(), hide_possible_values = true)]
    name: Option<String>,
    /// Write all pages to this directory instead, each to a file NAME.1
    #[arg(long, value_name = "DIR", conflicts_with = "name", value_hint = clap::ValueHint::DirPath)]
    all: Option<PathBuf>,
}

impl Command for ManPage {
    const NAME: &'static str = "man";

    const EXAMPLES: &'static [&'static str] =
        &["packline man pack | man -l -", "packline man --all /usr/local/share/man/man1"];

    fn run(self, _: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if let Some(directory) = self.all {
            write(&directory, None)?;
            return COMMANDS.iter().try_for_each(|command| write(&directory, Some(command)));
        }
        let command = match self.name.filter(|name| name != "packline") {
            Some(name) => Some(find(name.as_ref()).ok_or_else(|| unknown_command(name.as_ref()))?),
            None => None,
        };
        io.print(&page(command))
    }
}

fn write(directory: &Path, command: Option<&Entry>) -> Result<(), Failure> {
    let path = directory.join(format!("{}.1", command.map_or("packline".to_string(), name_of)));
    let failed = |cause| Failure::failed(format!("{}: cannot write: {cause}", path.escaped()));
    std::fs::write(&path, page(command)).map_err(failed)
}

/// Returns the name of a page: `packline-NAME` for packline's own commands, and the plain name for drop-ins.
fn name_of(command: &Entry) -> String {
    if command.compat.is_drop_in() { command.name.to_string() } else { format!("packline-{}", command.name) }
}

/// The date of the last change of the pages.
const DATE: &str = "2026-11-27";
/// The width of lines in the source: below 80 bytes with the escapes that roff adds.
const COLUMNS: usize = 66;
/// Returns the page of a command, or of the program.
fn page(command: Option<&Entry>) -> String {
    let mut parser = command.map_or_else(parser_of_all, parser_of);
    parser.build();
    let name = command.map_or("packline".to_string(), name_of);
    let mut roff = Roff::new();
    head(&mut roff, parser.clone(), &name, command);
    options(&mut roff, &parser);
    sections(&mut roff, command);
    if command.is_none() {
        let names: Vec<(String, String)> =
            COMMANDS.iter().map(|entry| (format!("{}(1)", name_of(entry)), about(&parser_of(entry)))).collect();
        list(&mut roff, "COMMANDS", names.iter().map(|(name, about)| (&**name, &**about)));
    }
    let differences = command.map_or([].as_slice(), |command| command.differences);
    if !differences.is_empty() {
        roff.control("SH", ["DIFFERENCES"]);
        text(&mut roff, "Intended differences from the program that this command replaces:");
        for line in differences {
            roff.control("IP", ["-", "2"]);
            text(&mut roff, line);
        }
    }
    let examples = command.map_or(overview::EXAMPLES.as_slice(), |command| command.examples);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]).control("nf", []);
        examples.iter().for_each(|line| _ = roff.text([roman(line.trim_start())]));
        roff.control("fi", []);
    }
    let (compat, own) = command.map_or((Compat::Packline, ""), |command| (command.compat, command.name));
    list(&mut roff, "EXIT STATUS", exit_status::rows(compat, own).into_iter());
    list(&mut roff, "ENVIRONMENT", environment(command, &parser));
    roff.control("SH", ["SEE ALSO"]);
    text(&mut roff, &see_also(command));
    let page = roff.render();
    let one_hyphen = command.is_some_and(|command| command.compat == Compat::SquashfsTools);
    if one_hyphen { page.replace(r"\-\-", r"\-") } else { page }
}

fn about(parser: &clap::Command) -> String {
    parser.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Writes title, name, synopsis and description.
fn head(roff: &mut Roff, mut parser: clap::Command, name: &str, command: Option<&Entry>) {
    let about = about(&parser);
    let usage = parser.render_usage().to_string();
    let source = concat!("packline ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [&*name.to_uppercase(), "1", DATE, source, "User Commands"]);
    roff.control("SH", ["NAME"]).text([roman(format!("{name} - {about}"))]);
    roff.control("SH", ["SYNOPSIS"]).text([bold(usage.trim_start_matches("Usage: "))]);
    roff.control("SH", ["DESCRIPTION"]);
    text(roff, &format!("{about}."));
    let (lead, _) = split_details(&details(command));
    if !lead.is_empty() {
        roff.control("PP", []);
    }
    paragraphs(roff, &lead);
}

fn details(command: Option<&Entry>) -> String {
    command.map_or(String::new(), |command| (command.details)())
}

/// Writes the sections that the help leaves out.
fn sections(roff: &mut Roff, command: Option<&Entry>) {
    let (_, sections) = split_details(&details(command));
    if !sections.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    for (title, body) in sections {
        roff.control("SS", [title.as_str()]);
        paragraphs(roff, &body);
    }
}

/// Writes paragraphs, one per line, with a macro between them.
fn paragraphs(roff: &mut Roff, body: &str) {
    for (number, line) in body.lines().filter(|line| !line.is_empty()).enumerate() {
        if number > 0 {
            roff.control("PP", []);
        }
        text(roff, line);
    }
}

/// Writes the operands, then the options under their headings.
fn options(roff: &mut Roff, parser: &clap::Command) {
    roff.control("SH", ["OPTIONS"]);
    parser.get_positionals().for_each(|operand| option(roff, operand));
    for heading in headings(parser) {
        if let Some(heading) = heading {
            roff.control("SS", [heading]);
        }
        options_under(parser, heading).for_each(|argument| option(roff, argument));
    }
}

fn option(roff: &mut Roff, argument: &Arg) {
    let (names, value) = term(argument);
    let mut parts: Vec<Inline> = names.into_iter().flat_map(|name| [bold(name), roman(", ")]).collect();
    parts.pop();
    parts.push(italic(value));
    roff.control("TP", []).text(parts);
    text(roff, &argument.get_help().map(ToString::to_string).unwrap_or_default());
}

/// Writes a section of terms and their meanings; without terms it writes nothing.
fn list<'t>(roff: &mut Roff, section: &str, rows: impl Iterator<Item = (&'t str, &'t str)>) {
    let mut rows = rows.peekable();
    if rows.peek().is_some() {
        roff.control("SH", [section]);
    }
    for (term, meaning) in rows {
        roff.control("TP", []).text([bold(term)]);
        text(roff, meaning);
    }
}

/// Returns the variables that a command reads; for the program, all variables.
fn environment(command: Option<&Entry>, parser: &clap::Command) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is = |names: &[&str]| command.is_none_or(|command| names.contains(&command.name));
    let has = |option| parser.get_arguments().any(|argument| argument.get_long() == Some(option));
    let lrzip = is(&["lrzip", "lrunzip", "lrzcat", "lrztar", "lrzuntar"]);
    let rows = [
        (
            is(&["pack", "tar2sqfs", "gensquashfs"]),
            "SOURCE_DATE_EPOCH",
            "Creation time of the image in seconds since 1970, unless an option sets it",
        ),
        (
            command.is_none() || has("mem") || has("maxram"),
            "TMPDIR",
            "Directory for temporary files [default: /var/tmp]",
        ),
        (
            command.is_none() || has("cache"),
            "PACKLINE_CACHE",
            "Cache of compressed blocks, in the form of --cache; other users cannot see a password in it",
        ),
        (true, "NO_COLOR", "If it is set, messages have no colours"),
        (true, "PACKLINE_LOG", "Level of the log on standard error: error, warn, info, debug or trace"),
        (lrzip, "LRZIP", "NOCONFIG ignores lrzip.conf"),
        (lrzip, "HOME", "Directory that may contain .lrzip/lrzip.conf"),
    ];
    rows.into_iter().filter_map(|(read, name, meaning)| read.then_some((name, meaning)))
}

fn see_also(command: Option<&Entry>) -> String {
    let Some(command) = command else { return "mksquashfs(1), tar2sqfs(1), lrzip(1), mount(8)".to_string() };
    let group = GROUPS.iter().find(|group| group.commands.contains(&command.name));
    let group = group.map_or([].as_slice(), |group| group.commands);
    let others = group.iter().filter(|&&other| other != command.name).map(|other| format!("packline-{other}(1)"));
    ["packline(1)".to_string()].into_iter().chain(others).collect::<Vec<_>>().join(", ")
}

/// Writes a paragraph in short lines.
fn text(roff: &mut Roff, paragraph: &str) {
    for line in wrap(paragraph, COLUMNS).lines() {
        roff.text([roman(line)]);
    }
}
