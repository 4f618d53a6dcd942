//! Combines the command line with `lrzip.conf`.

use packline::Resources;
use packline_lrz::{BackEnd, WindowSize, WriteOptions};

use super::conf::Conf;
use super::options::{Options, TuningOptions};
use crate::args::wrong;
use crate::commands::streams::{Mode, Style};
use crate::host::Host;
use crate::ui::failure::Failure;
use crate::ui::password::{Secret, check};

/// The unit of sizes on the command line and in `lrzip.conf`, in bytes.
const UNIT: u64 = 100 << 20;

#[derive(Debug, Clone)]
pub struct Settings {
    pub style: Style,
    pub options: WriteOptions,
    pub secret: Secret,
    pub resources: Resources,
    pub keep_broken: bool,
    pub recursive: bool,
    pub check: bool,
    pub hash: bool,
    pub json: bool,
    /// 0 to 2.
    pub verbosity: u8,
    /// Print only errors.
    pub silent: bool,
}

impl Settings {
    /// Combines the options that all commands share with `lrzip.conf`. Sets the process's priority.
    ///
    /// # Errors
    /// The password is too long, or the process may not have the priority.
    pub fn new(options: Options, conf: &Conf, mode: Mode, host: &Host) -> Result<Settings, Failure> {
        set_priority(options.tuning.nice_level.or(conf.nice))?;
        let output = options.output;
        let conf_outdir = conf.outdir.clone().filter(|_| output.outfile.is_none());
        Ok(Settings {
            style: Style {
                mode,
                suffix: output.suffix,
                output: output.outfile,
                directory: output.outdir.or(conf_outdir),
                output_options: "--outfile",
                instead_of_terminal: (mode == Mode::Compress).then_some("--outfile, a file or a pipe"),
                force: output.force || conf.replace,
                compresses_again: false,
                skips_silently: false,
                bar: !options.quiet && !conf.quiet && !options.very_quiet,
                remove: false,
            },
            options: write_options(options.back_end.chosen(), &options.tuning, conf),
            secret: secret(options.encrypt.as_ref().map(|password| password.as_encoded_bytes()), conf)?,
            resources: resources(&options.tuning, conf, host),
            keep_broken: conf.keep_broken,
            recursive: false,
            check: conf.check,
            hash: options.hash || conf.hash,
            json: false,
            verbosity: options.verbose.max(conf.verbosity).min(2),
            silent: options.very_quiet,
        })
    }

    /// Rejects options that cannot be used with this number of files.
    pub fn check_files(&self, files: usize) -> Result<(), Failure> {
        let outfile = self.style.output.as_ref();
        let stdout = outfile.is_some_and(|outfile| outfile.as_os_str() == "-");
        if outfile.is_some() && files > 1 && !(stdout && self.style.mode == Mode::Decompress) {
            return Err(wrong("outfile", "one output cannot take several files"));
        }
        if self.recursive && (outfile.is_some() || files == 0) {
            return Err(wrong("recursive", "works only with directories, and without --outfile"));
        }
        Ok(())
    }
}

fn write_options(back_end: Option<BackEnd>, tuning: &TuningOptions, conf: &Conf) -> WriteOptions {
    WriteOptions {
        back_end: back_end.or(conf.method).unwrap_or(BackEnd::Lzma),
        level: tuning.level.or(conf.level).unwrap_or(WriteOptions::DEFAULT_LEVEL),
        window: window(tuning, conf),
        probe: !tuning.threshold && !conf.no_test,
        password: None,
    }
}

fn window(tuning: &TuningOptions, conf: &Conf) -> WindowSize {
    match tuning.window {
        Some(size) => WindowSize::Bytes(size.saturating_mul(UNIT)),
        None if tuning.unlimited || conf.unlimited => WindowSize::Whole,
        None => conf.window.map_or(WindowSize::Default, |size| WindowSize::Bytes(size.saturating_mul(UNIT))),
    }
}

fn secret(password: Option<&[u8]>, conf: &Conf) -> Result<Secret, Failure> {
    match password {
        None if conf.encrypt => Ok(Secret::Ask),
        None => Ok(Secret::None),
        Some(b"") => Ok(Secret::Ask),
        Some(password) => check(password).map(|()| Secret::Known(password.to_vec())),
    }
}

/// Returns workers and memory: by default all CPUs and a third of the memory.
fn resources(tuning: &TuningOptions, conf: &Conf, host: &Host) -> Resources {
    let mut resources = Resources::new(tuning.threads.unwrap_or_else(host.processors));
    let memory = tuning.maxram.map(|size| size.saturating_mul(UNIT));
    resources.memory = memory.or_else(|| host.third_of_memory(resources.workers));
    resources.scratch = Some(conf.scratch.as_ref().unwrap_or(&host.scratch).clone());
    resources
}

fn set_priority(value: Option<i32>) -> Result<(), Failure> {
    let Some(value) = value else { return Ok(()) };
    let set = rustix::process::setpriority_process(None, value);
    set.map_err(|cause| wrong("nice-level", format!("{value}: {cause}")))
}
