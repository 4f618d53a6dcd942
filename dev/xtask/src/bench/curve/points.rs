//! The points of the curves, as a table.

use crate::bench::recorded;
use std::fmt::Write;

/// One encoder on all blocks of one size.
#[derive(Debug, Clone)]
pub struct Point {
    pub codec: String,
    pub ours: bool,
    pub level: String,
    /// Size of a block in bytes.
    pub size: usize,
    pub content: usize,
    pub stored: usize,
    /// Processor time in seconds.
    pub seconds: f64,
}

impl Point {
    pub fn add(&mut self, content: usize, stored: usize) {
        self.content += content;
        self.stored += stored;
    }

    /// Processor seconds for 10^9 bytes of content.
    fn cost(&self) -> f64 {
        self.seconds / self.content as f64 * 1e9
    }

    fn ratio(&self) -> f64 {
        self.stored as f64 / self.content as f64
    }

    fn is_on_the_curve_of(&self, other: &Point) -> bool {
        self.codec == other.codec && self.size == other.size
    }

    /// Returns the row. For a level of a library, the row names our cheapest level with the same size or less, and compares time and size.
    pub fn line(&self, all: &[Point]) -> String {
        let Point { codec, level, size, .. } = self;
        let by = if self.ours { "ours" } else { "library" };
        let start =
            format!("| {} KiB | {codec} | {by} | {level} | {:.4} | {:.2} |", size / 1024, self.ratio(), self.cost());
        let rivals =
            || all.iter().filter(|other| other.ours && other.is_on_the_curve_of(self) && other.stored <= self.stored);
        match rivals().min_by(|a, b| a.cost().total_cmp(&b.cost())) {
            _ if self.ours => format!("{start} | | |"),
            None => format!("{start} none | | |"),
            Some(best) => {
                let time = best.cost() / self.cost();
                let stored = best.stored as f64 / self.stored as f64;
                format!("{start} {} | {time:.2} | {stored:.4} |", best.level)
            }
        }
    }
}

pub fn csv(points: &[Point]) -> String {
    let mut text = "block_bytes,codec,by,level,content_bytes,stored_bytes,cpu_s\n".to_owned();
    for Point { codec, ours, level, size, content, stored, seconds } in points {
        let by = if *ours { "ours" } else { "library" };
        // Writing to a String cannot fail. A level may hold commas.
        let _ = writeln!(text, "{size},{codec},{by},\"{level}\",{content},{stored},{seconds}");
    }
    text
}

pub fn page(points: &[Point], sample: u32) -> String {
    let lines: Vec<String> = points.iter().map(|point| point.line(points)).collect();
    format!(
        "# Size against processor time: our levels and the libraries'\n\n{}\n\nThe same blocks, {sample} MiB of each size, spread over a \
         file, compressed in memory by one thread; each block by all encoders in turn (liblzo2 by itself). gzip's library is zlib, ours \
         libdeflate; lz4 is the library's own in both. Size is what is stored of a byte, CPU is in seconds for 10^9 bytes. The last \
         columns of a library's level: the cheapest of our levels whose size is not larger, and its time and size relative to the library's.\n\n\
         | block | codec | by | level | size | CPU | ours | time | size |\n\
         |--:|---|---|---|--:|--:|---|--:|--:|\n{}\n",
        recorded::machine_description(),
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_the_cheapest_of_ours_that_is_no_larger() {
        let point = |ours, level: &str, stored, seconds| {
            let codec = "zstd".into();
            let level = level.into();
            Point { codec, ours, level, size: 131_072, content: 1_000_000_000, stored, seconds }
        };
        let ours = [("1", 300, 1.0), ("2", 200, 2.0), ("3", 100, 4.0)];
        let mut all: Vec<Point> = ours.map(|(level, stored, seconds)| point(true, level, stored, seconds)).into();
        all.push(point(false, "9", 250, 4.0));
        all.push(point(false, "22", 90, 9.0));
        assert!(all[3].line(&all).ends_with("| 4.00 | 2 | 0.50 | 0.8000 |"), "{}", all[3].line(&all));
        assert!(all[4].line(&all).ends_with("| none | | |"), "{}", all[4].line(&all));
        assert!(all[0].line(&all).ends_with("| 1.00 | | | |"), "{}", all[0].line(&all));
    }
}
