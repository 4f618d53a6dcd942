//! Pseudo files: one definition of an entry on each line. The entries are added to another source, or are a tree of their own.
//!
//! The format is that of `mksquashfs` in squashfs-tools 4.7 (mksquashfs(1), "PSEUDO FILE DEFINITION FORMAT"), which `unsquashfs` writes:
//!
//! ```text
//! # a comment
//! <path> d <mode> <uid> <gid>                      a directory
//! <path> m <mode> <uid> <gid>                      new attributes of an entry of the source
//! <path> b|c <mode> <uid> <gid> <major> <minor>    a device
//! <path> s <mode> <uid> <gid> <target>             a symbolic link; its mode is always 0777
//! <path> i <mode> <uid> <gid> s|f                  a socket or a FIFO
//! <path> f <mode> <uid> <gid> <command>            a file that contains the output of a command
//! <path> R <time> <mode> <uid> <gid> <size> <offset> <sparse>   a file whose content follows the definitions
//! <path> l|h <path on the host>                    a file of the host; `h` follows symbolic links
//! <path> L <path>                                  a hard link to the entry of an earlier definition
//! <path> x <name>=<value>                          an extended attribute
//! ```
//!
//! `D M B C S I F` mean the same as their lower-case letters, and have a time before the mode. In paths, `\` precedes a literal character,
//! and quotes keep blanks. A line that ends with `\` continues on the next line. As in squashfs-tools, a definition is skipped with a warning
//! if its path is already defined or the source has an entry there.

mod attributes;
mod content;
mod definition;
mod new_entry;
mod print;
mod source;
pub(crate) mod text;
mod tree;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use packline_runtime::escape::Escape;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error, Meta, Xattr};

use attributes::{Attributes, parse_default};
use definition::{Action, Added, parse};
pub use print::{PSEUDO_DATA_HEAD, PseudoData, pseudo_definition};
pub use source::{NoSource, PseudoSource};
use text::Lines;
use tree::{Node, Nodes, ROOT};

/// The services of the machine that definitions need. The library itself runs no commands and knows no users.
pub trait PseudoHost {
    fn user(&mut self, name: &str) -> Option<u32>;
    fn group(&mut self, name: &str) -> Option<u32>;
    /// Converts a date that is not a number to seconds since 1970.
    fn time(&mut self, date: &str) -> Option<u32>;
    /// Whether commands may be run. It is called for each definition with a command, before the first command runs.
    ///
    /// # Errors
    /// Commands may not be run. The text is a hint on what permits them.
    fn permits_commands(&self) -> Result<(), String> {
        Ok(())
    }
    /// Runs a shell command. Returns a file that contains exactly the output of the command.
    ///
    /// # Errors
    /// Commands may not be run, or the command failed.
    fn run(&mut self, command: &[u8]) -> io::Result<File>;
}

/// The definitions of one or more texts, in order.
pub struct PseudoFile {
    host: Box<dyn PseudoHost + Send>,
    inputs: Vec<Input>,
    nodes: Nodes,
    default_directory: Option<Attributes>,
    /// Time of entries whose definition has no time, seconds since 1970.
    time: i64,
    /// Changes the attributes of the source's entries before definitions apply.
    of_source: Option<SourceRule>,
    /// Decides which extended attributes of the source and of files of the host are kept.
    kept_xattrs: Option<NameRule>,
    warnings: Vec<String>,
}

type SourceRule = Box<dyn Fn(Meta, bool) -> Meta + Send>;
type NameRule = Box<dyn Fn(&[u8]) -> bool + Send>;

/// A text of definitions, and the contents that follow it.
struct Input {
    name: String,
    data: Data,
}

/// The contents after the definitions of a text.
enum Data {
    None,
    /// The file has the contents from this byte on.
    File(File, u64),
    /// The contents follow in the stream, which is at this offset in them.
    Stream(Box<dyn BufRead + Send>, u64),
}

/// The position of a definition.
#[derive(Debug, Clone, Copy, Default)]
struct Position {
    input: u32,
    line: u64,
}

