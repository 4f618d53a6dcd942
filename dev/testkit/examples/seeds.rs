//! Writes the fuzz seeds: `seeds DIRECTORY` fills a directory for each target with small inputs: tars and compressed streams of installed
//! programs, images and parts of images of the test kit.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use packline_codec::{Encoder, Outcome, Spec, ZpaqEncoder};
use packline_testkit::hostile::{self, Part};
use packline_testkit::{Random, hostile_erofs, hostile_lrz, hostile_pln};

fn main() -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "a separate program, whose argument is the output directory")]
    let place = std::env::args_os().nth(1).unwrap_or_else(|| "corpus".into());
    let place = Path::new(&place);
    fs::create_dir_all(place.join("tar_reader"))?;
    fs::create_dir_all(place.join("decompress"))?;
    let tree = place.join("tree");
    plant(&tree)?;
    for format in ["v7", "oldgnu", "gnu", "ustar", "posix"] {
        tar(place, &tree, format, &["--format", format])?;
        tar(place, &tree, &format!("{format}-sparse"), &["--format", format, "--sparse"])?;
    }
    for version in ["0.0", "0.1", "1.0"] {
        let option = format!("--sparse-version={version}");
        tar(place, &tree, version, &["--format=posix", "--sparse", "--xattrs", &option])?;
    }
    odd(place)?;
    images(place)?;
    old_images(place)?;
    erofs(place)?;
    lrz(place)?;
    pln(place)?;
    mtree(place)?;
    action(place)?;
    pseudo_file(place)?;
    cache_answer(place)?;
    layers(place)?;
    encrypted(place)?;
    verity(place)?;
    fs::remove_dir_all(&tree)?;
    compressed(place)
}

fn plant(tree: &Path) -> io::Result<()> {
    fs::create_dir_all(tree.join("directory"))?;
    fs::write(tree.join("directory/file"), "content\n".repeat(100))?;
    fs::write(tree.join("n".repeat(120)), "long")?;
    let mut sparse = fs::File::create(tree.join("sparse"))?;
    sparse.write_all(&[1; 4096])?;
    sparse.set_len(40_000)?;
    let _ = fs::remove_file(tree.join("link"));
    std::os::unix::fs::symlink("t".repeat(130), tree.join("link"))?;
    let _ = fs::remove_file(tree.join("hard"));
    fs::hard_link(tree.join("directory/file"), tree.join("hard"))
}

/// Layers of entries, and the documents of a container image.
fn layers(place: &Path) -> io::Result<()> {
    fs::create_dir_all(place.join("layers"))?;
    fs::create_dir_all(place.join("oci"))?;
    // A file and a directory; a whiteout, an opaque directory and a link over them.
    fs::write(
        place.join("layers/three"),
        b"\x00\x00\x01\x02\x01\x00\x00\x41\x02\xff\x00\x02\x00\x42\x01\x00\x05\x07\x41\xff\x06\x01\x00",
    )?;
    let index =
        r#"{"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:@1","size":#1}]}"#;
    let manifest = r#"{"config":{"mediaType":"","digest":"sha256:@2","size":#2},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar","digest":"sha256:@3","size":#3}]}"#;
    let config = r#"{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":["sha256:@3"]}}"#;
    let docker = r#"[{"Config":"@2","RepoTags":["box:1"],"Layers":["@3"]}]"#;
    fs::write(place.join("oci/layout"), [index, manifest, config, "layer"].map(str::as_bytes).join(&0xff))?;
    fs::write(place.join("oci/docker"), [docker, "", config, "layer"].map(str::as_bytes).join(&0xff))
}

/// A head without sums around a wrapped key, edits of a file, and padded contents. The first byte selects one.
fn encrypted(place: &Path) -> io::Result<()> {
    let directory = place.join("encrypted");
    fs::create_dir_all(&directory)?;
    let wrap = b"age-encryption.org/v1\n-> X25519 a\nb\n-> scrypt salt 18\nb\n--- mac\n";
    let fixed = [&[1; 9][..], &[12, 1, 0], &[wrap.len() as u8 + 4, 0, 0, 0], &[0; 16]].concat();
    let length = wrap.len() as u8;
    fs::write(directory.join("head"), [&fixed[..], &[length, 0, 0, 0], wrap, &[0; 52]].concat())?;
    fs::write(directory.join("edits"), b"\x02\x00\x08\x04\x01\x20\x01\x00\x14\x00\x20\x03\x00")?;
    fs::write(directory.join("edits-of-padded"), b"\x03\x00\x38\x02\x00")?;
    fs::write(directory.join("padding"), [&b"\x04content"[..], &[0; 5000], &7u64.to_le_bytes()].concat())
}

