//! A page of the guide as text and blocks of commands.

/// What a part of a page is.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// Commands for `sh -eu`.
    Script,
    /// Commands after `$ `, with their outputs.
    Session,
    /// Commands that cannot run in a test, and the reason.
    NotRun(String),
}

/// Consecutive lines of a page.
#[derive(Debug)]
pub struct Part {
    pub kind: Kind,
    /// The number of the first line.
    pub line: usize,
    pub text: String,
}

const HIDDEN: &str = "<!-- sh";
const NEEDS: &str = "<!-- needs: ";
const NOT_RUN: &str = "not-run: ";
/// Languages of blocks that are not run.
const LANGUAGES: [&str; 10] = ["text", "c", "rust", "python", "toml", "ini", "yaml", "json", "make", "dockerfile"];

/// Splits a page into parts, whose texts together are the page.
pub fn parse(page: &str) -> Result<Vec<Part>, String> {
    let mut parts = vec![Part { kind: Kind::Text, line: 1, text: String::new() }];
    let mut end = None;
    for (line, number) in page.split_inclusive('\n').zip(1..) {
        let trimmed = line.trim_end();
        let is_end = end == Some(trimmed);
        if is_end {
            end = None;
            parts.push(Part { kind: Kind::Text, line: number, text: String::new() });
        }
        if let Some(part) = parts.last_mut() {
            part.text.push_str(line);
        }
        if !is_end && end.is_none() && (trimmed == HIDDEN || trimmed.starts_with("```")) {
            let kind = kind_of(trimmed).map_err(|cause| format!("line {number}: {cause}"))?;
            end = Some(if trimmed == HIDDEN { "-->" } else { "```" });
            parts.push(Part { kind, line: number + 1, text: String::new() });
        } else if end.is_none() && trimmed.starts_with("    packline ") {
            return Err(format!("line {number}: a command outside of a fenced block"));
        }
    }
    if end.is_some() { Err("the last block has no end".into()) } else { Ok(parts) }
}

/// The kind of the block that a line begins.
fn kind_of(line: &str) -> Result<Kind, String> {
    if line == HIDDEN {
        return Ok(Kind::Script);
    }
    let info = &line[3..];
    let (language, rest) = info.split_once([' ', ',']).unwrap_or((info, ""));
    let is_shell = matches!(language, "sh" | "console");
    match (language, rest.strip_prefix(NOT_RUN)) {
        ("sh", None) if rest.is_empty() => Ok(Kind::Script),
        ("console", None) if rest.is_empty() => Ok(Kind::Session),
        (_, Some(reason)) if is_shell && !reason.is_empty() => Ok(Kind::NotRun(reason.into())),
        _ if LANGUAGES.contains(&language) => Ok(Kind::Text),
        _ => {
            Err(format!("{line} (expected sh, console, each alone or with `{NOT_RUN}REASON`, or one of {LANGUAGES:?})"))
        }
    }
}

/// The programs and rights that the commands of a page need.
pub fn needs(page: &str) -> impl Iterator<Item = &str> {
    let lists = page.lines().filter_map(|line| line.strip_prefix(NEEDS)?.strip_suffix(" -->"));
    lists.flat_map(str::split_whitespace)
}

#[test]
fn parts_are_the_whole_page() {
    let page = "# A\n<!-- needs: tar fuse -->\n\n```sh\ncp a b\n```\nText\n```console\n$ ls\na\n```\n<!-- sh\ntrue\n-->\n```sh not-run: needs a cluster\nx\n```\n";
    let parts = parse(page).unwrap();
    assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), page);
    let kinds: Vec<&Kind> = parts.iter().map(|part| &part.kind).filter(|kind| **kind != Kind::Text).collect();
    assert_eq!(kinds, [&Kind::Script, &Kind::Session, &Kind::Script, &Kind::NotRun("needs a cluster".into())]);
    assert_eq!(parts[1].line, 5);
    assert_eq!(needs(page).collect::<Vec<_>>(), ["tar", "fuse"]);
}

#[test]
fn unknown_blocks_are_errors() {
    for page in
        ["```\nls\n```\n", "```bash\nls\n```\n", "```sh not-run:\nls\n```\n", "```sh\nls\n", "    packline list x\n"]
    {
        assert!(parse(page).is_err(), "{page}");
    }
}
