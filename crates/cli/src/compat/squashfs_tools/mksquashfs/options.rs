//! The options that mksquashfs and sqfstar share.

use std::path::PathBuf;

use packline::requests::DEFAULT_META;
use packline_codec::Spec;
use packline_manifests::ModeChange;
use packline_squashfs::{BlockSize, Fragments, Options};
use packline_tree::{Meta, Xattr};

use super::edits::{Edits, RootEdit, TimeRule, XattrEdit, own_root};
use super::values::{self, COMPRESSORS, Owner, Time};
use crate::args::Invocation;
use crate::args::value::{number, one_of, text, text_or_help};
use crate::compat::squashfs_tools::name_pattern::XattrFilter;
use crate::compat::squashfs_tools::{self, posix_regex};
use crate::host::Host;
use crate::host::names::Names;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::OutputStyle;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Compression")]
pub struct Compression {
    /// Choose the compressor; -help-comp NAME lists its options
    #[arg(long, value_name = "NAME", default_value = COMPRESSORS[0])]
    #[arg(value_parser = one_of(COMPRESSORS.map(|name| (name, name))))]
    comp: &'static str,
    /// Print the options of a compressor, or of 'all', and exit
    #[arg(long, value_name = "NAME", value_parser = text_or_help(|name| Some(values::compressor_help(name))))]
    help_comp: Option<String>,
    /// Set the block size, a power of two from 4K to 1M
    #[arg(long = "b", value_name = "SIZE", default_value = BlockSize::DEFAULT_TEXT, value_parser = text(values::block_size))]
    pub b: BlockSize,
    /// Do not compress the inode table
    #[arg(long = "noI", alias = "noInodeCompression")]
    no_i: bool,
    /// Do not compress the uid/gid table
    #[arg(long = "noId", alias = "noIdTableCompression")]
    no_id: bool,
    /// Do not compress data blocks
    #[arg(long = "noD", alias = "noDataCompression")]
    no_d: bool,
    /// Do not compress fragment blocks
    #[arg(long = "noF", alias = "noFragmentCompression")]
    no_f: bool,
    /// Do not compress extended attributes
    #[arg(long = "noX", alias = "noXattrCompression")]
    no_x: bool,
    /// Compress nothing: -noI -noD -noF -noX
    #[arg(long)]
    no_compression: bool,
    #[command(flatten)]
    x: CompressorOptions,
}

