//! The `ActionResult` of Bazel's remote execution API: a protocol buffers message, of which only one field is used.
//!
//! <https://github.com/bazelbuild/remote-apis/blob/main/build/bazel/remote/execution/v2/remote_execution.proto>: `bytes stdout_raw = 5`.
//! Servers may add fields: bazel-remote adds `execution_metadata`, with the address of the machine that added the entry.

use std::ops::Range;

/// Number of the field `stdout_raw`.
const STDOUT_RAW: u64 = 5;

/// Kinds of values in the protocol buffers encoding.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// A message whose `stdout_raw` is the concatenation of `parts`.
pub fn encode(parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut message = Vec::with_capacity(length + 11);
    put_varint(&mut message, STDOUT_RAW << 3 | BYTES);
    put_varint(&mut message, length as u64);
    parts.iter().for_each(|part| message.extend_from_slice(part));
    message
}

/// The position of the value of `stdout_raw` in a message. If there are several, the last one, as the encoding requires. `None`
/// for an invalid message, or without the field.
pub fn stdout_raw(message: &[u8]) -> Option<Range<usize>> {
    let mut at = 0;
    let mut found = None;
    while at < message.len() {
        let tag = varint(message, &mut at)?;
        let length = match tag & 7 {
            VARINT => varint(message, &mut at).map(|_| 0)?,
            EIGHT_BYTES => 8,
            BYTES => varint(message, &mut at)?,
            FOUR_BYTES => 4,
            _ => return None,
        };
        let end = usize::try_from(length).ok().and_then(|length| at.checked_add(length))?;
        if end > message.len() || tag >> 3 == 0 {
            return None;
        }
        if tag == STDOUT_RAW << 3 | BYTES {
            found = Some(at..end);
        }
        at = end;
    }
    found
}

fn put_varint(message: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        message.push(value as u8 | 0x80);
        value >>= 7;
    }
    message.push(value as u8);
}

/// Reads a number of up to 64 bits, and moves `at` after it.
fn varint(message: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *message.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_encoded_value() {
        for length in [0, 1, 127, 128, 300, 70_000] {
            let value = vec![7; length];
            let message = encode(&[&value[..length / 3], &value[length / 3..]]);
            assert_eq!(message[0], 0x2a);
            assert_eq!(&message[stdout_raw(&message).unwrap()], value);
        }
    }

    #[test]
    fn skips_other_fields() {
        // exit_code = 300; stderr_raw; execution_metadata; fixed64 and fixed32 fields that do not exist.
        let others: [&[u8]; 5] = [
            &[0x20, 0xac, 0x02],
            &[0x3a, 2, 9, 9],
            &[0x4a, 3, 0x0a, 1, b'w'],
            &[0x79, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x7d, 1, 2, 3, 4],
        ];
        let own = encode(&[b"entry"]);
        for other in others {
            for message in [[other, &own].concat(), [&own[..], other].concat(), [other, &own, other].concat()] {
                assert_eq!(&message[stdout_raw(&message).unwrap()], b"entry");
            }
        }
        let two = [encode(&[b"first"]), own].concat();
        assert_eq!(&two[stdout_raw(&two).unwrap()], b"entry");
    }

    #[test]
    fn rejects_invalid_messages() {
        let endless = [0xff; 20];
        let cases: [&[u8]; 9] = [
            b"",
            b"<html>not found</html>",
            &[0x2a],
            &[0x2a, 5, 1],
            &[0x2a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &[0x2a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            &[0x2b, 0],
            &[0x02, 0],
            &endless,
        ];
        for message in cases {
            assert_eq!(stdout_raw(message), None, "{message:?}");
        }
        // The field's number with the kind of a number.
        assert_eq!(stdout_raw(&[0x28, 1]), None);
    }
}
