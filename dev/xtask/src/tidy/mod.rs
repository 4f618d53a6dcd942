//! Rules that the compiler does not check: on files, words, dependencies between crates, licences, paths in documents, and links between
//! documents.

mod arrows;
mod files;
mod imports;
mod links;
mod policy;
mod words;

use std::path::Path;

use crate::shell;
use links::Document;

/// Extensions of the text files that are checked.
const TEXT: [&str; 5] = ["rs", "md", "toml", "yml", "sh"];

/// Checks all rules. The error lists every violation.
pub fn run() -> Result<(), String> {
    let root = shell::root();
    let mut violations = arrows::check(root)?;
    for path in shell::files(root)? {
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if !TEXT.contains(&kind.as_str()) {
            continue;
        }
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{name}: {cause}"))?;
        let mut found = files::paths(&text);
        match kind.as_str() {
            "rs" => found.extend(files::source(&name, &text).into_iter().chain(words::check(&name, &text))),
            // The changelog names files of the past.
            "md" if name != "CHANGELOG.md" => found.extend(files::missing(root, &text)),
            _ => {}
        }
        violations.extend(found.into_iter().map(|violation| format!("{name}: {violation}")));
    }
    violations.extend(policy::check(root)?);
    violations.extend(links::check(root, &documents(root)?));
    result(&violations)
}

/// Checks the links of documents only.
pub fn links() -> Result<(), String> {
    let root = shell::root();
    result(&links::check(root, &documents(root)?))
}

fn documents(root: &Path) -> Result<Vec<Document>, String> {
    let paths = shell::files(root)?.into_iter().filter(|path| path.extension().is_some_and(|kind| kind == "md"));
    let read = |path: std::path::PathBuf| {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(|cause| format!("{name}: {cause}"))?;
        Ok(Document { name, text })
    };
    paths.map(read).collect()
}

fn result(violations: &[String]) -> Result<(), String> {
    match violations.len() {
        0 => Ok(()),
        count => Err(format!("{count} violations\n  {}", violations.join("\n  "))),
    }
}
