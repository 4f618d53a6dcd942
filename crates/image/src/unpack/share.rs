//! Files with equal content that share it: as hard links, or as blocks that the file system stores once.

use packline_squashfs::read::Inode;

use super::outcome::Warning;
use super::request::Duplicates;
use super::work::{JobRunner, Opened};
use crate::Error;

/// Gives the `count` files after `first` in the window its content.
pub(super) fn others(runner: &mut JobRunner<'_>, first: &Opened, count: u32) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    let inode = runner.inode(first.number);
    let Some(inode) = runner.outcome.keep(inode)? else { return Ok(()) };
    for number in first.number + 1..=first.number + count {
        let made = other(runner, first, &inode, number);
        runner.outcome.keep(made)?;
    }
    Ok(())
}

/// Reports errors for the `count` files after one that could not be created.
pub(super) fn none(runner: &mut JobRunner<'_>, first: u32, count: u32) -> Result<(), Error> {
    for number in first + 1..=first + count {
        let planned = runner.planned(number);
        let path = runner.context.path(planned.directory, runner.window.name(&planned));
        let cause = std::io::Error::other("a file with the same content could not be made");
        runner.outcome.keep::<()>(Err(Error::Output { path, action: "cannot share content", cause }))?;
    }
    Ok(())
}

fn other(runner: &mut JobRunner<'_>, first: &Opened, inode: &Inode, number: u32) -> Result<(), Error> {
    if runner.context.duplicates == Duplicates::HardLink {
        let own = runner.inode(number)?;
        if same_attributes(inode, &own) {
            link(runner, first, number)?;
            runner.note_made(&own, number);
            return Ok(());
        }
    }
    let opened = runner.create(number)?;
    let made = fill(runner, first, &opened).and_then(|()| runner.complete(&opened));
    if made.is_err() {
        opened.staged.give_up();
    }
    made
}

/// Hard links require equal attributes.
fn same_attributes(one: &Inode, other: &Inode) -> bool {
    one.meta == other.meta && one.xattr == other.xattr
}

fn link(runner: &mut JobRunner<'_>, first: &Opened, number: u32) -> Result<(), Error> {
    let staged = runner.staged(number)?;
    let (directory, name) = &first.staged.home;
    let linked = staged.make(|to, new| directory.link(name, to, new)).and_then(|()| staged.settle());
    linked.map_err(|refusal| runner.refused(number, refusal))?;
    runner.outcome.counts.files += 1;
    runner.outcome.counts.shared += 1;
    runner.outcome.counts.content_bytes += runner.planned(number).size;
    Ok(())
}

/// Shares blocks where the file system supports it; copies elsewhere, and where only attributes prevent a link.
fn fill(runner: &mut JobRunner<'_>, first: &Opened, opened: &Opened) -> Result<(), Error> {
    let size = runner.planned(first.number).size;
    let refused = |refusal| runner.refused(opened.number, refusal);
    if opened.file.share(&first.file).map_err(refused)? {
        runner.outcome.counts.shared += 1;
        return Ok(());
    }
    opened.file.copy(&first.file, size).map_err(refused)?;
    if runner.context.duplicates == Duplicates::Reflink {
        let planned = runner.planned(opened.number);
        let path = runner.context.path(planned.directory, runner.window.name(&planned));
        runner.outcome.warnings.push(Warning::not_shared(&path));
    }
    Ok(())
}
