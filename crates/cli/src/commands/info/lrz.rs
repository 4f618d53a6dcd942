//! `packline info` and `lrzip -i` of a .lrz file: lrzip's text, or JSON.

use std::path::Path;

use packline::requests::OpenedLrz;
use packline_lrz::format::Record;
use packline_lrz::{BackEnd, BlockInfo, ChunkInfo, Error as LrzError};
use serde_json::json;

use crate::ui::escape::{Escape, hex};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::password::wants_password;

/// Sums over the chunks.
#[derive(Debug, Default)]
struct Sums {
    chunks: u64,
    /// The bytes of both streams, and of their blocks.
    plain: u64,
    stored: u64,
    /// The back end of the first compressed block.
    back_end: Option<BackEnd>,
}

/// The amount and the format of the output.
#[derive(Debug, Clone, Copy)]
pub struct Detail {
    /// Print JSON.
    pub json: bool,
    /// 0 shows the file, 1 also its chunks and blocks, 2 also their offsets.
    pub verbosity: u8,
}

/// Opens a file. Returns [`Failure::AlreadyReported`] with 0 if the file needs a password.
pub fn without_password(path: &Path) -> Result<OpenedLrz, Failure> {
    match packline::requests::lrz_open(path, None) {
        Err(error) if wants_password(&error) => Err(Failure::AlreadyReported(0)),
        opened => Ok(opened?),
    }
}

/// Shows a file. If it is encrypted and there is no password, only that is shown.
pub fn show(detail: Detail, path: &Path, opened: Result<OpenedLrz, Failure>, io: &mut Io) -> Result<(), Failure> {
    let opened = match opened {
        Err(Failure::AlreadyReported(0)) => return encrypted(detail, path, io),
        opened => opened?,
    };
    let mut printer = InfoPrinter { detail, opened: &opened, io };
    let sums = printer.chunks()?;
    printer.summary(path, &sums)
}

fn encrypted(detail: Detail, path: &Path, io: &mut Io) -> Result<(), Failure> {
    if detail.json {
        io.print_json(&format!("{}\n", json!({"format": "lrz", "file": path.display().to_string(), "encrypted": true})))
    } else {
        io.print("Encrypted lrzip archive. No further information available\n")
    }
}

struct InfoPrinter<'s> {
    detail: Detail,
    opened: &'s OpenedLrz,
    io: &'s mut Io,
}

