//! Packing, as each program is asked for it.

use std::ffi::OsString;
use std::path::Path;

use packline::bench::Tails;
use packline::codec::Spec;

use super::input::Source;
use super::line::{Line, Printed};
use super::program::{Kind, Program, words};
use super::translate;

/// What is asked of every program in a contest.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub codec: &'a Spec,
    /// Bytes.
    pub block_size: u64,
    pub tails: Tails,
    pub jobs: usize,
    /// Bytes of memory, if it is limited.
    pub memory: Option<u64>,
}

/// Why a program cannot do what is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// With what it takes no part; nothing if that is the codec.
    pub with: Option<&'static str>,
    pub reason: String,
}

impl Lack {
    /// It takes no part with `with`, or at all if that is empty.
    pub fn new(with: &'static str, reason: &str) -> Lack {
        Lack { with: Some(with), reason: reason.to_owned() }
    }
}

/// It does not have the codec, or not with these parameters.
impl From<String> for Lack {
    fn from(reason: String) -> Lack {
        Lack { with: None, reason }
    }
}

/// Why a program without threads is not beside several jobs.
pub const SERIAL: (&str, &str) = ("more than 1 job", "it works on one thread");

/// The line that makes `program` pack `source` into the file `output`; what it prints of use goes to `printed`.
///
/// # Errors
/// Why it cannot do what is asked.
pub fn pack_line(
    program: &Program,
    ask: &Ask<'_>,
    source: &Source,
    output: &Path,
    printed: &Path,
) -> Result<Line, Lack> {
    if program.kind.is_serial() && ask.jobs != 1 {
        return Err(Lack::new(SERIAL.0, SERIAL.1));
    }
    match program.kind {
        Kind::Packline => Ok(packline(program, ask, source, output, printed)),
        Kind::Mksquashfs => mksquashfs(program, ask, source, output),
        Kind::Tar2sqfs => tar2sqfs(program, ask, source, output),
        Kind::Gensquashfs => gensquashfs(program, ask, source, output),
        Kind::Mkdwarfs => mkdwarfs(program, ask, source, output),
        _ => stream(program, ask, source, output),
    }
}

fn packline(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path, printed: &Path) -> Line {
    let fragments = match ask.tails {
        Tails::NoFragments => "never",
        Tails::NoTailPacking => "small",
        Tails::Fragments | Tails::Unknown => "always",
    };
    let (codec, block, jobs) = (ask.codec.to_string(), ask.block_size.to_string(), ask.jobs.to_string());
    let line = Line::new(&program.path).with(["pack"]).with([source.path(), output]);
    let line = line.with(["-c", &codec, "-b", &block, "-j", &jobs, "--fragments", fragments, "--quiet", "--json"]);
    let memory = ask.memory.map(|bytes| words(&["--mem".to_owned(), bytes.to_string()]));
    line.with(memory.unwrap_or_default()).printing(Printed::To(printed.to_path_buf()))
}

fn mksquashfs(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path) -> Result<Line, Lack> {
    let tails: &[&str] = match ask.tails {
        Tails::NoFragments => &["-no-fragments"],
        // Not packing tail ends is its default.
        Tails::NoTailPacking => &[],
        Tails::Fragments | Tails::Unknown => &["-always-use-fragments"],
    };
    let line = Line::new(&program.path);
    let line = match source {
        Source::Tar { compressed: true, .. } => return Err(Lack::new("", "it reads no compressed tar")),
        Source::Tar { path, .. } => line.with([Path::new("-"), output]).with(["-tar"]).reading(path),
        Source::Directory { path } => line.with([path.as_path(), output]),
    };
    let (block, jobs) = (ask.block_size.to_string(), ask.jobs.to_string());
    let line = line.with(["-noappend", "-no-progress", "-quiet", "-no-exports", "-b", &block, "-processors", &jobs]);
    let memory = ask.memory.map(|bytes| words(&["-mem".to_owned(), format!("{}K", bytes >> 10)]));
    Ok(line.with(tails).with(translate::mksquashfs(ask.codec)?).with(memory.unwrap_or_default()))
}

