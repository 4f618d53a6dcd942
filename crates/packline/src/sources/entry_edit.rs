//! A change of entries by the caller.

use std::fmt;
use std::rc::Rc;

use packline_tree::{Entry, Error};

/// Changes attributes of entries on their way into the image. Clones share the change.
#[derive(Clone)]
pub struct EntryEdit(Rc<Rule>);

type Rule = dyn Fn(&mut Entry) -> Result<(), Error>;

impl EntryEdit {
    /// `edit` changes an entry's attributes: not its path, nor its kind. It must depend on the entry alone.
    pub fn new(edit: impl Fn(&mut Entry) -> Result<(), Error> + 'static) -> EntryEdit {
        EntryEdit(Rc::new(edit))
    }

    pub(crate) fn apply(&self, entry: &mut Entry) -> Result<(), Error> {
        (self.0)(entry)
    }
}

impl fmt::Debug for EntryEdit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EntryEdit")
    }
}
