//! Files with equal content that share it: as further names of one file, or as blocks that the file system stores once.

use packline_squashfs::read::Inode;

use super::notes::Note;
use super::request::Duplicates;
use super::work::{Hand, Opened};
use crate::Error;

/// Gives the `count` files behind `first` in the window its content.
pub(super) fn others(hand: &mut Hand<'_>, first: &Opened, count: u32) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    let inode = hand.inode(first.number);
    let Some(inode) = hand.outcome.keep(inode)? else { return Ok(()) };
    for number in first.number + 1..=first.number + count {
        let made = other(hand, first, &inode, number);
        hand.outcome.keep(made)?;
    }
    Ok(())
}

/// Says of the `count` files behind one that could not be made that they could not either.
pub(super) fn none(hand: &mut Hand<'_>, first: u32, count: u32) -> Result<(), Error> {
    for number in first + 1..=first + count {
        let planned = hand.planned(number);
        let path = hand.shop.path(planned.directory, hand.window.name(&planned));
        let cause = std::io::Error::other("a file with the same content could not be made");
        hand.outcome.keep::<()>(Err(Error::Output { path, action: "cannot share content", cause }))?;
    }
    Ok(())
}

fn other(hand: &mut Hand<'_>, first: &Opened, inode: &Inode, number: u32) -> Result<(), Error> {
    if hand.shop.duplicates == Duplicates::HardLink {
        let own = hand.inode(number)?;
        if same_attributes(inode, &own) {
            link(hand, first, number)?;
            hand.note_made(&own, number);
            return Ok(());
        }
    }
    let opened = hand.create(number)?;
    let made = fill(hand, first, &opened).and_then(|()| hand.complete(&opened));
    if made.is_err() {
        opened.spot.give_up();
    }
    made
}

/// Only files that differ in nothing may become one.
fn same_attributes(one: &Inode, other: &Inode) -> bool {
    one.meta == other.meta && one.xattr == other.xattr
}

fn link(hand: &mut Hand<'_>, first: &Opened, number: u32) -> Result<(), Error> {
    let spot = hand.spot(number)?;
    let (directory, name) = &first.spot.home;
    let linked = spot.make(|to, new| directory.link(name, to, new)).and_then(|()| spot.settle());
    linked.map_err(|refusal| hand.refused(number, refusal))?;
    hand.outcome.counts.files += 1;
    hand.outcome.counts.shared += 1;
    hand.outcome.counts.content_bytes += hand.planned(number).size;
    Ok(())
}

/// Shares blocks where the file system can; copies where it cannot, and where only attributes stand against a link.
fn fill(hand: &mut Hand<'_>, first: &Opened, opened: &Opened) -> Result<(), Error> {
    let size = hand.planned(first.number).size;
    let refused = |refusal| hand.refused(opened.number, refusal);
    if opened.file.share(&first.file).map_err(refused)? {
        hand.outcome.counts.shared += 1;
        return Ok(());
    }
    opened.file.copy(&first.file, size).map_err(refused)?;
    if hand.shop.duplicates == Duplicates::Reflink {
        let planned = hand.planned(opened.number);
        let path = hand.shop.path(planned.directory, hand.window.name(&planned));
        hand.outcome.notes.push(Note::not_shared(&path));
    }
    Ok(())
}
