//! `--incremental`: the image that exists already, as the layer under the source.

use packline::requests::{ImagePlace, SuperblockChecksum};
use packline_erofs::{Options, Uuid};
use packline_image::{OpenedImage, metadata_cache};

use super::MkfsErofs;
use crate::ui::failure::Failure;

impl MkfsErofs {
    /// Opens the image that the source is added to, if there is one. It has the label and the UUID of the new image, unless options give others.
    ///
    /// # Errors
    /// [`Failure::Usage`] for options that contradict each other; [`Failure::Failed`] if there is no such image.
    pub(super) fn open_old(&self, options: &mut Options) -> Result<Option<OpenedImage>, Failure> {
        if !self.source.is_incremental()? {
            return Ok(None);
        }
        let place = ImagePlace::new(&self.image).at(self.format.offset);
        let old = place.open_erofs(SuperblockChecksum::Compare, metadata_cache(None))?;
        let superblock = old.image.superblock();
        if self.format.uuid.is_none() {
            options.uuid = Uuid::Given(superblock.uuid);
        }
        if self.format.label.is_none() {
            options.label = superblock.label().to_vec();
        }
        Ok(Some(old.into_opened()))
    }
}
