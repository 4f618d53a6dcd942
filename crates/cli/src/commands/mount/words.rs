//! The words of `mount -o`: the words of mount(8), of FUSE, and of /etc/fstab.

use std::ffi::OsStr;
use std::time::Duration;

use packline::requests::ImagePlace;
use packline_image::{MountFlag, MountRequest};

use crate::ui::size::parse_size;

/// The words with an effect, for help and messages.
const WITH_EFFECT: &str = "ro, suid, nosuid, dev, nodev, exec, noexec, user, users, owner, group, allow_other, allow_root, \
                           auto_unmount, uid=N, gid=N, offset=BYTES, device=FILE, subdir=PATH, timeout=SECONDS, fsname=NAME";
/// The words without effect: a mount is read-only, has no access times, and always checks permissions. Other words are only for readers
/// of /etc/fstab.
const WITHOUT_EFFECT: [&str; 21] = [
    "defaults",
    "default_permissions",
    "loop",
    "async",
    "sync",
    "dirsync",
    "atime",
    "noatime",
    "diratime",
    "nodiratime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "auto",
    "noauto",
    "nofail",
    "_netdev",
    "nouser",
];
/// The beginnings of further words without effect.
const WITHOUT_EFFECT_SO_FAR: [&str; 4] = ["subtype=", "comment=", "x-", "X-"];

/// Returns the text for the help.
pub fn help() -> String {
    format!(
        "# Values of --options\n\
         {WITH_EFFECT}. user and users include noexec. uid and gid replace the owner and the group of every entry, by \
         number. subdir mounts a directory of the image. timeout unmounts after that time without a request and without an \
         open file. Accepted without effect: {}, and words that begin with {}.\n\
         If /sbin/mount.packline is a link to packline, /etc/fstab may use the type packline: '/srv/root.sqfs /mnt packline \
         ro,nofail 0 0'.",
        WITHOUT_EFFECT.join(", "),
        WITHOUT_EFFECT_SO_FAR.join(" ")
    )
}

/// Applies a word, or rejects it.
pub fn apply(word: &str, request: &mut MountRequest, image: &mut ImagePlace) -> Result<(), String> {
    if let Some((name, value)) = word.split_once('=') {
        let number = || value.parse().map_err(|_| format!("{name}={value}: not a number (expected 0 to 4294967295)"));
        match name {
            "subdir" => request.subdir = value.as_bytes().to_vec(),
            "timeout" => request.idle = Some(u64::from(number()?)).filter(|&time| time > 0).map(Duration::from_secs),
            "uid" => request.uid = Some(number()?),
            "gid" => request.gid = Some(number()?),
            "offset" => image.offset = Some(parse_size(OsStr::new(value)).map_err(|what| format!("offset: {what}"))?),
            "device" => image.devices.push(value.into()),
            "fsname" => request.source_name = Some(value.as_bytes().to_vec()),
            _ => return ignore(word),
        }
        return Ok(());
    }
    let (on, name) = word.strip_prefix("no").map_or((true, word), |name| (false, name));
    match (name, on) {
        ("suid", _) => request.flags = request.flags.with(MountFlag::Suid, on),
        ("dev", _) => request.flags = request.flags.with(MountFlag::Dev, on),
        ("exec", _) => request.flags = request.flags.with(MountFlag::Exec, on),
        ("user" | "users", true) => {
            let flags = [MountFlag::Suid, MountFlag::Dev, MountFlag::Exec];
            request.flags = flags.into_iter().fold(request.flags, |set, flag| set.with(flag, false));
        }
        ("owner" | "group", true) => {
            request.flags = request.flags.with(MountFlag::Suid, false).with(MountFlag::Dev, false);
        }
        ("allow_other", true) => request.allow_other = true,
        ("allow_root", true) => request.allow_root = true,
        ("auto_unmount", true) => request.auto_unmount = true,
        ("rw", true) => return Err("rw: an image cannot be written (expected ro)".to_string()),
        ("ro" | "", true) => {}
        _ => return ignore(word),
    }
    Ok(())
}

fn ignore(word: &str) -> Result<(), String> {
    if WITHOUT_EFFECT.contains(&word) || WITHOUT_EFFECT_SO_FAR.iter().any(|begin| word.starts_with(begin)) {
        return Ok(());
    }
    Err(format!(
        "unknown word '{word}' (expected one of {WITH_EFFECT}; without effect: {}, {}...)",
        WITHOUT_EFFECT.join(", "),
        WITHOUT_EFFECT_SO_FAR.join("..., ")
    ))
}
