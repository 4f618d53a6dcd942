//! The model of a report. Serialized, it is the part of JSON that is not computed.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// The work of a program.
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

/// What happens to the ends of files that do not fill a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tails {
    /// Small files and tail ends share fragment blocks: the default.
    Fragments,
    /// Files smaller than a block share fragment blocks; tail ends of larger ones are short blocks of their own.
    NoTailPacking,
    /// There are no fragment blocks.
    NoFragments,
    /// The format has no blocks (a stream).
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

words!(Task, "task");
words!(Tails, "tails");

/// One configuration that was measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Case {
    pub task: Task,
    /// The codec as `packline` writes it: `zstd`, `zstd:level=3`.
    pub codec: String,
    /// Block size, bytes; 0 where the format has none.
    pub block_size: u64,
    pub tails: Tails,
    /// The program: a [`Program::name`]. `packline` is the one that others are compared with.
    pub program: String,
    /// Worker threads, at least 1.
    pub jobs: usize,
}

/// The cost of one run, as counted by the kernel for the program and the children it waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Wall time, seconds.
    pub wall: f64,
    /// Processor time in user mode, seconds.
    pub user: f64,
    /// Processor time in the kernel, seconds.
    pub system: f64,
    /// Largest resident set, bytes.
    pub peak: u64,
}

impl Cost {
    /// Processor time in all, seconds.
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
    /// Bytes of content, to which ratio and throughput refer.
    pub content_bytes: u64,
    /// Bytes of the image, or of the compressed stream.
    pub image_bytes: u64,
    /// The runs, in their order; not empty.
    #[serde(skip)]
    pub runs: Vec<Cost>,
}

/// A codec in memory: blocks compressed and decompressed on one core.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CodecSpeed {
    /// The codec as `packline` writes it.
    pub codec: String,
    /// Block size, bytes.
    pub block_size: u64,
    pub blocks: u64,
    /// Blocks that did not get smaller, which are stored uncompressed.
    pub not_smaller: u64,
    /// Bytes of the blocks.
    pub content_bytes: u64,
    /// Bytes stored: compressed, or uncompressed if that is not smaller.
    pub stored_bytes: u64,
    /// Processor seconds of compressing all blocks once, each run.
    #[serde(skip)]
    pub compress: Vec<f64>,
    /// Processor seconds of decompressing those that got smaller once, each run.
    #[serde(skip)]
    pub decompress: Vec<f64>,
    /// Bytes decompressed in each run (without the blocks stored uncompressed).
    pub decompressed_bytes: u64,
}

/// The speed of the storage of input and output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Storage {
    /// The directory, as the user named it.
    pub place: String,
    /// Bytes written and read to measure it.
    pub bytes: u64,
    /// Bytes a second of sequential reading.
    #[serde(rename = "read_bytes_per_s")]
    pub read: f64,
    /// Bytes a second written in order, until they are on the medium.
    #[serde(rename = "write_bytes_per_s")]
    pub write: f64,
    /// Whether the page cache was passed by (`O_DIRECT`); without it reading may be faster than the medium.
    pub direct: bool,
}

impl Storage {
    /// The fastest that a task can be here, bytes of content a second, whatever the codec's speed, if the input is read from the
    /// medium and reading and writing take turns: for packing `1 / (1/read + ratio/write)`. `ratio`: bytes of image for each byte
    /// of content. What comes from the page cache may be faster.
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
    /// Bytes of the file, or of all files in the directory.
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Program {
    pub name: String,
    /// The first line of its version.
    pub version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The command line; several commands have a line each.
    pub command: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// Processors, kernel, memory, in a line.
    pub machine: String,
    pub input: Input,
    /// The measured programs, packline first.
    pub programs: Vec<Program>,
    /// Runs before those that count.
    pub warmups: usize,
    /// The configurations: of each task, codec, block size and treatment of tails packline first, then by rising jobs.
    #[serde(skip)]
    pub measured: Vec<Measured>,
    #[serde(skip)]
    pub codecs: Vec<CodecSpeed>,
    #[serde(skip)]
    pub storage: Option<Storage>,
    /// Why not all of the plan was measured; `None` if the report is complete.
    pub incomplete: Option<String>,
    /// Wrong results and failed runs of packline, a sentence each; there are no figures for them.
    pub failures: Vec<String>,
    /// Remarks on the figures, a sentence each.
    pub notes: Vec<String>,
}
