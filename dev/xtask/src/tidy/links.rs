//! Rules on links in documents: files and headings exist, and the list of pages is complete.

use std::path::{Component, Path, PathBuf};

/// The list of the pages of the book, and the directory of the pages.
const LIST: &str = "docs/SUMMARY.md";
const PAGES: &str = "docs/";

/// A document with its path in the repository.
pub struct Document {
    pub name: String,
    pub text: String,
}

/// Checks the relative links of all documents.
pub fn check(root: &Path, documents: &[Document]) -> Vec<String> {
    let broken = documents.iter().flat_map(|document| {
        let violations =
            links(&document.text).into_iter().filter_map(|link| violation(root, documents, document, &link));
        violations.map(|violation| format!("{}: {violation}", document.name)).collect::<Vec<_>>()
    });
    broken.chain(unlisted(documents)).collect()
}

fn violation(root: &Path, documents: &[Document], document: &Document, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { document.name.clone() } else { resolve(&document.name, path)? };
    if !root.join(&target).exists() {
        return Some(format!("the link {link} leads to {target}, which does not exist"));
    }
    // The book has no other files.
    if document.name.starts_with(PAGES) && !target.starts_with(PAGES) {
        return Some(format!("the link {link} leads out of {PAGES} (write the path in backticks)"));
    }
    let linked = documents.iter().find(|document| document.name == target);
    let is_missing =
        |linked: &Document| !anchor.is_empty() && !anchors(&linked.text).iter().any(|found| found == anchor);
    linked.is_some_and(is_missing).then(|| format!("the link {link} names a heading that {target} does not have"))
}

/// The path in the repository of a link in a document, or `None` for an address.
fn resolve(document: &str, path: &str) -> Option<String> {
    if path.contains(':') {
        return None;
    }
    let mut whole = PathBuf::new();
    for part in Path::new(document).parent()?.join(path).components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    Some(whole.to_string_lossy().into_owned())
}

/// Pages that are not in the list of pages, or are there twice.
fn unlisted(documents: &[Document]) -> Vec<String> {
    let Some(list) = documents.iter().find(|document| document.name == LIST) else {
        return vec![format!("{LIST} does not exist")];
    };
    let listed: Vec<String> = links(&list.text).iter().filter_map(|link| resolve(LIST, link)).collect();
    let pages = documents.iter().filter(|document| document.name.starts_with(PAGES) && document.name != LIST);
    let counts = pages.map(|page| (&page.name, listed.iter().filter(|name| **name == page.name).count()));
    counts
        .filter(|(_, count)| *count != 1)
        .map(|(page, count)| format!("{LIST}: {page} is listed {count} times"))
        .collect()
}

/// The targets of links outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let code_free: String = line.split('`').step_by(2).collect();
        found.extend(code_free.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
    }
    found
}

/// Lines outside of fenced blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.lines().scan(false, |is_code, line| {
        let is_fence = line.trim_start().starts_with("```");
        *is_code ^= is_fence;
        Some(if *is_code || is_fence { "" } else { line })
    })
}

/// The anchors of headings, as forges and mdBook make them. Headings of one text get a number from the second on.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for heading in
        prose(text).filter_map(|line| Some(line.trim_start_matches('#')).filter(|rest| rest.len() < line.len()))
    {
        let letters = heading.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        let anchor: String =
            letters.flat_map(char::to_lowercase).map(|letter| if letter == ' ' { '-' } else { letter }).collect();
        let is_numbered = |other: &&String| {
            other
                .strip_prefix(&anchor)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-') && rest[1..].parse::<u32>().is_ok())
        };
        let earlier = found.iter().filter(is_numbered).count();
        found.push(if earlier == 0 { anchor } else { format!("{anchor}-{earlier}") });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(documents: &[(&str, &str)]) -> Vec<String> {
        let documents: Vec<Document> =
            documents.iter().map(|(name, text)| Document { name: (*name).into(), text: (*text).into() }).collect();
        check(crate::shell::root(), &documents)
    }

    #[test]
    fn links_to_missing_files_and_headings_are_found() {
        let page = "# Drop-ins\n## `a b`: C.\n[x](compat/README.md) [y](#a-b-c) [z](https://x/y) `[n](m)`\n```sh\n[n](m)\n```\n";
        let list = ("docs/SUMMARY.md", "- [p](architecture.md)");
        assert_eq!(violations(&[list, ("docs/architecture.md", page)]), [""; 0]);
        for link in ["gone.md", "#gone", "architecture.md#gone", "../README.md"] {
            assert_eq!(
                violations(&[list, ("docs/architecture.md", &format!("# A\n[x]({link})\n"))]).len(),
                1,
                "{link}"
            );
        }
        assert_eq!(
            violations(&[list, ("docs/architecture.md", ""), ("README.md", "[x](docs/architecture.md)")]),
            [""; 0]
        );
    }

    #[test]
    fn each_page_is_listed_once() {
        assert_eq!(violations(&[("docs/SUMMARY.md", ""), ("docs/verity.md", "")]).len(), 1);
        assert_eq!(
            violations(&[("docs/SUMMARY.md", "[a](verity.md) [b](verity.md)"), ("docs/verity.md", "")]).len(),
            1
        );
    }

    #[test]
    fn equal_headings_have_different_anchors() {
        assert_eq!(anchors("# A\n# A\n## A, b_c\n"), ["a", "a-1", "a-b_c"]);
    }
}
