//! The command lines: ours and each peer's, asked for the same.

use super::pack::Setting;
use crate::shell;
use packline_testkit::peer::Job;
use packline_testkit::tools;
use std::path::{Path, PathBuf};

/// One program in a contest.
pub struct Entrant {
    pub job: Job,
    pub image: PathBuf,
}

/// All programs for one codec, ours first.
pub struct Contest {
    pub entrants: Vec<Entrant>,
}

impl Contest {
    /// Ours and those of the peers that are installed and have the codec. A codec may be written with parameters, as we
    /// take them; peers get its name, and so their defaults: name only what is their default too.
    pub fn new(setting: &Setting, codec: &str) -> Result<Contest, String> {
        let name = codec.split(':').next().unwrap_or(codec);
        let mut entrants = vec![ours(setting, codec)?];
        if installed(&setting.tar2sqfs) && name != "none" {
            entrants.push(tar2sqfs(setting, name)?);
        }
        if installed(&setting.mksquashfs) {
            entrants.push(mksquashfs(setting, name)?);
        }
        Ok(Contest { entrants })
    }
}

fn installed(program: &str) -> bool {
    Path::new(program).is_file() || tools::find(program).is_some()
}

fn image(setting: &Setting, name: &str) -> Result<(PathBuf, String), String> {
    let path = setting.images.join(format!("{name}.sqfs"));
    let text = shell::text(&path)?.to_owned();
    Ok((path, text))
}

fn ours(setting: &Setting, codec: &str) -> Result<Entrant, String> {
    let (image, name) = image(setting, "packline")?;
    let (binary, workers) = (shell::text(&setting.binary)?, setting.workers.to_string());
    let argv = [binary, "pack", "-", &name, "-c", codec, "-b", &setting.block, "-j", &workers, "--quiet", "--force"];
    Ok(Entrant { job: Job::new("packline", &argv).reading(&setting.input), image })
}

fn tar2sqfs(setting: &Setting, codec: &str) -> Result<Entrant, String> {
    let (image, name) = image(setting, "tar2sqfs")?;
    let workers = setting.workers.to_string();
    let argv = [&setting.tar2sqfs, "-q", "-f", "-c", codec, "-b", &setting.block, "-j", &workers, &name];
    Ok(Entrant { job: Job::new("tar2sqfs", &argv).reading(&setting.input), image })
}

fn mksquashfs(setting: &Setting, codec: &str) -> Result<Entrant, String> {
    let (image, name) = image(setting, "mksquashfs")?;
    let workers = setting.workers.to_string();
    let fixed = ["-tar", "-noappend", "-no-progress", "-quiet", "-no-exports", "-b"];
    let choice = if codec == "none" { vec!["-no-compression"] } else { vec!["-comp", codec] };
    let argv = [
        &[setting.mksquashfs.as_str(), "-", &name][..],
        &fixed,
        &[setting.block.as_str(), "-processors", &workers],
        &choice,
    ]
    .concat();
    Ok(Entrant { job: Job::new("mksquashfs", &argv).reading(&setting.input), image })
}
