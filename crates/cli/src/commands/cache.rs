//! `packline cache` manages a cache of compressed blocks.

use std::path::Path;

use clap::Arg;
use packline_cache::{Store, Trimmed};
use serde_json::{Value, json};

use crate::args::cache::{CacheLocation, CacheLocations};
use crate::args::value::one_of;
use crate::args::{Command, Invocation, wrong};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::{count, show_bytes};
use crate::ui::time::Moment;

#[derive(Debug, Clone, Copy)]
enum Action {
    Info,
    Trim,
    Verify,
    Clear,
}

/// Replaces the help of `--cache`, which says what commands that pack do with the cache.
fn with_help(argument: Arg) -> Arg {
    let help = "The cache: a directory, a server's URL, or both as DIR,URL [default: PACKLINE_CACHE]";
    if argument.get_id() == "cache" { argument.help(help) } else { argument }
}

/// Show, trim, verify or clear a cache of compressed blocks
#[derive(Debug, clap::Args)]
#[command(mut_args(with_help))]
pub struct Cache {
    /// info prints the contents and whether the server answers; trim removes the least recently used entries, down to --cache-size; verify
    /// removes damaged entries; clear removes all
    #[arg(value_name = "ACTION", value_parser = one_of([
        ("info", Action::Info), ("trim", Action::Trim), ("verify", Action::Verify), ("clear", Action::Clear),
    ]))]
    action: Action,
    /// Print one JSON object for the directory, and one for the server
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cache: CacheLocation,
}

impl Command for Cache {
    const NAME: &'static str = "cache";

    const EXAMPLES: &'static [&'static str] = &[
        "packline pack --cache ~/.cache/packline rootfs/ rootfs.sqfs",
        "packline pack --cache ~/.cache/packline,http://cache:8080 rootfs/ rootfs.sqfs",
        "packline cache info --cache ~/.cache/packline",
        "PACKLINE_CACHE=~/.cache/packline packline cache trim --cache-size 1G",
    ];

    fn details() -> String {
        "PLACE is a directory, the URL of a server, http://[USER:PASSWORD@]HOST[:PORT][/PREFIX], or both as DIR,URL. A run \
         compresses only the blocks that the cache does not have; the output has the same bytes. A directory also keeps what is \
         read of files on servers, and the layers of images in registries, for later runs.\n\
         # Damage\n\
         A damaged entry is found whenever it is read, and the block is compressed again: 'verify' is never needed before a \
         pack. Other processes may use the cache at the same time.\n\
         # Servers\n\
         A server speaks HTTP like bazel-remote, and like the caches of Bazel, ccache and sccache: GET and PUT of URL/ac/KEY. \
         The server manages its own entries; 'info' asks whether it answers. With DIR,URL packline asks the directory first, \
         and stores there what the server has. packline sends newly compressed blocks to the server over up to four \
         connections while it works. It continues without the server, after one warning, if the server does not answer within \
         3 seconds, if three requests fail in a row, or if slow answers have cost 2 seconds. An answer is slow if it takes \
         longer than compressing and longer than 50 ms. packline uses no proxy and follows no redirection. Other users can \
         see a password on the command line, but not one in PACKLINE_CACHE.\n\
         # Trust\n\
         packline does not trust a directory or a server: it decodes each entry and compares it with the block before using \
         it. The digest of a layer is compared each time. What was kept of another file on a server has a checksum only, so let \
         no one else write to the directory. Whoever may write to a cache can change how blocks are compressed, but never what they contain. For images that \
         must be the same everywhere, let only trusted machines write to the cache."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if matches!(self.action, Action::Verify | Action::Clear) && invocation.has("cache-size") {
            return Err(wrong("cache-size", "has an effect only with 'trim' and 'info'"));
        }
        let CacheLocations { directory, server } = self.cache.locations(io)?;
        let server = server.map(|server| self.cache.server(&server)).transpose()?;
        let is_alone = directory.is_none();
        if let Some(directory) = directory {
            self.directory(&directory, io)?;
        }
        match (&server, self.action) {
            (Some(server), Action::Info) => {
                let failed = |failure| Failure::failed(format!("{server}: {failure}"));
                packline_cache::http::ping(server).map_err(failed)?;
                let url = server.to_string();
                self.print(&url, &json!({ "server": url, "answers": true }), "answers", io)
            }
            (Some(server), _) if is_alone => {
                let reason = "a server manages its own entries; 'trim', 'verify' and 'clear' need a directory";
                Err(wrong("cache", format!("{server}: {reason}")))
            }
            _ => Ok(()),
        }
    }
}

impl Cache {
    fn directory(&self, directory: &Path, io: &mut Io) -> Result<(), Failure> {
        let store = CacheLocation::store(directory, io)?;
        let (object, text) = match self.action {
            Action::Info => info(&store, self.cache.limit())?,
            Action::Trim => removed(store.trim(self.cache.limit()).map_err(Failure::failed)?),
            Action::Clear => removed(store.clear().map_err(Failure::failed)?),
            Action::Verify => {
                let (entries, damaged) = store.verify().map_err(Failure::failed)?;
                let text = format!("{}, {damaged} damaged and removed", count(entries, "entry"));
                (json!({ "entries": entries, "damaged": damaged }), text)
            }
        };
        self.print(&directory.escaped(), &object, &text, io)
    }

    fn print(&self, name: &str, object: &Value, text: &str, io: &mut Io) -> Result<(), Failure> {
        if self.json { io.print(&format!("{object}\n")) } else { io.print(&format!("{name}: {text}\n")) }
    }
}

fn info(store: &Store, limit: u64) -> Result<(Value, String), Failure> {
    let contents = store.contents().map_err(Failure::failed)?;
    let (first, last) = contents.used.unzip();
    let used = match contents.used {
        Some((first, last)) => {
            let [first, last] = [first, last].map(|seconds| Moment::of(seconds).iso());
            format!(", used from {first} to {last} UTC")
        }
        None => String::new(),
    };
    let object = json!({
        "entries": contents.entries, "bytes": contents.bytes, "limit": limit, "first_used": first, "last_used": last,
    });
    let entries = count(contents.entries, "entry");
    let [bytes, limit] = [contents.bytes, limit].map(show_bytes);
    Ok((object, format!("{entries}, {bytes} of {limit}{used}")))
}

fn removed(trimmed: Trimmed) -> (Value, String) {
    let text = format!("{} removed ({})", count(trimmed.entries, "entry"), show_bytes(trimmed.bytes));
    (json!({ "removed": trimmed.entries, "removed_bytes": trimmed.bytes }), text)
}
