//! Trees and tars generated from a seed: the same bytes on every machine.

mod bulk;
mod plain;
mod small;

pub use bulk::{
    duplicated, flat_directory, hard_link_pairs, many_files, mixed_bulk, one_sparse_file, unique_small_files, write_tar,
};
pub use plain::{noise_files, shifted_files, tiny_files, zero_files};
pub use small::{beyond_four_gigabytes, small_tree, without_privileges};
