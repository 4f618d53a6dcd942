//! `lrztar` and `lrzuntar`: a directory as a tar in a .lrz file and back, in one pass, without a shell or a tar program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline::lrz::{WriteOptions, Written};
use packline::tree::DirectoryOptions;
use packline::tree::path::canonical;
use packline::{Kept, LrzRequest, LrzSource, LrzTreeRequest, Resources, TarTarget};

use crate::args::Args;
use crate::compat::lrzip::conf::Conf;
use crate::compat::lrzip::password::{self, Secret};
use crate::compat::lrzip::settings::{be_nice, resources, secret, suffix, write_options};
use crate::compat::lrzip::{self, open_asking};
use crate::table::options::{Applet, Manners, Operand, Opt};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::show_bytes;

const GENERAL_OPTIONS: &[Opt] = &[
    Opt::flag("decompress", "Unpack a .tar.lrz file").short('d'),
    lrzip::ENCRYPT,
    Opt::flag("hash", "Show the MD5 of the tar that is packed").short('H'),
    lrzip::QUIET,
    Opt::flag("very-quiet", "Print nothing but errors").short('Q'),
    lrzip::VERBOSE,
    lrzip::FORCE,
    lrzip::OUTFILE,
    lrzip::OUTDIR,
    lrzip::SUFFIX,
];

/// Packs a directory.
pub const LRZTAR: Applet = Applet {
    name: "lrztar",
    about: "Pack a directory into a .tar.lrz file, or unpack one (drop-in for lrztar)",
    details,
    options: &[GENERAL_OPTIONS, lrzip::COMPRESSION_OPTIONS, lrzip::LOW_OPTIONS],
    operands: &[Operand {
        name: "DIR",
        help: "The directory; with --decompress, the .tar.lrz file",
        required: true,
        of: &[],
    }],
    manners: Manners::DropInDiff,
    run: |args, io| run(args, io, false),
};

/// Unpacks.
pub const LRZUNTAR: Applet = Applet {
    name: "lrzuntar",
    about: "Unpack a .tar.lrz file (drop-in for lrzuntar)",
    operands: &[Operand { name: "DIR", help: "The .tar.lrz file", required: true, of: &[] }],
    run: |args, io| run(args, io, true),
    ..LRZTAR
};

fn details() -> String {
    "The output of DIR is DIR.tar.lrz in the present directory, or in that of --outdir. What is unpacked goes to the present \
     directory, or to that of --outdir, which must be there; without --force nothing must be there that is called like the \
     file without .tar.lrz. No link is followed there, and nothing made outside. Sockets are left out.\n\
     Settings of lrzip.conf are read as lrzip does."
        .to_string()
}

/// What both ways are asked.
struct Asked {
    secret: Secret,
    resources: Resources,
    suffix: String,
    force: bool,
    outdir: Option<PathBuf>,
    bar: bool,
    silent: bool,
    verbose: bool,
    hash: bool,
}

fn run(args: &Args, io: &mut Io, unpack: bool) -> Result<(), Failure> {
    let conf = Conf::read(&io.host)?;
    be_nice(args, &conf)?;
    let silent = args.flag("very-quiet");
    let asked = Asked {
        secret: secret(args, &conf)?,
        resources: resources(args, &conf, io)?,
        suffix: suffix(args)?,
        force: args.flag("force") || conf.replace,
        outdir: args.path("outdir").or_else(|| conf.outdir.clone()),
        bar: !args.flag("quiet") && !silent && !conf.quiet,
        silent,
        verbose: args.count("verbose").max(conf.verbosity) > 0,
        hash: args.flag("hash") || conf.hash,
    };
    let (options, outfile) = (write_options(args, &conf)?, args.path("outfile"));
    if args.given("outfile") && args.given("outdir") {
        return Err(args.wrong("outfile", "cannot be used with --outdir"));
    }
    let path: PathBuf = args.required("DIR")?;
    if !args.flag("decompress") && !unpack {
        return pack(&path, outfile, options, &asked, io);
    }
    match outfile {
        Some(_) => Err(args.wrong("outfile", "what is unpacked goes into a directory (expected --outdir)")),
        None => self::unpack(&path, &asked, io),
    }
}

// Packing.

