//! Names of entries: in UTF-8, in an extra field, or in the character set of the IBM PC.

use packline_tree::Bytes;

use super::entry::Host;
use super::extra::{UNICODE_PATH, field};
use super::u32_at;

/// The flag of a name in UTF-8.
const UTF_8: u16 = 1 << 11;

/// Characters 128 to 255 of code page 437.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// The path of an entry as its header and its extra fields give it. The path is not checked.
pub(super) fn path(name: &[u8], flags: u16, host: Host, extra: &[u8]) -> Bytes {
    let mut path = match unicode_path(name, extra) {
        Some(path) => path.to_vec(),
        // Systems of Unix store the bytes that the name has there.
        None if flags & UTF_8 != 0 || host == Host::Unix || name.is_ascii() => name.to_vec(),
        None => from_437(name),
    };
    // Some programs write the separators of Windows, which no name there contains.
    if host == Host::Windows && !path.contains(&b'/') {
        path.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
    }
    path
}

/// Info-ZIP's name in UTF-8, if it belongs to this name: a program that renames an entry may keep the field of the old name.
fn unicode_path<'a>(name: &[u8], extra: &'a [u8]) -> Option<&'a [u8]> {
    let data = field(extra, UNICODE_PATH).filter(|data| data.len() > 5 && data[0] == 1)?;
    (u32_at(data, 1) == crc32fast::hash(name)).then(|| &data[5..])
}

fn from_437(name: &[u8]) -> Bytes {
    let character = |byte: &u8| match byte.checked_sub(128) {
        Some(high) => CODE_PAGE_437.chars().nth(high.into()).unwrap_or(char::REPLACEMENT_CHARACTER),
        None => char::from(*byte),
    };
    name.iter().map(character).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unicode(version: u8, name: &[u8], path: &str) -> Vec<u8> {
        let data = [&[version][..], &crc32fast::hash(name).to_le_bytes(), path.as_bytes()].concat();
        [&UNICODE_PATH.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), &data].concat()
    }

    #[test]
    fn code_page_437_has_128_upper_characters() {
        assert_eq!(CODE_PAGE_437.chars().count(), 128);
        assert_eq!(path(b"\x84\xe1\x80\xff", 0, Host::Windows, &[]), "äßÇ\u{a0}".as_bytes());
    }

    #[test]
    fn flags_fields_and_hosts_decide() {
        let name = b"f\x84";
        assert_eq!(path(name, 0, Host::Other, &[]), "fä".as_bytes());
        assert_eq!(path(name, UTF_8, Host::Other, &[]), name);
        assert_eq!(path(name, 0, Host::Unix, &[]), name);
        assert_eq!(path(name, 0, Host::Unix, &unicode(1, name, "fä")), "fä".as_bytes());
        assert_eq!(path(name, 0, Host::Unix, &unicode(1, b"old", "fä")), name);
        assert_eq!(path(name, 0, Host::Unix, &unicode(2, name, "fä")), name);
    }

    #[test]
    fn backslashes_separate_names_of_windows() {
        assert_eq!(path(b"a\\b\\", 0, Host::Windows, &[]), b"a/b/");
        assert_eq!(path(b"a/b\\c", 0, Host::Windows, &[]), b"a/b\\c");
        assert_eq!(path(b"a\\b", 0, Host::Unix, &[]), b"a\\b");
    }
}