impl PseudoFile {
    /// Starts without definitions. `time`, in seconds since 1970, is used for entries whose definition has no time.
    pub fn new(host: impl PseudoHost + Send + 'static, time: i64) -> PseudoFile {
        PseudoFile {
            host: Box::new(host),
            inputs: Vec::new(),
            nodes: Nodes::new(),
            default_directory: None,
            time,
            of_source: None,
            kept_xattrs: None,
            warnings: Vec::new(),
        }
    }

    /// Changes the attributes of all entries of the source before definitions apply. The flag that the rule receives says whether the entry is
    /// a directory.
    pub fn change_source(&mut self, rule: impl Fn(Meta, bool) -> Meta + Send + 'static) {
        self.of_source = Some(Box::new(rule));
    }

    /// Keeps an extended attribute of the source or of a file of the host only if the rule is true for its full name. The attributes of
    /// definitions are always kept.
    pub fn keep_xattrs(&mut self, rule: impl Fn(&[u8]) -> bool + Send + 'static) {
        self.kept_xattrs = Some(Box::new(rule));
    }

    /// The first names of the paths that have definitions.
    pub fn root_names(&self) -> impl Iterator<Item = &[u8]> {
        self.nodes[ROOT].children.keys().map(Vec::as_slice)
    }

    /// Creates missing directories with the attributes in a text such as `d 0755 0 0` or `D 1700000000 0755 0 0`. `input` is the name of the
    /// text for errors.
    ///
    /// # Errors
    /// [`Error::Line`] for a malformed text.
    pub fn create_parents(&mut self, input: &str, text: &[u8]) -> Result<(), Error> {
        let attributes = parse_default(TextLine { input, line: 1 }, text, self.host.as_mut())?;
        self.default_directory = Some(attributes);
        Ok(())
    }

    /// Adds one definition. `input` is the name of the definition for errors.
    ///
    /// # Errors
    /// [`Error::Line`] if the definition is malformed, or if it needs content after the definitions.
    pub fn define(&mut self, input: &str, text: &[u8]) -> Result<(), Error> {
        let line = text.trim_ascii_start();
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let at = self.begin(input);
        let has_content = self.add_line(Position { line: 1, ..at }, line)?;
        if has_content {
            let expected = "a file of definitions, which has the content after them";
            return Err(TextLine { input, line: 1 }.error("'R' without content", expected));
        }
        Ok(())
    }

    /// Adds the definitions of a file. The contents after them are read when they are needed.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, [`Error::Line`] for a malformed definition.
    pub fn read_file(&mut self, path: &Path) -> Result<(), Error> {
        let refused = |cause| Error::Io { path: path.to_owned(), action: "cannot read", cause };
        let file = File::open(path).map_err(refused)?;
        let seekable = file.metadata().map_err(refused)?.is_file();
        let mut reader = BufReader::new(file);
        if !seekable {
            return self.read_stream(&path.escaped(), reader);
        }
        let start = self.read_definitions(&path.escaped(), &mut reader)?;
        self.keep_data(start.map(|start| Data::File(reader.into_inner(), start)));
        Ok(())
    }

    /// Adds the definitions of a stream. The contents after them are read in order, while the source is read.
    ///
    /// # Errors
    /// [`Error::Io`] if the stream cannot be read, [`Error::Line`] for a malformed definition.
    pub fn read_stream(&mut self, name: &str, stream: impl Read + Send + 'static) -> Result<(), Error> {
        let mut reader = BufReader::new(stream);
        let start = self.read_definitions(name, &mut reader)?;
        self.keep_data(start.map(|_| Data::Stream(Box::new(reader), 0)));
        Ok(())
    }

    /// Adds the definitions of a text. Returns the byte at which the contents begin, if there are any.
    fn read_definitions(&mut self, name: &str, reader: &mut dyn BufRead) -> Result<Option<u64>, Error> {
        let mut position = self.begin(name);
        let mut wants_data = None;
        let mut lines = Lines::new(name, reader);
        while let Some((number, line)) = lines.next()? {
            position.line = number;
            if self.add_line(position, line)? {
                wants_data.get_or_insert(position.line);
            }
        }
        match (wants_data, lines.data_start()) {
            (Some(line), None) => {
                let what = "'R' without content, which follows the definitions";
                Err(TextLine { input: name, line }.error(what, format!("a line '{}'", text::DATA_MARK)))
            }
            (Some(_), start) => Ok(start),
            (None, _) => Ok(None),
        }
    }