/// A hash tree of three blocks, with a block of hashes that belong to no block.
fn verity(place: &Path) -> io::Result<()> {
    fs::create_dir_all(place.join("verity"))?;
    let mut tree = vec![0; 2 * 4096];
    for (at, field) in [
        (0, &b"verity"[..]),
        (8, &[1, 0, 0, 0, 1]),
        (32, b"sha256"),
        (64, &[0, 16, 0, 0, 0, 16, 0, 0, 3]),
        (80, &[4]),
        (88, b"salt"),
        (4096, &[0xa5; 96]),
    ] {
        tree[at..at + field.len()].copy_from_slice(field);
    }
    fs::write(place.join("verity/three"), tree)
}

/// A small tar with the checksum fields that the fuzz target corrects.
fn tar(place: &Path, tree: &Path, name: &str, options: &[&str]) -> io::Result<()> {
    let output =
        Command::new("tar").arg("-c").args(options).arg("-C").arg(tree).arg(".").stderr(Stdio::null()).output();
    let Ok(output) = output else { return Ok(()) };
    let mut archive = output.stdout;
    archive.truncate(archive.len().min(16 << 10));
    fs::write(place.join("tar_reader").join(format!("{name}.tar")), &archive)?;
    for block in archive.chunks_exact_mut(512).filter(|block| block.get(154..156) == Some(b"\0 ")) {
        block[148..156].copy_from_slice(b"fixed!! ");
    }
    fs::write(place.join("tar_reader").join(format!("{name}-fixed.tar")), &archive)
}

/// Messages with an entry, and with other fields around it.
fn cache_answer(place: &Path) -> io::Result<()> {
    let directory = place.join("cache_answer");
    fs::create_dir_all(&directory)?;
    let entry = [&b"plbc\x00\x00\x00\x00"[..], &[7; 16], b"block"].concat();
    let message = [&[0x2a, entry.len() as u8][..], &entry].concat();
    let worker = b"\x4a\x0b\x0a\x09127.0.0.1";
    fs::write(directory.join("entry"), &message)?;
    fs::write(directory.join("worker"), [&message[..], worker].concat())?;
    fs::write(directory.join("exit-code"), [b"\x20\xac\x02", &message[..], b"\x7d1234\x7912345678"].concat())?;
    fs::write(directory.join("address"), "https://user:password@[::1]:8080/a/b")
}

/// One header of each type with plausible fields.
fn odd(place: &Path) -> io::Result<()> {
    for kind in b"\x001234567DKLMNSVXgx".iter() {
        let mut block = [0; 1536];
        block[..4].copy_from_slice(b"name");
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(b"00000000020");
        block[148..156].copy_from_slice(b"fixed!! ");
        block[156] = *kind;
        block[157..161].copy_from_slice(b"link");
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[512..528].copy_from_slice(b"15 path=abcdef\n\n");
        fs::write(place.join("tar_reader").join(format!("type-{kind}.tar")), block)?;
    }
    Ok(())
}

/// Largest image of the zoo used as a seed, bytes: small seeds make fuzzing faster.
const LONGEST: usize = 20 << 10;

/// Sound images of each codec, small ones of the zoo, and the sound form of each part.
fn images(place: &Path) -> io::Result<()> {
    let put = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(place.join(target))?;
        fs::write(place.join(target).join(name), bytes)
    };
    for codec in ["none", "gzip", "lzma", "lzo", "xz", "lz4", "zstd"] {
        put("image", codec, &hostile::good_with(codec))?;
    }
    for specimen in hostile::all() {
        let bytes = specimen.bytes();
        if bytes.len() <= LONGEST {
            put("image", specimen.name, &bytes)?;
        }
        if specimen.name.starts_with("bad-") && bytes.starts_with(b"hsqs") {
            put("superblock", specimen.name, &bytes[..bytes.len().min(112)])?;
        }
    }
    let parts = [Part::Superblock, Part::Metadata, Part::Inodes, Part::Listing];
    let targets = ["superblock", "metadata", "inode", "directory"];
    targets.iter().zip(parts).try_for_each(|(target, part)| put(target, "sound", &hostile::sound_part(part)))
}

