//! Writes the summary of mksquashfs and sqfstar in the words of squashfs-tools, because scripts search it.

use packline::requests::ImageSummary;

/// Returns the statistics of an image. The uncompressed size counts tables by their stored size.
pub fn statistics(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let counts = &image.counts;
    let end = &image.end;
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
