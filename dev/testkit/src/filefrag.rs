//! The extents of files as the kernel reports them (the FIEMAP ioctl), read with filefrag.

use crate::tools;
use std::path::PathBuf;
use std::process::Command;

/// A range of a file that is stored together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file in bytes.
    pub start: u64,
    /// Bytes of the file.
    pub length: u64,
    /// Offset on the device in bytes; 0 if the file system names none.
    pub physical: u64,
}

/// Returns the extents of each file, in order. Holes are not among them.
pub fn extents(files: &[PathBuf]) -> Result<Vec<Vec<Extent>>, String> {
    let output = tools::run(Command::new("filefrag").args(["-v", "-b1"]).args(files))?;
    let found = parse(&String::from_utf8_lossy(&output.stdout))?;
    if found.len() == files.len() {
        Ok(found)
    } else {
        Err(format!("filefrag prints {} of {} files", found.len(), files.len()))
    }
}

fn parse(text: &str) -> Result<Vec<Vec<Extent>>, String> {
    let mut files: Vec<Vec<Extent>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("File size of ") {
            files.push(Vec::new());
        } else if is_row(line) {
            let extent =
                extent(line).ok_or_else(|| format!("{line:?} (expected the offsets and the length of an extent)"))?;
            files.last_mut().ok_or_else(|| format!("{line:?} (expected the size of a file)"))?.push(extent);
        }
    }
    Ok(files)
}

/// Rows start with the number of the extent.
fn is_row(line: &str) -> bool {
    line.split_once(':').is_some_and(|(first, _)| first.trim().parse::<u64>().is_ok())
}

/// A row has the number, the first and the last offset in the file, those on the device, the length, and more.
fn extent(row: &str) -> Option<Extent> {
    let range = |field: &str| {
        let (first, last) = field.split_once("..")?;
        Some((first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?))
    };
    let mut fields = row.split(':').skip(1);
    let (start, last) = range(fields.next()?)?;
    let (physical, _) = range(fields.next()?)?;
    let length: u64 = fields.next()?.trim().parse().ok()?;
    (start.checked_add(length) == last.checked_add(1)).then_some(Extent { start, length, physical })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_filefrag_prints() {
        let text = "Filesystem type is: e0f5e1e2\n\
            File size of on/large is 1288895 (1290240 blocks of 1 bytes)\n \
            ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
              0:        0..  131071:     135168..    266239: 131072:            \n   \
              9:  1179648.. 1288894:          0..    109246: 109247:     323584: last,eof\n\
            on/large: 10 extents found\n\
            File size of on/holes is 4096 (4096 blocks of 1 bytes)\n\
            on/holes: 0 extents found\n";
        let large = vec![
            Extent { start: 0, length: 131_072, physical: 135_168 },
            Extent { start: 1_179_648, length: 109_247, physical: 0 },
        ];
        assert_eq!(parse(text), Ok(vec![large, Vec::new()]));
        for wrong in ["   0:        0..    4095:       4096..      8191:   4097:", "   0:        0..    4095:"] {
            assert!(parse(&format!("File size of x is 1 (1 blocks of 1 bytes)\n{wrong}\n")).is_err(), "{wrong}");
        }
    }
}
