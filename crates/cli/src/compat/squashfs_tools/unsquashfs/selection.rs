//! Selects the entries that are listed or extracted: by pathnames to include and exclude, and by depth.

use std::collections::BTreeSet;

use packline_image::Selection;
use packline_tree::PathFilter;

use super::resolve::Resolver;
use crate::compat::squashfs_tools::name_pattern::{Language, NamePattern};
use crate::ui::escape::escaped;
use crate::ui::failure::Failure;

/// The start of a pathname that is excluded at any depth.
const ANYWHERE: &[u8] = b"... ";

/// The included and excluded entries, resolved in the image.
#[derive(Debug, Default)]
pub struct PathSelection {
    /// The included entries, with everything below them; `None` for everything.
    extracts: Option<BTreeSet<Vec<u8>>>,
    takes_all: bool,
    excludes: BTreeSet<Vec<u8>>,
    excludes_all: bool,
    /// The patterns that exclude an entry if they match the last components of its path.
    anywhere: Vec<Vec<NamePattern>>,
    max_depth: Option<usize>,
}

impl PathSelection {
    pub fn new(max_depth: Option<usize>) -> PathSelection {
        PathSelection { max_depth, ..PathSelection::default() }
    }

    /// Includes the entries that a pathname leads to. A pathname that leads nowhere includes nothing; its messages are returned.
    pub fn extract(&mut self, pathname: &[u8], resolver: &Resolver<'_>) -> Result<Vec<String>, Failure> {
        let resolved = resolver.resolve(pathname)?;
        let extracts = self.extracts.get_or_insert_default();
        // As in unsquashfs, whatever follows such a `..` is ignored.
        self.takes_all |= resolved.leaves_image;
        for entry in resolved.entries {
            self.takes_all |= entry.path.is_empty();
            extracts.insert(entry.path);
            extracts.extend(entry.via);
        }
        Ok(resolved.faults)
    }

    /// Excludes the entries that a pathname leads to.
    ///
    /// # Errors
    /// The image cannot be read, or a pattern after `... ` is malformed.
    pub fn exclude(&mut self, pathname: &[u8], resolver: &Resolver<'_>) -> Result<Vec<String>, Failure> {
        if let Some(anywhere) = pathname.strip_prefix(ANYWHERE) {
            self.anywhere.push(components(anywhere, resolver.language)?);
            return Ok(Vec::new());
        }
        let resolved = resolver.resolve(pathname)?;
        for entry in resolved.entries {
            self.excludes_all |= entry.path.is_empty();
            self.excludes.insert(entry.path);
        }
        Ok(resolved.faults)
    }

    /// Returns the selection for a walk.
    pub fn selection(self) -> Selection {
        if self.is_all() {
            return Selection::all();
        }
        Selection { filter: Some(PathFilter::new(move |path| !self.keeps(path))), ..Selection::all() }
    }

    fn is_all(&self) -> bool {
        let takes_all = self.extracts.is_none() || self.takes_all;
        takes_all && self.max_depth.is_none() && self.excludes.is_empty() && self.anywhere.is_empty()
    }

    fn keeps(&self, path: &[u8]) -> bool {
        let depth = 1 + path.iter().filter(|byte| **byte == b'/').count();
        self.max_depth.is_none_or(|most| depth <= most) && self.takes(path) && !self.leaves_out(path)
    }

    /// Returns whether a path is included, or leads to an included path.
    fn takes(&self, path: &[u8]) -> bool {
        let Some(extracts) = self.extracts.as_ref().filter(|_| !self.takes_all) else { return true };
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut above = slashes.map(|(end, _)| &path[..end]).chain([path]);
        if above.any(|path| extracts.contains(path)) {
            return true;
        }
        let below = [path, b"/"].concat();
        extracts.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    }

    fn leaves_out(&self, path: &[u8]) -> bool {
        self.excludes_all
            || self.excludes.contains(path)
            || self.anywhere.iter().any(|patterns| {
                let mut names = path.rsplit(|byte| *byte == b'/');
                patterns.iter().rev().all(|pattern| names.next().is_some_and(|name| pattern.matches(name)))
            })
    }
}

fn components(pathname: &[u8], language: Language) -> Result<Vec<NamePattern>, Failure> {
    let names = pathname.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    let compiled: Result<Vec<NamePattern>, String> = names.map(|name| NamePattern::new(name, language)).collect();
    let compiled = compiled
        .map_err(|fault| Failure::usage(format!("invalid regex {} in exclude, because {fault}", escaped(pathname))))?;
    if compiled.is_empty() {
        return Err(Failure::usage("'... ' is not followed by a pathname (expected a pathname to exclude anywhere)"));
    }
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_parents_of_included_paths() {
        let extracts = ["a/b", "c", "e/."].map(|path| path.as_bytes().to_vec());
        let anywhere = vec![components(b"x/*.o", Language::Wildcards).unwrap()];
        let mut chosen = PathSelection { extracts: Some(extracts.into()), anywhere, ..PathSelection::new(Some(4)) };
        chosen.excludes.insert(b"a/b/no".to_vec());
        for (path, kept) in [
            ("a", true),
            ("a/b", true),
            ("a/b/c/d", true),
            ("a/b/c/d/e", false),
            ("a/bc", false),
            ("a/b/no", false),
            ("c", true),
            ("cc", false),
            ("c/x/1.o", false),
            ("c/y/1.o", true),
            ("e", true),
            ("e/x", false),
        ] {
            assert_eq!(chosen.keeps(path.as_bytes()), kept, "{path}");
        }
        assert!(PathSelection::new(None).keeps(b"any/thing") && components(b"/", Language::Exact).is_err());
    }
}
