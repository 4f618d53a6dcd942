//! The functions in which packing and reading spend their time, through the public interfaces of the crates.
//! `cargo bench -p packline-microbench [-- FILTER]`.

mod codecs;
mod longrange;
mod pipeline;
mod random_reads;
mod reading;
mod trees;
mod writing;

use criterion::Criterion;
use std::time::Duration;

fn main() {
    let short = Criterion::default().warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    let mut criterion = short.sample_size(20).configure_from_args();
    codecs::bench(&mut criterion);
    pipeline::bench(&mut criterion);
    longrange::bench(&mut criterion);
    trees::bench(&mut criterion);
    writing::bench(&mut criterion);
    reading::bench(&mut criterion);
    random_reads::bench(&mut criterion);
    criterion.final_summary();
}
