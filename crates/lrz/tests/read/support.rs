//! Helpers that read files in every way.

use std::sync::Arc;

use packline_lrz::{Archive, Error, ReadOptions, Resources, Stream, Unobserved, Unpacked};

/// Resources that must not change the result: workers and memory.
pub fn resource_sets() -> Vec<Resources> {
    let resources = |workers, mebibytes: Option<u64>| {
        let mut resources = Resources::new(workers).memory_limit(mebibytes.map(|mebibytes| mebibytes << 20));
        resources.scratch = Some(std::env::temp_dir());
        resources
    };
    vec![resources(2, None), resources(0, Some(48)), resources(3, Some(20)), resources(1, Some(64))]
}

const OPTIONS: ReadOptions = ReadOptions { md5: true };

/// Decompresses to a target that can be read back.
pub fn read(bytes: &[u8], password: Option<&[u8]>, resources: &Resources) -> Result<(Vec<u8>, Unpacked), Error> {
    let archive = Archive::open(Arc::new(bytes.to_vec()), password)?;
    let mut kept = Vec::new();
    let unpacked = archive.decompress(&mut kept, &OPTIONS, resources, &mut Unobserved)?;
    Ok((kept, unpacked))
}

/// Decompresses to a pipe.
pub fn read_piped(bytes: &[u8], password: Option<&[u8]>, resources: &Resources) -> Result<Vec<u8>, Error> {
    let archive = Archive::open(Arc::new(bytes.to_vec()), password)?;
    let mut out = Vec::new();
    archive.decompress(&mut Stream(&mut out), &OPTIONS, resources, &mut Unobserved)?;
    Ok(out)
}

/// Verifies a file.
pub fn verify(bytes: &[u8], password: Option<&[u8]>, resources: &Resources) -> Result<Unpacked, Error> {
    Archive::open(Arc::new(bytes.to_vec()), password)?.verify(&OPTIONS, resources, &mut Unobserved)
}

/// Returns the plain bytes that all blocks of stream 1 state. It reads everything that a listing shows.
pub fn list(bytes: &[u8], password: Option<&[u8]>) -> Result<u64, Error> {
    let archive = Archive::open(Arc::new(bytes.to_vec()), password)?;
    let mut sum = 0u64;
    for chunk in archive.chunks() {
        let chunk = chunk?;
        for stream in 0..2 {
            for block in archive.blocks(&chunk, stream) {
                let block = block?;
                assert!(block.end() <= bytes.len() as u64, "a block past the end");
                sum = sum.saturating_add(if stream == 1 { block.plain } else { 0 });
            }
        }
    }
    Ok(sum)
}
