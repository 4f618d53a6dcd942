//! A row of the table.

use serde::{Deserialize, Serialize};

use crate::report::{
    Case, CodecSpeed, Container, Cost, Measured, Report, Serial, SerialRun, Step, Storage, Tails, Task,
};

/// A row. Its fields are the columns, in order. Fields that do not apply to the kind of row are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    kind: String,
    task: Option<Task>,
    codec: Option<String>,
    block_size: Option<u64>,
    tails: Option<Tails>,
    program: Option<String>,
    jobs: Option<usize>,
    run: Option<usize>,
    content_bytes: Option<u64>,
    image_bytes: Option<u64>,
    wall_s: Option<f64>,
    user_s: Option<f64>,
    system_s: Option<f64>,
    peak_bytes: Option<u64>,
    blocks: Option<u64>,
    not_smaller: Option<u64>,
    decompressed_bytes: Option<u64>,
    compress_s: Option<f64>,
    decompress_s: Option<f64>,
    read_bytes_per_s: Option<f64>,
    write_bytes_per_s: Option<f64>,
    direct: Option<bool>,
    input: Option<String>,
    step: Option<Step>,
    container: Option<Container>,
    main_user_s: Option<f64>,
    main_system_s: Option<f64>,
    reading_s: Option<f64>,
    deciding_s: Option<f64>,
    committing_s: Option<f64>,
    reader_s: Option<f64>,
    writer_s: Option<f64>,
    locks: Option<u64>,
    contended: Option<u64>,
    read_bytes: Option<u64>,
    written_bytes: Option<u64>,
    calls: Option<u64>,
}

fn required<T>(column: &str, value: Option<T>) -> Result<T, String> {
    value.ok_or_else(|| format!("{column}: expected a value"))
}

fn finite(column: &str, value: Option<f64>) -> Result<f64, String> {
    let number = required(column, value)?;
    if number.is_finite() { Ok(number) } else { Err(format!("{column}: expected a finite number, found {number}")) }
}

impl Row {
    pub(super) const COLUMNS: &'static str = "kind,task,codec,block_size,tails,program,jobs,run,content_bytes,image_bytes,\
         wall_s,user_s,system_s,peak_bytes,blocks,not_smaller,decompressed_bytes,compress_s,decompress_s,\
         read_bytes_per_s,write_bytes_per_s,direct,input,step,container,main_user_s,main_system_s,reading_s,deciding_s,\
         committing_s,reader_s,writer_s,locks,contended,read_bytes,written_bytes,calls";

    /// The number of columns of files that were written before there were rows of the kind `serial`.
    pub(super) const FORMER: usize = 22;

    pub(super) fn all(report: &Report) -> impl Iterator<Item = Row> {
        let measured = report.measured.iter().flat_map(Row::of_measured);
        let codecs = report.codecs.iter().flat_map(Row::of_codec);
        let serial = report.serial.iter().flat_map(Row::of_serial);
        measured.chain(codecs).chain(serial).chain(report.storage.as_ref().map(Row::of_storage))
    }

    fn of_measured(measured: &Measured) -> Vec<Row> {
        let case = measured.case.clone();
        let base = Row {
            kind: "run".into(),
            task: Some(case.task),
            codec: Some(case.codec),
            block_size: Some(case.block_size),
            tails: Some(case.tails),
            program: Some(case.program),
            jobs: Some(case.jobs),
            content_bytes: Some(measured.content_bytes),
            image_bytes: Some(measured.image_bytes),
            ..Row::default()
        };
        let run = |(index, cost): (usize, &Cost)| Row {
            run: Some(index + 1),
            wall_s: Some(cost.wall),
            user_s: Some(cost.user),
            system_s: Some(cost.system),
            peak_bytes: Some(cost.peak),
            ..base.clone()
        };
        let rows: Vec<Row> = measured.runs.iter().enumerate().map(run).collect();
        if rows.is_empty() { vec![base] } else { rows }
    }

