//! `packline cache`: looks after a cache of compressed blocks.

use std::path::Path;

use packline_cache::{Store, Trimmed};
use serde_json::{Value, json};

use crate::args::cache::{CachePlace, Places};
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

/// Look after a cache of compressed blocks
#[derive(Debug, clap::Args)]
pub struct Cache {
    /// Print what it holds, and whether a server answers; remove what was not used for longest until it has the size that --cache-size allows; remove entries that are
    /// damaged; remove all entries
    #[arg(value_name = "ACTION", value_parser = one_of([
        ("info", Action::Info), ("trim", Action::Trim), ("verify", Action::Verify), ("clear", Action::Clear),
    ]))]
    action: Action,
    /// Print one JSON object, with a server one more
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cache: CachePlace,
}

impl Command for Cache {
    const NAME: &'static str = "cache";

    const EXAMPLES: &'static [&'static str] = &[
        "packline pack --cache ~/.cache/packline rootfs/ rootfs.sqfs",
        "packline pack --cache ~/.cache/packline,http://cache.example:8080 rootfs/ rootfs.sqfs",
        "packline cache info --cache ~/.cache/packline",
        "PACKLINE_CACHE=~/.cache/packline packline cache trim --cache-size 1G",
    ];

    fn details() -> String {
        "A damaged entry is found whenever it is read, and its block is compressed: 'verify' is never needed before a pack. Other processes may \
         use the cache at the same time.\n\n\
         A server is one that speaks HTTP as bazel-remote does and caches of Bazel, ccache and sccache use: GET and PUT of URL/ac/KEY. \
         It looks after its own entries; 'info' asks whether it answers. With DIR,URL the directory is asked first, and takes what the \
         server has. What a run compresses is sent to the server by up to four connections beside the work. Without an answer in 3 \
         seconds, after three requests that fail in a row, or once 2 seconds were lost by answers that take longer than compressing and longer than 50 ms, the \
         work goes on without the server, and says so once. No proxy is used and no redirection followed. In PACKLINE_CACHE, other \
         than on a command line, a password is not seen by other users.\n\n\
         Nothing that a directory or a server has is trusted: an entry is decoded and compared with the block before it is used. So whoever \
         may write to a cache can change how blocks are compressed, but never what they contain; for images that are to be the same \
         everywhere, let only machines that are trusted write to it."
            .to_string()
    }

    fn run(self, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
        if matches!(self.action, Action::Verify | Action::Clear) && invocation.has("cache-size") {
            return Err(wrong("cache-size", "changes nothing here (expected it with 'trim' or 'info')"));
        }
        let Places { directory, server } = self.cache.places(io)?;
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
                let expected = "a directory with 'trim', 'verify' and 'clear': a server looks after its entries";
                Err(wrong("cache", format!("{server} is a server (expected {expected})")))
            }
            _ => Ok(()),
        }
    }
}

impl Cache {
    fn directory(&self, directory: &Path, io: &mut Io) -> Result<(), Failure> {
        let store = CachePlace::store(directory, io)?;
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
    let (entries, [bytes, limit]) = (count(contents.entries, "entry"), [contents.bytes, limit].map(show_bytes));
    Ok((object, format!("{entries}, {bytes} of {limit}{used}")))
}

fn removed(trimmed: Trimmed) -> (Value, String) {
    let text = format!("{} removed ({})", count(trimmed.entries, "entry"), show_bytes(trimmed.bytes));
    (json!({ "removed": trimmed.entries, "removed_bytes": trimmed.bytes }), text)
}
