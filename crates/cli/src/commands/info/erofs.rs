//! Describes the superblock of an EROFS image.

use packline_erofs::Kernel;
use packline_erofs::read::{RecordedOptions, Superblock, compat, incompat};
use packline_image::ImageInfo;
use packline_verity::Uuid;
use serde_json::{Value, json};

use super::image::Description;
use crate::ui::escape::escaped;
use crate::ui::size::{both, show_bytes};
use crate::ui::time::Moment;

pub fn described(info: &ImageInfo, superblock: &Superblock, options: Option<&RecordedOptions>) -> Description {
    Description {
        members: members(info, superblock, options),
        lines: lines(info, superblock, options),
        tables: String::new(),
    }
}

/// Returns the features that the image has, the compatible ones first.
fn features(superblock: &Superblock) -> Vec<&'static str> {
    let compatible = compat::NAMES.iter().filter(|(bit, _)| superblock.compat & bit != 0);
    let incompatible = incompat::NAMES.iter().filter(|(bit, _)| superblock.incompat & bit != 0);
    compatible.chain(incompatible).map(|(_, name)| *name).collect()
}

/// Returns the time of creation in seconds since 1970.
fn created(superblock: &Superblock) -> i64 {
    superblock.epoch.saturating_add(superblock.build_time.into())
}

fn lines(info: &ImageInfo, superblock: &Superblock, options: Option<&RecordedOptions>) -> Vec<(&'static str, String)> {
    let features = features(superblock);
    let created = created(superblock);
    let label = superblock.label();
    let Kernel { major, minor } = superblock.least_kernel();
    let mut lines = vec![
        ("Format", format!("EROFS, at byte {} of the file", info.origin)),
        ("Codec", info.codec.clone()),
        ("Block size", show_bytes(superblock.block_size())),
        ("Created", format!("{} UTC ({created})", Moment::of(created).iso())),
        ("Size", both(info.bytes)),
        ("Inodes", superblock.inodes.to_string()),
        ("UUID", Uuid(superblock.uuid).to_string()),
        ("Label", if label.is_empty() { "none".to_string() } else { escaped(label) }),
        ("Features", if features.is_empty() { "none".to_string() } else { features.join(", ") }),
        ("Mounted by", format!("Linux {major}.{minor} or later")),
    ];
    if let Some(options) = options {
        let Kernel { major, minor } = options.kernel;
        lines.insert(2, ("Cluster size", show_bytes(options.block_size.into())));
        lines.push(("Packed for", format!("Linux {major}.{minor}")));
    }
    if superblock.devices > 0 {
        lines.push(("Other devices", superblock.devices.to_string()));
    }
    lines
}

fn members(info: &ImageInfo, superblock: &Superblock, options: Option<&RecordedOptions>) -> Vec<(&'static str, Value)> {
    let packed_for = options.map(|options| options.kernel.to_string());
    let Kernel { major, minor } = superblock.least_kernel();
    vec![
        ("format", json!("erofs")),
        ("offset", json!(info.origin)),
        ("codec", json!(info.codec)),
        ("block_size", json!(superblock.block_size())),
        ("cluster_size", json!(options.map(|options| options.block_size))),
        ("created", json!(created(superblock))),
        ("bytes_used", json!(info.bytes)),
        ("inodes", json!(superblock.inodes)),
        ("uuid", json!(Uuid(superblock.uuid).to_string())),
        ("label", json!(escaped(superblock.label()))),
        ("compatible_features", json!(superblock.compat)),
        ("incompatible_features", json!(superblock.incompat)),
        ("feature_names", json!(features(superblock))),
        ("linux", json!(format!("{major}.{minor}"))),
        ("packed_for", json!(packed_for)),
        ("devices", json!(superblock.devices)),
        ("root_inode", json!(superblock.root)),
        ("packed_inode", json!(superblock.packed)),
        ("metabox_inode", json!(superblock.metabox)),
    ]
}