    fn of_codec(codec: &CodecSpeed) -> Vec<Row> {
        let base = Row {
            kind: "codec".into(),
            codec: Some(codec.codec.clone()),
            block_size: Some(codec.block_size),
            content_bytes: Some(codec.content_bytes),
            image_bytes: Some(codec.stored_bytes),
            blocks: Some(codec.blocks),
            not_smaller: Some(codec.not_smaller),
            decompressed_bytes: Some(codec.decompressed_bytes),
            ..Row::default()
        };
        let run = |index: usize| Row {
            run: Some(index + 1),
            compress_s: codec.compress.get(index).copied(),
            decompress_s: codec.decompress.get(index).copied(),
            ..base.clone()
        };
        let runs = codec.compress.len().max(codec.decompress.len());
        if runs == 0 { vec![base] } else { (0..runs).map(run).collect() }
    }

    fn of_serial(case: &Serial) -> Vec<Row> {
        let base = Row {
            kind: "serial".into(),
            input: Some(case.input.clone()),
            step: Some(case.step),
            codec: Some(case.codec.clone()),
            container: Some(case.container),
            block_size: Some(case.block_size),
            jobs: Some(case.jobs),
            content_bytes: Some(case.content_bytes),
            image_bytes: Some(case.image_bytes),
            ..Row::default()
        };
        let run = |(index, run): (usize, &SerialRun)| Row {
            run: Some(index + 1),
            wall_s: Some(run.wall),
            user_s: Some(run.user),
            system_s: Some(run.system),
            main_user_s: Some(run.main_user),
            main_system_s: Some(run.main_system),
            reading_s: Some(run.reading),
            deciding_s: Some(run.deciding),
            committing_s: Some(run.committing),
            reader_s: Some(run.reader),
            writer_s: Some(run.writer),
            blocks: Some(run.blocks),
            locks: Some(run.locks),
            contended: Some(run.contended),
            read_bytes: Some(run.read_bytes),
            written_bytes: Some(run.written_bytes),
            calls: Some(run.calls),
            ..base.clone()
        };
        let rows: Vec<Row> = case.runs.iter().enumerate().map(run).collect();
        if rows.is_empty() { vec![base] } else { rows }
    }

    fn of_storage(storage: &Storage) -> Row {
        Row {
            kind: "storage".into(),
            content_bytes: Some(storage.bytes),
            read_bytes_per_s: Some(storage.read),
            write_bytes_per_s: Some(storage.write),
            direct: Some(storage.direct),
            ..Row::default()
        }
    }

    /// Adds the row to a report. `directory` is the directory of the storage, from the comments.
    pub(super) fn add_to(self, report: &mut Report, directory: Option<&str>) -> Result<(), String> {
        match self.kind.as_str() {
            "run" => self.add_measured(&mut report.measured),
            "codec" => self.add_codec(&mut report.codecs),
            "serial" => self.add_serial(&mut report.serial),
            "storage" => {
                let place = directory.ok_or("storage without a comment that names its place")?;
                report.storage = Some(self.storage(place)?);
                Ok(())
            }
            other => Err(format!("kind: expected run, codec, serial or storage, found {other:?}")),
        }
    }

    fn add_measured(self, all: &mut Vec<Measured>) -> Result<(), String> {
        let found = Measured {
            case: Case {
                task: required("task", self.task)?,
                codec: self.codec.unwrap_or_default(),
                block_size: required("block_size", self.block_size)?,
                tails: required("tails", self.tails)?,
                program: self.program.unwrap_or_default(),
                jobs: required("jobs", self.jobs)?,
            },
            content_bytes: required("content_bytes", self.content_bytes)?,
            image_bytes: required("image_bytes", self.image_bytes)?,
            runs: Vec::new(),
        };
        let Some(run) = self.run else {
            all.push(found);
            return Ok(());
        };
        let cost = Cost {
            wall: finite("wall_s", self.wall_s)?,
            user: finite("user_s", self.user_s)?,
            system: finite("system_s", self.system_s)?,
            peak: required("peak_bytes", self.peak_bytes)?,
        };
        let continues = |last: &&mut Measured| {
            run > 1 && last.runs.len() + 1 == run && Measured { runs: Vec::new(), ..(**last).clone() } == found
        };
        match all.last_mut().filter(continues) {
            Some(last) => last.runs.push(cost),
            None if run == 1 => all.push(Measured { runs: vec![cost], ..found }),
            None => return Err(format!("run: expected 1 or the next of the line before, found {run}")),
        }
        Ok(())
    }

