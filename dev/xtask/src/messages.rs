//! Lists the errors and warnings of the program with their places in the sources, so that they can be read in one go.

use std::fmt;

use serde_json::json;

use crate::shell;

/// Words before a literal that make it a part of a warning.
const WARNING: [&str; 2] = ["warn", "WARNING"];
/// Words before a literal that make it a part of an error about the command line.
const USAGE: [&str; 4] = ["Failure::usage", "Failure::Usage", "wrong(", "value_parser"];
/// Words before a literal that make it a part of an error.
const ERROR: [&str; 36] = [
    "#[error(",
    "Err(",
    "ok_or",
    "map_err",
    "rror",
    "ault",
    "ailure",
    "efus",
    "malformed",
    "corrupt",
    "damaged",
    "unsupported",
    "Unsupported",
    "invalid",
    "expected",
    "what",
    "problem",
    "reason",
    "hint",
    "way_out",
    "missing",
    "unfit",
    "failed",
    "Exists",
    "why",
    "bad(",
    "INSTEAD",
    "OTHER",
    "too_",
    "limit(",
    "other =>",
    "panicked",
    "stopped",
    "denied",
    "not_here",
    "message",
];
/// Words before a literal that is not a message.
const OTHER: [&str; 15] = [
    "debug!",
    "trace!",
    "info!",
    ".expect(",
    "assert",
    "panic!",
    "#[doc",
    "#[allow",
    "#[command",
    "#[arg",
    "#[cfg",
    ".help(",
    "json!",
    "env!",
    "concat!",
];
/// Parts of names of functions and constants with help and descriptions.
const DESCRIPTIONS: [&str; 8] =
    ["HELP", "DETAILS", "DIFFERENCES", "EXAMPLES", "LANGUAGE", "help", "details", "DESCRIPTION"];
/// The code before a literal that is searched for these words, in bytes.
const LOOKED_AT: usize = 400;

#[derive(Debug, clap::Args)]
pub struct Options {
    /// Print one JSON object per message
    #[arg(long)]
    json: bool,
    /// Print the texts of this kind only: error, usage or warning
    #[arg(long)]
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Error,
    Usage,
    Warning,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Error => "error",
            Kind::Usage => "usage",
            Kind::Warning => "warning",
        })
    }
}

/// A text of a message: the whole, or one of its parts.
#[derive(Debug)]
struct Message {
    line: usize,
    kind: Kind,
    text: String,
}

/// A string literal of a source file.
struct Literal<'s> {
    line: usize,
    text: String,
    /// The code before it, without the contents of other literals and without comments.
    before: &'s str,
}

/// Prints the messages of all crates of the product.
///
/// # Errors
/// A source file cannot be read.
pub fn run(options: &Options) -> Result<(), String> {
    let root = shell::root();
    let mut lines = String::new();
    let mut paths = shell::files(root)?;
    paths.sort();
    for path in paths {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if !is_source(&name) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{name}: {cause}"))?;
        let wanted = |message: &Message| options.kind.is_none_or(|kind| kind == message.kind);
        for Message { line, kind, text } in messages(&text).into_iter().filter(wanted) {
            lines += &if options.json {
                format!("{}\n", json!({ "file": name, "line": line, "kind": kind.to_string(), "text": text }))
            } else {
                format!("{name}:{line}: {kind}: {text}\n")
            };
        }
    }
    shell::print(lines.trim_end());
    Ok(())
}

fn is_source(name: &str) -> bool {
    let is_test = name.contains("/tests/") || name.contains("/examples/") || name.ends_with("tests.rs");
    name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs") && !is_test
}

