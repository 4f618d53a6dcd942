//! The figures calculated from the runs. Runs that are missing or took no time have no figures.

use serde::Serialize;

use super::statistics::of_other_jobs;
use super::{CodecSpeed, Cost, Measured, Report, Scaling, Spread, Storage, Task, against, scaling};

/// A configuration with the figures of its runs.
#[derive(Serialize)]
pub(super) struct Figures<'a> {
    #[serde(flatten)]
    pub measured: &'a Measured,
    /// Bytes of image for each byte of content.
    pub ratio: Option<f64>,
    /// Wall time in seconds.
    #[serde(rename = "wall_s")]
    pub wall: Option<Spread>,
    /// Processor time in seconds.
    #[serde(rename = "cpu_s")]
    pub cpu: Option<Spread>,
    /// The largest resident set in bytes.
    #[serde(rename = "peak_bytes")]
    pub peak: Option<u64>,
    /// Bytes of content for each second of wall time.
    #[serde(rename = "bytes_per_s")]
    pub throughput: Option<f64>,
    /// Wall time with the fewest jobs, divided by the wall time here; `None` if only one number of jobs was measured.
    pub speedup: Option<f64>,
    /// The speed-up for each job; 1 is perfect.
    pub efficiency: Option<f64>,
    /// The throughput that the storage allows.
    #[serde(rename = "ceiling_bytes_per_s")]
    pub ceiling: Option<f64>,
    /// packline's figures divided by this program's, if this is a competitor with a comparable run of packline.
    #[serde(rename = "ours_to_this")]
    pub versus: Option<Against>,
    pub runs: &'a [Cost],
}

/// The figures of packline divided by those of a competitor, if both have them.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Against {
    pub cpu: Option<Spread>,
    pub wall: Option<Spread>,
    pub size: Option<f64>,
    pub peak: Option<f64>,
}

impl<'a> Figures<'a> {
    pub(super) fn of(measured: &'a Measured, report: &Report) -> Figures<'a> {
        let some = !measured.runs.is_empty();
        let ratio = (measured.content_bytes > 0 && measured.image_bytes > 0).then(|| measured.ratio());
        let takes_time = measured.wall().median > 0.0;
        let scaling = scales(measured, &report.measured);
        Figures {
            measured,
            wall: some.then(|| measured.wall()),
            cpu: some.then(|| measured.cpu()),
            peak: Some(measured.peak()).filter(|&peak| peak > 0),
            ratio,
            throughput: takes_time.then(|| measured.throughput()).filter(|speed| *speed > 0.0),
            speedup: scaling.map(|scaling| scaling.speedup),
            efficiency: scaling.map(|scaling| scaling.efficiency),
            ceiling: report.storage.as_ref().and_then(|storage| ceiling(storage, measured.case.task, ratio?)),
            versus: versus(measured, &report.measured),
            runs: &measured.runs,
        }
    }
}

pub(super) fn figures(report: &Report) -> Vec<Figures<'_>> {
    report.measured.iter().map(|measured| Figures::of(measured, report)).collect()
}

fn scales(measured: &Measured, all: &[Measured]) -> Option<Scaling> {
    let timed = of_other_jobs(measured, all).all(|other| other.wall().median > 0.0);
    let other_jobs = of_other_jobs(measured, all).any(|other| other.case.jobs != measured.case.jobs);
    (timed && other_jobs).then(|| scaling(measured, all))
}

fn ceiling(storage: &Storage, task: Task, ratio: f64) -> Option<f64> {
    Some(storage.ceiling(task, ratio)).filter(|bytes| bytes.is_finite() && *bytes > 0.0)
}

fn versus(peer: &Measured, all: &[Measured]) -> Option<Against> {
    let found = against(peer, all).filter(|_| !peer.runs.is_empty())?;
    let timed = |least: f64| least > 0.0;
    let shown = |spread: Spread, least| Some(spread).filter(|spread| timed(least) && spread.median > 0.0);
    let more = |ratio: f64, bytes: u64| Some(ratio).filter(|ratio| bytes > 0 && *ratio > 0.0);
    Some(Against {
        cpu: shown(found.cpu, peer.cpu().least),
        wall: shown(found.wall, peer.wall().least),
        size: more(found.size, peer.image_bytes),
        peak: more(found.peak, peer.peak()),
    })
}

/// Returns the bytes for each second on one core, from the runs that took time.
fn speed(bytes: u64, seconds: &[f64]) -> Option<Spread> {
    let speeds = seconds.iter().filter(|seconds| **seconds > 0.0).map(|seconds| bytes as f64 / seconds);
    Some(Spread::of(speeds)).filter(|spread| spread.median > 0.0)
}

impl CodecSpeed {
    /// Returns the bytes compressed for each second on one core.
    pub(super) fn compress_speed(&self) -> Option<Spread> {
        speed(self.content_bytes, &self.compress)
    }

    /// Returns the bytes decompressed for each second on one core.
    pub(super) fn decompress_speed(&self) -> Option<Spread> {
        speed(self.decompressed_bytes, &self.decompress)
    }

    /// Bytes stored for each byte of content.
    pub(super) fn ratio(&self) -> Option<f64> {
        (self.content_bytes > 0).then(|| self.stored_bytes as f64 / self.content_bytes as f64)
    }

    /// The share of blocks that did not get smaller.
    pub(super) fn not_smaller_share(&self) -> Option<f64> {
        (self.blocks > 0).then(|| self.not_smaller as f64 / self.blocks as f64)
    }
}

/// A codec in memory with the figures of its runs.
#[derive(Serialize)]
pub(super) struct CodecFigures<'a> {
    #[serde(flatten)]
    codec: &'a CodecSpeed,
    ratio: Option<f64>,
    compress_bytes_per_s: Option<Spread>,
    decompress_bytes_per_s: Option<Spread>,
    compress_s: &'a [f64],
    decompress_s: &'a [f64],
}

impl<'a> From<&'a CodecSpeed> for CodecFigures<'a> {
    fn from(codec: &'a CodecSpeed) -> CodecFigures<'a> {
        CodecFigures {
            codec,
            ratio: codec.ratio(),
            compress_bytes_per_s: codec.compress_speed(),
            decompress_bytes_per_s: codec.decompress_speed(),
            compress_s: &codec.compress,
            decompress_s: &codec.decompress,
        }
    }
}

/// The configurations of one task and block size. They can be compared.
pub(super) struct Group<'f, 'a> {
    pub task: Task,
    /// The block size in bytes; 0 if there are no blocks.
    pub block_size: u64,
    /// The configurations, in the order of the report.
    pub figures: Vec<&'f Figures<'a>>,
}

/// Groups the report's configurations by task and block size, in the order of their first occurrence.
pub(super) fn groups<'f, 'a>(figures: &'f [Figures<'a>]) -> Vec<Group<'f, 'a>> {
    let mut found: Vec<Group> = Vec::new();
    for one in figures {
        let case = &one.measured.case;
        match found.iter_mut().find(|group| (group.task, group.block_size) == (case.task, case.block_size)) {
            Some(group) => group.figures.push(one),
            None => found.push(Group { task: case.task, block_size: case.block_size, figures: vec![one] }),
        }
    }
    found
}

impl Group<'_, '_> {
    /// The heading, such as `Pack, blocks of 128 KiB`.
    pub(super) fn title(&self) -> String {
        let task = match self.task {
            Task::Pack => "Pack",
            Task::Unpack => "Unpack",
            Task::Tar => "Image to tar",
        };
        match super::number::block_size(self.block_size) {
            size if size.is_empty() => task.into(),
            size => format!("{task}, blocks of {size}"),
        }
    }
}
