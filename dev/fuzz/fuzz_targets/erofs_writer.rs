//! Any bytes as options and a tree: our reader and erofs-rs find the tree in the image of our writer, and no fault.
#![no_main]

use libfuzzer_sys::fuzz_target;
use packline_fuzz::erofs_recipe::Recipe;
use packline_fuzz::erofs_write::round_trip;

fuzz_target!(|bytes: &[u8]| {
    let mut recipe = Recipe::new(bytes);
    if let Some(options) = recipe.options() {
        round_trip(&recipe.nodes(), &options);
    }
});
