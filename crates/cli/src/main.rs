//! The packline command.

fn main() {}
