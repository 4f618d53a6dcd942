//! Numbers of variable length (LEB128): each byte has seven bits, the lowest first. Bit 7 is set in all bytes except the last.

/// A fault in the numbers, and what is expected instead.
pub(crate) type Fault = (String, &'static str);

/// The longest number in bytes.
const LONGEST: u32 = 10;

pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Encodes 0, -1, 1, -2, ... as the unsigned numbers 0, 1, 2, 3, ...
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Reads numbers from front to back.
pub(crate) struct Numbers<'n> {
    bytes: &'n [u8],
}

impl<'n> Numbers<'n> {
    pub(crate) fn new(bytes: &'n [u8]) -> Numbers<'n> {
        Numbers { bytes }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn next(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for place in 0..LONGEST {
            let (&byte, rest) = self.bytes.split_first().ok_or_else(|| fault("the numbers end too early"))?;
            self.bytes = rest;
            let bits = u64::from(byte & 0x7f);
            value |=
                bits.checked_shl(7 * place).filter(|shifted| shifted >> (7 * place) == bits).ok_or_else(too_large)?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(too_large())
    }

    /// Reads a number that is at most `most`.
    pub(crate) fn at_most(&mut self, most: u64) -> Result<u64, Fault> {
        let value = self.next()?;
        if value <= most { Ok(value) } else { Err(too_large()) }
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Fault> {
        let value = self.next()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    pub(crate) fn end(&self) -> Result<(), Fault> {
        if self.is_at_end() { Ok(()) } else { Err((format!("{} bytes follow the numbers", self.bytes.len()), "none")) }
    }
}

fn fault(what: &str) -> Fault {
    (what.to_string(), "as many numbers as their counts state")
}

fn too_large() -> Fault {
    ("a number is too large".to_string(), "one within the limits of the format")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values in proptest::collection::vec(any::<u64>(), 0..9), signed in any::<i64>(), shift in 0_u32..64) {
            let mut out = Vec::new();
            values.iter().for_each(|value| put(&mut out, value >> shift));
            put_signed(&mut out, signed >> shift);
            let mut numbers = Numbers::new(&out);
            for value in values {
                prop_assert_eq!(numbers.next().unwrap(), value >> shift);
            }
            prop_assert_eq!(numbers.signed().unwrap(), signed >> shift);
            prop_assert!(numbers.end().is_ok() && numbers.next().is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..30)) {
            let mut numbers = Numbers::new(&bytes);
            while numbers.next().is_ok() {}
        }
    }

    #[test]
    fn rejects_numbers_beyond_64_bits() {
        assert_eq!(Numbers::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).next().unwrap(), u64::MAX);
        assert!(Numbers::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).next().is_err());
        assert!(Numbers::new(&[0x80; 11]).next().is_err());
        assert!(Numbers::new(&[9]).at_most(8).is_err());
    }
}