impl InfoPrinter<'_> {
    fn chunks(&mut self) -> Result<Sums, Failure> {
        let mut sums = Sums::default();
        let opened = self.opened;
        if self.words(1) {
            self.io.print(&format!("Detected lrzip version 0.{} file.\n", minor(opened)))?;
        }
        for chunk in opened.archive.chunks() {
            let chunk = chunk.map_err(|cause| self.fault(cause))?;
            sums.chunks += 1;
            self.chunk(&chunk, sums.chunks)?;
            for stream in 0..2 {
                self.stream(&chunk, stream, &mut sums)?;
            }
        }
        Ok(sums)
    }

    fn words(&self, verbosity: u8) -> bool {
        !self.detail.json && self.detail.verbosity >= verbosity
    }

    fn objects(&self, verbosity: u8) -> bool {
        self.detail.json && self.detail.verbosity >= verbosity
    }

    fn fault(&self, cause: LrzError) -> Failure {
        packline::Error::stream(&self.opened.display_path, cause).into()
    }

    fn chunk(&mut self, chunk: &ChunkInfo, number: u64) -> Result<(), Failure> {
        let width = chunk.width.bytes();
        if self.objects(1) {
            let filter = chunk.filter.map(|filter| filter.name());
            let object = json!({"chunk": number, "offset": chunk.offset, "width": width, "size": chunk.declared,
                                "last": chunk.last, "filter": filter});
            return self.io.print_json(&format!("{object}\n"));
        }
        if !self.words(1) {
            return Ok(());
        }
        let size = chunk.declared.map_or("unknown".to_string(), |size| size.to_string());
        self.io.print(&format!("Rzip chunk:       {number}\nChunk byte width: {width}\nChunk size:       {size}\n"))
    }

    fn stream(&mut self, chunk: &ChunkInfo, stream: usize, sums: &mut Sums) -> Result<(), Failure> {
        self.stream_head(chunk, stream)?;
        for (number, block) in (1..).zip(self.opened.archive.blocks(chunk, stream)) {
            let block = block.map_err(|cause| self.fault(cause))?;
            sums.plain += block.plain;
            sums.stored += block.stored;
            if block.back_end != BackEnd::None {
                sums.back_end.get_or_insert(block.back_end);
            }
            self.block(&block, stream, number)?;
        }
        Ok(())
    }

    fn stream_head(&mut self, chunk: &ChunkInfo, stream: usize) -> Result<(), Failure> {
        if !self.words(1) {
            return Ok(());
        }
        let mut text = format!("Stream: {stream}\n");
        if self.words(2) {
            let head = chunk.base + (stream * Record::size(chunk.width)) as u64;
            text.push_str(&format!("Offset: {head}\n"));
        }
        text.push_str("Block\tComp\tPercent\t       Comp Size /     UComp Size");
        text.push_str(if self.words(2) { "            Offset :           Head\n" } else { "\n" });
        self.io.print(&text)
    }

    fn block(&mut self, block: &BlockInfo, stream: usize, number: u64) -> Result<(), Failure> {
        let name = block.back_end.name();
        if self.objects(2) {
            let object = json!({"stream": stream, "block": number, "back_end": name, "offset": block.offset,
                                "stored": block.stored, "plain": block.plain, "next": block.next});
            return self.io.print_json(&format!("{object}\n"));
        }
        if !self.words(1) {
            return Ok(());
        }
        let stored = block.stored;
        let plain = block.plain;
        let percent = percent(stored, plain);
        let mut text = format!("{number}\t{name}\t{percent}\t{stored:>16} / {plain:>14}");
        if self.words(2) {
            text.push_str(&format!("{:>18} : {:>14}", block.offset, block.next));
        }
        self.io.print(&format!("{text}\n"))
    }

    fn summary(&mut self, path: &Path, sums: &Sums) -> Result<(), Failure> {
        let archive = &self.opened.archive;
        let plain = archive.magic().size;
        let stored = self.opened.size;
        let md5 = archive.md5().map_err(|cause| self.fault(cause))?.map(|md5| hex(&md5));
        let name = path.display().to_string();
        let method = sums.back_end.map_or("none", BackEnd::name);
        if self.detail.json {
            let object = json!({"format": "lrz", "file": name, "version": format!("0.{}", minor(self.opened)), "encrypted": is_encrypted(self.opened),
                                "back_end": method, "size": plain, "stored": stored, "chunks": sums.chunks,
                                "stream_bytes": sums.plain, "block_bytes": sums.stored, "md5": md5});
            return self.io.print_json(&format!("{object}\n"));
        }
        let name = path.escaped();
        let minor = minor(self.opened);
        let mut text = format!("\nSummary\n=======\nFile: {name}\nlrzip version: 0.{minor} \n\n");
        if let Some(plain) = plain.filter(|_| self.words(1)) {
            text.push_str(&stages(plain, sums));
        }
        let method = if method == "none" { "rzip alone".to_string() } else { format!("rzip + {method}") };
        text.push_str(&format!("  Compression Method: {method}\n\n"));
        text.push_str(&sizes(plain, stored));
        text.push_str(&match md5 {
            Some(md5) => format!("\n  MD5 Checksum: {md5}\n"),
            None => "\n  CRC32 used for integrity testing\n".to_string(),
        });
        self.io.print(&text)
    }
}

fn minor(opened: &OpenedLrz) -> u8 {
    opened.archive.magic().dialect.minor()
}

fn is_encrypted(opened: &OpenedLrz) -> bool {
    opened.archive.magic().protection != packline_lrz::format::Protection::None
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:5.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}

fn stages(plain: u64, sums: &Sums) -> String {
    let line = |what: &str, part: u64, whole: u64| {
        format!("  {what:<13} {}\t{part:>16} / {whole:>14}\n", percent(part, whole))
    };
    [
        "  Stats         Percent       Compressed /   Uncompressed\n".to_string(),
        "  -------------------------------------------------------\n".to_string(),
        line("Rzip:", sums.plain, plain),
        line("Back end:", sums.stored, sums.plain),
        line("Overall:", sums.stored, plain),
        "\n".to_string(),
    ]
    .concat()
}

fn sizes(plain: Option<u64>, stored: u64) -> String {
    let Some(plain) = plain else {
        return format!("  Decompressed file size:        unknown\n  Compressed file size:   {stored:>15}\n");
    };
    let ratio = format!("{:.3}x", plain as f64 / stored.max(1) as f64);
    format!(
        "  Decompressed file size: {plain:>14}\n  Compressed file size:   {stored:>14}\n  Compression ratio:      {ratio:>15}\n"
    )
}
