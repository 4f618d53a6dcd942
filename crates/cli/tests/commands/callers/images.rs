//! Packs with both programs and compares the images.

use packline_testkit::mount::{self, Mounted};
use packline_testkit::reader;
use packline_testkit::snapshot::{self, Except, Snapshot};

use super::{Row, Side, Stage, of_directory, same};

/// Runs a line that packs, and says where the images differ.
pub fn differs(stage: &Stage, row: &Row) -> Result<(), String> {
    let [ours, peers] = [(Side::Ours, row.line.to_string()), (Side::Peers, row.peers_line())].map(|(side, line)| {
        stage.sandbox.remove(side.name());
        let ran = stage.run(side, &line);
        if ran.status == 0 { Ok((ran, Packed::of(stage, side, row.offset())?)) } else { Err(format!("{ran:?}")) }
    });
    let ((ours_ran, ours), (peers_ran, peers)) = (ours?, peers?);
    if row.line.contains("-quiet") {
        printed(&ours_ran.stdout, &peers_ran.stdout)?;
    }
    let (_, expected) = &peers.trees[0];
    for (reader, tree) in ours.trees.iter().chain(&peers.trees[1..]) {
        let lines = snapshot::differences(expected, tree, Except::default());
        if !lines.is_empty() {
            return Err(format!("{reader}:\n  {}", lines[..lines.len().min(12)].join("\n  ")));
        }
    }
    if !ours.problems.is_empty() {
        return Err(format!("faults: {:#?}", ours.problems));
    }
    same("superblock", &ours.superblock, &peers.superblock)
}

/// Checks that the drop-in prints only percentages, and the peer only a progress bar.
fn printed(ours: &[u8], peers: &[u8]) -> Result<(), String> {
    let ours = String::from_utf8_lossy(ours);
    let numbers = ours.lines().map(str::parse).collect::<Result<Vec<u8>, _>>();
    let rises = numbers.is_ok_and(|numbers| numbers.is_sorted() && numbers.last().is_none_or(|&last| last == 100));
    let bar = |line: &str| line.is_empty() || line.starts_with('[');
    let peers = String::from_utf8_lossy(peers);
    if rises && peers.split(['\r', '\n']).all(bar) { Ok(()) } else { Err(format!("prints {ours}, the peer {peers}")) }
}

/// An image as all readers see it.
struct Packed {
    superblock: String,
    problems: Vec<String>,
    /// Names of readers, and the trees they see.
    trees: Vec<(String, Snapshot)>,
}

impl Packed {
    fn of(stage: &Stage, side: Side, offset: usize) -> Result<Packed, String> {
        let sandbox = &stage.sandbox;
        let name = side.name();
        let bytes = sandbox.read(name);
        let whole = bytes.len().is_multiple_of(4096);
        // The kernel reads only whole blocks of a device.
        let mut image = bytes[offset..].to_vec();
        image.resize(image.len().next_multiple_of(4096), 0);
        let image = sandbox.write("image", image);
        let report = reader::inspect(&image)?;
        let about = &report.superblock;
        let superblock = format!(
            "flags {:#06x}, compressor {} {:?}, blocks of {}, {} inodes, {} ids, created {}, is padded: {whole}, before it: {:?}",
            about.flags,
            about.compressor,
            report.options,
            about.block_size,
            about.inodes,
            about.ids,
            i64::from(about.created).min(stage.start),
            bytes[..offset].iter().find(|&&byte| byte != 0),
        );
        let mut trees = vec![("the reader".to_string(), report.tree)];
        if mount::kernel_mounts(about.codec()?) {
            let mounted = Mounted::kernel(&image)?;
            trees.push(("the kernel".to_string(), of_directory(mounted.path())?));
        }
        for reader in [Side::Ours, Side::Peers] {
            let ran = stage.run(reader, &format!("unsquashfs -n -q -o {offset} -d tree {}", name));
            if ran.status != 0 {
                return Err(format!("unsquashfs of {}: {ran:?}", reader.name()));
            }
            trees.push((format!("unsquashfs of {}", reader.name()), of_directory(&sandbox.at("tree"))?));
            sandbox.remove("tree");
        }
        for (reader, tree) in &mut trees {
            *reader = format!("image of {name}, {reader}");
            stage.without_times_of_runs(tree);
        }
        Ok(Packed { superblock, problems: report.problems, trees })
    }
}
