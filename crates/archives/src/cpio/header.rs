//! The headers of cpio archives.

use packline_tree::Device;

/// The size of the largest header in bytes.
pub(super) const LARGEST: usize = NEW;
/// The size of the header of newc and crc.
const NEW: usize = 110;
/// The size of the header of odc.
const PORTABLE: usize = 76;
/// The size of a magic number in bytes.
pub(super) const MAGIC: usize = 6;
/// Largest name in bytes, with its NUL. Paths that [`packline_tree::path`] accepts are shorter, unless they have superfluous components.
pub(super) const NAME_MOST: u64 = 128 << 10;

/// The form of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `newc`: hexadecimal numbers, names and contents padded to 4 bytes.
    New,
    /// `crc`: the same, with checksums.
    Checked,
    /// `odc`: octal numbers, no padding.
    Portable,
}

/// The device and the inode number of a file on the machine where it was archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileNumber {
    pub device: (u32, u32),
    pub inode: u64,
}

/// The header of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub form: Form,
    pub number: FileNumber,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub links: u32,
    /// Seconds since 1970.
    pub mtime: u64,
    /// Bytes of the content, or of the target of a symbolic link.
    pub size: u64,
    pub device: Device,
    /// Bytes of the name with its NUL.
    pub name_size: u64,
    /// The sum of the bytes of the content. 0 if the form has none.
    pub check: u32,
}

/// Whether a file with this start is a cpio archive: it begins with a complete header of numbers.
pub fn is_start(head: &[u8]) -> bool {
    Header::parse(head).is_some_and(|header| header.name_size > 0)
}

impl Form {
    /// The form with this magic number at the start of `head`.
    pub fn of(head: &[u8]) -> Option<Form> {
        match head.first_chunk::<MAGIC>()? {
            b"070701" => Some(Form::New),
            b"070702" => Some(Form::Checked),
            b"070707" => Some(Form::Portable),
            _ => None,
        }
    }

    /// The size of a header in bytes.
    pub fn size(self) -> usize {
        if self == Form::Portable { PORTABLE } else { NEW }
    }

    /// Bytes of padding after `length` bytes from a multiple of 4.
    fn padding(self, length: u64) -> u64 {
        if self == Form::Portable { 0 } else { length.wrapping_neg() % 4 }
    }
}

impl Header {
    /// The header at the start of `head`. `None` without a known magic number, or with a field that is not a number.
    pub fn parse(head: &[u8]) -> Option<Header> {
        let form = Form::of(head)?;
        let fields = head.get(MAGIC..form.size())?;
        if form == Form::Portable { portable(fields) } else { new(form, fields) }
    }

    /// Bytes of padding after the name.
    pub fn name_padding(&self) -> u64 {
        self.form.padding(self.form.size() as u64 + self.name_size)
    }

    /// Bytes of padding after the content.
    pub fn content_padding(&self) -> u64 {
        self.form.padding(self.size)
    }
}

/// The 13 numbers of newc and crc.
fn new(form: Form, fields: &[u8]) -> Option<Header> {
    let mut numbers = [0; 13];
    for (number, field) in numbers.iter_mut().zip(fields.chunks_exact(8)) {
        *number = value(field, 16)? as u32;
    }
    let [inode, mode, uid, gid, links, mtime, size, major, minor, r_major, r_minor, name_size, check] = numbers;
    Some(Header {
        form,
        number: FileNumber { device: (major, minor), inode: inode.into() },
        mode,
        uid,
        gid,
        links,
        mtime: mtime.into(),
        size: size.into(),
        device: Device { major: r_major, minor: r_minor },
        name_size: name_size.into(),
        check,
    })
}

/// The numbers of odc: 7 of 6 digits, then 3 of 11, 6 and 11 digits.
fn portable(fields: &[u8]) -> Option<Header> {
    let mut rest = fields;
    let mut next = |digits: usize| {
        let (field, after) = rest.split_at_checked(digits)?;
        rest = after;
        value(field, 8)
    };
    let [device, inode, mode, uid, gid, links, r_device] =
        [next(6)?, next(6)?, next(6)?, next(6)?, next(6)?, next(6)?, next(6)?];
    let mtime = next(11)?;
    let name_size = next(6)?;
    let size = next(11)?;
    Some(Header {
        form: Form::Portable,
        number: FileNumber { device: (0, device as u32), inode },
        mode: mode as u32,
        uid: uid as u32,
        gid: gid as u32,
        links: links as u32,
        mtime,
        size,
        device: Device { major: (r_device >> 8) as u32, minor: (r_device & 0xff) as u32 },
        name_size,
        check: 0,
    })
}

/// A number of digits only, of at most 33 bits.
fn value(field: &[u8], radix: u32) -> Option<u64> {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix).map(u64::from);
    field.iter().try_fold(0, |value, byte| Some(value * u64::from(radix) + digit(byte)?))
}
