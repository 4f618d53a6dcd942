//! The options of a [`Packer`](super::Packer) that not all containers have.

use std::sync::Arc;

use packline_archives::ContentOrder;
use packline_blocks::Layout;
use packline_cache::BlockCache;
use packline_tree::Patterns;

use crate::error::Error;
use crate::pack::bases::BaseImage;
use crate::pack::image_options::ImageOptions;
use crate::pack::request::{EntryRequest, ImageRequest, TarRequest, no_tar};

/// The options that a .lrz file does not have. A tar has those of its entries.
#[derive(Default)]
pub(super) struct Settings {
    pub(super) exclude: Patterns,
    pub(super) offset: u64,
    pub(super) time: Option<u32>,
    pub(super) mtime: Option<i64>,
    pub(super) owner: Option<(u32, u32)>,
    pub(super) no_xattrs: bool,
    pub(super) layout: Layout,
    pub(super) order: Option<ContentOrder>,
    pub(super) cache: Option<Arc<BlockCache>>,
    pub(super) base: Vec<BaseImage>,
    pub(super) verify: bool,
    #[cfg(feature = "verity")]
    pub(super) verity: Option<crate::sidecars::verity::VerityOptions>,
}

impl Settings {
    /// Names an option that is set.
    #[cfg(feature = "lrz")]
    pub(super) fn first_set(&self) -> Option<&'static str> {
        let of_entries = [
            (!self.exclude.is_empty(), "entries that are left out"),
            (self.time.is_some() || self.mtime.is_some(), "a time"),
            (self.owner.is_some(), "an owner"),
            (self.no_xattrs, "no extended attributes"),
            (self.order.is_some(), "an order of contents"),
        ];
        let set = of_entries.into_iter().find(|(is_set, _)| *is_set);
        set.map(|(_, what)| what).or_else(|| self.first_set_of_images())
    }

    /// Names an option that is set and that only images have.
    fn first_set_of_images(&self) -> Option<&'static str> {
        #[cfg(feature = "verity")]
        let verity = self.verity.is_some();
        #[cfg(not(feature = "verity"))]
        let verity = false;
        let set = [
            (self.offset > 0, "an offset"),
            (self.layout != Layout::Compact, "a layout"),
            (self.cache.is_some(), "a cache"),
            (!self.base.is_empty(), "a base image"),
            (self.verify, "verification"),
            (verity, "a hash tree"),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map(|(_, what)| what)
    }

    /// Sets the options of the entries of a request.
    fn apply_to_entries(&self, entries: &mut EntryRequest) {
        entries.changes.exclude = self.exclude.clone();
        entries.changes.mtime_most = self.time.map(i64::from);
        entries.changes.mtime = self.mtime;
        entries.changes.uid = self.owner.map(|(uid, _)| uid);
        entries.changes.gid = self.owner.map(|(_, gid)| gid);
        entries.order.clone_from(&self.order);
    }

    /// Sets the options of a tar.
    ///
    /// # Errors
    /// [`Error::Request`] for an option that tars do not have.
    pub(super) fn apply_to_tar(&self, tar: &mut TarRequest) -> Result<(), Error> {
        if let Some(what) = self.first_set_of_images() {
            return Err(no_tar(what));
        }
        tar.no_xattrs = self.no_xattrs;
        self.apply_to_entries(&mut tar.entries);
        Ok(())
    }

    /// Sets the options of a request.
    ///
    /// # Errors
    /// [`Error::Request`] for an option that the file system does not have.
    pub(super) fn apply(self, image: &mut ImageRequest) -> Result<(), Error> {
        match &mut image.options {
            ImageOptions::SquashFs(options) => {
                options.xattrs = !self.no_xattrs;
                options.layout = self.layout;
                options.created = self.time.unwrap_or(0);
            }
            ImageOptions::Erofs(options) => {
                if self.layout != Layout::Compact {
                    return Err(not_for_erofs("a stable layout"));
                }
                options.xattrs = !self.no_xattrs;
                options.created = self.time.unwrap_or(0);
            }
        }
        self.apply_to_entries(&mut image.entries);
        image.offset = self.offset;
        image.cache = self.cache;
        image.base = self.base;
        image.verify = self.verify;
        #[cfg(feature = "verity")]
        {
            image.verity = self.verity;
        }
        Ok(())
    }
}

fn not_for_erofs(what: &str) -> Error {
    Error::Request { what: format!("{what} for an EROFS image"), expected: "a SquashFS image".to_string() }
}
