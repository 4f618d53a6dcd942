//! Opens images and reads them on demand.
