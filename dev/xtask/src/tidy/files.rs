//! Rules on files, and on the paths in documents, which must exist.

use std::path::Path;

/// Longer files give the reason in a line of their head that begins with [`REASON`].
const MAX_LINES: usize = 500;
const REASON: &str = "//! Long because ";
/// Files with longer functions give such a reason.
const MAX_FUNCTION_LINES: usize = 60;
/// Lines of a file's head.
const HEAD: usize = 30;
/// Files that may hold `unsafe`: two crates, a file that has to run before the runtime, and one for descriptors given by number.
const UNSAFE_IN: [&str; 4] =
    ["crates/codec/", "crates/capi/", "crates/cli/src/host/closed_streams.rs", "crates/cli/src/host/descriptors.rs"];

/// Checks a source file.
pub fn source(name: &str, text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    if !text.starts_with("//! ") {
        violations.push("its first line does not describe its role (expected `//! ...`)".to_owned());
    }
    let lines = text.lines().count();
    let excused = text.lines().take(HEAD).any(|line| line.starts_with(REASON));
    if lines > MAX_LINES && !excused {
        violations.push(format!("{lines} lines (expected at most {MAX_LINES}, or `{REASON}...` at its head)"));
    }
    if !excused {
        violations.extend(long_functions(text));
    }
    // Concatenated, so that this file does not contain the pattern.
    let allowed = ["allow(unsafe", "_code"].concat();
    if text.contains(&allowed) && !UNSAFE_IN.iter().any(|place| name.starts_with(place)) {
        violations.push(format!("unsafe code (expected only in {UNSAFE_IN:?})"));
    }
    violations
}

/// Functions of more than [`MAX_FUNCTION_LINES`] lines. The source is formatted, so that a function ends at the first line that is a brace with
/// the indentation of its first line.
fn long_functions(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut violations = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = lines[number..].iter().position(|line| *line == end).map_or(0, |last| last + 1);
        if length > MAX_FUNCTION_LINES {
            violations.push(format!(
                "line {}: {name} has {length} lines (expected at most {MAX_FUNCTION_LINES})",
                number + 1
            ));
        }
    }
    violations
}

/// The name of the function whose body a line begins.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| matches!(word, "pub" | "const" | "unsafe" | "async") || word.starts_with("pub(");
    let is_function = before.split_whitespace().all(is_qualifier) && !line.ends_with([';', '}']);
    is_function.then(|| after.split(['(', '<']).next().unwrap_or(after))
}

/// Paths that exist on one machine only.
pub fn paths(text: &str) -> Vec<String> {
    let marks = [["/ro", "ot/"].concat(), ["/Use", "rs/"].concat(), ["/wo", "rk/"].concat()];
    let found = |mark: &String| {
        let line = text.lines().position(|line| starts_a_path(line, mark))?;
        Some(format!("line {}: a path of one machine, {mark}", line + 1))
    };
    marks.iter().filter_map(found).collect()
}

/// Whether `mark` begins a path in the line and is not inside a longer one.
fn starts_a_path(line: &str, mark: &str) -> bool {
    let free = |at: usize| !line[..at].ends_with(|before: char| before.is_alphanumeric() || "._-*})>".contains(before));
    line.match_indices(mark).any(|(at, _)| free(at))
}

/// A violation for each name in backticks or links that looks like a path in the repository and does not exist.
pub fn missing(root: &Path, text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let linked = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let gone = quoted.chain(linked).filter(|name| is_ours(name) && !root.join(name).exists());
    gone.map(|name| format!("{name} does not exist")).collect()
}

/// Whether a quoted text looks like a path in the repository.
fn is_ours(name: &str) -> bool {
    const PLACES: [&str; 7] = ["crates/", "dev/", "docs/", "bench/", ".ci/", ".cargo/", "tests/"];
    let plain = !name.contains([' ', '*', '<', '{', '$', ':', '#']);
    plain && PLACES.iter().any(|place| name.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_length_and_unsafe() {
        assert!(source("crates/x/src/a.rs", "//! Role.\n").is_empty());
        assert_eq!(source("a.rs", "use std;\n").len(), 1);
        let long = format!("//! Role.\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(source("a.rs", &long).len(), 1);
        assert!(source("a.rs", &format!("//! Role.\n{REASON}tables.\n{}", "\n".repeat(MAX_LINES))).is_empty());
        let allow = ["//! Role.\n#![allow(unsafe", "_code)]\n"].concat();
        assert_eq!(source("crates/tree/src/a.rs", &allow).len(), 1);
        assert!(source("crates/codec/src/a.rs", &allow).is_empty());
    }

    #[test]
    fn lines_of_functions() {
        let function = |lines: usize| {
            format!("//! Role.\nmod a {{\n    pub(crate) fn f<T>() {{\n{}    }}\n}}\n", "\n".repeat(lines))
        };
        assert!(source("a.rs", &function(MAX_FUNCTION_LINES - 2)).is_empty());
        let found = source("a.rs", &function(MAX_FUNCTION_LINES - 1));
        assert_eq!(
            found,
            [format!("line 3: f has {} lines (expected at most {MAX_FUNCTION_LINES})", MAX_FUNCTION_LINES + 1)]
        );
    }

    #[test]
    fn machine_paths() {
        let own = ["see /wo", "rk/me/notes"].concat();
        assert_eq!(paths(&own).len(), 1);
        assert!(paths(&["image/wo", "rk/me"].concat()).is_empty());
        assert!(paths("/usr/share and /tmp/x").is_empty());
    }

    #[test]
    fn missing_paths_are_found() {
        let root = crate::shell::root();
        assert!(missing(root, "`dev/xtask/Cargo.toml`, [x](dev/xtask/src/main.rs), `cargo test`, `a/b.rs`").is_empty());
        assert_eq!(
            missing(root, "see `dev/xtask/src/gone.rs` and [y](docs/gone.md)"),
            ["dev/xtask/src/gone.rs does not exist", "docs/gone.md does not exist"]
        );
    }
}
