//! Drop-ins for the programs of squashfs-tools 4.7.5, with the times and the summary that they share.

pub mod mksquashfs;
pub mod name_pattern;
pub mod partial_help;
pub mod posix_regex;
pub mod sqfscat;
pub mod sqfstar;
pub mod unsquashfs;

use packline::requests::{ImageSummary, WrittenEnd};

use crate::host::commands::parse_date;

/// Parses a time of an option: seconds since 1970, or any text that date(1) reads.
///
/// # Errors
/// date(1) cannot read the text, or the time does not fit into 32 bits.
pub fn parse_time(text: &str) -> Result<u32, String> {
    text.parse().or_else(|_| {
        parse_date(text).ok_or_else(|| {
            format!("'{text}' is not a time (expected seconds since 1970, 0 to 2^32-1, or what date(1) reads)")
        })
    })
}

/// Returns the statistics of an image in the words of mksquashfs and sqfstar, because scripts search them. The uncompressed size
/// counts tables by their stored size.
pub fn statistics(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let counts = &image.counts;
    let WrittenEnd::SquashFs(end) = &image.end else { return String::new() };
    let tables = end.bytes_used.saturating_sub(image.data_bytes);
    let plain = image.content_bytes + tables;
    let ratio = end.bytes_used as f64 * 100.0 / plain.max(1) as f64;
    let kilobytes = |bytes: u64| bytes as f64 / 1024.0;
    let table = |name, bytes: u64| format!("{name} table size {bytes} bytes ({:.2} Kbytes)\n", kilobytes(bytes));
    let sizes = format!(
        "Filesystem size {:.2} Kbytes ({:.2} Mbytes)\n\t{ratio:.2}% of uncompressed filesystem size ({:.2} Kbytes)\n",
        kilobytes(end.bytes_used),
        kilobytes(end.bytes_used) / 1024.0,
        kilobytes(plain),
    );
    let numbers = [
        ("duplicate files found", image.saved.duplicate_files),
        ("inodes", end.inodes.into()),
        ("files", counts.files),
        ("fragments", image.fragments),
        ("symbolic links", counts.symlinks),
        ("device, fifo and socket nodes", counts.special),
        ("directories", counts.directories),
        ("hard-links", counts.hard_links),
        ("ids (unique uids + gids)", end.ids.into()),
    ];
    let numbers = numbers.map(|(what, number)| format!("Number of {what} {number}\n")).concat();
    sizes + &table("Inode", end.inode_table) + &table("Directory", end.directory_table) + &numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_and_dates() {
        assert_eq!(parse_time("1000000000"), Ok(1_000_000_000));
        assert_eq!(parse_time("2001-09-09 01:46:40 UTC"), Ok(1_000_000_000));
        for wrong in ["-1", "4294967296", "no such day", "1960-01-01"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
