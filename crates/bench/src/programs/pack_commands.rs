//! The command lines for packing with each program.

use std::ffi::OsString;
use std::path::Path;

use packline_codec::Spec;

use crate::inputs::source::Source;
use crate::programs::codec_options;
use crate::programs::command_line::{CommandLine, Stdout};
use crate::programs::program::{Program, ProgramKind, words};
use crate::report::Tails;

/// The parameters that all programs of a case have in common.
#[derive(Debug, Clone, Copy)]
pub struct Parameters<'a> {
    pub codec: &'a Spec,
    /// The block size in bytes.
    pub block_size: u64,
    pub tails: Tails,
    pub jobs: usize,
    /// The memory limit in bytes.
    pub memory: Option<u64>,
}

/// A program does not support a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// The unsupported part. It is empty if the complete case is unsupported, and `None` for the codec.
    pub with: Option<&'static str>,
    pub reason: String,
}

impl Unsupported {
    pub fn new(with: &'static str, reason: &str) -> Unsupported {
        Unsupported { with: Some(with), reason: reason.to_owned() }
    }
}

/// The codec, or one of its parameters, is not supported.
impl From<String> for Unsupported {
    fn from(reason: String) -> Unsupported {
        Unsupported { with: None, reason }
    }
}

/// Why a program without threads does not take part in cases with several jobs.
pub const SERIAL: (&str, &str) = ("more than 1 job", "it works on one thread");

/// A program that packs `source` into the file `output`.
pub struct Packing<'a> {
    pub program: &'a Program,
    pub parameters: Parameters<'a>,
    pub source: &'a Source,
    pub output: &'a Path,
}

