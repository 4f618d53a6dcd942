//! Substitutions of path prefixes, from the files `.subs` and `.subs_dist` next to a file_contexts file.

use packline_tree::text::{is_blank, lines, quote};
use packline_tree::{Bytes, Error};

/// The substitutions of several files. Each file is applied once, in the order in which the files were added.
#[derive(Debug, Default)]
pub(super) struct Substitutions {
    files: Vec<Vec<(Bytes, Bytes)>>,
}

impl Substitutions {
    /// Adds the lines `FROM TO` of a text. If more than one line applies to a path, the last line wins.
    pub fn add(&mut self, input: &str, text: &[u8]) -> Result<(), Error> {
        let mut pairs = Vec::new();
        for (place, line) in lines(input, text) {
            let mut fields = line.split(|&byte| is_blank(byte)).filter(|field| !field.is_empty());
            let (Some(from), Some(to)) = (fields.next(), fields.next()) else {
                return Err(place.error(format!("{} has no second path", quote(line)), "two paths"));
            };
            pairs.push((from.to_vec(), to.to_vec()));
        }
        self.files.push(pairs);
        Ok(())
    }

    /// Applies the substitutions to a path.
    pub fn apply(&self, full: Bytes) -> Bytes {
        self.files.iter().fold(full, |full, pairs| substitute(pairs, &full).unwrap_or(full))
    }
}

fn substitute(pairs: &[(Bytes, Bytes)], full: &[u8]) -> Option<Bytes> {
    pairs.iter().rev().find_map(|(from, to)| {
        let rest = full.strip_prefix(&from[..])?;
        match (rest.first(), &to[..]) {
            (None, _) => Some(to.clone()),
            (Some(b'/'), b"/") => Some(rest.to_vec()),
            (Some(b'/'), _) => Some([&to[..], rest].concat()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(texts: &[&str], path: &str) -> String {
        let mut substitutions = Substitutions::default();
        for text in texts {
            substitutions.add("subs", text.as_bytes()).unwrap();
        }
        String::from_utf8(substitutions.apply(path.into())).unwrap()
    }

    #[test]
    fn replaces_only_complete_components() {
        let subs = "# comment\n/run /var/run\n/srv /var/srv\n/srv/x /\n";
        assert_eq!(apply(&[subs], "/run/lock"), "/var/run/lock");
        assert_eq!(apply(&[subs], "/run"), "/var/run");
        assert_eq!(apply(&[subs], "/runner"), "/runner");
        assert_eq!(apply(&[subs], "/srv/x/y"), "/y");
        assert_eq!(apply(&[], "/run"), "/run");
        assert_eq!(apply(&["/run /tmp/run", "/tmp /var/tmp\n/run /no"], "/run/x"), "/var/tmp/run/x");
    }

    #[test]
    fn rejects_lines_with_one_path() {
        let error = Substitutions::default().add("subs", b"\n/run\n").unwrap_err().to_string();
        assert_eq!(error, "subs: line 2: `/run` has no second path (expected two paths)");
    }
}
