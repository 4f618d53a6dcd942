//! Reports: a realistic one, empty and odd ones, and arbitrary ones.

use proptest::prelude::*;

use crate::report::{
    Case, CodecSpeed, Container, Cost, Input, Measured, Program, Report, Serial, SerialRun, Step, Storage, Tails, Task,
};

const CONTENT: u64 = 1_838_000_000;
/// Codec, compression MB/s a core, ratio, decompression MB/s a core.
const CODECS: [(&str, f64, f64, f64); 7] = [
    ("gzip", 38.0, 0.372, 300.0),
    ("zstd", 95.0, 0.338, 900.0),
    ("xz", 4.6, 0.288, 90.0),
    ("lz4", 420.0, 0.475, 2800.0),
    ("lzo", 60.0, 0.43, 600.0),
    ("lzma", 4.9, 0.289, 85.0),
    ("none", 2500.0, 1.0, 4000.0),
];
/// Program, and its processor time and size divided by packline's.
const PROGRAMS: [(&str, f64, f64); 3] = [("packline", 1.0, 1.0), ("mksquashfs", 1.18, 1.003), ("tar2sqfs", 1.3, 1.012)];

/// Seven codecs, with and without fragments, three programs, these jobs, five runs.
pub(crate) fn realistic(jobs: &[usize]) -> Report {
    let mut measured = Vec::new();
    for codec in CODECS {
        for tails in [Tails::Fragments, Tails::NoFragments] {
            for program in PROGRAMS {
                measured.extend(jobs.iter().map(|&jobs| one(codec, tails, program, jobs)));
            }
        }
    }
    let version = |(name, ..): &(&str, f64, f64)| Program { name: name.to_string(), version: format!("{name} 4.5.1") };
    Report {
        command: "packline bench pack root.tar --against mksquashfs,tar2sqfs".into(),
        date: "2026-11-21".into(),
        machine: "2 x EPYC, Linux 6.1, 8 GB".into(),
        input: Input { name: "root.tar".into(), bytes: CONTENT + 60_000_000 },
        programs: PROGRAMS.iter().map(version).collect(),
        warmups: 1,
        measured,
        codecs: CODECS.into_iter().map(in_memory).collect(),
        serial: [Step::PackTar, Step::Unpack].map(threads).to_vec(),
        storage: Some(Storage { place: "/data".into(), bytes: 1 << 30, read: 1.85e9, write: 6.2e8, direct: true }),
        incomplete: None,
        failures: Vec::new(),
        notes: vec!["The clock is noisy.".into()],
    }
}

fn one(codec: (&str, f64, f64, f64), tails: Tails, program: (&str, f64, f64), jobs: usize) -> Measured {
    let cpu = (CONTENT as f64 / 1e6 / codec.1 + 3.4) * program.1;
    let serial = if tails == Tails::Fragments { 0.03 } else { 0.02 };
    let run = |noise: f64| Cost {
        wall: cpu * noise * (serial + (1.0 - serial) / jobs as f64),
        user: cpu * 0.9 * noise,
        system: cpu * 0.1,
        peak: 90_000_000 + 22_000_000 * jobs as u64,
    };
    let larger = if tails == Tails::Fragments { 1.0 } else { 1.035 };
    let case =
        Case { task: Task::Pack, codec: codec.0.into(), block_size: 1 << 17, tails, program: program.0.into(), jobs };
    let image_bytes = (CONTENT as f64 * codec.2 * program.2 * larger) as u64;
    Measured { case, content_bytes: CONTENT, image_bytes, runs: [1.0, 1.04, 0.98, 1.01, 1.02].map(run).to_vec() }
}

fn in_memory((codec, compress, ratio, decompress): (&str, f64, f64, f64)) -> CodecSpeed {
    let seconds = |speed: f64| [1.0, 1.02, 0.97].map(|noise| CONTENT as f64 / 1e6 / speed * noise).to_vec();
    CodecSpeed {
        codec: codec.into(),
        block_size: 1 << 17,
        blocks: CONTENT >> 17,
        not_smaller: 312,
        content_bytes: CONTENT,
        stored_bytes: (CONTENT as f64 * ratio) as u64,
        compress: seconds(compress),
        decompress: seconds(decompress),
        decompressed_bytes: CONTENT,
    }
}

fn threads(step: Step) -> Serial {
    let run = |noise: f64| SerialRun {
        wall: 2.0 * noise,
        main_user: 0.4,
        main_system: 0.6,
        user: 3.4 * noise,
        system: 0.6,
        reading: 0.5,
        deciding: 0.1,
        committing: 0.3,
        reader: 0.0,
        writer: 0.0,
        blocks: 14_000,
        locks: 56_000,
        contended: 70,
        read_bytes: CONTENT,
        written_bytes: CONTENT / 2,
        calls: 20_000,
    };
    Serial {
        input: "root.tar".into(),
        step,
        codec: "lz4".into(),
        container: Container::Squashfs,
        block_size: 1 << 17,
        jobs: 2,
        content_bytes: CONTENT,
        image_bytes: CONTENT / 2,
        runs: [1.0, 1.1, 0.9].map(run).to_vec(),
    }
}

