//! Files with equal content that share it, as hard links or as blocks that the file system stores once.

use std::path::PathBuf;

use packline_tree::destination::Refusal;
use packline_volume::Inode;
use rustix::io::Errno;

use super::outcome::Warning;
use super::request::Duplicates;
use super::work::{JobRunner, OpenedFile};
use crate::Error;

/// Gives the content of `first` to the `count` files after it in the window.
pub(super) fn others(runner: &mut JobRunner<'_>, first: &OpenedFile, count: u32) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    let inode = runner.inode(first.number);
    let Some(inode) = runner.outcome.keep(inode)? else { return Ok(()) };
    // Link target of the next file: a copy, after the first file has the maximum number of names.
    let mut newest: Option<OpenedFile> = None;
    for number in first.number + 1..=first.number + count {
        let made = other(runner, newest.as_ref().unwrap_or(first), &inode, number);
        if let Some(Some(copy)) = runner.outcome.keep(made)? {
            newest = Some(copy);
        }
    }
    Ok(())
}

/// Reports errors for the `count` files after a file that could not be created.
pub(super) fn none(runner: &mut JobRunner<'_>, first: u32, count: u32) -> Result<(), Error> {
    for number in first + 1..=first + count {
        let path = path(runner, number);
        let cause = std::io::Error::other("a file with the same content could not be made");
        runner.outcome.keep::<()>(Err(Error::Output { path, action: "cannot share content", cause }))?;
    }
    Ok(())
}

/// Creates one of the files; returns it if later files are to be linked to it.
fn other(
    runner: &mut JobRunner<'_>,
    first: &OpenedFile,
    inode: &Inode,
    number: u32,
) -> Result<Option<OpenedFile>, Error> {
    let mut full = false;
    if runner.context.duplicates == Duplicates::HardLink {
        let own = runner.inode(number)?;
        if same_attributes(inode, &own) {
            let Some(refusal) = link(runner, first, number)? else {
                runner.note_made(&own, number);
                return Ok(None);
            };
            full = refusal.errno() == Some(Errno::MLINK);
            runner.outcome.counts.hard_links_copied += 1;
            runner.outcome.warnings.push(Warning::not_linked(&path(runner, number), &refusal));
        }
    }
    let opened = runner.create(number)?;
    let made = fill(runner, first, &opened).and_then(|()| runner.complete(&opened));
    if made.is_err() {
        opened.staged.give_up();
    }
    made.map(|()| full.then_some(opened))
}

fn path(runner: &JobRunner<'_>, number: u32) -> PathBuf {
    let planned = runner.planned(number);
    runner.context.path(planned.directory, runner.window.name(&planned))
}

/// Whether the attributes are equal, as hard links require.
fn same_attributes(one: &Inode, other: &Inode) -> bool {
    one.meta == other.meta && one.xattr == other.xattr
}

/// Creates a hard link; returns the reason if the destination cannot have it.
fn link(runner: &mut JobRunner<'_>, first: &OpenedFile, number: u32) -> Result<Option<Refusal>, Error> {
    let staged = runner.staged(number)?;
    let (directory, name) = &first.staged.home;
    let linked = match staged.make(|to, new| directory.link(name, to, new)) {
        Err(refusal) if refusal.is_unlinkable() => return Ok(Some(refusal)),
        linked => linked.and_then(|()| staged.settle()),
    };
    linked.map_err(|refusal| runner.refused(number, refusal))?;
    runner.outcome.counts.files += 1;
    runner.outcome.counts.shared += 1;
    runner.outcome.counts.content_bytes += runner.planned(number).size;
    Ok(None)
}

/// Shares blocks if the file system supports it, and copies otherwise. Also used if only attributes prevent a hard link.
fn fill(runner: &mut JobRunner<'_>, first: &OpenedFile, opened: &OpenedFile) -> Result<(), Error> {
    let size = runner.planned(first.number).size;
    let refused = |refusal| runner.refused(opened.number, refusal);
    if opened.file.share(&first.file).map_err(refused)? {
        runner.outcome.counts.shared += 1;
        return Ok(());
    }
    opened.file.copy(&first.file, size).map_err(refused)?;
    if runner.context.duplicates == Duplicates::Reflink {
        let path = path(runner, opened.number);
        runner.outcome.warnings.push(Warning::not_shared(&path));
    }
    Ok(())
}
