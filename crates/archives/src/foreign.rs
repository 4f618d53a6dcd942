//! Names the format of a file that is neither an image nor a tar, for messages.

use packline_runtime::Input;

/// Number of bytes at the start of a file that contain the magic numbers.
pub const FOREIGN_HEAD: usize = 66 << 10;

/// Offset in bytes, magic number, and name with its article. The first match counts, so weak magic numbers come last.
const MAGICS: &[(usize, &[u8], &str)] = &[
    (0, b"070701", "a damaged cpio archive"),
    (0, b"070702", "a damaged cpio archive"),
    (0, b"070707", "a damaged cpio archive"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a rar archive"),
    (0, b"!<arch>\ndebian-binary", "a Debian package"),
    (0, b"!<arch>\n", "an ar archive"),
    (0, b"\xed\xab\xee\xdb", "an RPM package"),
    (0, b"MSWIM\0\0\0", "a WIM image"),
    (0, b"xar!", "a xar archive"),
    (0, b"7kSt\xa0\x31\x83\xd3", "a zpaq archive"),
    (0, b"\x89LZO\0\r\n\x1a\n", "a file compressed with lzop"),
    (0, b"QFI\xfb", "a qcow2 disk image"),
    (0, b"KDMV", "a VMDK disk image"),
    (0, b"vhdxfile", "a VHDX disk image"),
    (0x40, b"\x7f\x10\xda\xbe", "a VDI disk image"),
    (0, b"\x3a\xff\x26\xed", "an Android sparse image"),
    (0, b"LUKS\xba\xbe", "an encrypted LUKS volume"),
    (0, b"DWARFS", "a DwarFS image"),
    (0, b"\x45\x3d\xcd\x28", "a cramfs image"),
    (0, b"\x28\xcd\x3d\x45", "a cramfs image"),
    (0, b"-rom1fs-", "a romfs image"),
    (0, b"UBI#", "a UBI image"),
    (0, b"\x31\x18\x10\x06", "a UBIFS image"),
    (0, b"XFSB", "an XFS image"),
    (3, b"NTFS    ", "an NTFS image"),
    (3, b"EXFAT   ", "an exFAT image"),
    (54, b"FAT1", "a FAT image"),
    (82, b"FAT32   ", "a FAT image"),
    (1024, b"\xe2\xe1\xf5\xe0", "an EROFS image"),
    (1024, b"\x10\x20\xf5\xf2", "an F2FS image"),
    (32_769, b"CD001", "an ISO 9660 image"),
    (32_769, b"BEA01", "a UDF image"),
    (65_600, b"_BHRfS_M", "a btrfs image"),
    (4086, b"SWAPSPACE2", "a swap area"),
    (536, b"LVM2 001", "an LVM volume"),
    (512, b"EFI PART", "a disk image with a GPT partition table"),
    (4096, b"EFI PART", "a disk image with a GPT partition table"),
    (0, b"\x1f\x9d", "a file compressed with compress (.Z)"),
    (0, b"\xc7\x71", "a cpio archive of the old binary form"),
    (0, b"\x71\xc7", "a cpio archive of the old binary form"),
    (1080, b"\x53\xef", "an ext2, ext3 or ext4 image"),
    (510, b"\x55\xaa", "a disk image with an MBR partition table"),
];
/// The first bytes of a program.
const ELF: &[u8] = b"\x7fELF";
const DWARFS: &[u8; 6] = b"DWARFS";

/// The name, with its article, of a known format that packline does not read. A tar has none, even if its first header is
/// damaged.
pub fn foreign_format(input: &dyn Input) -> Option<&'static str> {
    let mut head = vec![0; input.size().min(FOREIGN_HEAD as u64) as usize];
    input.read_at(0, &mut head).ok()?;
    if has(&head, 257, b"ustar") {
        return None;
    }
    if head.starts_with(ELF) {
        return after_program(&head, input);
    }
    MAGICS.iter().find(|(at, magic, _)| has(&head, *at, magic)).map(|&(.., name)| name)
}

fn has(head: &[u8], at: usize, magic: &[u8]) -> bool {
    head.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

/// Recognises an AppImage by its bytes after the program. A program alone is a plain file.
fn after_program(head: &[u8], input: &dyn Input) -> Option<&'static str> {
    let mut magic = [0; DWARFS.len()];
    let is_dwarfs = program_size(head).is_some_and(|end| input.read_at(end, &mut magic).is_ok() && magic == *DWARFS);
    match (is_dwarfs, has(head, 8, b"AI")) {
        (true, _) => Some("an AppImage or program with a DwarFS image"),
        (false, true) => Some("an AppImage"),
        (false, false) => None,
    }
}

/// The size of an ELF file in bytes, up to its section headers, which come last.
fn program_size(head: &[u8]) -> Option<u64> {
    let is_little = *head.get(5)? == 1;
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at + length)?.iter();
        let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if is_little { bytes.rev().fold(0, join) } else { bytes.fold(0, join) })
    };
    let is_64 = *head.get(4)? == 2;
    let (offset, size, count) = if is_64 { ((0x28, 8), 0x3a, 0x3c) } else { ((0x20, 4), 0x2e, 0x30) };
    let headers = number(size, 2)? * number(count, 2)?;
    number(offset.0, offset.1)?.checked_add(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(at: usize, magic: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; FOREIGN_HEAD + 8192];
        bytes[at..at + magic.len()].copy_from_slice(magic);
        bytes
    }

    #[test]
    fn finds_each_magic_number_within_the_head() {
        for &(at, magic, name) in MAGICS {
            assert!(at + magic.len() <= FOREIGN_HEAD, "{name}");
            assert_eq!(foreign_format(&with(at, magic)), Some(name));
            let short = with(at, magic)[..at + magic.len() - 1].to_vec();
            assert_ne!(foreign_format(&short), Some(name));
        }
    }

    #[test]
    fn names_what_follows_a_program() {
        for (class, offset, size, count) in [(2, 0x28, 0x3a, 0x3c), (1, 0x20, 0x2e, 0x30)] {
            let mut bytes = with(0, ELF);
            bytes[4] = class;
            bytes[5] = 1;
            assert_eq!(foreign_format(&bytes), None);
            bytes[8..10].copy_from_slice(b"AI");
            assert_eq!(foreign_format(&bytes), Some("an AppImage"));
            bytes[offset..offset + 3].copy_from_slice(&[0, 0x08, 1]);
            bytes[size] = 64;
            bytes[count] = 2;
            let end = 0x1_0800 + 128;
            bytes[end..end + 6].copy_from_slice(DWARFS);
            assert_eq!(foreign_format(&bytes), Some("an AppImage or program with a DwarFS image"));
        }
    }

    #[test]
    fn zeros_text_and_tars_have_no_foreign_format() {
        let mut tar = with(257, b"ustar");
        tar[..4].copy_from_slice(b"Rar!");
        for bytes in [Vec::new(), vec![0; 1 << 20], b"#!/bin/sh\n".repeat(2000), tar] {
            assert_eq!(foreign_format(&bytes), None);
        }
    }
}
