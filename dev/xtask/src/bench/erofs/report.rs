//! The results as a page and as CSV.

use super::Options;
use super::image::{Image, Program};
use super::map::Demand;
use super::tree::Tally;
use crate::bench::{median, recorded};
use std::fmt::Write;

/// One run of a task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Seconds.
    pub wall: f64,
    /// Seconds of the program; `None` for work of the kernel.
    pub cpu: Option<f64>,
    /// Bytes read from the device; `None` without a mount.
    pub read: Option<u64>,
}

/// All runs of a task with an image.
#[derive(Debug, Clone)]
struct Row {
    image: Image,
    task: String,
    samples: Vec<Sample>,
    /// Why a run failed.
    failure: Option<String>,
}

#[derive(Debug, Default)]
pub struct Report {
    rows: Vec<Row>,
    demands: Vec<(Image, Demand)>,
    tally: Option<Tally>,
}

impl Report {
    pub fn add(&mut self, image: &Image, task: &str, sample: Sample) {
        self.row(image, task).samples.push(sample);
    }

    pub fn failed(&mut self, image: &Image, task: &str, cause: &str) {
        let line = cause.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it fails");
        self.row(image, task).failure = Some(line.replace('|', "/"));
    }

    pub fn demand(&mut self, image: &Image, demand: Demand) {
        self.demands.push((image.clone(), demand));
    }

    /// Returns an error unless each visit of each image sees the same numbers of entries and bytes.
    pub fn counted(&mut self, image: &Image, tally: Tally) -> Result<(), String> {
        let expected = *self.tally.get_or_insert(tally);
        if tally == expected {
            return Ok(());
        }
        Err(format!("{}: {tally:?} (expected {expected:?})", image.path.display()))
    }

    fn row(&mut self, image: &Image, task: &str) -> &mut Row {
        let found = self.rows.iter().position(|row| row.is_of(image) && row.task == task);
        let index = found.unwrap_or(self.rows.len());
        if found.is_none() {
            self.rows.push(Row { image: image.clone(), task: task.to_owned(), samples: Vec::new(), failure: None });
        }
        &mut self.rows[index]
    }

    /// One line for each run.
    pub fn csv(&self) -> String {
        let mut text = "image,task,run,wall_s,cpu_s,read_bytes\n".to_owned();
        for row in &self.rows {
            for (run, Sample { wall, cpu, read }) in row.samples.iter().enumerate() {
                let cpu = cpu.map_or(String::new(), |cpu| cpu.to_string());
                let read = read.map_or(String::new(), |read| read.to_string());
                // Writing to a String cannot fail.
                let _ = writeln!(text, "\"{}\",\"{}\",{run},{wall},{cpu},{read}", row.image.name(), row.task);
            }
        }
        text
    }

    pub fn page(&self, options: &Options) -> String {
        let Tally { entries, bytes } = self.tally.unwrap_or_default();
        let tree = options.tree.file_name().unwrap_or_default().to_string_lossy();
        let Options { runs, pages, extractions, .. } = options;
        let mut text = format!(
            "# EROFS images in the kernel\n\n{}\n\nThe tree `{tree}` has {entries} entries and {bytes} bytes of content. Each image is \
             mounted from a loop device over a file on a disk. A cold task begins with a new mount, and with no byte of the image in the \
             page cache; a warm task repeats it. `tree` reads the contents of all files, `attributes` the attributes of all entries, on one \
             thread. `pages` reads {pages} random pages of 4 KiB of random files, one after another, after their attributes: without \
             read-ahead, then as the kernel reads by default. Medians of {runs} interleaved runs.\n",
            recorded::machine_description()
        );
        for pair in self.demands.chunks_exact(2) {
            text.push_str(&self.pair([&pair[0], &pair[1]], *pages));
        }
        let _ = write!(
            text,
            "\n## fsck.erofs --extract\n\nAll CPU time of the program, user and system. Medians of {extractions} interleaved runs, with the \
             image in the page cache. Each program's first tree was compared with the source by `diff -r`.\n\n{}",
            self.extractions()
        );
        text
    }