    fn add_codec(self, all: &mut Vec<CodecSpeed>) -> Result<(), String> {
        let found = CodecSpeed {
            codec: self.codec.unwrap_or_default(),
            block_size: required("block_size", self.block_size)?,
            blocks: required("blocks", self.blocks)?,
            not_smaller: required("not_smaller", self.not_smaller)?,
            content_bytes: required("content_bytes", self.content_bytes)?,
            stored_bytes: required("image_bytes", self.image_bytes)?,
            compress: Vec::new(),
            decompress: Vec::new(),
            decompressed_bytes: required("decompressed_bytes", self.decompressed_bytes)?,
        };
        let run = self.run.unwrap_or(0);
        if run <= 1 {
            all.push(found.clone());
        }
        let continues = |last: &&mut CodecSpeed| {
            let bare = CodecSpeed { compress: Vec::new(), decompress: Vec::new(), ..(**last).clone() };
            bare == found && last.compress.len().max(last.decompress.len()) + 1 == run.max(1)
        };
        let last = all.last_mut().filter(continues);
        let last = last.ok_or_else(|| format!("run: expected 1 or the next, found {run}"))?;
        let seconds = [
            ("compress_s", self.compress_s, &mut last.compress),
            ("decompress_s", self.decompress_s, &mut last.decompress),
        ];
        for (column, value, known) in seconds.into_iter().filter(|(_, value, _)| value.is_some()) {
            if known.len() + 1 != run {
                return Err(format!("{column}: a run before this one has none"));
            }
            known.push(finite(column, value)?);
        }
        Ok(())
    }

    fn add_serial(self, all: &mut Vec<Serial>) -> Result<(), String> {
        let found = Serial {
            input: self.input.clone().unwrap_or_default(),
            step: required("step", self.step)?,
            codec: self.codec.clone().unwrap_or_default(),
            container: required("container", self.container)?,
            block_size: required("block_size", self.block_size)?,
            jobs: required("jobs", self.jobs)?,
            content_bytes: required("content_bytes", self.content_bytes)?,
            image_bytes: required("image_bytes", self.image_bytes)?,
            runs: Vec::new(),
        };
        let Some(number) = self.run else {
            all.push(found);
            return Ok(());
        };
        let run = self.serial_run()?;
        let continues = |last: &&mut Serial| {
            number > 1 && last.runs.len() + 1 == number && Serial { runs: Vec::new(), ..(**last).clone() } == found
        };
        match all.last_mut().filter(continues) {
            Some(last) => last.runs.push(run),
            None if number == 1 => all.push(Serial { runs: vec![run], ..found }),
            None => return Err(format!("run: expected 1 or the next of the line before, found {number}")),
        }
        Ok(())
    }

    fn serial_run(&self) -> Result<SerialRun, String> {
        Ok(SerialRun {
            wall: finite("wall_s", self.wall_s)?,
            main_user: finite("main_user_s", self.main_user_s)?,
            main_system: finite("main_system_s", self.main_system_s)?,
            user: finite("user_s", self.user_s)?,
            system: finite("system_s", self.system_s)?,
            reading: finite("reading_s", self.reading_s)?,
            deciding: finite("deciding_s", self.deciding_s)?,
            committing: finite("committing_s", self.committing_s)?,
            reader: finite("reader_s", self.reader_s)?,
            writer: finite("writer_s", self.writer_s)?,
            blocks: required("blocks", self.blocks)?,
            locks: required("locks", self.locks)?,
            contended: required("contended", self.contended)?,
            read_bytes: required("read_bytes", self.read_bytes)?,
            written_bytes: required("written_bytes", self.written_bytes)?,
            calls: required("calls", self.calls)?,
        })
    }

    fn storage(self, place: &str) -> Result<Storage, String> {
        Ok(Storage {
            place: place.into(),
            bytes: required("content_bytes", self.content_bytes)?,
            read: finite("read_bytes_per_s", self.read_bytes_per_s)?,
            write: finite("write_bytes_per_s", self.write_bytes_per_s)?,
            direct: required("direct", self.direct)?,
        })
    }
}