fn tar2sqfs(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path) -> Result<Line, Lack> {
    let Source::Tar { path, .. } = source else {
        return Err(Lack::new("", "it packs only tars (gensquashfs packs directories)"));
    };
    Ok(Line::new(&program.path).with(["-q", "-f"]).with(tools_ng(ask)?).with([output]).reading(path))
}

fn gensquashfs(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path) -> Result<Line, Lack> {
    let Source::Directory { path } = source else {
        return Err(Lack::new("", "it packs only directories (tar2sqfs packs tars)"));
    };
    let line = Line::new(&program.path).with(["-q", "-f", "-k", "-x", "-D"]).with([path]);
    Ok(line.with(tools_ng(ask)?).with([output]))
}

/// What both packers of squashfs-tools-ng take.
fn tools_ng(ask: &Ask<'_>) -> Result<Vec<OsString>, Lack> {
    if ask.memory.is_some() {
        return Err(Lack::new("", "its memory cannot be limited"));
    }
    let tails: &[&str] = match ask.tails {
        Tails::NoFragments => {
            return Err(Lack::new("no-fragments", "it always packs small files into fragment blocks"));
        }
        Tails::NoTailPacking => &["-T"],
        Tails::Fragments | Tails::Unknown => &[],
    };
    let (block, jobs) = (ask.block_size.to_string(), ask.jobs.to_string());
    let mut line = words(&translate::tools_ng(ask.codec)?);
    line.extend(words(&["-b", &block, "-j", &jobs]));
    line.extend(words(tails));
    Ok(line)
}

fn mkdwarfs(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path) -> Result<Line, Lack> {
    let Source::Directory { path } = source else { return Err(Lack::new("", "it packs only directories")) };
    let line = Line::new(&program.path).with(["--no-progress", "--force", "-i"]).with([path.as_path()]);
    let line = line.with([Path::new("-o"), output]).with(["-N", &ask.jobs.to_string()]);
    let memory = ask.memory.map(|bytes| words(&["-L".to_owned(), format!("{}k", bytes >> 10)]));
    Ok(line.with(translate::mkdwarfs(ask.codec)?).with(memory.unwrap_or_default()))
}

/// Programs that compress one file.
fn stream(program: &Program, ask: &Ask<'_>, source: &Source, output: &Path) -> Result<Line, Lack> {
    let Source::Tar { path, .. } = source else { return Err(Lack::new("", "it compresses a file, not a directory")) };
    if ask.memory.is_some() {
        return Err(Lack::new("", "its memory is not limited here"));
    }
    let (line, jobs) = (Line::new(&program.path), ask.jobs.to_string());
    let threads = format!("-T{jobs}");
    let line = match program.kind {
        Kind::Zstd => line.with(["-q", "-c", &threads]).with(translate::zstd(ask.codec)?),
        Kind::Xz => line.with(["-q", "-c", &threads]).with(translate::xz(ask.codec)?),
        Kind::Gzip => line.with(["-c"]).with(translate::gzip(ask.codec)?),
        Kind::Pigz => line.with(["-c", "-p", &jobs]).with(translate::gzip(ask.codec)?),
        Kind::Lrzip => {
            // It takes a name, to seek in the file.
            let line = line.with(["-Q", "-f", "-p", &jobs]).with(translate::lrzip(ask.codec)?);
            return Ok(line.with([Path::new("-o"), output, path]));
        }
        _ => return Err(Lack::new("", "it does not pack")),
    };
    Ok(line.reading(path).printing(Printed::To(output.to_path_buf())))
}