impl Packing<'_> {
    /// Returns the command line. packline prints its summary to the file `summary`.
    ///
    /// # Errors
    /// Returns why the program does not support the case.
    pub fn line(&self, summary: &Path) -> Result<CommandLine, Unsupported> {
        if self.program.kind.is_serial() && self.parameters.jobs != 1 {
            return Err(Unsupported::new(SERIAL.0, SERIAL.1));
        }
        match self.program.kind {
            ProgramKind::Packline => Ok(self.packline(summary)),
            ProgramKind::Mksquashfs => self.mksquashfs(),
            ProgramKind::Tar2sqfs => self.tar2sqfs(),
            ProgramKind::Gensquashfs => self.gensquashfs(),
            ProgramKind::Mkdwarfs => self.mkdwarfs(),
            _ => self.stream(),
        }
    }

    fn packline(&self, summary: &Path) -> CommandLine {
        let fragments = match self.parameters.tails {
            Tails::NoFragments => "never",
            Tails::NoTailPacking => "small",
            Tails::Fragments | Tails::Unknown => "always",
        };
        let codec = self.parameters.codec.to_string();
        let block = self.parameters.block_size.to_string();
        let jobs = self.parameters.jobs.to_string();
        let line = CommandLine::new(&self.program.path).with(["pack"]).with([self.source.path(), self.output]);
        let line = line.with(["-c", &codec, "-b", &block, "-j", &jobs, "--fragments", fragments, "--quiet", "--json"]);
        let memory = self.parameters.memory.map(|bytes| words(&["--mem".to_owned(), bytes.to_string()]));
        line.with(memory.unwrap_or_default()).stdout(Stdout::File(summary.to_path_buf()))
    }

    fn mksquashfs(&self) -> Result<CommandLine, Unsupported> {
        let tails: &[&str] = match self.parameters.tails {
            Tails::NoFragments => &["-no-fragments"],
            // mksquashfs does not pack tail ends by default.
            Tails::NoTailPacking => &[],
            Tails::Fragments | Tails::Unknown => &["-always-use-fragments"],
        };
        let line = CommandLine::new(&self.program.path);
        let line = match self.source {
            Source::Tar { compressed: true, .. } => {
                return Err(Unsupported::new("", "it does not read compressed tars"));
            }
            Source::Tar { path, .. } => line.with([Path::new("-"), self.output]).with(["-tar"]).stdin(path),
            Source::Directory { path } => line.with([path.as_path(), self.output]),
        };
        let block = self.parameters.block_size.to_string();
        let jobs = self.parameters.jobs.to_string();
        let line =
            line.with(["-noappend", "-no-progress", "-quiet", "-no-exports", "-b", &block, "-processors", &jobs]);
        let memory = self.parameters.memory.map(|bytes| words(&["-mem".to_owned(), format!("{}K", bytes >> 10)]));
        Ok(line.with(tails).with(codec_options::mksquashfs(self.parameters.codec)?).with(memory.unwrap_or_default()))
    }

    fn tar2sqfs(&self) -> Result<CommandLine, Unsupported> {
        let Source::Tar { path, .. } = self.source else {
            return Err(Unsupported::new("", "it packs only tars (gensquashfs packs directories)"));
        };
        Ok(CommandLine::new(&self.program.path)
            .with(["-q", "-f"])
            .with(self.tools_ng()?)
            .with([self.output])
            .stdin(path))
    }

    fn gensquashfs(&self) -> Result<CommandLine, Unsupported> {
        let Source::Directory { path } = self.source else {
            return Err(Unsupported::new("", "it packs only directories (tar2sqfs packs tars)"));
        };
        let line = CommandLine::new(&self.program.path).with(["-q", "-f", "-k", "-x", "-D"]).with([path]);
        Ok(line.with(self.tools_ng()?).with([self.output]))
    }

    /// Returns the options of both packers of squashfs-tools-ng.
    fn tools_ng(&self) -> Result<Vec<OsString>, Unsupported> {
        if self.parameters.memory.is_some() {
            return Err(Unsupported::new("", "its memory cannot be limited"));
        }
        let tails: &[&str] = match self.parameters.tails {
            Tails::NoFragments => {
                return Err(Unsupported::new("no-fragments", "it always packs small files into fragment blocks"));
            }
            Tails::NoTailPacking => &["-T"],
            Tails::Fragments | Tails::Unknown => &[],
        };
        let block = self.parameters.block_size.to_string();
        let jobs = self.parameters.jobs.to_string();
        let mut line = words(&codec_options::tools_ng(self.parameters.codec)?);
        line.extend(words(&["-b", &block, "-j", &jobs]));
        line.extend(words(tails));
        Ok(line)
    }

    fn mkdwarfs(&self) -> Result<CommandLine, Unsupported> {
        let Source::Directory { path } = self.source else {
            return Err(Unsupported::new("", "it packs only directories"));
        };
        let line = CommandLine::new(&self.program.path).with(["--no-progress", "--force", "-i"]).with([path.as_path()]);
        let line = line.with([Path::new("-o"), self.output]).with(["-N", &self.parameters.jobs.to_string()]);
        let memory = self.parameters.memory.map(|bytes| words(&["-L".to_owned(), format!("{}k", bytes >> 10)]));
        Ok(line.with(codec_options::mkdwarfs(self.parameters.codec)?).with(memory.unwrap_or_default()))
    }

    /// Returns the command line of a program that compresses one file.
    fn stream(&self) -> Result<CommandLine, Unsupported> {
        let Source::Tar { path, .. } = self.source else {
            return Err(Unsupported::new("", "it compresses a file, not a directory"));
        };
        if self.parameters.memory.is_some() {
            return Err(Unsupported::new("", "its memory is not limited here"));
        }
        let line = CommandLine::new(&self.program.path);
        let jobs = self.parameters.jobs.to_string();
        let threads = format!("-T{jobs}");
        let line = match self.program.kind {
            ProgramKind::Zstd => line.with(["-q", "-c", &threads]).with(codec_options::zstd(self.parameters.codec)?),
            ProgramKind::Xz => line.with(["-q", "-c", &threads]).with(codec_options::xz(self.parameters.codec)?),
            ProgramKind::Gzip => line.with(["-c"]).with(codec_options::gzip(self.parameters.codec)?),
            ProgramKind::Pigz => line.with(["-c", "-p", &jobs]).with(codec_options::gzip(self.parameters.codec)?),
            ProgramKind::Lrzip => {
                // lrzip seeks in the file.
                let line = line.with(["-Q", "-f", "-p", &jobs]).with(codec_options::lrzip(self.parameters.codec)?);
                return Ok(line.with([Path::new("-o"), self.output, path]));
            }
            _ => return Err(Unsupported::new("", "it does not pack")),
        };
        Ok(line.stdin(path).stdout(Stdout::File(self.output.to_path_buf())))
    }
}

