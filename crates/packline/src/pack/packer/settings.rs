//! The options of a [`Packer`](super::Packer) that only images have.

use std::sync::Arc;

use packline_archives::ContentOrder;
use packline_blocks::Layout;
use packline_cache::BlockCache;
use packline_tree::Patterns;

use crate::error::Error;
use crate::pack::bases::BaseImage;
use crate::pack::image_options::ImageOptions;
use crate::pack::request::ImageRequest;

/// The options that a .lrz file does not have.
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
        #[cfg(feature = "verity")]
        let verity = self.verity.is_some();
        #[cfg(not(feature = "verity"))]
        let verity = false;
        let set = [
            (!self.exclude.is_empty(), "entries that are left out"),
            (self.offset > 0, "an offset"),
            (self.time.is_some() || self.mtime.is_some(), "a time"),
            (self.owner.is_some(), "an owner"),
            (self.no_xattrs, "no extended attributes"),
            (self.layout != Layout::Compact, "a layout"),
            (self.order.is_some(), "an order of contents"),
            (self.cache.is_some(), "a cache"),
            (!self.base.is_empty(), "a base image"),
            (self.verify, "verification"),
            (verity, "a hash tree"),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map(|(_, what)| what)
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
        image.changes.exclude = self.exclude;
        image.changes.mtime_most = self.time.map(i64::from);
        image.changes.mtime = self.mtime;
        image.changes.uid = self.owner.map(|(uid, _)| uid);
        image.changes.gid = self.owner.map(|(_, gid)| gid);
        image.offset = self.offset;
        image.order = self.order;
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