/// The options that depend on `-comp`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of compressors")]
struct CompressorOptions {
    /// Set the effort of gzip, lzo, lz4 or zstd
    #[arg(long = "Xcompression-level", value_name = "LEVEL")]
    compression_level: Option<String>,
    /// Set the window of gzip, as a power of two in bytes: 8 to 15
    #[arg(long = "Xwindow-size", value_name = "BITS")]
    window_size: Option<String>,
    /// Try each of these strategies of gzip, separated by commas
    #[arg(long = "Xstrategy", value_name = "LIST")]
    strategy: Option<String>,
    /// Choose the algorithm of lzo
    #[arg(long = "Xalgorithm", value_name = "NAME")]
    algorithm: Option<String>,
    /// Use the high compression of lz4
    #[arg(long = "Xhc")]
    hc: bool,
    /// Compress faster and worse with lz4
    #[arg(long = "Xacceleration", value_name = "FACTOR")]
    acceleration: Option<String>,
    /// Try each of these xz filters for machine code, separated by commas
    #[arg(long = "Xbcj", value_name = "LIST")]
    bcj: Option<String>,
    /// Set the dictionary of xz, in bytes or as a share of the block size: 75%
    #[arg(long = "Xdict-size", value_name = "SIZE")]
    dict_size: Option<String>,
    /// Set the preset of xz, 0 to 9
    #[arg(long = "Xpreset", value_name = "LEVEL")]
    preset: Option<String>,
    /// Search longer with xz
    #[arg(long = "Xe")]
    extreme: bool,
    /// Set the literal context bits of xz
    #[arg(long = "Xlc", value_name = "BITS")]
    lc: Option<String>,
    /// Set the literal position bits of xz
    #[arg(long = "Xlp", value_name = "BITS")]
    lp: Option<String>,
    /// Set the position bits of xz
    #[arg(long = "Xpb", value_name = "BITS")]
    pb: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Image")]
pub struct Layout {
    /// Do not make the image exportable with NFS
    #[arg(long, overrides_with = "exports")]
    no_exports: bool,
    /// Make the image exportable with NFS
    #[arg(long, overrides_with = "no_exports")]
    exports: bool,
    /// Store blocks of zeros as data
    #[arg(long)]
    no_sparse: bool,
    /// Do not pack tail ends of files larger than a block into fragments
    #[arg(long, overrides_with = "tailends")]
    no_tailends: bool,
    /// Pack tail ends into fragments
    #[arg(long, alias = "always-use-fragments", overrides_with = "no_tailends")]
    tailends: bool,
    /// Use no fragments
    #[arg(long)]
    no_fragments: bool,
    /// Store files with equal content again each time
    #[arg(long)]
    no_duplicates: bool,
    /// Store each name of a file as a separate file
    #[arg(long)]
    pub no_hardlinks: bool,
    /// Do not pad the image to a multiple of 4K
    #[arg(long)]
    nopad: bool,
    /// Begin the image at this byte of the file
    #[arg(long, visible_alias = "o", value_name = "BYTES", default_value = "0")]
    #[arg(value_parser = text(|text| values::size(text, 0..=1 << 50)))]
    pub offset: u64,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Times")]
pub struct Times {
    /// Set the creation time of the image: seconds since 1970, 'now', or 'inode' for the latest time of its entries [default: now]
    #[arg(long, alias = "fstime", value_name = "TIME", value_parser = text(Time::parse))]
    mkfs_time: Option<Time>,
    /// Set the time of all entries
    #[arg(long, alias = "all-time", value_name = "TIME", value_parser = text(Time::parse))]
    inode_time: Option<Time>,
    /// Set the time of the root
    #[arg(long, value_name = "TIME", value_parser = text(Time::parse))]
    root_time: Option<Time>,
    /// Same as -mkfs-time inode
    #[arg(long, conflicts_with_all = ["mkfs_time", "repro_time"])]
    repro: bool,
    /// Same as -mkfs-time TIME -inode-time TIME
    #[arg(long, value_name = "TIME", value_parser = text(Time::parse), conflicts_with_all = ["mkfs_time", "inode_time"])]
    repro_time: Option<Time>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Owners and permissions")]
pub struct Owners {
    /// Make root the owner of everything
    #[arg(long, alias = "root-owned")]
    all_root: bool,
    /// Set the owner of everything, by number or name
    #[arg(long, value_name = "USER", value_parser = text(Owner::parse))]
    force_uid: Option<Owner>,
    /// Set the group of everything, by number or name
    #[arg(long, value_name = "GROUP", value_parser = text(Owner::parse))]
    force_gid: Option<Owner>,
    /// Add this to all numbers of users and groups
    #[arg(long, value_name = "N", default_value = "0", value_parser = number::<u32>(0..=u32::MAX.into()))]
    uid_gid_offset: u32,
    /// Set the permissions of the root, octal or as for chmod(1)
    #[arg(long, value_name = "MODE", value_parser = text(ModeChange::parse))]
    root_mode: Option<ModeChange>,
    /// Set the owner of the root
    #[arg(long, value_name = "USER", value_parser = text(Owner::parse))]
    root_uid: Option<Owner>,
    /// Set the group of the root
    #[arg(long, value_name = "GROUP", value_parser = text(Owner::parse))]
    root_gid: Option<Owner>,
    /// Set the permissions of everything except directories
    #[arg(long, value_name = "MODE", value_parser = text(ModeChange::parse))]
    force_file_mode: Option<ModeChange>,
    /// Set the permissions of all directories
    #[arg(long, value_name = "MODE", value_parser = text(ModeChange::parse))]
    force_dir_mode: Option<ModeChange>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Extended attributes")]
pub struct Xattrs {
    /// Leave out extended attributes
    #[arg(long, overrides_with = "xattrs")]
    #[arg(conflicts_with_all = ["xattrs_exclude", "xattrs_include", "xattrs_add"])]
    no_xattrs: bool,
    /// Store extended attributes (default)
    #[arg(long, overrides_with = "no_xattrs")]
    xattrs: bool,
    /// Leave out extended attributes whose names match a POSIX extended regular expression
    #[arg(long, value_name = "REGEX", value_parser = text(expression))]
    xattrs_exclude: Option<regex::bytes::Regex>,
    /// Leave out extended attributes whose names do not match
    #[arg(long, value_name = "REGEX", value_parser = text(expression))]
    xattrs_include: Option<regex::bytes::Regex>,
    /// Add an extended attribute to everything; user.* only to files and directories. VALUE is text, or 0sBASE64, 0xDIGITS, 0tESCAPED
    #[arg(long, value_name = "NAME=VALUE", value_parser = text(values::xattr))]
    xattrs_add: Vec<Xattr>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Tar input")]
pub struct TarOptions {
    /// Continue after the end mark of the tar, so that concatenated tars are packed as one
    #[arg(long)]
    pub ignore_zeros: bool,
    /// Set the permissions of directories that the tar only implies, and of a root that it does not describe [default: 0755]
    #[arg(long, value_name = "MODE", value_parser = text(ModeChange::parse))]
    default_mode: Option<ModeChange>,
    /// Set the owner of these directories [default: the user]
    #[arg(long, value_name = "USER", value_parser = text(Owner::parse))]
    default_uid: Option<Owner>,
    /// Set the group of these directories [default: the group of the user]
    #[arg(long, value_name = "GROUP", value_parser = text(Owner::parse))]
    default_gid: Option<Owner>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Resources and output")]
pub struct Running {
    /// Run this many compressing threads [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = number::<usize>(1..=1024))]
    processors: Option<usize>,
    /// Limit the memory of this program [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = text(|text| values::size(text, 1 << 20..=1 << 50)))]
    mem: Option<u64>,
    /// Limit the memory of this program, in percent of the machine's memory
    #[arg(long, value_name = "PERCENT", value_parser = number::<u64>(1..=100))]
    mem_percent: Option<u64>,
    /// Print only warnings and errors
    #[arg(long)]
    pub quiet: bool,
    /// Print the path of each entry
    #[arg(long)]
    info: bool,
    /// Print the path of each entry to FILE, and keep the progress bar
    #[arg(long, value_name = "FILE", conflicts_with = "info")]
    pub info_file: Option<PathBuf>,
    /// Show no progress bar
    #[arg(long, conflicts_with_all = ["progress", "percentage"])]
    no_progress: bool,
    /// Show a progress bar, also with -info
    #[arg(long)]
    progress: bool,
    /// Print the packed percentage of the content, one number per line
    #[arg(long)]
    percentage: bool,
    /// Stop at the first file that cannot be read, instead of reporting it and storing an empty file
    #[arg(long)]
    pub exit_on_error: bool,
    /// Read the image back before it gets its name, and compare each block with the content that was packed
    #[arg(long)]
    pub verify: bool,
}

fn expression(text: &str) -> Result<regex::bytes::Regex, String> {
    posix_regex::compile(text.as_bytes()).map_err(|fault| format!("'{text}': {fault}"))
}

impl Compression {
    /// Returns the options of an image with this compression.
    pub fn image(&self) -> Result<Options, Failure> {
        // `-help-comp` ends the command while it is parsed.
        debug_assert!(self.help_comp.is_none());
        let codec = Spec::parse_with_name(self.comp, &self.x.list())
            .and_then(|codec| codec.validate(self.b.bytes()).map(|()| codec));
        let mut image = Options::new(
            codec.map_err(|error| Failure::usage(format!("{error}; -help-comp {} lists its options", self.comp)))?,
        );
        image.block_size = self.b;
        let all = self.no_compression;
        image.stored.inodes = all || self.no_i;
        // The id table is stored with the inodes anyway, and then has no flag of its own.
        image.stored.ids = self.no_id && !image.stored.inodes;
        image.stored.data = all || self.no_d;
        image.stored.fragments = all || self.no_f;
        image.stored.xattrs = all || self.no_x;
        Ok(image)
    }
}

impl CompressorOptions {
    fn list(&self) -> String {
        let values = [
            ("compression-level", &self.compression_level),
            ("window-size", &self.window_size),
            ("strategy", &self.strategy),
            ("algorithm", &self.algorithm),
            ("acceleration", &self.acceleration),
            ("bcj", &self.bcj),
            ("dict-size", &self.dict_size),
            ("preset", &self.preset),
            ("lc", &self.lc),
            ("lp", &self.lp),
            ("pb", &self.pb),
        ];
        let values = values.into_iter().filter_map(|(key, values)| Some((key, values.as_ref()?)));
        let values = values.flat_map(|(key, values)| values.split(',').map(move |value| format!("{key}={value}")));
        let flags = [(self.hc, "hc"), (self.extreme, "e")].into_iter().filter(|(given, _)| *given);
        flags.map(|(_, flag)| flag.to_string()).chain(values).collect::<Vec<_>>().join(",")
    }
}

impl Layout {
    /// Sets the options. `of_tar` chooses the defaults for a tar, for which all tail ends are packed.
    pub fn apply(&self, image: &mut Options, exportable: bool, of_tar: bool) {
        image.exportable = !self.no_exports && (exportable || self.exports);
        image.sparse = !self.no_sparse;
        image.deduplicate = !self.no_duplicates;
        image.pad = if self.nopad { 1 } else { 4096 };
        image.fragments = if self.no_fragments {
            Fragments::Never
        } else if self.tailends || of_tar && !self.no_tailends {
            Fragments::Always
        } else {
            Fragments::SmallFiles
        };
    }
}

/// The times given by the options and the environment.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    mkfs: Time,
    inode: Option<Time>,
    root: Option<Time>,
    at_most: Option<u32>,
}

impl Times {
    /// # Errors
    /// [`Failure::Usage`] for options that contradict `SOURCE_DATE_EPOCH`, and for one that is not a time.
    pub fn clock(&self, host: &Host) -> Result<Clock, Failure> {
        let mkfs = self.mkfs_time.or(self.repro_time).or(self.repro.then_some(Time::Inode));
        let inode = self.inode_time.or(self.repro_time);
        let epoch = host.source_date_epoch.as_deref().filter(|text| !text.is_empty());
        let Some(epoch) = epoch else {
            return Ok(Clock { mkfs: mkfs.unwrap_or(Time::Now), inode, root: self.root_time, at_most: None });
        };
        let at_most = epoch.parse().map_err(|_| {
            Failure::usage(format!(
                "SOURCE_DATE_EPOCH={epoch} is not a time (expected seconds since 1970 up to {})",
                u32::MAX
            ))
        })?;
        if [mkfs, inode].into_iter().flatten().any(|time| time != Time::Inode) {
            let times = [("-mkfs-time", self.mkfs_time), ("-inode-time", self.inode_time)];
            let set = times.iter().find(|(_, time)| time.is_some_and(|time| time != Time::Inode));
            let name = set.map_or("-repro-time", |(name, _)| *name);
            return Err(Failure::usage(format!("{name}: cannot be used while SOURCE_DATE_EPOCH is set")));
        }
        // As in mksquashfs, the variable overrides 'inode' as the time of the image.
        Ok(Clock { mkfs: Time::Seconds(at_most), inode, root: self.root_time, at_most: Some(at_most) })
    }
}

impl Clock {
    /// Returns whether the latest time of all entries is needed.
    pub fn needs_latest(&self) -> bool {
        [Some(self.mkfs), self.inode, self.root].contains(&Some(Time::Inode))
    }