/// Returns the command line that decompresses the output of a program that compresses one file; `None` for programs that write images.
pub fn decompress_line(program: &Program, compressed: &Path, output: &Path) -> Option<CommandLine> {
    let line = CommandLine::new(&program.path);
    match program.kind {
        ProgramKind::Zstd | ProgramKind::Xz | ProgramKind::Gzip | ProgramKind::Pigz => {
            Some(line.with(["-d", "-c"]).stdin(compressed).stdout(Stdout::File(output.to_path_buf())))
        }
        ProgramKind::Lrzip => Some(line.with(["-Q", "-f", "-d"]).with([Path::new("-o"), output, compressed])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kind: ProgramKind, codec: &str, tails: Tails, source: &Source) -> Result<String, Unsupported> {
        let program = Program { kind, label: kind.name().into(), path: kind.name().into(), version: String::new() };
        let codec = Spec::parse(codec).unwrap();
        let parameters = Parameters { codec: &codec, block_size: 4096, tails, jobs: 3, memory: None };
        let packing = Packing { program: &program, parameters, source, output: Path::new("OUT") };
        packing.line(Path::new("SUMMARY")).map(|line| line.quoted())
    }

    fn tar() -> Source {
        Source::Tar { path: "in.tar".into(), compressed: false }
    }

    fn directory() -> Source {
        Source::Directory { path: "dir".into() }
    }

    #[test]
    fn all_programs_get_the_same_parameters() {
        let line = |kind, codec, source: &Source| shown(kind, codec, Tails::Fragments, source).unwrap();
        assert_eq!(
            line(ProgramKind::Packline, "xz:level=3", &tar()),
            "packline pack in.tar OUT -c xz:level=3 -b 4096 -j 3 --fragments always --quiet --json > SUMMARY"
        );
        let common = "-noappend -no-progress -quiet -no-exports -b 4096 -processors 3 -always-use-fragments";
        let tools = format!("mksquashfs - OUT -tar {common} -comp lz4 < in.tar");
        assert_eq!(line(ProgramKind::Mksquashfs, "lz4", &tar()), tools);
        let tools = format!("mksquashfs dir OUT {common} -noI -noD -noF -noX");
        assert_eq!(line(ProgramKind::Mksquashfs, "none", &directory()), tools);
        let ng = "tar2sqfs -q -f -c zstd -X level=3 -b 4096 -j 3 OUT < in.tar";
        assert_eq!(line(ProgramKind::Tar2sqfs, "zstd:level=3", &tar()), ng);
        assert_eq!(
            line(ProgramKind::Gensquashfs, "lzo", &directory()),
            "gensquashfs -q -f -k -x -D dir -c lzo -b 4096 -j 3 OUT"
        );
        assert_eq!(
            line(ProgramKind::Mkdwarfs, "zstd", &directory()),
            "mkdwarfs --no-progress --force -i dir -o OUT -N 3 -C zstd:level=15"
        );
        assert_eq!(line(ProgramKind::Zstd, "zstd", &tar()), "zstd -q -c -T3 -15 < in.tar > OUT");
        assert_eq!(line(ProgramKind::Pigz, "gzip", &tar()), "pigz -c -p 3 -9 < in.tar > OUT");
        assert_eq!(line(ProgramKind::Lrzip, "lzma", &tar()), "lrzip -Q -f -p 3 --lzma -o OUT in.tar");
    }

    #[test]
    fn all_programs_treat_tail_ends_alike() {
        let line = |kind, tails| shown(kind, "gzip", tails, &tar());
        assert!(line(ProgramKind::Packline, Tails::NoTailPacking).unwrap().contains("--fragments small"));
        assert!(line(ProgramKind::Packline, Tails::NoFragments).unwrap().contains("--fragments never"));
        assert!(!line(ProgramKind::Mksquashfs, Tails::NoTailPacking).unwrap().contains("fragments"));
        assert!(line(ProgramKind::Mksquashfs, Tails::NoFragments).unwrap().contains("-no-fragments"));
        assert!(line(ProgramKind::Tar2sqfs, Tails::NoTailPacking).unwrap().contains(" -T "));
        assert!(line(ProgramKind::Tar2sqfs, Tails::NoFragments).is_err());
    }

    #[test]
    fn unsupported_work_is_an_error() {
        let compressed = Source::Tar { path: "in.tar.gz".into(), compressed: true };
        for (kind, codec, source) in [
            (ProgramKind::Tar2sqfs, "none", tar()),
            (ProgramKind::Tar2sqfs, "zstd", directory()),
            (ProgramKind::Gensquashfs, "zstd", tar()),
            (ProgramKind::Mksquashfs, "zstd", compressed),
            (ProgramKind::Zstd, "xz", tar()),
            (ProgramKind::Zstd, "zstd", directory()),
            (ProgramKind::Mkdwarfs, "zstd", tar()),
        ] {
            let outcome = shown(kind, codec, Tails::Fragments, &source);
            assert!(outcome.is_err(), "{outcome:?}");
        }
    }
}
