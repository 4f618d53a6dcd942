//! Options of `packline pack` that change owners and extended attributes of entries.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use packline::requests::EntryEdit;
use packline_manifests::{FileContexts, OwnerMap, SELINUX_XATTR, take_rootless_owners};
use packline_tree::{Entry, Error, Glob, Kind, Slash, Xattr};

use crate::args::text_list::{Ending, TextList};
use crate::args::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners and attributes")]
pub struct Attributes {
    /// Take owners from the attribute user.rootlesscontainers, which umoci and other tools without root write, and drop the attribute
    #[arg(long, conflicts_with = "no_xattrs")]
    rootless_owners: bool,
    /// Change the numbers of owners by RULES, each [u:|g:]FIRST[-LAST]:TO, separated by commas, or by the rules in FILE, one per line
    #[arg(long, value_name = "RULES|FILE")]
    owner_map: Vec<OsString>,
    /// Set SELinux labels from FILE, which has the format of selabel_file(5). Entries that match no line, or <<none>>, keep their label
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath, conflicts_with = "no_xattrs")]
    file_contexts: Option<PathBuf>,
    /// Keep only the extended attributes whose names match PATTERN, such as 'user.*'
    #[arg(long, value_name = "PATTERN", conflicts_with = "no_xattrs")]
    xattrs_include: Vec<OsString>,
    /// Leave out the extended attributes whose names match PATTERN, even if --xattrs-include matches them
    #[arg(long, value_name = "PATTERN", conflicts_with = "no_xattrs")]
    xattrs_exclude: Vec<OsString>,
}

/// The changes to each entry.
struct Edits {
    rootless: bool,
    owners: OwnerMap,
    /// The owner and the group of all entries, if the options set them.
    fixed: (Option<u32>, Option<u32>),
    /// The attributes to keep; all if there are no patterns.
    include: Vec<Glob>,
    exclude: Vec<Glob>,
    contexts: Option<FileContexts>,
}

impl Attributes {
    /// Returns the change of each entry, if there is one; `fixed` are owners that override the change.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an argument that is not a rule; [`Failure::Failed`] for a file that cannot be read or is malformed.
    pub fn edit(&self, fixed: (Option<u32>, Option<u32>), io: &mut Io) -> Result<Option<EntryEdit>, Failure> {
        let contexts = self.file_contexts.as_deref().map(FileContexts::open).transpose().map_err(Failure::failed)?;
        let include = globs(&self.xattrs_include);
        let exclude = globs(&self.xattrs_exclude);
        let edits =
            Edits { rootless: self.rootless_owners, owners: self.owners(io)?, fixed, include, exclude, contexts };
        Ok(edits.change_something().then(|| EntryEdit::new(move |entry| edits.apply(entry))))
    }

    fn owners(&self, io: &mut Io) -> Result<OwnerMap, Failure> {
        let mut map = OwnerMap::default();
        for given in &self.owner_map {
            match given.to_str().filter(|text| text.contains(':') && !text.contains('/')) {
                Some(rules) => rules.split(',').try_for_each(|rule| {
                    map.add(rule)
                        .map_err(|fault| wrong("owner-map", format!("'{}': {fault}", rule.as_bytes().escaped())))
                })?,
                None => read_rules(&mut map, given, io)?,
            }
        }
        Ok(map)
    }
}

/// Parses patterns of complete names.
fn globs(patterns: &[OsString]) -> Vec<Glob> {
    patterns.iter().map(|pattern| Glob::new(pattern.as_encoded_bytes(), Slash::Plain)).collect()
}

/// Adds the rules in a file, one per line; empty lines and lines that begin with `#` are comments.
fn read_rules(map: &mut OwnerMap, path: &OsStr, io: &mut Io) -> Result<(), Failure> {
    if path == "-" {
        return Err(wrong(
            "owner-map",
            "rules are not read from standard input (expected rules, or the name of a file)",
        ));
    }
    let list = TextList::read(Path::new(path), Ending::Line, io)?;
    for (line, text) in list.items() {
        let rule = String::from_utf8_lossy(text.trim_ascii());
        if !rule.is_empty() && !rule.starts_with('#') {
            map.add(&rule).map_err(|fault| list.fault(line, &format!("'{}': {fault}", rule.as_bytes().escaped())))?;
        }
    }
    Ok(())
}

impl Edits {
    fn change_something(&self) -> bool {
        let Edits { rootless, owners, include, exclude, contexts, .. } = self;
        *rootless || !owners.is_empty() || !include.is_empty() || !exclude.is_empty() || contexts.is_some()
    }

    fn apply(&self, entry: &mut Entry) -> Result<(), Error> {
        if self.rootless {
            take_rootless_owners(entry)?;
        }
        let (uid, gid) = self.fixed;
        entry.meta.uid = uid.unwrap_or_else(|| self.owners.user(entry.meta.uid));
        entry.meta.gid = gid.unwrap_or_else(|| self.owners.group(entry.meta.gid));
        entry.xattrs.retain(|xattr| self.keeps(&xattr.name));
        if !matches!(entry.kind, Kind::HardLink(_)) {
            self.label(entry);
        }
        Ok(())
    }

    fn keeps(&self, name: &[u8]) -> bool {
        let among = |globs: &[Glob]| globs.iter().any(|glob| glob.matches(name));
        (self.include.is_empty() || among(&self.include)) && !among(&self.exclude)
    }

    fn label(&self, entry: &mut Entry) {
        let context = self.contexts.as_ref().and_then(|contexts| contexts.lookup(&entry.path, &entry.kind));
        if let Some(context) = context {
            entry.xattrs.retain(|xattr| xattr.name != SELINUX_XATTR.as_bytes());
            entry.xattrs.push(Xattr { name: SELINUX_XATTR.into(), value: context.into() });
        }
    }
}