/// The line that turns what a packer of streams made into `output` again; `None` for what makes images.
pub fn decompress_line(program: &Program, made: &Path, output: &Path) -> Option<Line> {
    let line = Line::new(&program.path);
    match program.kind {
        Kind::Zstd | Kind::Xz | Kind::Gzip | Kind::Pigz => {
            Some(line.with(["-d", "-c"]).reading(made).printing(Printed::To(output.to_path_buf())))
        }
        Kind::Lrzip => Some(line.with(["-Q", "-f", "-d"]).with([Path::new("-o"), output, made])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: Kind, codec: &str, tails: Tails, source: &Source) -> Result<String, Lack> {
        let program = Program { kind, label: kind.name().into(), path: kind.name().into(), version: String::new() };
        let codec = Spec::parse(codec).unwrap();
        let ask = Ask { codec: &codec, block_size: 4096, tails, jobs: 3, memory: None };
        pack_line(&program, &ask, source, Path::new("OUT"), Path::new("SAID")).map(|line| line.shown())
    }

    fn tar() -> Source {
        Source::Tar { path: "in.tar".into(), compressed: false }
    }

    fn directory() -> Source {
        Source::Directory { path: "dir".into() }
    }

    #[test]
    fn everyone_is_asked_for_the_same() {
        let line = |kind, codec, source: &Source| shown(kind, codec, Tails::Fragments, source).unwrap();
        assert_eq!(
            line(Kind::Packline, "xz:level=3", &tar()),
            "packline pack in.tar OUT -c xz:level=3 -b 4096 -j 3 --fragments always --quiet --json > SAID"
        );
        let common = "-noappend -no-progress -quiet -no-exports -b 4096 -processors 3 -always-use-fragments";
        let tools = format!("mksquashfs - OUT -tar {common} -comp lz4 < in.tar");
        assert_eq!(line(Kind::Mksquashfs, "lz4", &tar()), tools);
        let tools = format!("mksquashfs dir OUT {common} -noI -noD -noF -noX");
        assert_eq!(line(Kind::Mksquashfs, "none", &directory()), tools);
        let ng = "tar2sqfs -q -f -c zstd -X level=3 -b 4096 -j 3 OUT < in.tar";
        assert_eq!(line(Kind::Tar2sqfs, "zstd:level=3", &tar()), ng);
        assert_eq!(
            line(Kind::Gensquashfs, "lzo", &directory()),
            "gensquashfs -q -f -k -x -D dir -c lzo -b 4096 -j 3 OUT"
        );
        assert_eq!(
            line(Kind::Mkdwarfs, "zstd", &directory()),
            "mkdwarfs --no-progress --force -i dir -o OUT -N 3 -C zstd:level=15"
        );
        assert_eq!(line(Kind::Zstd, "zstd", &tar()), "zstd -q -c -T3 -15 < in.tar > OUT");
        assert_eq!(line(Kind::Pigz, "gzip", &tar()), "pigz -c -p 3 -9 < in.tar > OUT");
        assert_eq!(line(Kind::Lrzip, "lzma", &tar()), "lrzip -Q -f -p 3 --lzma -o OUT in.tar");
    }

    #[test]
    fn tail_ends_are_packed_alike_or_not_at_all() {
        let line = |kind, tails| shown(kind, "gzip", tails, &tar());
        assert!(line(Kind::Packline, Tails::NoTailPacking).unwrap().contains("--fragments small"));
        assert!(line(Kind::Packline, Tails::NoFragments).unwrap().contains("--fragments never"));
        assert!(!line(Kind::Mksquashfs, Tails::NoTailPacking).unwrap().contains("fragments"));
        assert!(line(Kind::Mksquashfs, Tails::NoFragments).unwrap().contains("-no-fragments"));
        assert!(line(Kind::Tar2sqfs, Tails::NoTailPacking).unwrap().contains(" -T "));
        assert!(line(Kind::Tar2sqfs, Tails::NoFragments).is_err());
    }

    #[test]
    fn what_a_program_cannot_do_it_is_not_asked_for() {
        let compressed = Source::Tar { path: "in.tar.gz".into(), compressed: true };
        for (kind, codec, source) in [
            (Kind::Tar2sqfs, "none", tar()),
            (Kind::Tar2sqfs, "zstd", directory()),
            (Kind::Gensquashfs, "zstd", tar()),
            (Kind::Mksquashfs, "zstd", compressed),
            (Kind::Zstd, "xz", tar()),
            (Kind::Zstd, "zstd", directory()),
            (Kind::Mkdwarfs, "zstd", tar()),
        ] {
            let outcome = shown(kind, codec, Tails::Fragments, &source);
            assert!(outcome.is_err(), "{outcome:?}");
        }
    }
}
