//! Compares the tables of `docs/compat` with the parser: every option of a drop-in and of the program that it replaces.
//! `UPDATE_COMPAT=1` writes the tables.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};

use super::harness::run;
use crate::args::parser::{full_name, parser_of};
use crate::args::{Compat, Entry};
use crate::compat::squashfuse::words::{WORDS, Word};
use crate::dispatch::table::COMMANDS;

/// The start of the help of an option without effect, before the reason.
const WITHOUT_EFFECT: &str = "Accepted without effect: ";
/// The start of the help of a rejected option, before the alternative.
const REFUSED: &str = "Not supported yet";

#[test]
#[expect(clippy::disallowed_methods, reason = "how a person asks for new tables")]
fn the_tables_are_those_of_the_parsers() {
    let directory = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compat"));
    let update = std::env::var_os("UPDATE_COMPAT").is_some();
    let mut files = BTreeSet::from(["README.md".to_string()]);
    let mut index = String::from(INDEX);
    for entry in drop_ins() {
        let peer = Peer::of(entry.name);
        let name = format!("{}.md", entry.name);
        let (page, counts) = page(entry, &peer);
        writeln!(index, "| [{}]({name}) | {} | {} |", entry.name, peer.release, counts.join(" | ")).unwrap();
        check(&directory.join(&name), &page, update);
        files.insert(name);
    }
    check(&directory.join("README.md"), &index, update);
    let there = fs::read_dir(&directory).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(there.collect::<BTreeSet<String>>(), files);
}

#[test]
fn refused_options_say_so() {
    for entry in drop_ins() {
        for option in parser_of(entry).get_arguments().filter(|option| help(option).starts_with(REFUSED)) {
            let mut words = vec![entry.name.to_string(), names(entry.compat, option)[0].clone()];
            words.extend(option.get_action().takes_values().then(|| "1".to_string()));
            let words: Vec<&str> = words.iter().map(String::as_str).chain(["a", "b"]).collect();
            let ran = run(&words);
            assert!(ran.status == entry.compat.usage_status(), "{words:?}: {ran:?}");
            assert!(ran.err.contains(words[1]) && ran.err.contains("not supported"), "{words:?}: {ran:?}");
        }
        for word in words(entry).iter().filter(|word| word.help.starts_with(REFUSED)) {
            let typed = if word.value.is_empty() { word.name.to_string() } else { format!("{}=1", word.name) };
            let ran = run(&[entry.name, "-o", &typed, "a", "b"]);
            assert!(ran.status == entry.compat.usage_status(), "{typed}: {ran:?}");
            assert!(ran.err.contains(&typed) && ran.err.contains("not supported"), "{typed}: {ran:?}");
        }
    }
}

const INDEX: &str = "# Drop-ins\n\n\
    packline also runs under the names of other programs, with their options. `packline links DIR` creates links with these names.\n\
    Each page lists the options of one program, and where packline differs on purpose. The columns count options:\n\n\
    - **as there**: the option does the same as in the named release of the original program.\n\
    - **no effect**: packline accepts the option and ignores it. The page gives the reason.\n\
    - **refused**: packline reports an error that names an alternative.\n\
    - **added**: only packline has the option.\n\n\
    The pages are generated from the options of the program, and a test compares them.\n\n\
    | program | release | as there | no effect | refused | added |\n|---|---|---:|---:|---:|---:|\n";

fn drop_ins() -> impl Iterator<Item = &'static Entry> {
    COMMANDS.iter().filter(|entry| entry.compat.is_drop_in())
}

fn check(path: &std::path::Path, page: &str, update: bool) {
    if update {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, page).unwrap();
    }
    let there = fs::read_to_string(path).unwrap_or_default();
    assert!(there == page, "{} is not what the parser says; run with UPDATE_COMPAT=1", path.display());
}

/// The program that a drop-in replaces.
struct Peer {
    release: &'static str,
    options: BTreeSet<&'static str>,
}

impl Peer {
    fn of(name: &str) -> Peer {
        let mut parts = include_str!("peer_options.txt").split("\n\n").skip(1);
        let (head, options) = parts
            .find_map(|part| part.split_once('\n').filter(|(head, _)| head.split(' ').any(|word| word == name)))
            .unwrap_or_else(|| panic!("peer_options.txt lacks {name}"));
        let release = head.split_once('(').unwrap().1.trim_end_matches(')');
        Peer { release, options: options.split_whitespace().collect() }
    }
}

