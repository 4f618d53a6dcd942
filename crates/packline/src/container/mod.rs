//! Containers: chosen by the name of an output ([`by_name`]), recognised by the first bytes of an input ([`by_magic`], [`recognise`]), and
//! opened ([`image_place`] for images, [`archive`] for all).

pub(crate) mod archive;
pub(crate) mod by_magic;
pub(crate) mod by_name;
pub(crate) mod entry;
pub(crate) mod file_kind;
pub(crate) mod image;
pub(crate) mod image_file;
pub(crate) mod image_place;
#[cfg(feature = "pln")]
mod in_pln;
pub(crate) mod input;
pub(crate) mod opened_file;
mod read_at;
pub(crate) mod recognise;
pub(crate) mod scratch;
pub(crate) mod selection;
