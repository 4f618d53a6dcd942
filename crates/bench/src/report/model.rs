//! The model of a report. Serialization writes the part of the JSON that is not calculated.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use super::Serial;

/// The task of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Task {
    /// An input becomes an image (or a compressed stream).
    Pack,
    /// An image becomes a directory.
    Unpack,
    /// An image becomes a tar (or a stream is decompressed).
    Tar,
}

impl Task {
    pub const ALL: [Task; 3] = [Task::Pack, Task::Unpack, Task::Tar];

    pub fn name(self) -> &'static str {
        match self {
            Task::Pack => "pack",
            Task::Unpack => "unpack",
            Task::Tar => "tar",
        }
    }
}

/// How the ends of files that do not fill a block are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tails {
    /// Small files and tail ends share fragment blocks. This is the default.
    Fragments,
    /// Files smaller than a block share fragment blocks. Tail ends of larger files are separate short blocks.
    NoTailPacking,
    /// There are no fragment blocks.
    NoFragments,
    /// The format has no blocks; it is a stream.
    Unknown,
}

impl Tails {
    pub const ALL: [Tails; 4] = [Tails::Fragments, Tails::NoTailPacking, Tails::NoFragments, Tails::Unknown];

    pub fn name(self) -> &'static str {
        match self {
            Tails::Fragments => "fragments",
            Tails::NoTailPacking => "no-tail-packing",
            Tails::NoFragments => "no-fragments",
            Tails::Unknown => "none",
        }
    }
}

/// Conversions of an enum to and from its word.
macro_rules! words {
    ($type:ident, $what:literal) => {
        impl TryFrom<String> for $type {
            type Error = String;

            fn try_from(word: String) -> Result<$type, String> {
                let names = || $type::ALL.map($type::name).join(", ");
                let found = $type::ALL.into_iter().find(|one| one.name() == word);
                found.ok_or_else(|| format!(concat!($what, ": expected one of {}, found {:?}"), names(), word))
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.name().to_owned()
            }
        }
    };
}

pub(super) use words;

words!(Task, "task");
words!(Tails, "tails");

/// One configuration that was measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Case {
    pub task: Task,
    /// The codec as `packline` writes it: `zstd`, `zstd:level=3`.
    pub codec: String,
    /// Block size in bytes; 0 if the format has no blocks.
    pub block_size: u64,
    pub tails: Tails,
    /// The program, a [`Program::name`]. Other programs are compared with `packline`.
    pub program: String,
    /// The number of worker threads, at least 1.
    pub jobs: usize,
}

/// The cost of a run, as the kernel counts it for the program and the children that it waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Wall time in seconds.
    pub wall: f64,
    /// Processor time in user mode, in seconds.
    pub user: f64,
    /// Processor time in the kernel, in seconds.
    pub system: f64,
    /// The largest resident set in bytes.
    pub peak: u64,
}

impl Cost {
    /// The total processor time in seconds.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Cost", 5)?;
        fields.serialize_field("wall_s", &self.wall)?;
        fields.serialize_field("user_s", &self.user)?;
        fields.serialize_field("system_s", &self.system)?;
        fields.serialize_field("cpu_s", &self.cpu())?;
        fields.serialize_field("peak_bytes", &self.peak)?;
        fields.end()
    }
}

/// A configuration with its measured runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    #[serde(flatten)]
    pub case: Case,
    /// Bytes of content. Ratio and throughput refer to them.
    pub content_bytes: u64,
    /// Bytes of the image, or of the compressed stream.
    pub image_bytes: u64,
    /// The runs, in order. There is at least one.
    #[serde(skip)]
    pub runs: Vec<Cost>,
}

/// The result for a codec in memory: blocks compressed and decompressed on one core.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodecSpeed {
    /// The codec as `packline` writes it.
    pub codec: String,
    /// Block size in bytes.
    pub block_size: u64,
    pub blocks: u64,
    /// Blocks that did not get smaller. They are stored uncompressed.
    pub not_smaller: u64,
    /// Bytes of the blocks.
    pub content_bytes: u64,
    /// Stored bytes. Blocks that did not get smaller are stored uncompressed.
    pub stored_bytes: u64,
    /// Processor seconds for compressing all blocks once, for each run.
    #[serde(skip)]
    pub compress: Vec<f64>,
    /// Processor seconds for decompressing the blocks that got smaller once, for each run.
    #[serde(skip)]
    pub decompress: Vec<f64>,
    /// Bytes decompressed in each run, without the blocks that are stored uncompressed.
    pub decompressed_bytes: u64,
}

/// The speed of the storage that holds input and output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Storage {
    /// The directory, as the user named it.
    pub place: String,
    /// Bytes that were written and read for the measurement.
    pub bytes: u64,
    /// Bytes read for each second, sequentially.
    #[serde(rename = "read_bytes_per_s")]
    pub read: f64,
    /// Bytes written for each second, sequentially, until they are on the medium.
    #[serde(rename = "write_bytes_per_s")]
    pub write: f64,
    /// Whether reads bypassed the page cache (`O_DIRECT`). Otherwise reads may be faster than the medium.
    pub direct: bool,
}

impl Storage {
    /// Returns the upper bound for the speed of a task with any codec, in bytes of content for each second. It assumes that the input is read
    /// from the medium, and that reads and writes take turns: for packing `1 / (1/read + ratio/write)`. `ratio` is the bytes of image for
    /// each byte of content. Input from the page cache may be faster.
    pub fn ceiling(&self, task: Task, ratio: f64) -> f64 {
        let (read, written) = match task {
            Task::Pack => (1.0, ratio),
            Task::Unpack => (ratio, 1.0),
            // The tar is discarded.
            Task::Tar => (ratio, 0.0),
        };
        1.0 / (read / self.read + written / self.write)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Input {
    pub name: String,
    /// The size of the file, or of all files in the directory.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    pub name: String,
    /// The first line of the program's version.
    pub version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The command line. Each of several commands has a line.
    pub command: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// The processors, kernel and memory, on one line.
    pub machine: String,
    pub input: Input,
    /// The measured programs, packline first.
    pub programs: Vec<Program>,
    /// The number of runs before the counted runs.
    pub warmups: usize,
    /// The configurations. For each task, codec, block size and treatment of tail ends, packline is first; then they are sorted by rising
    /// jobs.
    #[serde(skip)]
    pub measured: Vec<Measured>,
    #[serde(skip)]
    pub codecs: Vec<CodecSpeed>,
    #[serde(skip)]
    pub serial: Vec<Serial>,
    #[serde(skip)]
    pub storage: Option<Storage>,
    /// Why a part of the plan was not measured; `None` if the report is complete.
    pub incomplete: Option<String>,
    /// Wrong results and failed runs of packline, as sentences. They have no figures.
    pub failures: Vec<String>,
    /// Remarks on the figures, as sentences.
    pub notes: Vec<String>,
}
