//! Compares the trees that programs wrote or packed.

pub mod implicit_dirs;
pub mod tree_diff;
