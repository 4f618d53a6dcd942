//! Files of lrzip in `tests/data`, whose manifest says how they were made, and files that were made by hand.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use packline_lrz::{Error, Source, Unobserved, WriteOptions, compress};

use crate::support::{list, read, read_piped, resource_sets, verify};

const PASSWORD: Option<&[u8]> = Some(b"password");

fn kept(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

fn lines(bytes: usize) -> Vec<u8> {
    let mut text: Vec<u8> =
        (0..bytes).flat_map(|number| format!("line {number} of some text\n").into_bytes()).collect();
    text.truncate(bytes);
    text
}

/// lrzip 0.7 does not pad encrypted data. An earlier version assumed 16 bytes for shorter blocks, and reported a wrong password.
#[test]
fn reads_encrypted_files_of_lrzip_0_7_whose_blocks_are_short() {
    for (name, size) in [
        ("gcm-none-0", 0),
        ("gcm-none-1", 1),
        ("gcm-lzma-15", 15),
        ("gcm-lzma-3000", 3000),
        ("gcm-gzip-3000", 3000),
        ("gcm-bzip2-3000", 3000),
        ("gcm-lzo-3000", 3000),
        ("gcm-zpaq-3000", 3000),
    ] {
        let packed = kept(&format!("{name}.lrz"));
        let (found, unpacked) = read(&packed, PASSWORD, &resource_sets()[0]).unwrap();
        assert!(found == lines(size), "{name}");
        assert!(unpacked.stored_md5.is_some() && unpacked.md5 == unpacked.stored_md5, "{name}");
    }
}

#[test]
fn reads_encrypted_files_of_lrzip_0_7_with_several_chunks() {
    let packed = kept("gcm-chunks.lrz");
    let unpacked = verify(&packed, PASSWORD, &resource_sets()[0]).unwrap();
    assert_eq!((unpacked.plain, unpacked.chunks), (5000 * 22_000, 2));
    assert_eq!(unpacked.md5, unpacked.stored_md5);
}

#[test]
fn does_not_blame_the_password_for_damaged_data() {
    let mut packed = kept("gcm-none-1.lrz");
    // The last byte of the tag of the only literal, before the digest with its nonce and tag.
    let last = packed.len() - 44 - 1;
    packed[last] ^= 1;
    let refused = read(&packed, PASSWORD, &resource_sets()[0]).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { .. }), "{refused}");
    let refused = read(&packed, Some(b"another"), &resource_sets()[0]).map(|_| ()).unwrap_err();
    assert!(matches!(refused, Error::Password(_)), "{refused}");
}

/// lrzip encrypts 16 bytes for an empty block. Earlier versions of packline wrote no bytes.
#[test]
fn reads_empty_encrypted_files_of_lrzip_0_6_and_of_earlier_versions() {
    let packed = kept("cbc-none-0.lrz");
    let mut unpadded = packed.clone();
    unpadded.drain(packed.len() - 32..packed.len() - 16);
    for packed in [packed, unpadded] {
        let (found, unpacked) = read(&packed, PASSWORD, &resource_sets()[0]).unwrap();
        assert!(found.is_empty() && unpacked.md5 == unpacked.stored_md5 && unpacked.md5.is_some());
    }
}

/// Up to 0.5, an empty input had no chunk: the loop over chunks was `while (len)`.
#[test]
fn reads_files_without_a_chunk_of_lrzip_0_4_and_0_5() {
    let mut head = [0; 24];
    head[..4].copy_from_slice(b"LRZI");
    head[5] = 4;
    let with_md5 = {
        let mut head = head;
        head[5] = 5;
        head[21] = 1;
        let empty_md5: [u8; 16] = 0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e_u128.to_be_bytes();
        [&head[..], &empty_md5].concat()
    };
    for packed in [head.to_vec(), with_md5] {
        assert_eq!(read(&packed, None, &resource_sets()[0]).unwrap().1.chunks, 0);
        assert!(read_piped(&packed, None, &resource_sets()[0]).unwrap().is_empty());
        assert_eq!(list(&packed, None).unwrap(), 0);
    }
    // A file that states one byte of data is truncated.
    head[6] = 1;
    let refused = read(&head, None, &resource_sets()[0]).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("0 bytes of plain data"), "{refused}");
}

#[test]
fn names_the_offset_of_a_truncation_once() {
    let mut packed = Vec::new();
    let source = Source::At(Arc::new(lines(20_000)));
    compress(source, &mut packed, &WriteOptions::default(), &resource_sets()[0], &mut Unobserved).unwrap();
    for end in (0..packed.len()).step_by(7) {
        let refused = read(&packed[..end], None, &resource_sets()[1]).map(|_| ()).unwrap_err().to_string();
        assert!(refused.matches(" at byte ").count() <= 1 && refused.contains("(expected "), "{end}: {refused}");
    }
}
