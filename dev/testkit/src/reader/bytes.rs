//! Little-endian numbers read from a slice with bounds checks.

/// A position in a slice of bytes. Errors name the part that was being read.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize, what: &'static str) -> Cursor<'a> {
        Cursor { bytes, at, what }
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or_else(|| {
            format!("{}: {length} bytes at {} of {} do not exist", self.what, self.at, self.bytes.len())
        })?;
        self.at += length;
        Ok(found)
    }

    pub fn u16(&mut self) -> Result<u16, String> {
        self.take(2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub fn i16(&mut self) -> Result<i16, String> {
        self.u16().map(u16::cast_signed)
    }

    pub fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from(self.u16()?) | u32::from(self.u16()?) << 16)
    }

    pub fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from(self.u32()?) | u64::from(self.u32()?) << 32)
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}
