//! Renders the help of packline's own commands: `-h` shows the options that matter, `--help` shows all.

use clap::{Arg, Command};

use super::Entry;
use super::parser::parser_of;
use crate::ui::exit_status;
use crate::ui::wrap::wrap;

/// The heading of the options that every command has.
pub const GENERAL: &str = "General";
/// The heading that comes first.
const FIRST: &str = "Compression";
/// Headings that come last, in this order.
const LAST: [&str; 5] = ["Output", "Report", "Resources", "Scheduling", GENERAL];
/// The most examples that `-h` shows.
const BRIEF_EXAMPLES: usize = 5;
/// The longest option that has its description on the same line, with the indentation.
const LONGEST_TERM: usize = 28;
/// With fewer columns every description is below its option.
const FEWEST_COLUMNS: usize = 60;

/// Returns the answer to `-h`.
pub fn brief(entry: &Entry, columns: usize) -> String {
    let mut parser = parser_of(entry);
    // Only a parser that is built knows the values of its options.
    parser.build();
    let rows: Vec<Row> = essential(entry, &parser).into_iter().map(Row::brief).collect();
    let count = parser.get_arguments().filter(|argument| !argument.is_positional() && is_in_help(argument)).count();
    let more = format!("'packline {} --help' shows all {count} options.", entry.name);
    let page = Page {
        examples: &entry.examples[..entry.examples.len().min(BRIEF_EXAMPLES)],
        groups: vec![operands(&parser), Group { heading: "Options".to_string(), rows }],
        end: [more, exit_status::line(entry.compat, entry.name), manual(entry)].join("\n"),
    };
    page.text(entry, &parser, columns)
}

/// Returns the answer to `--help`.
pub fn full(entry: &Entry, columns: usize) -> String {
    let mut parser = parser_of(entry);
    // Only a parser that is built knows the values of its options.
    parser.build();
    let mut groups = vec![operands(&parser)];
    for heading in headings(&parser) {
        let rows = options_under(&parser, heading).filter(|argument| is_in_help(argument)).map(Row::of).collect();
        groups.push(Group { heading: heading.unwrap_or("Options").to_string(), rows });
    }
    let (lead, sections) = split_details(&(entry.details)());
    let lead = if lead.is_empty() { lead } else { format!("{lead}\n\n") };
    let mut end = format!("{lead}{}\n{}", exit_status::line(entry.compat, entry.name), manual(entry));
    if !sections.is_empty() {
        let titles: Vec<&str> = sections.iter().map(|(title, _)| title.as_str()).collect();
        end += &format!("\nThe manual also explains: {}.", titles.join("; "));
    }
    Page { examples: entry.examples, groups, end }.text(entry, &parser, columns)
}

/// Returns the headings of options in the order of the help. Options without a heading come first.
pub fn headings(parser: &Command) -> Vec<Option<&str>> {
    let mut headings = Vec::new();
    for argument in parser.get_arguments().filter(|argument| !argument.is_positional()) {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    headings.sort_by_key(|heading| rank(*heading));
    headings
}

fn rank(heading: Option<&str>) -> usize {
    let Some(heading) = heading else { return 0 };
    let last = LAST.iter().position(|last| *last == heading);
    last.map_or(if heading == FIRST { 1 } else { 2 }, |at| 3 + at)
}

/// Returns whether `--help` shows an option; the manual page shows it in any case.
fn is_in_help(argument: &Arg) -> bool {
    !argument.is_hide_long_help_set()
}

/// Returns the options under a heading.
pub fn options_under<'p>(parser: &'p Command, heading: Option<&str>) -> impl Iterator<Item = &'p Arg> {
    parser.get_arguments().filter(move |argument| {
        argument.get_help_heading() == heading && !argument.is_hide_set() && !argument.is_positional()
    })
}

/// Splits the text of [`Entry::details`] into the lead, which the help shows, and the sections of the manual page, each with its title. A
/// line that begins with `# ` is a title.
pub fn split_details(details: &str) -> (String, Vec<(String, String)>) {
    let mut lead = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in details.lines() {
        match (line.strip_prefix("# "), sections.last_mut()) {
            (Some(title), _) => sections.push((title.to_string(), String::new())),
            (None, Some((_, section))) => *section += &format!("{line}\n"),
            (None, None) => lead += &format!("{line}\n"),
        }
    }
    (lead.trim_end().to_string(), sections)
}

