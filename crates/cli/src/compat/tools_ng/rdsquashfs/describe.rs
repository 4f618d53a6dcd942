//! `rdsquashfs --describe` prints an image as a pack file, which gensquashfs reads.

use packline_image::{Omit, OpenedImage, SelectedWalk, Selection};
use packline_tree::Device;
use packline_volume::{Node, Visit};

use crate::ui::escape::{Escape, escaped};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Prints a line for each entry except the root. `prefix`, if any, is written before the locations of regular files.
///
/// # Errors
/// [`Failure::Failed`] for a name that cannot be written on one line.
pub fn describe(image: &OpenedImage, omit: Omit, prefix: Option<&[u8]>, io: &mut Io) -> Result<(), Failure> {
    let selection = Selection { omit, ..Selection::all() };
    for visit in SelectedWalk::new(&image.volume, &selection) {
        let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
        if !visit.path.is_empty() {
            let line = line(&visit, prefix).map_err(|what| {
                Failure::failed(format!("{}: {}: {what}", image.display_path.escaped(), escaped(&visit.path)))
            })?;
            io.print_names(&line).map_err(Failure::printing)?;
        }
    }
    io.stdout.flush().map_err(Failure::printing)
}

fn line(visit: &Visit, prefix: Option<&[u8]>) -> Result<Vec<u8>, &'static str> {
    let meta = visit.inode.meta;
    let device = |letter, device: &Device| format!(" {letter} {} {}", device.major, device.minor).into_bytes();
    let (word, rest) = match &visit.inode.node {
        Node::Directory(_) => ("dir", Vec::new()),
        Node::File(_) => ("file", prefix.map_or(Vec::new(), |prefix| word(&[prefix, b"/", &visit.path].concat()))),
        Node::Symlink(target) => ("slink", word(target)),
        Node::BlockDevice(number) => ("nod", device('b', number)),
        Node::CharDevice(number) => ("nod", device('c', number)),
        Node::Fifo => ("pipe", Vec::new()),
        Node::Socket => ("sock", Vec::new()),
    };
    if visit.path.contains(&b'\n') || rest.contains(&b'\n') {
        return Err("a pack file cannot contain a name with a line feed");
    }
    let attributes = format!(" 0{:o} {} {}", meta.mode, meta.uid, meta.gid);
    Ok([word.as_bytes(), b" ", &quoted(&visit.path), attributes.as_bytes(), &rest].concat())
}

/// Returns one more word of a line.
fn word(text: &[u8]) -> Vec<u8> {
    [b" ", quoted(text).as_slice()].concat()
}

/// Returns a path, in quotes if it contains blanks or quotes.
fn quoted(path: &[u8]) -> Vec<u8> {
    if !path.iter().any(|byte| matches!(byte, b' ' | b'\t' | b'"' | 0x0b..=0x0d)) {
        return path.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in path {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_paths_with_blanks() {
        assert_eq!(quoted(b"a/b\\c"), b"a/b\\c");
        assert_eq!(quoted(b"a b\"c\\d"), b"\"a b\\\"c\\\\d\"");
        assert_eq!(quoted(b"a\tb"), b"\"a\tb\"");
    }
}
