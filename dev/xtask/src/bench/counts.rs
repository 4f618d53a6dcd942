//! Instruction counts as CSV: a comment that identifies the format, then `task,instructions,bytes`.

use std::fmt;

const FIRST: &str = "# packline instructions: 1";
const MACHINE: &str = "# machine: ";
const COLUMNS: &str = "task,instructions,bytes";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The name, without commas.
    pub name: String,
    pub instructions: u64,
    /// Size of the resulting image; 0 if there is none.
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// valgrind's version and the processor's model, on which the executed code depends.
    pub machine: String,
    pub tasks: Vec<Task>,
}

impl Counts {
    /// Parses the CSV. `None` if it is another format.
    pub fn parse(text: &str) -> Option<Result<Counts, String>> {
        let rest = text.strip_prefix(FIRST)?;
        let mut counts = Counts::default();
        for (index, line) in rest.lines().enumerate() {
            if let Err(cause) = counts.take(line) {
                return Some(Err(format!("line {}: {cause}", index + 1)));
            }
        }
        Some(Ok(counts))
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if let Some(machine) = line.strip_prefix(MACHINE) {
            self.machine = machine.to_owned();
        } else if !(line.is_empty() || line.starts_with('#') || line == COLUMNS) {
            self.tasks.push(task(line).ok_or_else(|| format!("{line:?} (expected `{COLUMNS}`)"))?);
        }
        Ok(())
    }
}

fn task(line: &str) -> Option<Task> {
    let mut cells = line.split(',');
    let name = cells.next()?;
    let instructions = cells.next()?;
    let bytes = cells.next()?;
    let task = Task { name: name.to_owned(), instructions: instructions.parse().ok()?, bytes: bytes.parse().ok()? };
    cells.next().is_none().then_some(task)
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{FIRST}\n{MACHINE}{}\n{COLUMNS}", self.machine)?;
        self.tasks.iter().try_for_each(|task| writeln!(out, "{},{},{}", task.name, task.instructions, task.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let task = |name: &str, instructions| Task { name: name.into(), instructions, bytes: 7 };
        let counts = Counts { machine: "m, n".into(), tasks: vec![task("pack gzip", 1), task("list", u64::MAX)] };
        assert_eq!(Counts::parse(&counts.to_string()), Some(Ok(counts)));
        assert_eq!(Counts::parse("task,instructions,bytes\n"), None);
    }

    #[test]
    fn broken_lines() {
        for line in ["list,1", "list,x,0", "list,1,0,0", "list,-1,0"] {
            let found = Counts::parse(&format!("{FIRST}\n{COLUMNS}\n{line}\n"));
            assert!(found.unwrap().unwrap_err().starts_with("line 3: "), "{line}");
        }
    }
}