/// Returns all names of an option and its value, or the name of an operand.
pub fn term(argument: &Arg) -> (Vec<String>, String) {
    let shown = argument.to_string();
    if argument.is_positional() {
        let several = argument.get_value_names().and_then(|names| names.first()).filter(|name| name.contains(' '));
        return (Vec::new(), several.map_or(shown, ToString::to_string));
    }
    let shorts = argument.get_short_and_visible_aliases().unwrap_or_default();
    let longs = argument.get_long_and_visible_aliases().unwrap_or_default();
    let names = shorts.iter().map(|short| format!("-{short}")).chain(longs.iter().map(|long| format!("--{long}")));
    let value = shown.find([' ', '[', '=']).map_or("", |at| &shown[at..]);
    (names.collect(), value.to_string())
}

struct Group {
    heading: String,
    rows: Vec<Row>,
}

/// An option or an operand, and its description.
struct Row {
    term: String,
    description: String,
}

impl Row {
    fn of(argument: &Arg) -> Row {
        let (names, value) = term(argument);
        let indent = if argument.is_positional() || argument.get_short().is_some() { "  " } else { "      " };
        Row { term: format!("{indent}{}{value}", names.join(", ")), description: help_of(argument) }
    }

    /// Keeps only the first clause of the description, its range and its default.
    fn brief(argument: &Arg) -> Row {
        let row = Row::of(argument);
        let (clauses, range) = match row.description.find(" [") {
            Some(at) => row.description.split_at(at),
            None => (row.description.as_str(), ""),
        };
        // A clause does not end in parentheses.
        let is_end = |at: &usize| clauses[..*at].matches('(').count() == clauses[..*at].matches(')').count();
        let ends = [". ", "; "].into_iter().flat_map(|end| clauses.match_indices(end)).map(|(at, _)| at);
        let end = ends.filter(is_end).min().unwrap_or(clauses.len());
        Row { description: format!("{}{range}", &clauses[..end]), ..row }
    }
}

fn help_of(argument: &Arg) -> String {
    argument.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns the options that `-h` shows: the essential ones, or all but the general ones.
fn essential<'p>(entry: &Entry, parser: &'p Command) -> Vec<&'p Arg> {
    if entry.essential.is_empty() {
        let is_own = |argument: &&Arg| {
            !argument.is_positional() && !argument.is_hide_set() && argument.get_help_heading() != Some(GENERAL)
        };
        return parser.get_arguments().filter(is_own).collect();
    }
    let named = |long: &&str| parser.get_arguments().find(|argument| argument.get_long() == Some(*long));
    entry.essential.iter().filter_map(named).collect()
}

fn operands(parser: &Command) -> Group {
    Group { heading: "Arguments".to_string(), rows: parser.get_positionals().map(Row::of).collect() }
}

fn manual(entry: &Entry) -> String {
    let name = entry.name;
    format!("Manual: 'man packline-{name}', or 'packline man {name} | man -l -'")
}

/// The parts of a help that differ between `-h` and `--help`.
struct Page<'e> {
    examples: &'e [&'static str],
    groups: Vec<Group>,
    end: String,
}

impl Page<'_> {
    fn text(&self, entry: &Entry, parser: &Command, columns: usize) -> String {
        let about = parser.get_about().map(ToString::to_string).unwrap_or_default();
        let alias = entry.aliases.first().map_or(String::new(), |alias| format!(" [alias: {alias}]"));
        let mut paragraphs = vec![format!("{about}{alias}"), parser.clone().render_usage().to_string()];
        if !self.examples.is_empty() {
            paragraphs.push(format!("Examples:\n  {}", self.examples.join("\n  ")));
        }
        let shown: Vec<&Group> = self.groups.iter().filter(|group| !group.rows.is_empty()).collect();
        let at = column(shown.iter().flat_map(|group| &group.rows), columns);
        for group in shown {
            let rows: Vec<String> = group.rows.iter().map(|row| row_text(row, at)).collect();
            paragraphs.push(format!("{}:\n{}", group.heading, rows.join("\n")));
        }
        paragraphs.push(self.end.clone());
        wrap(&paragraphs.join("\n\n"), columns) + "\n"
    }
}

/// Returns the column of the descriptions.
fn column<'r>(rows: impl Iterator<Item = &'r Row>, columns: usize) -> usize {
    let widths = rows.map(|row| row.term.chars().count()).filter(|width| *width <= LONGEST_TERM);
    if columns < FEWEST_COLUMNS { 8 } else { widths.max().unwrap_or(0) + 2 }
}

fn row_text(row: &Row, at: usize) -> String {
    let Row { term, description } = row;
    if term.chars().count() + 2 > at {
        format!("{term}\n{}{description}", " ".repeat(at))
    } else {
        format!("{term:<at$}{description}")
    }
}