    /// The tables of two images.
    fn pair(&self, pair: [&(Image, Demand); 2], pages: usize) -> String {
        let [ours, peers] = pair.map(|(image, _)| image);
        let mut text = format!(
            "\n## {}, and {}\n\n| task | packline, s | mkfs.erofs, s | ratio | packline, MB read | mkfs.erofs, MB read |\n\
             |---|--:|--:|--:|--:|--:|\n",
            code(ours),
            code(peers)
        );
        let of = |image| self.rows.iter().filter(move |row| row.is_of(image) && row.is_of_a_mount());
        for row in of(ours) {
            let Some(other) = of(peers).find(|other| other.task == row.task) else { continue };
            let [our_wall, their_wall] = [row, other].map(|row| median(row.samples.iter().map(|sample| sample.wall)));
            let [our_read, their_read] = [row, other].map(Row::megabytes);
            let ratio = our_wall / their_wall;
            let _ = writeln!(
                text,
                "| {} | {our_wall:.3} | {their_wall:.3} | {ratio:.2} | {our_read:.1} | {their_read:.1} |",
                row.task
            );
        }
        text.push_str(
            "\n| image | bytes | content of a page's clusters, KiB | their blocks, KiB |\n|---|--:|--:|--:|\n",
        );
        for (image, demand) in pair {
            let [decoded, stored] = [demand.decoded, demand.stored].map(|bytes| bytes as f64 / 1024.0 / pages as f64);
            let _ = writeln!(text, "| {} | {} | {decoded:.0} | {stored:.0} |", code(image), image.size);
        }
        text
    }

    fn extractions(&self) -> String {
        let mut text = "| image | program | wall, s | CPU, s | result |\n|---|---|--:|--:|---|\n".to_owned();
        for row in self.rows.iter().filter(|row| !row.is_of_a_mount()) {
            let wall = seconds(row.samples.iter().map(|sample| sample.wall));
            let cpu = seconds(row.samples.iter().filter_map(|sample| sample.cpu));
            let result = row.failure.as_deref().unwrap_or("the tree");
            let _ = writeln!(text, "| {} | {} | {wall} | {cpu} | {result} |", code(&row.image), row.task);
        }
        text
    }
}

impl Row {
    fn is_of(&self, image: &Image) -> bool {
        self.image.path == image.path
    }

    fn is_of_a_mount(&self) -> bool {
        self.samples.first().is_some_and(|sample| sample.read.is_some())
    }

    /// The median of the megabytes that were read from the device.
    fn megabytes(&self) -> f64 {
        median(self.samples.iter().filter_map(|sample| sample.read).map(|bytes| bytes as f64 / 1e6))
    }
}

/// The median, or nothing without numbers.
fn seconds(numbers: impl Iterator<Item = f64>) -> String {
    Some(median(numbers)).filter(|number| !number.is_nan()).map_or(String::new(), |number| format!("{number:.2}"))
}

fn code(image: &Image) -> String {
    match image.program {
        Program::Packline => format!("packline `{}`", image.options),
        Program::Mkfs => format!("mkfs.erofs `{}`", image.options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(program: Program) -> Image {
        Image { program, options: "-b".into(), path: program.name().into(), size: 8192 }
    }

    fn sample(wall: f64, cpu: Option<f64>, read: Option<u64>) -> Sample {
        Sample { wall, cpu, read }
    }

    #[test]
    fn both_images_are_in_one_row() {
        let mut report = Report::default();
        let [ours, peers] = [Program::Packline, Program::Mkfs].map(image);
        for (image, wall) in [(&ours, 1.0), (&peers, 2.0)] {
            report.add(image, "tree, cold", sample(wall, None, Some(3_000_000)));
            report.demand(image, Demand { decoded: 8192, stored: 4096 });
            report.add(image, "extracted by packline", sample(wall, Some(wall), None));
        }
        report.failed(&peers, "extracted by erofs-utils", "it ran\n<E> cannot | read\n\n");
        let text = report.pair([&report.demands[0], &report.demands[1]], 2);
        assert!(text.contains("| tree, cold | 1.000 | 2.000 | 0.50 | 3.0 | 3.0 |"), "{text}");
        assert!(text.contains("| packline `-b` | 8192 | 4 | 2 |"), "{text}");
        assert!(!text.contains("extracted"), "{text}");
        let text = report.extractions();
        assert!(text.contains("| mkfs.erofs `-b` | extracted by packline | 2.00 | 2.00 | the tree |"), "{text}");
        assert!(text.contains("| mkfs.erofs `-b` | extracted by erofs-utils |  |  | <E> cannot / read |"), "{text}");
        assert!(!text.contains("cold"), "{text}");
        assert!(report.csv().contains("\"mkfs.erofs -b\",\"tree, cold\",0,2,,3000000\n"));
    }

    #[test]
    fn other_trees_are_found() {
        let mut report = Report::default();
        let image = image(Program::Packline);
        let tally = Tally { entries: 2, bytes: 3 };
        report.counted(&image, tally).unwrap();
        report.counted(&image, tally).unwrap();
        report.counted(&image, Tally { entries: 2, bytes: 4 }).unwrap_err();
    }
}
