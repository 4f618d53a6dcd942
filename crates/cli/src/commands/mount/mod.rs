//! `packline mount`: an image appears as a directory, in the background or in the foreground.

mod daemon;

use packline::{MountFlag, MountFlags, MountRequest};

use crate::args::Args;
use crate::args::image;
use crate::table::options::{Applet, Manners, Operand, Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::io::Io;

const MACHINE: &str = "Machine";
const MOUNT: &str = "Mount";

const MOUNT_OPTIONS: &[Opt] = &[
    Opt::flag("foreground", "Stay in the foreground and tell what cannot be read, until the image is unmounted")
        .short('f')
        .group(MOUNT),
    Opt::with(
        "offset",
        "BYTES",
        Takes::Size { least: 0, most: u64::MAX },
        "Where the image starts in the file [default: at the start, or wherever one is found]",
    )
    .group(MOUNT),
    Opt::flag("allow-other", "Let other users in, as far as permissions allow").group(MOUNT),
    Opt::flag(
        "auto-unmount",
        "Unmount also if this process is killed; needs fusermount3 or fusermount, and --allow-other unless you are root",
    )
    .group(MOUNT),
    Opt::with(
        "options",
        "WORDS",
        Takes::Text,
        "Options as mount(8) has them, with commas: ro, suid, nosuid, dev, nodev, exec, noexec, allow_other, auto_unmount, \
         default_permissions",
    )
    .short('o')
    .repeats()
    .group(MOUNT),
    Opt::flag(
        "announce",
        "With --foreground: print a line once the image can be used, and leave terminal and working directory. The \
         background process is started so",
    )
    .group(MOUNT),
];

const MACHINE_OPTIONS: &[Opt] = &[
    Opt::with(
        "jobs",
        "COUNT",
        Takes::Number { least: 1, most: 1024 },
        "Processors to make use of [default: those there are]",
    )
    .short('j')
    .group(MACHINE),
    Opt::with(
        "mem",
        "SIZE",
        Takes::Size { least: 0, most: u64::MAX },
        "Most memory to use; fewer threads run and less is kept if it is short [default: what the cgroup allows, and 256M of \
         blocks are kept]",
    )
    .group(MACHINE),
];

/// The command's table.
pub const APPLET: Applet = Applet {
    name: "mount",
    about: "Mount an image on a directory, read-only",
    details,
    options: &[MOUNT_OPTIONS, MACHINE_OPTIONS],
    operands: &[
        Operand { name: "IMAGE", help: "The image: a file or a block device", required: true, of: &[] },
        Operand { name: "DIR", help: "The directory on which it appears", required: true, of: &[] },
    ],
    manners: Manners::Packline,
    run,
};

fn details() -> String {
    "The command returns once the image can be used. umount DIR, fusermount -u DIR, or SIGINT, SIGTERM or SIGHUP to the \
     process end it. If the process is killed otherwise, DIR answers with errors until it is unmounted; --auto-unmount sees to \
     that.\n\
     Set-user-id bits and device files do not count unless -o suid or -o dev is given.\n\
     Examples: packline mount rootfs.sqfs /mnt\n          \
     packline mount -f -j 4 --mem 200M rootfs.sqfs /mnt"
        .to_string()
}

fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    let request = request(args, io)?;
    let announce = args.flag("announce");
    if !args.flag("foreground") {
        if announce {
            return Err(args.wrong("announce", "this goes with --foreground"));
        }
        return daemon::start(args, io);
    }
    let mounted = packline::mount(&request)?;
    let unmounter = mounted.unmounter();
    io.farewell.set(move || u8::from(unmounter.unmount().is_err()));
    if announce {
        io.print(daemon::READY)?;
        daemon::leave(io);
    }
    mounted.wait(&mut |fault| io.say(&format!("packline: {fault}")))?;
    Ok(())
}

fn request(args: &Args, io: &Io) -> Result<MountRequest, Failure> {
    let mut request = MountRequest {
        image: image::place(args)?,
        point: args.required("DIR")?,
        workers: args.number("jobs")?.map_or(io.host.processors, |jobs| jobs as usize),
        memory: args.size("mem")?.or(io.host.memory_limit),
        allow_other: args.flag("allow-other"),
        auto_unmount: args.flag("auto-unmount"),
        flags: MountFlags::default(),
    };
    for words in args.all("options") {
        let words = words.to_str().ok_or_else(|| args.wrong("options", "the value is not UTF-8"))?;
        words.split(',').try_for_each(|word| apply(word, &mut request).map_err(|what| args.wrong("options", &what)))?;
    }
    Ok(request)
}

/// One of the words of mount(8). What it would change that cannot be changed here is refused.
fn apply(word: &str, request: &mut MountRequest) -> Result<(), String> {
    let (on, name) = word.strip_prefix("no").map_or((true, word), |name| (false, name));
    match (name, on) {
        ("suid", _) => request.flags = request.flags.with(MountFlag::Suid, on),
        ("dev", _) => request.flags = request.flags.with(MountFlag::Dev, on),
        ("exec", _) => request.flags = request.flags.with(MountFlag::Exec, on),
        ("allow_other", true) => request.allow_other = true,
        ("auto_unmount", true) => request.auto_unmount = true,
        ("ro" | "default_permissions" | "", true) => {}
        _ => return Err(format!("unknown option '{word}' (expected one of those that --help lists)")),
    }
    Ok(())
}
