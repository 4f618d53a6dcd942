//! The output of a client and the files that it left, and the comparison of two such outcomes.

use packline_testkit::snapshot::{self, Except, Snapshot};

/// Maximum number of differences of a tree in a message.
const SHOWN: usize = 10;

/// The outcome of one run of a client.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Printed and recorded texts, by label.
    pub texts: Vec<(String, String)>,
    /// Images as the kernel mounts them, and directories, by label.
    pub trees: Vec<(String, Snapshot)>,
    /// The names of the replaced programs in the order of their calls.
    pub calls: Vec<String>,
}

impl Outcome {
    /// Returns the equal parts of both outcomes, for the report. The error has the first difference.
    pub fn same(&self, ours: &Outcome) -> Result<String, String> {
        for ((label, wanted), (_, found)) in self.texts.iter().zip(&ours.texts) {
            same_text(label, wanted, found)?;
        }
        for ((label, wanted), (_, found)) in self.trees.iter().zip(&ours.trees) {
            same_tree(label, wanted, found)?;
        }
        match (self.counts(), ours.counts()) {
            (wanted, found) if wanted != found || self.lengths() != ours.lengths() => {
                Err(format!("it ran {wanted} of Debian's, but {found} of the drop-ins"))
            }
            (none, _) if none.is_empty() => Err("it ran none of the replaced programs from PATH".into()),
            (calls, _) => Ok(format!("{} ({calls})", self.shown())),
        }
    }

    fn lengths(&self) -> (usize, usize) {
        (self.texts.len(), self.trees.len())
    }

    fn shown(&self) -> String {
        let (texts, trees) = self.lengths();
        let paths: usize = self.trees.iter().map(|(_, tree)| tree.len()).sum();
        let parts = [(texts, plural(texts, "text")), (trees, format!("{} with {paths} paths", plural(trees, "tree")))];
        let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, part)| part).collect();
        format!("{} as with Debian's", parts.join(" and "))
    }

    /// The calls of each program, in the order of the first calls.
    fn counts(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in &self.calls {
            match counts.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn same_text(label: &str, wanted: &str, found: &str) -> Result<(), String> {
    if wanted == found {
        return Ok(());
    }
    let mut lines = wanted.lines().map(Some).chain([None]).zip(found.lines().map(Some).chain([None]));
    let (wanted, found) = lines.find(|(wanted, found)| wanted != found).unwrap_or_default();
    let show = |line: Option<&str>| line.map_or("the end".to_owned(), |line| format!("{line:?}"));
    Err(format!("{label}: {} with Debian's programs, {} with the drop-ins", show(wanted), show(found)))
}

fn same_tree(label: &str, wanted: &Snapshot, found: &Snapshot) -> Result<(), String> {
    let mut differences = snapshot::differences(wanted, found, Except::default());
    if differences.is_empty() {
        return Ok(());
    }
    differences.truncate(SHOWN);
    Err(format!("{label}: the drop-ins' tree differs:\n{}", differences.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str, calls: &[&str]) -> Outcome {
        let calls = calls.iter().map(ToString::to_string).collect();
        Outcome { texts: vec![("prints".into(), text.into())], trees: Vec::new(), calls }
    }

    #[test]
    fn differences_are_quoted() {
        let peers = outcome("a\nb\n", &["mksquashfs"]);
        assert!(peers.same(&outcome("a\nb\n", &["mksquashfs"])).is_ok());
        let cause = peers.same(&outcome("a\nc\n", &["mksquashfs"])).unwrap_err();
        assert_eq!(cause, "prints: \"b\" with Debian's programs, \"c\" with the drop-ins");
        let cause = peers.same(&outcome("a\n", &["mksquashfs"])).unwrap_err();
        assert_eq!(cause, "prints: \"b\" with Debian's programs, the end with the drop-ins");
    }

    #[test]
    fn calls_are_compared() {
        let peers = outcome("", &["mksquashfs", "unsquashfs", "mksquashfs"]);
        let cause = peers.same(&outcome("", &["mksquashfs"])).unwrap_err();
        assert!(cause.contains("2 mksquashfs, 1 unsquashfs of Debian's, but 1 mksquashfs"), "{cause}");
        assert!(outcome("", &[]).same(&outcome("", &[])).is_err());
    }
}