    fn begin(&mut self, name: &str) -> Position {
        self.inputs.push(Input { name: name.to_owned(), data: Data::None });
        Position { input: self.inputs.len() as u32 - 1, line: 0 }
    }

    fn keep_data(&mut self, data: Option<Data>) {
        if let (Some(data), Some(input)) = (data, self.inputs.last_mut()) {
            input.data = data;
        }
    }

    fn place(&self, position: Position) -> TextLine<'_> {
        let input = self.inputs.get(position.input as usize).map_or("", |input| &input.name);
        TextLine { input, line: position.line }
    }

    fn warn(&mut self, position: Position, what: &str) {
        let TextLine { input, line } = self.place(position);
        let warning = format!("{input}: line {line}: {what}");
        self.warnings.push(warning);
    }

    /// Adds a definition. Returns whether its content follows the definitions.
    fn add_line(&mut self, position: Position, line: &[u8]) -> Result<bool, Error> {
        let place = TextLine { input: &self.inputs[position.input as usize].name, line: position.line };
        let (path, action) = parse(place, line, self.host.as_mut())?;
        let node = self.nodes.insert(&path, position);
        let added = match action {
            Action::Xattr(xattr) => {
                set(&mut self.nodes[node].xattrs, xattr);
                return Ok(false);
            }
            Action::OtherName(target) => self.other_name(position, &target)?,
            Action::Add(added) => added,
        };
        let wants_data = matches!(added, Added::Data { .. });
        self.add(node, position, added);
        Ok(wants_data)
    }

    /// Adds another name for the entry of an earlier definition.
    fn other_name(&self, position: Position, target: &[u8]) -> Result<Added, Error> {
        let expected = "the path of a file, device or link that an earlier line defines";
        let place = self.place(position);
        let undefined = || place.error(format!("'L' to {}, which no line defines", quote(target)), expected);
        let defined = self.nodes.find(target).filter(|&node| self.nodes[node].added.is_some());
        let node = defined.ok_or_else(undefined)?;
        match &self.nodes[node].added {
            Some(Added::OtherName(first)) => Ok(Added::OtherName(*first)),
            Some(added) if added.may_have_children() => {
                Err(place.error(format!("'L' to {}, a directory or a change", quote(target)), expected))
            }
            _ => Ok(Added::OtherName(node)),
        }
    }

    /// Defines a node, unless the node or a node above it is already something else.
    fn add(&mut self, node: usize, position: Position, added: Added) {
        let Node { parent, children, added: before, .. } = &self.nodes[node];
        let root = node == tree::ROOT;
        let refused = match before {
            _ if root && !matches!(added, Added::Entry(packline_tree::Kind::Dir, _)) => {
                Some("the root can only be a directory")
            }
            Some(_) if !root => Some("the path is defined already"),
            _ if !children.is_empty() && !added.may_have_children() => Some("entries below it are defined already"),
            _ if self.nodes[*parent].added.as_ref().is_some_and(|above| !above.may_have_children()) => {
                Some("the entry above it is not a directory")
            }
            _ => None,
        };
        match refused {
            Some(what) => {
                let path = quote(&self.nodes.path(node));
                self.warn(position, &format!("{path} is skipped: {what}"));
            }
            None => (self.nodes[node].added, self.nodes[node].position) = (Some(added), position),
        }
    }
}

/// Sets an attribute and replaces one with the same name.
fn set(xattrs: &mut Vec<Xattr>, xattr: Xattr) {
    xattrs.retain(|known| known.name != xattr.name);
    xattrs.push(xattr);
}

/// Parses an owner, which is a number or a name.
fn owner(
    place: TextLine<'_>,
    what: &str,
    word: &Bytes,
    named: &mut dyn FnMut(&str) -> Option<u32>,
) -> Result<u32, Error> {
    let text = std::str::from_utf8(word).ok();
    let number = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())).map(str::parse);
    let found = match number {
        Some(number) => number.ok(),
        None => text.and_then(named),
    };
    let expected = || format!("a number from 0 to 4294967295, or the name of a {what}");
    found.ok_or_else(|| place.error(format!("{what} {}", quote(word)), expected()))
}

#[cfg(test)]
mod tests;