    /// Returns the creation time of the image; `latest` is the latest time of all entries.
    pub fn created(&self, latest: u32, host: &Host) -> u32 {
        self.mkfs.seconds(host).unwrap_or(self.clamped(latest))
    }

    fn clamped(&self, time: u32) -> u32 {
        time.min(self.at_most.unwrap_or(u32::MAX))
    }

    /// Sets the times of the entries and of the root.
    pub fn apply(&self, latest: u32, host: &Host, edits: &mut Edits) {
        let latest = self.clamped(latest);
        let seconds = |time: Time| i64::from(time.seconds(host).unwrap_or(latest));
        edits.root.mtime = self.root.map(seconds);
        edits.time = match (self.inode, self.at_most) {
            (Some(time), _) => TimeRule::Set(seconds(time)),
            (None, Some(most)) => TimeRule::AtMost(most.into()),
            (None, None) => TimeRule::Keep,
        };
    }
}

impl Owners {
    pub fn edits(&self, xattrs: &Xattrs, invocation: &Invocation, io: &Io) -> Result<Edits, Failure> {
        let names = (io.host.names)();
        let user = |long, owner: &Option<Owner>| owner.as_ref().map(|owner| user(long, owner, &names)).transpose();
        let group = |long, owner: &Option<Owner>| owner.as_ref().map(|owner| group(long, owner, &names)).transpose();
        let forced = |long: &str, id: Option<u32>| {
            let root_is_last = invocation.position("all-root") > invocation.position(long);
            let root = self.all_root.then_some(0);
            if root_is_last { root.or(id) } else { id.or(root) }
        };
        Ok(Edits {
            uid: forced("force-uid", user("force-uid", &self.force_uid)?),
            gid: forced("force-gid", group("force-gid", &self.force_gid)?),
            id_offset: self.uid_gid_offset,
            file_mode: self.force_file_mode.clone(),
            directory_mode: self.force_dir_mode.clone(),
            time: TimeRule::Keep,
            root: RootEdit {
                mode: self.root_mode.clone(),
                uid: user("root-uid", &self.root_uid)?,
                gid: group("root-gid", &self.root_gid)?,
                mtime: None,
            },
            xattrs: XattrEdit {
                filter: XattrFilter { include: xattrs.xattrs_include.clone(), exclude: xattrs.xattrs_exclude.clone() },
                add: xattrs.xattrs_add.clone(),
            },
        })
    }
}

/// Returns the failure for wrong usage of an option.
fn wrong(long: &str, what: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("-{long}: {what}"))
}

fn user(long: &str, owner: &Owner, names: &Names) -> Result<u32, Failure> {
    match owner {
        Owner::Number(number) => Ok(*number),
        Owner::Name(name) => names.user_number(name.as_bytes()).ok_or_else(|| {
            wrong(long, format!("there is no user '{name}' (expected a number, or a name in /etc/passwd)"))
        }),
    }
}

fn group(long: &str, owner: &Owner, names: &Names) -> Result<u32, Failure> {
    match owner {
        Owner::Number(number) => Ok(*number),
        Owner::Name(name) => names.group_number(name.as_bytes()).ok_or_else(|| {
            wrong(long, format!("there is no group '{name}' (expected a number, or a name in /etc/group)"))
        }),
    }
}

impl Xattrs {
    pub fn stored(&self) -> bool {
        !self.no_xattrs
    }
}

impl TarOptions {
    /// Returns the attributes of directories that the tar only implies, and their effect on the root.
    pub fn defaults(&self, edits: &mut Edits, invocation: &Invocation, io: &Io) -> Result<Meta, Failure> {
        let TarOptions { default_mode, default_uid, default_gid, .. } = self;
        let names = (io.host.names)();
        let uid = default_uid.as_ref().map(|owner| user("default-uid", owner, &names)).transpose()?;
        let gid = default_gid.as_ref().map(|owner| group("default-gid", owner, &names)).transpose()?;
        let mode = default_mode.as_ref().map_or(DEFAULT_META.mode, |change| change.apply(DEFAULT_META.mode, true));
        let root = &mut edits.root;
        let counts = |default: &str, own: &str| invocation.position(own) < invocation.position(default);
        root.mode = default_mode.clone().filter(|_| counts("default-mode", "root-mode")).or(root.mode.take());
        root.uid = uid.filter(|_| counts("default-uid", "root-uid")).or(root.uid);
        root.gid = gid.filter(|_| counts("default-gid", "root-gid")).or(root.gid);
        let own = own_root(&io.host);
        Ok(Meta { mode, uid: uid.unwrap_or(own.uid), gid: gid.unwrap_or(own.gid), mtime: own.mtime })
    }
}

impl Running {
    pub fn resources(&self, host: &Host) -> packline::Resources {
        let share = self.mem_percent.and_then(|percent| Some((host.machine_memory)()? / 100 * percent));
        host.resources_or(self.processors, self.mem.or(share))
    }

    pub fn style(&self) -> OutputStyle {
        let bar = !self.no_progress && !self.percentage && !self.quiet && (!self.info || self.progress);
        let info = self.info || self.info_file.is_some();
        let statistics = squashfs_tools::statistics;
        OutputStyle::SquashfsTools { quiet: self.quiet, info, bar, percentage: self.percentage, statistics }
    }
}
