//! The results as a table.

use super::traffic::Traffic;

/// One update.
pub struct Row {
    pub block: String,
    pub image: String,
    pub change: String,
    /// Size of the new image in bytes.
    pub size: u64,
    pub traffic: Traffic,
}

const COLUMNS: [&str; 7] = ["chunks", "desync", "casync", "RAUC", "zsync", "xdelta3", "delta"];

fn numbers(traffic: &Traffic) -> [Option<u64>; 7] {
    let Traffic { chunks, desync, casync, rauc, zsync, xdelta, delta } = *traffic;
    [Some(chunks), desync, casync, Some(rauc), Some(zsync), xdelta, delta]
}

pub fn csv(rows: &[Row]) -> String {
    let mut text = format!("block,change,image,size_bytes,{}\n", COLUMNS.map(str::to_lowercase).join(","));
    for Row { block, image, change, size, traffic } in rows {
        let numbers = numbers(traffic).map(|number| number.map_or(String::new(), |number| number.to_string()));
        text.push_str(&format!("{block},{change},\"{image}\",{size},{}\n", numbers.join(",")));
    }
    text
}

/// Returns a line. Each number has its ratio to the number of mksquashfs's image, if `rows` has that image.
pub fn line(row: &Row, rows: &[Row]) -> String {
    let peer = rows.iter().find(|other| {
        other.block == row.block
            && other.change == row.change
            && other.image == "mksquashfs"
            && other.image != row.image
    });
    let cell = |number: Option<u64>, peers: Option<u64>| match (number, peers) {
        (None, _) => String::new(),
        (Some(number), Some(peers)) if peers > 0 => format!("{} ({:.3}x)", shown(number), number as f64 / peers as f64),
        (Some(number), _) => shown(number),
    };
    let peers = peer.map_or([None; 7], |peer| numbers(&peer.traffic));
    let cells: Vec<String> =
        numbers(&row.traffic).into_iter().zip(peers).map(|(number, peers)| cell(number, peers)).collect();
    format!("| {} | {} | {} | {} | {} |", row.block, row.change, row.image, shown(row.size), cells.join(" | "))
}

/// Millions of bytes.
fn shown(bytes: u64) -> String {
    format!("{:.2}", bytes as f64 / 1e6)
}

pub fn page(machine: &str, codec: &str, rows: &[Row]) -> String {
    let mut order: Vec<&Row> = rows.iter().collect();
    // Stable: the images of one change stay in their order.
    let first = |row: &Row| rows.iter().position(|other| other.block == row.block && other.change == row.change);
    order.sort_by_key(|row| first(row));
    let lines: Vec<String> = order.into_iter().map(|row| line(row, rows)).collect();
    format!(
        "# Update traffic between two images\n\n{machine}\n\nCodec {codec}. Megabytes that an update moves, and the ratio to mksquashfs's image. \
         chunks: cut as casync does (16, 64, 256 KiB), each new one compressed with zstd level 3; desync and casync: what their \
         stores grow by; RAUC: blocks of 4 KiB that are not in the old image; zsync: blocks of 4 KiB (2 KiB below 100 MB) that are nowhere in the old image; \
         xdelta3: a delta of the two images; delta: that of packline delta.\n\n| block | change | image | size | {} |\n|---|---|---|--:|{}\n{}\n",
        COLUMNS.join(" | "),
        "--:|".repeat(COLUMNS.len()),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_to_mksquashfs_and_changes_stay_together() {
        let traffic =
            |chunks| Traffic { chunks, desync: None, casync: None, rauc: 0, zsync: 1, xdelta: None, delta: None };
        let row = |image: &str, change: &str, chunks| {
            let block = "128K".to_owned();
            let change = change.to_owned();
            Row { block, image: image.into(), change, size: 1_000_000, traffic: traffic(chunks) }
        };
        let rows = [
            row("mksquashfs", "a", 2_000_000),
            row("mksquashfs", "b", 4_000_000),
            row("packline, stable", "a", 500_000),
            row("packline, stable", "b", 1_000_000),
        ];
        let page = page("here", "zstd", &rows);
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| 128K")).collect();
        assert_eq!(lines[0], "| 128K | a | mksquashfs | 1.00 | 2.00 |  |  | 0.00 | 0.00 |  |  |");
        assert_eq!(
            lines[1],
            "| 128K | a | packline, stable | 1.00 | 0.50 (0.250x) |  |  | 0.00 | 0.00 (1.000x) |  |  |"
        );
        assert!(lines[3].contains("| b | packline, stable | 1.00 | 1.00 (0.250x) |"), "{}", lines[3]);
    }
}
