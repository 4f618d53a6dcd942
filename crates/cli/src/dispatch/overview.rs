//! The help of the program: its commands in groups, and the list of drop-ins.

use crate::args::Entry;
use crate::args::parser::parser_of;
use crate::dispatch::table::{COMMANDS, GROUPS, find};
use crate::ui::wrap::wrap;

/// First commands to try, each with its effect.
pub const EXAMPLES: [&str; 5] = [
    "  packline pack rootfs/ rootfs.sqfs     pack a directory into an image",
    "  packline unpack rootfs.sqfs rootfs/   unpack an image or a tar",
    "  packline mount rootfs.sqfs /mnt       mount an image",
    "  packline compress backup.tar          compress a file",
    "  packline protect backup.tar.pln       write recovery data for a file",
];

const OPTIONS: &str = "\
Options:
  -h, --help         Print this help
  -V, --version      Print the version; with --verbose also codecs and libraries
      --log <LEVEL>  Log decisions: error, warn, info, debug or trace";

const MORE: &str = "\
'packline COMMAND -h' shows the most used options of a command, '--help' all.
Manual: 'man packline', or 'packline man | man -l -'";

/// Returns the help of the program.
pub fn help(columns: usize) -> String {
    let mut paragraphs = vec![
        "Pack directories, tars and streams into compressed images".to_string(),
        "Usage: packline COMMAND [OPTIONS]...".to_string(),
        format!("Examples:\n{}", EXAMPLES.join("\n")),
    ];
    for group in &GROUPS {
        let rows = group.commands.iter().filter_map(|name| find(name.as_ref())).map(|command| row(command, 13));
        paragraphs.push(format!("{}:\n{}", group.heading, rows.collect::<Vec<_>>().join("\n")));
    }
    let drop_ins = drop_ins().count();
    paragraphs.push(format!(
        "Drop-ins:\n  {drop_ins} programs, such as mksquashfs, tar2sqfs and lrzip: 'packline help drop-ins'"
    ));
    paragraphs.extend([OPTIONS.to_string(), MORE.to_string()]);
    wrap(&paragraphs.join("\n\n"), columns) + "\n"
}

/// Returns the list of drop-ins, and the way to link them.
pub fn drop_in_help(columns: usize) -> String {
    let rows: Vec<String> = drop_ins().map(|command| row(command, 15)).collect();
    let text = format!(
        "packline takes the command lines of these programs if it is called by their names:\n\n{}\n\n\
         'packline links DIR' creates symbolic links with these names in DIR. Without links, 'packline mksquashfs ...' does \
         the same.\n\n\
         Examples:\n  packline links ~/.local/bin\n  mksquashfs rootfs rootfs.sqfs -comp zstd\n\n\
         'packline help mksquashfs' shows the options of a program. Its manual page lists the differences: 'packline man \
         mksquashfs | man -l -'",
        rows.join("\n")
    );
    wrap(&text, columns) + "\n"
}

fn drop_ins() -> impl Iterator<Item = &'static Entry> {
    COMMANDS.iter().filter(|command| command.compat.is_drop_in())
}

/// Returns a row with the name of the command in `width` columns.
fn row(command: &Entry, width: usize) -> String {
    let about = parser_of(command).get_about().map(ToString::to_string).unwrap_or_default();
    let about = about.split(" (drop-in for").next().unwrap_or_default();
    format!("  {:<width$}{about}", command.name)
}