/// Configurations and codecs without runs, without content and without time, and storage with a speed of 0.
pub(crate) fn degenerate() -> Report {
    let mut report = realistic(&[1, 2]);
    for (index, measured) in report.measured.iter_mut().enumerate() {
        match index % 4 {
            0 => measured.runs.clear(),
            1 => measured.runs.fill(Cost { wall: 0.0, user: 0.0, system: 0.0, peak: 0 }),
            2 => (measured.content_bytes, measured.image_bytes) = (0, 0),
            _ => measured.case.jobs = 0,
        }
    }
    report.serial[0].runs.clear();
    report.serial[1].runs.fill(SerialRun::default());
    for (index, codec) in report.codecs.iter_mut().enumerate() {
        match index % 3 {
            0 => (codec.compress, codec.decompress) = (Vec::new(), Vec::new()),
            1 => codec.compress.fill(0.0),
            _ => (codec.blocks, codec.content_bytes, codec.stored_bytes, codec.decompressed_bytes) = (0, 0, 0, 0),
        }
    }
    report.storage = Some(Storage { place: String::new(), bytes: 0, read: 0.0, write: 0.0, direct: false });
    report
}

/// Words with every character that has a meaning in one of the formats.
fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-h]{1,9}(:level=[0-9]{1,2})?", "[a-c,\"#<>&'|\\\\\r\n\t `_é\u{1}-]{0,12}"]
}

fn seconds() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 1e-6f64..1e-3, 0.01f64..100.0, 0.0f64..1e9, Just(f64::MIN_POSITIVE), Just(f64::MAX / 4.0)]
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1u64..100, 1u64..1 << 40, any::<u64>()]
}

fn cost() -> impl Strategy<Value = Cost> {
    (seconds(), seconds(), seconds(), count()).prop_map(|(wall, user, system, peak)| Cost { wall, user, system, peak })
}

fn case() -> impl Strategy<Value = Case> {
    let task = prop::sample::select(&Task::ALL[..]);
    let tails = prop::sample::select(&Tails::ALL[..]);
    let program = prop_oneof![Just("packline".to_string()), Just("peer".to_string()), words()];
    let codec = prop_oneof![Just("zstd".to_string()), Just("xz".to_string()), words()];
    let block_size = prop_oneof![Just(1 << 17), count()];
    (task, codec, block_size, tails, program, 0usize..70).prop_map(|(task, codec, block_size, tails, program, jobs)| {
        Case { task, codec, block_size, tails, program, jobs }
    })
}

fn measured() -> impl Strategy<Value = Measured> {
    (case(), count(), count(), prop::collection::vec(cost(), 0..4))
        .prop_map(|(case, content_bytes, image_bytes, runs)| Measured { case, content_bytes, image_bytes, runs })
}

fn codec() -> impl Strategy<Value = CodecSpeed> {
    let runs = || prop::collection::vec(seconds(), 0..4);
    let counts = (count(), count(), count(), count(), count());
    (words(), prop_oneof![Just(4096u64), count()], counts, runs(), runs()).prop_map(
        |(
            codec,
            block_size,
            (blocks, not_smaller, content_bytes, stored_bytes, decompressed_bytes),
            compress,
            decompress,
        )| {
            CodecSpeed {
                codec,
                block_size,
                blocks,
                not_smaller,
                content_bytes,
                stored_bytes,
                compress,
                decompress,
                decompressed_bytes,
            }
        },
    )
}

fn serial_run() -> impl Strategy<Value = SerialRun> {
    let times = prop::array::uniform10(seconds());
    let counts = prop::array::uniform6(0u64..1 << 60);
    (times, counts).prop_map(|(times, counts)| {
        let [wall, main_user, main_system, user, system, reading, deciding, committing, reader, writer] = times;
        let [blocks, locks, contended, read_bytes, written_bytes, calls] = counts;
        SerialRun {
            wall,
            main_user,
            main_system,
            user,
            system,
            reading,
            deciding,
            committing,
            reader,
            writer,
            blocks,
            locks,
            contended,
            read_bytes,
            written_bytes,
            calls,
        }
    })
}

fn serial() -> impl Strategy<Value = Serial> {
    let step = prop::sample::select(&Step::ALL[..]);
    let container = prop::sample::select(&Container::ALL[..]);
    let runs = prop::collection::vec(serial_run(), 0..4);
    (words(), step, words(), container, count(), 0usize..70, count(), runs).prop_map(
        |(input, step, codec, container, block_size, jobs, bytes, runs)| Serial {
            input,
            step,
            codec,
            container,
            block_size,
            jobs,
            content_bytes: bytes,
            image_bytes: bytes / 2,
            runs,
        },
    )
}

fn storage() -> impl Strategy<Value = Storage> {
    (words(), count(), seconds(), seconds(), any::<bool>()).prop_map(|(place, bytes, read, write, direct)| Storage {
        place,
        bytes,
        read,
        write,
        direct,
    })
}

/// Any report with finite numbers.
pub(crate) fn any_report() -> impl Strategy<Value = Report> {
    let head = (words(), words(), words(), words(), count(), 0usize..9);
    let programs = prop::collection::vec((words(), words()), 0..4);
    let lists = (
        prop::collection::vec(measured(), 0..20),
        prop::collection::vec(codec(), 0..8),
        prop::collection::vec(serial(), 0..6),
    );
    let sentences = || prop::collection::vec(words(), 0..3);
    let notes = (prop::option::of(words()), sentences(), sentences());
    (head, programs, lists, prop::option::of(storage()), notes).prop_map(
        |(
            (command, date, machine, name, bytes, warmups),
            programs,
            (measured, codecs, serial),
            storage,
            (incomplete, failures, notes),
        )| Report {
            command,
            date,
            machine,
            input: Input { name, bytes },
            programs: programs.into_iter().map(|(name, version)| Program { name, version }).collect(),
            warmups,
            measured,
            codecs,
            serial,
            storage,
            incomplete,
            failures,
            notes,
        },
    )
}