fn pack(
    path: &Path,
    outfile: Option<PathBuf>,
    options: WriteOptions,
    asked: &Asked,
    io: &mut Io,
) -> Result<(), Failure> {
    let password = match &asked.secret {
        Secret::None => None,
        Secret::Given(password) => Some(password.clone()),
        Secret::Ask => Some(password::ask(io, true)?),
    };
    let options = WriteOptions { password: password.map(password::for_writing), ..options };
    let output = outfile.map_or_else(|| output_of(path, asked), Ok)?;
    let stream = output.as_os_str() == "-";
    let target = match stream {
        false => TarTarget::File { path: output.clone(), force: asked.force },
        true if io.out_terminal => {
            return Err(Failure::usage("standard output is a terminal (expected a file or a pipe)"));
        }
        true => io.stdout_target(),
    };
    let directory = DirectoryOptions { readers: 2, ..DirectoryOptions::default() };
    let request = LrzRequest {
        source: LrzSource::Directory { path: path.to_path_buf(), options: directory, prefix: prefix(path) },
        target,
        options,
        keep_attributes: false,
        resources: asked.resources.clone(),
        temporaries: io.temporaries.clone(),
    };
    let written = watched(io, asked.bar, |observer| packline::lrz_pack(request, observer))?;
    if !asked.silent {
        io.say_lines(&packed(asked, &output, &written));
    }
    Ok(())
}

/// Names in the tar begin as the directory was called, without what leads out of the present one.
fn prefix(path: &Path) -> Vec<u8> {
    let name = canonical(path.as_os_str().as_bytes());
    let name = name.unwrap_or_else(|_| path.file_name().unwrap_or_default().as_bytes().to_vec());
    if name.is_empty() { name } else { [&name[..], b"/"].concat() }
}

fn output_of(path: &Path, asked: &Asked) -> Result<PathBuf, Failure> {
    let Some(name) = path.file_name() else {
        let what = "has no name that the output could have (expected --outfile)";
        return Err(Failure::usage(format!("{}: {what}", path.escaped())));
    };
    let mut name = name.to_os_string();
    name.push(".tar");
    name.push(&asked.suffix);
    Ok(asked.outdir.as_deref().unwrap_or(Path::new(".")).join(name))
}

fn packed(asked: &Asked, output: &Path, written: &Written) -> String {
    let ratio = written.plain as f64 / written.stored.max(1) as f64;
    let mut text = format!("{} - Compression Ratio: {ratio:.3}.", output.escaped());
    if asked.verbose {
        let (plain, stored) = (show_bytes(written.plain), show_bytes(written.stored));
        text = format!("{} chunks, {plain} to {stored}, {} workers\n{text}", written.chunks, written.workers);
    }
    if asked.hash || asked.verbose {
        text.push_str(&format!("\nMD5: {}", lrzip::hex(&written.md5)));
    }
    text
}

// Unpacking.

fn unpack(path: &Path, asked: &Asked, io: &mut Io) -> Result<(), Failure> {
    let into = asked.outdir.clone().unwrap_or_else(|| PathBuf::from("."));
    if !into.is_dir() {
        return Err(Failure::failed(format!("{}: is no directory (expected one that is there)", into.escaped())));
    }
    let made = into.join(name_of(path));
    if !asked.force && made.symlink_metadata().is_ok() {
        return Err(Failure::failed(format!("{}: exists (expected --force)", made.escaped())));
    }
    let opened = open_asking(path, &asked.secret, io)?;
    let root = rustix::process::geteuid().is_root();
    let request = LrzTreeRequest {
        opened: &opened,
        destination: into,
        force: true,
        kept: Kept { permissions: true, owners: root, set_id: true, xattrs: true, times: true, destination: false },
        devices: true,
        sync: false,
        resources: asked.resources.clone(),
        temporaries: io.temporaries.clone(),
    };
    let counts = watched(io, asked.bar, |observer| packline::lrz_unpack_tree(request, observer))?;
    if !asked.silent {
        io.say(&format!("{} entries, {} of content", counts.entries, show_bytes(counts.content_bytes)));
    }
    Ok(())
}

/// What a file is likely to make: its name up to `.tar`.
fn name_of(path: &Path) -> &OsStr {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let end = name.windows(5).rposition(|part| part == b".tar.").unwrap_or(name.len());
    OsStr::from_bytes(&name[..end])
}