/// Returns the messages in a source file.
fn messages(source: &str) -> Vec<Message> {
    let end = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
    let mut code = String::new();
    let mut found = Vec::new();
    let mut rest = &source[..end];
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = literal_length(rest, &code).unwrap_or_else(|| other_length(rest));
        let token = &rest[..length];
        if let Some(text) = text_of(token) {
            found.extend(message(&Literal { line, text, before: &code }));
            code.push_str("\"\"");
        } else if !token.starts_with("//") {
            code.push_str(if first == '\'' && length > 2 { "' '" } else { token });
        }
        line += token.matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Returns the length of the string literal at the start of the code, if there is one.
fn literal_length(code: &str, before: &str) -> Option<usize> {
    if let Some(body) = code.strip_prefix('"') {
        let mut escaped = false;
        let end = body.find(|letter: char| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        return Some(end.map_or(code.len(), |end| end + 2));
    }
    let is_inside_word = before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    let body = code.strip_prefix('r').filter(|_| !is_inside_word)?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let body = body[hashes..].strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(hashes));
    let end = body.find(&closing)?;
    Some(1 + hashes + 1 + end + closing.len())
}

/// Returns the length of a comment to the end of its line, of a character literal, or of one character.
fn other_length(code: &str) -> usize {
    if code.starts_with("//") {
        return code.find('\n').unwrap_or(code.len());
    }
    let one = code.chars().next().map_or(1, char::len_utf8);
    let Some(body) = code.strip_prefix('\'') else { return one };
    let escaped = usize::from(body.starts_with('\\'));
    let Some(letter) = body[escaped..].chars().next() else { return one };
    let end = escaped + letter.len_utf8();
    // A lifetime has no second quotation mark.
    if body[end..].starts_with('\'') { end + 2 } else { one }
}

/// Returns the text of a string literal; a line end after a backslash is not a part of it.
fn text_of(token: &str) -> Option<String> {
    let body = token.trim_start_matches('r').trim_matches('#').strip_prefix('"')?.strip_suffix('"')?;
    let mut lines = body.split("\\\n");
    let first = lines.next().unwrap_or_default().to_string();
    Some(lines.fold(first, |text, line| text + line.trim_start()))
}

/// Returns the message that a literal is a part of, if its words and the code before it say so.
fn message(literal: &Literal<'_>) -> Option<Message> {
    let text = literal.text.trim();
    let is_text = text.contains(' ') && text.chars().filter(char::is_ascii_lowercase).count() > 1;
    let mut start = literal.before.len().saturating_sub(LOOKED_AT);
    while !literal.before.is_char_boundary(start) {
        start += 1;
    }
    let before = &literal.before[start..];
    let statement = before.rsplit([';', '{', '}']).next().unwrap_or_default();
    let statement = statement.rsplit("=>").next().unwrap_or_default();
    let has = |words: &[&str]| words.iter().any(|word| statement.contains(word));
    let name = item(literal.before);
    if !is_text || has(&OTHER) || name.is_some_and(|name| DESCRIPTIONS.iter().any(|part| name.contains(part))) {
        return None;
    }
    let kind = if has(&WARNING) {
        Kind::Warning
    } else if has(&USAGE) {
        Kind::Usage
    } else if has(&ERROR) || name.is_some_and(|name| ERROR.iter().any(|word| name.contains(word))) {
        Kind::Error
    } else {
        return None;
    };
    Some(Message { line: literal.line, kind, text: literal.text.clone() })
}

/// Returns the name of the last function or constant that the code declares.
fn item(code: &str) -> Option<&str> {
    let starts = ["fn ", "const ", "static "].into_iter().filter_map(|word| Some(code.rfind(word)? + word.len()));
    let name = &code[starts.max()?..];
    name.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, Kind, String)> {
        messages(source).into_iter().map(|message| (message.line, message.kind, message.text)).collect()
    }

    #[test]
    fn finds_errors_warnings_and_usage_with_their_lines() {
        let source = "#[error(\"cannot read: {0}\")]\nRead(io::Error),\n\
                      fn f() {\n    io.warn(\"two words\");\n    return Err(wrong(\"x\", \"has no \\\n        effect\"));\n}\n";
        let expected =
            [(1, Kind::Error, "cannot read: {0}"), (4, Kind::Warning, "two words"), (5, Kind::Usage, "has no effect")];
        assert_eq!(texts(source), expected.map(|(line, kind, text)| (line, kind, text.to_string())));
    }

    #[test]
    fn leaves_out_comments_help_logs_and_tests() {
        let source = "// Err(\"a comment here\")\nconst HELP: &str = \"some help here\";\nlog::debug!(\"a failed step\");\n\
                      let c = '\"'; let s: &'static str = \"plain text here\";\n#[cfg(test)]\nmod tests { Err(\"in a test\") }\n";
        assert!(texts(source).is_empty(), "{:?}", texts(source));
    }

    #[test]
    fn reads_raw_and_escaped_literals() {
        assert_eq!(texts("Err(r#\"a \"b\" c\"#)")[0].2, "a \"b\" c");
        assert_eq!(texts("Err(\"a \\\"b\\\" c\"); Err(\"d e\")").len(), 2);
    }

    /// Returns the parts of a message of the guide that its source has in one piece. Values are in capitals; an offset, values in parentheses and
    /// a hint may be added to any message, and a message may be the cause of another.
    fn fixed_parts(message: &str) -> Vec<String> {
        let is_value = |word: &&str| !word.contains(|letter: char| letter.is_ascii_lowercase());
        let parts = message
            .split("; ")
            .flat_map(|part| part.split(" (expected "))
            .flat_map(|part| part.split(" ("))
            .flat_map(|part| part.split(" at byte "))
            .flat_map(|part| part.split(": "));
        let fixed = parts.flat_map(|part| {
            let words: Vec<&str> = part.split(' ').collect();
            words.split(is_value).map(|words| words.join(" ")).collect::<Vec<String>>()
        });
        fixed.map(|part| part.trim_matches([':', ',', ')']).to_string()).filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn the_messages_of_the_guide_are_in_the_sources() {
        let root = shell::root();
        let is_ours = |path: &std::path::PathBuf| is_source(&path.strip_prefix(root).unwrap().to_string_lossy());
        let mut sources = String::new();
        for path in shell::files(&root.join("crates")).unwrap().into_iter().filter(is_ours) {
            // A backslash at the end of a line continues a literal.
            let text = std::fs::read_to_string(path).unwrap();
            sources.extend(text.split("\\\n").map(str::trim_start));
        }
        let guide = std::fs::read_to_string(root.join("docs/guide/src/messages.md")).unwrap();
        let rows = guide.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let parts: Vec<String> = rows.flat_map(|(message, _)| fixed_parts(message)).collect();
        assert!(parts.len() > 150, "{parts:?}");
        let unknown: Vec<&String> = parts.iter().filter(|part| !sources.contains(*part)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn knows_the_messages_of_the_program() {
        let text = std::fs::read_to_string(shell::root().join("crates/cli/src/ui/failure.rs")).unwrap();
        assert!(texts(&text).iter().any(|(_, _, text)| text.contains("--force replaces it")));
    }
}
