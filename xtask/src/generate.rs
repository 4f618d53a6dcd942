//! Generated tars on standard output, for pipes: no tar is ever whole in memory.

use crate::arguments::Arguments;
use packline_testkit::generate;
use std::io::{self, BufWriter, Write};

/// `generate NAME COUNT`.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    let [name, count] = arguments.operands.as_slice() else {
        return Err("expected a name and a count".into());
    };
    let count = count.parse().map_err(|_| format!("{count} is no count"))?;
    let mut sink = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    write(name, count, &mut sink)?.and_then(|()| sink.flush()).map_err(|cause| format!("{name}: {cause}"))
}

/// Writes the tar of that name. The outer error is a name that is not known.
pub fn write(name: &str, count: u64, sink: &mut dyn Write) -> Result<io::Result<()>, String> {
    Ok(match name {
        "unique" => generate::unique_small_files(sink, count),
        "flat" => generate::flat_directory(sink, count),
        "links" => generate::hard_link_pairs(sink, count),
        "once" => generate::duplicated(sink, count, 1),
        "twice" => generate::duplicated(sink, count, 2),
        "many" => generate::many_files(sink, count),
        "sparse" => generate::one_sparse_file(sink, count),
        "bulk" => generate::mixed_bulk(sink, count),
        _ => return Err(format!("{name} is no tar (expected unique, flat, links, once, twice, many, sparse or bulk)")),
    })
}
