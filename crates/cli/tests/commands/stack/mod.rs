//! Tests of layers as sources.

mod container_lists;
mod layers;
mod oci;
#[path = "../../../../packline/examples/oci_to_image.rs"]
mod oci_to_image;
pub(crate) mod support;