/// Images of versions before SquashFS 4.0, and of the other byte order.
fn old_images(place: &Path) -> io::Result<()> {
    let target = place.join("squashfs_old");
    fs::create_dir_all(&target)?;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/squashfs/tests/old"))? {
        let path = entry?.path();
        if let (Some("sqfs"), Some(name)) = (path.extension().and_then(|name| name.to_str()), path.file_name()) {
            fs::copy(&path, target.join(name))?;
        }
    }
    Ok(())
}

/// Images of mkfs.erofs, small ones of the zoo, and the sound forms of each part.
fn erofs(place: &Path) -> io::Result<()> {
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/erofs/tests/images");
    let target = place.join("erofs");
    fs::create_dir_all(&target)?;
    for directory in [images.clone(), images.join("compressed")] {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if let (Some("erofs"), Some(name)) = (path.extension().and_then(|name| name.to_str()), path.file_name()) {
                fs::copy(&path, target.join(name))?;
            }
        }
    }
    for specimen in hostile_erofs::all() {
        let bytes = specimen.bytes();
        if bytes.len() <= LONGEST {
            fs::write(target.join(specimen.name), bytes)?;
        }
    }
    for (name, part) in [("erofs_index", hostile_erofs::Part::Index), ("erofs_xattr", hostile_erofs::Part::Xattrs)] {
        fs::create_dir_all(place.join(name))?;
        for (number, bytes) in hostile_erofs::sound_parts(part).iter().enumerate() {
            fs::write(place.join(name).join(number.to_string()), bytes)?;
        }
    }
    erofs_writer(&place.join("erofs_writer"))
}

/// Recipes of trees. The first bytes choose the options.
fn erofs_writer(place: &Path) -> io::Result<()> {
    fs::create_dir_all(place)?;
    (0..48).try_for_each(|number| {
        let mut recipe = Random::new(number).noise(60 + 10 * number as usize);
        recipe[..2].copy_from_slice(&[number as u8 % 8, number as u8 / 6]);
        fs::write(place.join(number.to_string()), recipe)
    })
}

/// The zoo of .lrz files, and small ones of each back end where lrzip is installed.
fn lrz(place: &Path) -> io::Result<()> {
    let place = place.join("lrz");
    fs::create_dir_all(&place)?;
    for specimen in hostile_lrz::all() {
        let bytes = specimen.bytes();
        if bytes.len() <= LONGEST {
            fs::write(place.join(specimen.name), bytes)?;
        }
    }
    let plain = b"some words, and some words again, and then others; ".repeat(40);
    for back_end in ["-n", "-l", "-g", "-b", "--lzma", "-z"] {
        if let Some(output) = filter("lrzip", &["-q", back_end], &plain)? {
            fs::write(place.join(format!("lrzip{back_end}")), output)?;
        }
    }
    Ok(())
}

/// The zoo of .pln files.
fn pln(place: &Path) -> io::Result<()> {
    let place = place.join("pln");
    fs::create_dir_all(&place)?;
    hostile_pln::all().iter().try_for_each(|specimen| fs::write(place.join(specimen.name), specimen.bytes()))
}

fn compressed(place: &Path) -> io::Result<()> {
    let plain = b"some words, and some words again; ".repeat(60);
    for (name, program, options) in [
        ("gzip", "gzip", &["-c"][..]),
        ("bzip2", "bzip2", &["-c"]),
        ("xz", "xz", &["-c", "-T2", "--block-size=700"]),
        ("lzma", "lzma", &["-c"]),
        ("zstd", "zstd", &["-c", "--no-progress"]),
        ("pzstd", "pzstd", &["-c", "-p", "2"]),
        ("lz4", "lz4", &["-c"]),
        ("lz4-linked", "lz4", &["-c", "-BD", "-B4", "-BX"]),
        ("lz4-legacy", "lz4", &["-c", "-l"]),
    ] {
        let Some(output) = filter(program, options, &plain)? else { continue };
        let place = place.join("decompress");
        fs::write(place.join(name), &output)?;
        fs::write(place.join(format!("{name}-twice")), [&output[..], &output].concat())?;
    }
    blocks(&place.join("decompress"), &plain)?;
    zpaq(&place.join("decompress"), &plain)
}

