//! The page: head, facts, sections and style.

use super::markup::{escaped, table};
use super::palette::Palette;
use super::section::{self, Series};
use super::speeds;
use crate::report::figures::{Figures, Group, figures, groups};
use crate::report::verdict::verdict;
use crate::report::{Case, Report, Task, fragments, number, serial, tables};

const STYLE: &str = include_str!("style.css");
const DARK: &str = include_str!("dark.css");
const SCRIPT: &str = include_str!("theme.js");

pub fn html(report: &Report) -> String {
    let title = match report.input.name.as_str() {
        "" => "Benchmark".to_string(),
        name => format!("Benchmark: {name}"),
    };
    let figures = figures(report);
    let groups = groups(&figures);
    let palette = Palette::of(report.measured.iter().map(|one| &one.case));
    let mut sections: Vec<(String, String)> =
        groups.iter().map(|group| (group.title(), section(group, &palette))).collect();
    sections.extend(fragments_section(&figures));
    sections.extend(
        tables::codecs(&report.codecs, false)
            .map(|rows| ("Codecs in memory".to_string(), speeds::speeds(&report.codecs) + &table(&rows))),
    );
    let of_threads = serial::tables(report).into_iter();
    sections.extend(of_threads.map(|(title, rows)| (title.to_string(), table(&rows))));
    sections.extend(notes(report));
    let body: String = sections.iter().enumerate().map(|(at, (title, body))| numbered(at, title, body)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         {}<main>\n{}{body}</main>\n<footer>Made by packline bench. The figures of every run are in its CSV and JSON.</footer>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escaped(&title),
        style(),
        header(report, &title),
        contents(&sections) + &alarm(report) + &list("verdict", &verdict(report, &figures)) + &in_short(&figures),
    )
}

/// The dark colours occur twice: for readers whose system requests them, and for readers who choose them. They are not for print.
fn style() -> String {
    format!(
        "{STYLE}@media screen and (prefers-color-scheme: dark) {{\n:root:not([data-theme=light]) {{\n{DARK}}}\n}}\n\
         @media screen {{\n:root[data-theme=dark] {{\n{DARK}}}\n}}\n"
    )
}

fn header(report: &Report, title: &str) -> String {
    let fact = |(name, value): (&str, String)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(&value));
    let facts: String = tables::facts(report).into_iter().map(fact).collect();
    let program = |program: &crate::report::Program| fact((&program.name, program.version.clone()));
    let programs: String = report.programs.iter().map(program).collect();
    let command = match report.command.as_str() {
        "" => String::new(),
        command => format!("<pre class=\"command\">{}</pre>\n", escaped(command)),
    };
    format!(
        "<header>\n<button id=\"theme\" type=\"button\" hidden>Theme</button>\n<h1>{}</h1>\n{command}<dl>\n{facts}{programs}</dl>\n</header>\n",
        escaped(title)
    )
}

fn contents(sections: &[(String, String)]) -> String {
    if sections.len() < 2 {
        return String::new();
    }
    let entry = |(at, (title, _)): (usize, &(String, String))| format!("<a href=\"#s{at}\">{}</a>\n", escaped(title));
    format!("<nav>\n{}</nav>\n", sections.iter().enumerate().map(entry).collect::<String>())
}

fn numbered(at: usize, title: &str, body: &str) -> String {
    format!("<section id=\"s{at}\">\n<h2>{}</h2>\n{body}</section>\n", escaped(title))
}

/// Failures, before everything else.
fn alarm(report: &Report) -> String {
    let paragraph = |word: &str, text: &String| format!("<p><strong>{word}</strong>: {}</p>\n", escaped(text));
    let incomplete = report.incomplete.iter().map(|reason| paragraph("Incomplete", reason));
    let all: String = incomplete.chain(report.failures.iter().map(|failure| paragraph("Failed", failure))).collect();
    if all.is_empty() { all } else { format!("<div class=\"alarm\" role=\"alert\">\n{all}</div>\n") }
}

/// Returns a list; an empty text without sentences.
fn list(class: &str, sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}</li>\n", escaped(sentence))).collect();
    if items.is_empty() { items } else { format!("<ul class=\"{class}\">\n{items}</ul>\n") }
}

fn section<'g>(group: &'g Group<'g, 'g>, palette: &'g Palette<'g>) -> String {
    let series = Series::of(group, palette);
    let table = format!("<h3>Figures</h3>\n{}", table(&tables::runs(group)));
    [series.pareto(), series.by_jobs(), section::versus(&series), table].concat()
}

fn fragments_section(figures: &[Figures]) -> Option<(String, String)> {
    let ways = fragments::fragments(figures);
    let rows = fragments::table(&ways)?;
    let words = escaped(&fragments::verdict(&ways));
    Some(("Fragments".into(), format!("<p>{words}</p>\n{}", table(&rows))))
}

fn notes(report: &Report) -> Option<(String, String)> {
    (!report.notes.is_empty()).then(|| ("Notes".into(), list("notes", &report.notes)))
}

/// Returns the smallest image, the fastest run and the least processor time of packing, each with its program.
fn in_short(figures: &[Figures]) -> String {
    // Storing is always the fastest.
    let compresses = |case: &Case| case.task == Task::Pack && case.codec != "none";
    let all = || figures.iter().filter(|one| compresses(&one.measured.case));
    if all().count() < 2 {
        return String::new();
    }
    let smallest = all().filter(|one| one.ratio.is_some()).min_by_key(|one| (one.measured.image_bytes, millis(one)));
    let fastest = all().filter(|one| one.throughput.is_some()).min_by_key(|one| millis(one));
    let leanest = all().filter(|one| one.cpu.is_some()).min_by_key(|one| one.cpu.map(|cpu| (cpu.median * 1e3) as u64));
    let found = [("Smallest", smallest), ("Fastest", fastest), ("Least CPU", leanest)];
    let cards: String = found.into_iter().filter_map(|(name, one)| one.map(|one| card(name, one))).collect();
    if cards.is_empty() { cards } else { format!("<div class=\"cards\">\n{cards}</div>\n") }
}

fn millis(one: &Figures) -> u64 {
    one.wall.map_or(u64::MAX, |wall| (wall.median * 1e3) as u64)
}

fn card(name: &str, one: &Figures) -> String {
    let case = &one.measured.case;
    let mut words =
        vec![number::block_size(case.block_size), tables::tails(case.tails).into(), format!("jobs {}", case.jobs)];
    words.retain(|word| !word.is_empty());
    let mut facts = vec![
        one.ratio.map(|ratio| format!("{} %", number::percent(ratio))),
        one.throughput.map(|speed| format!("{} MB/s", number::megabytes(speed))),
        one.cpu.map(|cpu| format!("{} s CPU", number::short(cpu.median))),
    ];
    facts.retain(Option::is_some);
    format!(
        "<div class=\"card\"><b>{name}</b><strong>{}</strong><span>{}</span><small>{}</small></div>\n",
        escaped(&format!("{} · {}", case.program, case.codec)),
        escaped(&facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")),
        escaped(&words.join(", "))
    )
}
