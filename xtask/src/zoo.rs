//! The zoo of hostile images as files, to try any program on.

use crate::arguments::Arguments;
use packline_testkit::hostile;
use std::path::Path;

/// `zoo DIR`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&[])?;
    let [directory] = arguments.operands.as_slice() else {
        return Err("expected a directory for the images".into());
    };
    hostile::write_all(Path::new(directory)).map_err(|cause| format!("{directory}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_needed_and_filled() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("zoo");
        let arguments = |words: &[&str]| Arguments::parse(words.iter().map(ToString::to_string)).unwrap();
        assert!(run(&arguments(&[])).is_err());
        assert!(run(&arguments(&["one", "two"])).is_err());
        run(&arguments(&[directory.to_str().unwrap()])).unwrap();
        let images = std::fs::read_dir(&directory).unwrap().count() - 1;
        assert_eq!(images, hostile::all().len());
    }
}