/// Returns a page, and the number of options of each kind.
fn page(entry: &Entry, peer: &Peer) -> (String, Vec<String>) {
    let parser = parser_of(entry);
    let mut page = format!("# {0}\n\n`{0}` of packline replaces `{0}` of {1}.", full_name(entry), peer.release);
    if !entry.differences.is_empty() {
        page.push_str(" It differs on purpose in these points:\n");
    }
    entry.differences.iter().for_each(|line| page.push_str(&format!("\n- {line}")));
    page.push_str("\n\n| option | here | |\n|---|---|---|\n");
    let mut counts = [0; 4];
    let mut known = BTreeSet::new();
    for option in parser.get_arguments().filter(|option| !option.is_positional()) {
        let names = names(entry.compat, option);
        let is_known = names.iter().any(|name| peer.options.contains(name.as_str()));
        counts[row(&mut page, &with_value(&names, option), is_known, &help(option))] += 1;
        known.extend(names);
    }
    for word in words(entry) {
        let name = format!("{}{}", word.name, if word.value.is_empty() { "" } else { "=" });
        let is_known = peer.options.contains(name.as_str());
        counts[row(&mut page, &format!("-o {}", shown(word)), is_known, word.help)] += 1;
        known.insert(name);
    }
    for name in peer.options.iter().filter(|name| !known.contains(**name)) {
        let by_cluster = clustered(&parser, name);
        assert!(!by_cluster, "{} {name}", entry.name);
        counts[2] += 1;
        writeln!(page, "| `{name}` | refused | An unknown option |").unwrap();
    }
    (page, counts.iter().map(ToString::to_string).collect())
}

/// Words of `-o`.
fn words(entry: &Entry) -> &'static [Word] {
    if entry.compat == Compat::Squashfuse { WORDS } else { &[] }
}

/// Adds a row, and returns which kind of option it is for.
fn row(page: &mut String, shown: &str, is_known: bool, help: &str) -> usize {
    let kind = if !is_known {
        3
    } else if help.starts_with(WITHOUT_EFFECT) {
        1
    } else if help.starts_with(REFUSED) {
        2
    } else {
        0
    };
    let text = help.strip_prefix(WITHOUT_EFFECT).unwrap_or(help).replace('|', "\\|");
    writeln!(page, "| `{shown}` | {} | {text} |", ["as there", "no effect", "refused", "added"][kind]).unwrap();
    kind
}

/// A word of `-o` with its value.
fn shown(word: &Word) -> String {
    format!("{}{}{}", word.name, if word.value.is_empty() { "" } else { "=" }, word.value)
}

/// Returns whether a word that is not an option would be parsed as a cluster of one-letter options.
fn clustered(parser: &Command, name: &str) -> bool {
    let letters = name.trim_start_matches('-');
    !name.starts_with("--")
        && letters.len() > 1
        && letters.chars().all(|letter| {
            parser
                .get_arguments()
                .any(|option| option.get_short_and_visible_aliases().is_some_and(|all| all.contains(&letter)))
        })
}

fn help(option: &Arg) -> String {
    option.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns all names of an option as typed, short names first.
fn names(compat: Compat, option: &Arg) -> Vec<String> {
    let hyphens = if compat == Compat::SquashfsTools { "-" } else { "--" };
    let shorts = option.get_short().into_iter().chain(option.get_all_short_aliases().unwrap_or_default());
    let longs = option.get_long().into_iter().chain(option.get_all_aliases().unwrap_or_default());
    shorts.map(|short| format!("-{short}")).chain(longs.map(|long| format!("{hyphens}{long}"))).collect()
}

fn with_value(names: &[String], option: &Arg) -> String {
    let value = option.get_value_names().filter(|_| option.get_action().takes_values());
    let value = value.map_or(String::new(), |names| with_separator(&names.join(" "), option));
    let repeated = matches!(option.get_action(), ArgAction::Append)
        && option.get_num_args().is_some_and(|number| number.max_values() > 1);
    format!("{}{value}{}", names.join(", "), if repeated { "..." } else { "" })
}

/// Returns a value as typed after the name of an option. Some options accept a value only after `=`, or none.
fn with_separator(value: &str, option: &Arg) -> String {
    let may_lack = option.get_num_args().is_some_and(|number| number.min_values() == 0);
    match (option.is_require_equals_set(), may_lack) {
        (true, true) => format!("[={value}]"),
        (true, false) => format!("={value}"),
        (false, _) => format!(" {value}"),
    }
}
