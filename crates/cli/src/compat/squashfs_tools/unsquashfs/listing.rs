//! Lists entries: names alone, or like `ls -l`.

use std::path::Path;

use packline_image::Selection;
use packline_image::{OpenedImage, SelectedWalk};
use packline_squashfs::device_number;
use packline_squashfs::read::DirData;
use packline_volume::{Inode, Node, Visit};

use crate::commands::list::size;
use crate::host::names::Names;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::mode::mode_string;
use crate::ui::time::Moment;

/// The width of owner, group and size together.
const COLUMNS: usize = 25;
/// The width of a device number.
const DEVICE_COLUMNS: usize = 7;

/// The format of a listing.
pub struct Form<'f> {
    /// The columns of a long listing, if requested.
    pub long: Option<Long>,
    /// Whether directories with entries are left out.
    pub concise: bool,
    /// The path that is shown for the root.
    pub root: &'f Path,
}

/// The columns of a long listing.
pub struct Long {
    /// The names of owners; `None` for numbers.
    pub names: Option<Names>,
    /// Whether times have seconds.
    pub full_precision: bool,
    /// Returns how many seconds local time is ahead of UTC at a time.
    pub utc_offset: fn(i64) -> i64,
}

/// Prints the selected entries.
pub fn print(image: &OpenedImage, selection: &Selection, form: &Form<'_>, io: &mut Io) -> Result<(), Failure> {
    for visit in SelectedWalk::new(&image.volume, selection) {
        let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
        if !(form.concise && has_entries(&visit.inode.node)) {
            io.print_names(&form.line(&visit)).map_err(Failure::printing)?;
        }
    }
    io.stdout.flush().map_err(Failure::printing)
}

fn has_entries(node: &Node) -> bool {
    matches!(node, Node::Directory(directory) if DirData::of(directory).length > 0)
}

impl Form<'_> {
    fn line(&self, visit: &Visit) -> Vec<u8> {
        let mut path = self.root.as_os_str().as_encoded_bytes().to_vec();
        if !visit.path.is_empty() {
            path.push(b'/');
            path.extend_from_slice(&visit.path);
        }
        let Some(long) = &self.long else { return path };
        let mut line = [long.columns(&visit.inode), path].concat();
        if let Node::Symlink(target) = &visit.inode.node {
            line.extend_from_slice(b" -> ");
            line.extend_from_slice(target);
        }
        line
    }
}

impl Long {
    fn columns(&self, inode: &Inode) -> Vec<u8> {
        let meta = inode.meta;
        let (user, group) = match &self.names {
            Some(names) => (names.user(meta.uid), names.group(meta.gid)),
            None => (None, None),
        };
        let user = user.map_or_else(|| meta.uid.to_string().into_bytes(), <[u8]>::to_vec);
        let group = group.map_or_else(|| meta.gid.to_string().into_bytes(), <[u8]>::to_vec);
        let width = COLUMNS.saturating_sub(user.len() + group.len());
        let extent = match &inode.node {
            Node::BlockDevice(device) | Node::CharDevice(device) => {
                let raw = device_number(*device).cast_signed();
                let blank = width.saturating_sub(DEVICE_COLUMNS);
                format!("{:>blank$}{:3},{:3}", " ", raw >> 8, raw & 0xff)
            }
            node => format!("{:>width$}", size(node)),
        };
        let seconds = meta.mtime.seconds();
        let moment = Moment::of(seconds + (self.utc_offset)(seconds));
        let time = if self.full_precision { moment.iso() } else { moment.minute() };
        let mode = mode_string(inode.node_type(), meta.mode);
        [mode.as_bytes(), b" ", &user, b"/", &group, format!(" {extent} {time} ").as_bytes()].concat()
    }
}
