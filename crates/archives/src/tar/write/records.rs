//! The records of an extended header: `LENGTH KEY=VALUE\n`. The length includes itself.

use packline_tree::Xattr;

#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Whether a name is not UTF-8.
    binary: bool,
}

/// Declares names as bytes. Must be the first record.
const BINARY: &[u8] = b"21 hdrcharset=BINARY\n";

impl Records {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.binary = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.record(&[key], value);
    }

    pub(super) fn number(&mut self, key: &[u8], number: u64) {
        self.push(key, number.to_string().as_bytes());
    }

    /// Adds a name. If it is not UTF-8, another record declares this; GNU tar warns about that record, bsdtar does not.
    pub(super) fn name(&mut self, key: &[u8], value: &[u8]) {
        self.binary |= std::str::from_utf8(value).is_err();
        self.push(key, value);
    }

    /// Adds an attribute. As in GNU tar, `=`, which would end the name, and `%` are escaped.
    pub(super) fn xattr(&mut self, xattr: &Xattr) {
        let prefix = b"SCHILY.xattr.";
        if xattr.name.iter().any(|byte| matches!(byte, b'%' | b'=')) {
            self.record(&[prefix, &escape(&xattr.name)], &xattr.value);
        } else {
            self.record(&[prefix, &xattr.name], &xattr.value);
        }
    }

    /// Total bytes of the records.
    pub(super) fn length(&self) -> u64 {
        (self.bytes.len() + if self.binary { BINARY.len() } else { 0 }) as u64
    }

    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        if self.binary {
            out.extend_from_slice(BINARY);
        }
        out.extend_from_slice(&self.bytes);
    }

    fn record(&mut self, key: &[&[u8]], value: &[u8]) {
        let key_length: usize = key.iter().map(|part| part.len()).sum();
        let length = with_own_digits(key_length + value.len() + 3);
        self.bytes.extend_from_slice(length.to_string().as_bytes());
        self.bytes.push(b' ');
        key.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.bytes.push(b'=');
        self.bytes.extend_from_slice(value);
        self.bytes.push(b'\n');
    }
}

fn escape(name: &[u8]) -> Vec<u8> {
    let byte = |&byte: &u8| match byte {
        b'%' => b"%25".to_vec(),
        b'=' => b"%3D".to_vec(),
        plain => vec![plain],
    };
    name.iter().flat_map(byte).collect()
}

/// The length of a record with `others` other bytes. The digits of the length count too.
fn with_own_digits(others: usize) -> usize {
    let mut length = others;
    loop {
        let whole = others + (length.ilog10() as usize + 1);
        if whole == length {
            return whole;
        }
        length = whole;
    }
}