/// A block of each codec, after its name.
fn blocks(place: &Path, plain: &[u8]) -> io::Result<()> {
    let content = [plain, &[0; 700], b"and an end"].concat();
    for name in Spec::names() {
        let mut block = vec![0; content.len()];
        let spec = Spec::parse(name).map_err(io::Error::other)?;
        let made = spec.encoder(content.len()).and_then(|mut encoder| encoder.compress(&content, &mut block));
        let block = match made.map_err(io::Error::other)? {
            Outcome::Smaller(size) => &block[..size],
            Outcome::NotSmaller => &content,
        };
        fs::write(place.join(format!("block-{name}")), [format!("block {name}\n").as_bytes(), block].concat())?;
    }
    Ok(())
}

/// A block of a known model, one with all components, one with a program after its data.
fn zpaq(place: &Path, plain: &[u8]) -> io::Result<()> {
    let mut block = vec![0; plain.len()];
    let made = ZpaqEncoder::new(1).and_then(|mut encoder| encoder.compress(plain, &mut block));
    if let Outcome::Smaller(size) = made.map_err(io::Error::other)? {
        fs::write(place.join("zpaq-min"), &block[..size])?;
    }
    // Without the tag that marks a block within other data: the fuzz target recognises streams by the bytes after it.
    fs::write(place.join("zpaq-nine"), &include_bytes!("../../../crates/codec/tests/data/nine.zpaq")[13..])?;
    fs::write(place.join("zpaq-sorted"), &include_bytes!("../../../crates/codec/tests/data/sorted.zpaq")[13..])
}

fn filter(program: &str, options: &[&str], input: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let child = Command::new(program).args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return Ok(None) };
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input)?;
    }
    Ok(Some(child.wait_with_output()?.stdout))
}

/// A definition of each type.
fn pseudo_file(place: &Path) -> io::Result<()> {
    let place = place.join("pseudo_file");
    fs::create_dir_all(&place)?;
    let text = "/ D 1 755 0 0\n\"a b\" d 700 1 2\na\\ b/c C 3 600 0 0 1 3\nd b 600 0 0 7 1\ns s 0 0 0 to\np i 1 0 0 f\nl L s\n\
                / x user.k=0t\\001\nd x security.k=0xff\ns x user.k=0s/w==\na\\ b m 711 1 1\nr R 1 600 0 0 3 0 0\n\
                # START OF DATA - DO NOT MODIFY\n#\nabc";
    fs::write(place.join("types"), text)
}

/// An entry of each type, and every word that changes the meaning of lines.
fn mtree(place: &Path) -> io::Result<()> {
    let place = place.join("mtree");
    fs::create_dir_all(&place)?;
    let text = "#mtree\n/set type=file uid=1 gid=2 mode=0640 time=5.25 nlink=1\n. type=dir\na size=0 sha256=00\nd type=dir\n\
                b type=block device=native,8,1\n..\n/unset mode all\n./d/c type=char device=259 inode=1 resdevice=2 nlink=2\n\
                l type=link \\\n link=a\\040\\s\\M-i\ns type=socket optional nochange\nf type=fifo ignore flags=none\n";
    fs::write(place.join("types"), text)
}

/// Actions of each kind, with tests of each kind, each a line.
fn action(place: &Path) -> io::Result<()> {
    let place = place.join("action");
    fs::create_dir_all(&place)?;
    for (number, text) in [
        "exclude@name(*.[ch]) && !(depth(>3) || size_range(1K,2M))",
        "prune@type(l) && !exists || absolute && subpathname(d/e)\nempty(excluded)@dircount(0)",
        "move(\"/d/new\")@pathname(\"/@(a|b)*\") || perm(-u+x,/7)",
        "guid(1,2)@eval(.., \"readlink(stat(uid(-5)))\")\nchmod(u=rw,go=r)@true",
        "xattrs-exclude(^user)@file(a)\nxattrs-add(user.a=0sQQ==)@exec(true)\nno-fragments@false",
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(place.join(number.to_string()), text)?;
    }
    Ok(())
}
