//! Reads `lrzip.conf`: defaults of the options.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use packline_lrz::BackEnd;
use packline_runtime::open_regular;

use crate::host::Host;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conf {
    pub window: Option<u64>,
    pub level: Option<u32>,
    pub unlimited: bool,
    pub method: Option<BackEnd>,
    /// Whether the quick test for incompressible blocks is skipped.
    pub no_test: bool,
    pub check: bool,
    pub hash: bool,
    pub outdir: Option<PathBuf>,
    pub verbosity: u8,
    pub quiet: bool,
    pub nice: Option<i32>,
    pub keep_broken: bool,
    pub delete: bool,
    pub replace: bool,
    pub scratch: Option<PathBuf>,
    pub encrypt: bool,
}

impl Conf {
    /// Reads the first file that the caller may read: in the current directory, `~/.lrzip`, `/etc/lrzip`. A character device, such as
    /// `/dev/null`, is an empty file.
    ///
    /// # Errors
    /// [`Failure::Failed`] for a FIFO, a socket or a block device, for a read error, and for an invalid line.
    pub fn read(host: &Host) -> Result<Conf, Failure> {
        if host.no_lrzip_conf {
            return Ok(Conf::default());
        }
        let home = host.home.as_ref().map(|home| home.join(".lrzip/lrzip.conf"));
        let places = [Some(PathBuf::from("lrzip.conf")), home, Some(PathBuf::from("/etc/lrzip/lrzip.conf"))];
        for place in places.into_iter().flatten() {
            match open_regular(&place).and_then(std::io::read_to_string) {
                Ok(text) => return Conf::parse(&place, &text),
                // lrzip also ignores a file that it may not read, such as one in the home directory of root after `setpriv` or `su`.
                Err(cause) if is_absent(cause.kind()) => {}
                Err(_) if is_character_device(&place) => return Ok(Conf::default()),
                Err(cause) => return Err(Failure::failed(format!("{}: cannot read: {cause}", place.escaped()))),
            }
        }
        Ok(Conf::default())
    }

    fn parse(place: &Path, text: &str) -> Result<Conf, Failure> {
        let mut conf = Conf::default();
        let lines = text.lines().map(str::trim).enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
            let wrong = |what: &str| {
                let number = number + 1;
                Failure::failed(format!(
                    "{}: line {number}: {what} (LRZIP=NOCONFIG leaves the file out)",
                    place.escaped()
                ))
            };
            let (name, value) = line.split_once('=').ok_or_else(|| wrong("no '=' (expected PARAMETER = VALUE)"))?;
            conf.set(name.trim(), value.trim()).map_err(|what| wrong(&what))?;
        }
        Ok(conf)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name.to_ascii_uppercase().as_str() {
            "WINDOW" => self.window = Some(number(value, 1, 1 << 40)? as u64),
            "COMPRESSIONLEVEL" => self.level = Some(number(value, 1, 9)? as u32),
            "UNLIMITED" => self.unlimited = yes(value)?,
            "COMPRESSIONMETHOD" => self.method = Some(method(value)?),
            "LZOTEST" => self.no_test = !yes(value)?,
            "HASHCHECK" => self.check = yes(value)?,
            "SHOWHASH" => self.hash = yes(value)?,
            "OUTPUTDIRECTORY" => self.outdir = Some(PathBuf::from(value)),
            "VERBOSITY" if value.eq_ignore_ascii_case("max") => self.verbosity = 2,
            "VERBOSITY" => self.verbosity = u8::from(yes(value)?),
            "SHOWPROGRESS" => self.quiet = !yes(value)?,
            "NICE" => self.nice = Some(number(value, -20, 19)? as i32),
            "KEEPBROKEN" => self.keep_broken = yes(value)?,
            "TMPDIR" => self.scratch = Some(PathBuf::from(value)),
            "ENCRYPT" => self.encrypt = yes(value)?,
            // These parameters delete files, so only their exact values count.
            "DELETEFILES" => self.delete = name == "DELETEFILES" && value == "YES",
            "REPLACEFILE" => self.replace = name == "REPLACEFILE" && value == "YES",
            _ => return Err(format!("unknown parameter '{name}'")),
        }
        Ok(())
    }
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

fn is_character_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.file_type().is_char_device())
}

fn yes(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("'{value}' (expected YES or NO)")),
    }
}

fn number(value: &str, least: i64, most: i64) -> Result<i64, String> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("'{value}' (expected a number from {least} to {most})"))
}

fn method(value: &str) -> Result<BackEnd, String> {
    Ok(match value.to_ascii_lowercase().as_str() {
        "rzip" => BackEnd::None,
        "gzip" => BackEnd::Gzip,
        "bzip2" => BackEnd::Bzip2,
        "lzo" => BackEnd::Lzo,
        "lzma" => BackEnd::Lzma,
        "zpaq" => BackEnd::Zpaq,
        _ => return Err(format!("'{value}' (expected rzip, gzip, bzip2, lzo, lzma or zpaq)")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Conf, Failure> {
        Conf::parse(Path::new("lrzip.conf"), text)
    }

    #[test]
    fn reads_every_parameter() {
        let text = "# a comment\n\nWINDOW = 20\ncompressionlevel=3\nUNLIMITED = NO\nCOMPRESSIONMETHOD = Zpaq\nLZOTEST = NO\n\
                    HASHCHECK = YES\nSHOWHASH = yes\nOUTPUTDIRECTORY = here\nVERBOSITY = max\nSHOWPROGRESS = no\nNICE = -5\n\
                    KEEPBROKEN = YES\nDELETEFILES = YES\nREPLACEFILE = YES\nTMPDIR = /tmp\nENCRYPT = NO\n";
        let expected = Conf {
            window: Some(20),
            level: Some(3),
            unlimited: false,
            method: Some(BackEnd::Zpaq),
            no_test: true,
            check: true,
            hash: true,
            outdir: Some("here".into()),
            verbosity: 2,
            quiet: true,
            nice: Some(-5),
            keep_broken: true,
            delete: true,
            replace: true,
            scratch: Some("/tmp".into()),
            encrypt: false,
        };
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn deletes_files_only_for_exact_values() {
        for line in ["deletefiles = YES", "DELETEFILES = yes", "replacefile = YES", "REPLACEFILE = Yes"] {
            assert_eq!(parse(line).unwrap(), Conf::default(), "{line}");
        }
    }

    #[test]
    fn rejects_invalid_lines_by_number() {
        for line in ["WINDOW", "WINDOW = 0", "NICE = 20", "COMPRESSIONMETHOD = zip", "COLOUR = red", "UNLIMITED = 1"] {
            let Err(Failure::Failed(reason)) = parse(&format!("\n{line}")) else { panic!("{line}") };
            let message = reason.to_string();
            assert!(message.starts_with("lrzip.conf: line 2: "), "{message}");
        }
    }
}
