//! Tests of layers as sources.

mod layers;
mod oci;
pub(crate) mod support;
