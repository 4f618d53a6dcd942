//! liblzo2's levels, by a Python program of a few lines: its licence keeps it out of a program of ours.

use super::points::Point;
use crate::shell;
use std::path::Path;
use std::process::Command;

/// Compresses the blocks of a file with each level; prints the level, seconds of processor time and bytes.
const PROGRAM: &str = r"
import ctypes, sys, time
lib = ctypes.CDLL('liblzo2.so.2')
size, content = int(sys.argv[2]), open(sys.argv[1], 'rb').read()
blocks = [content[at:at + size] for at in range(0, len(content), size)]
product, memory = ctypes.create_string_buffer(size + size // 16 + 67), ctypes.create_string_buffer(1 << 19)
length = ctypes.c_size_t()
def compress(block, level):
    length.value = len(product)
    failed = lib.lzo1x_999_compress_level(
        block, ctypes.c_size_t(len(block)), product, ctypes.byref(length), memory, None, ctypes.c_size_t(0), None, level)
    assert not failed
    return min(length.value, len(block))
for level in range(1, 10):
    start = time.process_time()
    stored = sum(compress(block, level) for block in blocks)
    print(level, time.process_time() - start, stored)
";

/// Returns the points of levels 1 to 9. If the library or Python is missing, prints a message and returns none.
pub fn measure(blocks: &[Vec<u8>], size: usize, file: &Path) -> Result<Vec<Point>, String> {
    std::fs::write(file, blocks.concat()).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let ran = shell::output(Command::new("python3").args(["-c", PROGRAM]).arg(file).arg(size.to_string()));
    std::fs::remove_file(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let Ok(lines) = ran.inspect_err(|cause| shell::print_error(&format!("liblzo2 is left out: {cause}"))) else {
        return Ok(Vec::new());
    };
    let content = blocks.iter().map(Vec::len).sum();
    let point = |line: &str| {
        let [level, seconds, stored] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let level = level.to_owned();
        let seconds = seconds.parse().ok()?;
        let stored = stored.parse().ok()?;
        Some(Point { codec: "lzo".into(), ours: false, level, size, content, stored, seconds })
    };
    lines
        .lines()
        .map(|line| point(line).ok_or_else(|| format!("liblzo2: {line:?} (expected `LEVEL SECONDS BYTES`)")))
        .collect()
}
