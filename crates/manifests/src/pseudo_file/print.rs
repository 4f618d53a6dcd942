//! Writes entries as definitions that [`PseudoFile`](super::PseudoFile) reads. The bytes are those of unsquashfs in squashfs-tools 4.7.5.

use std::fmt::Write;

use packline_tree::{Bytes, Entry, Kind, Xattr};

/// The lines before the contents.
pub const PSEUDO_DATA_HEAD: &[u8] = b"#\n# START OF DATA - DO NOT MODIFY\n#\n";

/// The position of a file's content in the contents after the definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PseudoData {
    /// The byte at which the content begins.
    pub offset: u64,
    /// Whether the file has holes.
    pub sparse: bool,
}

/// The definitions of an entry and of its extended attributes. `data` is used for regular files only.
///
/// # Errors
/// The format cannot store the entry: a name or target has a line break, or a target begins with a blank or ends with a backslash.
pub fn pseudo_definition(entry: &Entry, data: PseudoData) -> Result<Bytes, &'static str> {
    let mut out = path(&entry.path)?;
    let end = out.len();
    if let Kind::HardLink(first) = &entry.kind {
        out.extend_from_slice(b" L ");
        out.extend(path(first)?);
        out.push(b'\n');
        return Ok(out);
    }
    let (kind, rest) = kind(&entry.kind, data)?;
    let meta = entry.meta;
    out.extend(format!(" {kind} {} {:o} {} {}", meta.mtime.seconds(), meta.mode, meta.uid, meta.gid).into_bytes());
    out.extend(rest);
    out.push(b'\n');
    let name = out[..end].to_vec();
    for xattr in &entry.xattrs {
        out.extend([&name, &b" x "[..], &xattr.name, b"="].concat());
        out.extend(value(xattr));
        out.push(b'\n');
    }
    Ok(out)
}

/// The letter of a kind, and the text after the attributes.
fn kind(kind: &Kind, data: PseudoData) -> Result<(char, Bytes), &'static str> {
    let text = |letter, text: String| Ok((letter, text.into_bytes()));
    match kind {
        Kind::File { size } => text('R', format!(" {size} {} {}", data.offset, u8::from(data.sparse))),
        Kind::Symlink(target) => Ok(('S', [b" ", self::target(target)?].concat())),
        Kind::BlockDevice(device) => text('B', format!(" {} {}", device.major, device.minor)),
        Kind::CharDevice(device) => text('C', format!(" {} {}", device.major, device.minor)),
        Kind::Fifo => text('I', " f".to_string()),
        Kind::Socket => text('I', " s".to_string()),
        Kind::Dir | Kind::HardLink(_) => text('D', String::new()),
    }
}

/// A path with a backslash before blanks, quotes and backslashes, and before a `#` that would begin a comment.
fn path(path: &[u8]) -> Result<Bytes, &'static str> {
    if path.contains(&b'\n') {
        return Err("its name contains a line break");
    }
    if path.is_empty() {
        return Ok(b"/".to_vec());
    }
    let mut out = Bytes::with_capacity(path.len());
    for (at, &byte) in path.iter().enumerate() {
        if matches!(byte, b'"' | b'\\' | b' ' | b'\t'..=b'\r') || at == 0 && byte == b'#' {
            out.push(b'\\');
        }
        out.push(byte);
    }
    Ok(out)
}

fn target(target: &[u8]) -> Result<&[u8], &'static str> {
    let blank = target.first().is_some_and(|byte| byte.is_ascii_whitespace());
    match target {
        _ if target.contains(&b'\n') => Err("its target contains a line break"),
        _ if blank => Err("its target begins with a blank"),
        [.., b'\\'] => Err("its target ends with a backslash"),
        _ => Ok(target),
    }
}

/// The value itself. If a reader would decode it to another value, bytes that are not printable are written as octal numbers.
fn value(Xattr { value, .. }: &Xattr) -> Bytes {
    let printable = value.iter().all(|byte| (32..127).contains(byte));
    let prefixed = matches!(value[..], [b'0', b's' | b'S' | b'x' | b'X' | b't' | b'T' | b'b' | b'B', ..]);
    if printable && !prefixed && !matches!(value[..], [.., b'\\' | b' '] | [b' ', ..]) {
        return value.clone();
    }
    let mut out = String::from("0t");
    let last = value.len().saturating_sub(1);
    for (at, &byte) in value.iter().enumerate() {
        match byte {
            b' ' if at == last => out.push_str("\\040"),
            32..127 if byte != b'\\' => out.push(char::from(byte)),
            _ => _ = write!(out, "\\{byte:03o}"),
        }
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use packline_tree::{Device, Meta};

    fn line(path: &str, kind: Kind, xattrs: Vec<Xattr>) -> Result<String, &'static str> {
        let meta = Meta::new(0o4755, 1, 4_000_000_000, 17);
        let entry = Entry { path: path.into(), kind, meta, xattrs };
        let data = PseudoData { offset: 9, sparse: true };
        pseudo_definition(&entry, data).map(|line| String::from_utf8(line).unwrap())
    }

    #[test]
    fn writes_a_line_for_every_kind() {
        let device = Device { major: 8, minor: 1 };
        for (kind, expected) in [
            (Kind::Dir, "a D 17 4755 1 4000000000\n"),
            (Kind::File { size: 5 }, "a R 17 4755 1 4000000000 5 9 1\n"),
            (Kind::Symlink(b"b c".to_vec()), "a S 17 4755 1 4000000000 b c\n"),
            (Kind::BlockDevice(device), "a B 17 4755 1 4000000000 8 1\n"),
            (Kind::CharDevice(device), "a C 17 4755 1 4000000000 8 1\n"),
            (Kind::Fifo, "a I 17 4755 1 4000000000 f\n"),
            (Kind::Socket, "a I 17 4755 1 4000000000 s\n"),
            (Kind::HardLink(b"b c".to_vec()), "a L b\\ c\n"),
        ] {
            assert_eq!(line("a", kind, Vec::new()).as_deref(), Ok(expected));
        }
        assert!(line("", Kind::Dir, Vec::new()).unwrap().starts_with("/ D "));
    }

    #[test]
    fn escapes_or_rejects_names_and_values() {
        assert!(line("#a \"b\\\tc", Kind::Dir, Vec::new()).unwrap().starts_with("\\#a\\ \\\"b\\\\\\\tc D "));
        assert!(line("a\nb", Kind::Dir, Vec::new()).is_err());
        for target in ["a\nb", " a", "a\\"] {
            assert!(line("a", Kind::Symlink(target.into()), Vec::new()).is_err());
        }
        let of = |value: &[u8]| {
            let xattr = Xattr { name: b"user.a".to_vec(), value: value.to_vec() };
            line("a", Kind::Fifo, vec![xattr])
                .unwrap()
                .split_once("user.a=")
                .unwrap()
                .1
                .trim_end_matches('\n')
                .to_string()
        };
        assert_eq!(of(b"plain \\ text"), "plain \\ text");
        assert_eq!(of(b"\x01\\b"), "0t\\001\\134b");
        assert_eq!((of(b"0x12"), of(b"a\\"), of(b"a ")), ("0t0x12".into(), "0ta\\134".into(), "0ta\\040".into()));
    }
}
