//! `packline pack --order` chooses the order in which contents are stored.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline_archives::{ContentOrder, FileList, RestOrder};

use crate::args::{Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;

const ORDERS: &str = "the orders are input, path, similar, and a FILE with one path per line";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Image")]
pub struct OrderOptions {
    /// Store contents in the order of the input, by path, by similarity (similar; smaller images), or as FILE lists them
    #[arg(long, value_name = "ORDER", default_value = "input")]
    order: OsString,
}

impl OrderOptions {
    /// Returns the order, if it differs from the order of the source. Without the option, `similar` chooses similarity.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an invalid order, and with `--continue`; [`Failure::Failed`] for a list that cannot be read.
    pub fn order(&self, invocation: &Invocation, similar: bool) -> Result<Option<ContentOrder>, Failure> {
        let order = match self.order.as_bytes() {
            b"input" if similar && !invocation.has("order") => {
                ContentOrder::new(FileList::default(), RestOrder::Similar)
            }
            b"input" => return Ok(None),
            b"path" => ContentOrder::default(),
            b"similar" => ContentOrder::new(FileList::default(), RestOrder::Similar),
            name => match name.strip_suffix(b",similar") {
                Some(name) => ContentOrder::new(list(OsStr::from_bytes(name))?, RestOrder::Similar),
                None => ContentOrder::new(list(&self.order)?, RestOrder::Path),
            },
        };
        if invocation.has("continue") {
            return Err(wrong("order", "only --order=input can be used with --continue"));
        }
        Ok(Some(order))
    }
}

fn list(name: &OsStr) -> Result<FileList, Failure> {
    if name == "-" {
        return Err(wrong("order", "a list cannot come from standard input; name a file"));
    }
    let shown = Path::new(name).escaped();
    let text = fs::read(name).map_err(|cause| wrong("order", format!("{shown}: cannot read: {cause}; {ORDERS}")))?;
    FileList::parse(&shown, &text).map_err(Failure::failed)
}
