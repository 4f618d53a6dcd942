//! Files read in every way there is.

use std::io;
use std::sync::Arc;

use packline_lrz::{Archive, Error, Machine, Pipe, ReadOptions, Target, Unobserved, Unpacked};

/// Memory that can be read back.
#[derive(Default)]
pub struct Kept(pub Vec<u8>);

impl Target for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read_back(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let at = at as usize;
        into.copy_from_slice(&self.0[at..at + into.len()]);
        Ok(())
    }
}

/// Machines that must not matter: workers, memory.
pub fn machines() -> Vec<Machine> {
    let machine = |workers, mebibytes: Option<u64>| Machine {
        workers,
        memory: mebibytes.map(|mebibytes| mebibytes << 20),
        scratch: Some(std::env::temp_dir()),
        ..Machine::default()
    };
    vec![machine(2, None), machine(0, Some(48)), machine(3, Some(20)), machine(1, Some(64))]
}

const OPTIONS: ReadOptions = ReadOptions { md5: true };

/// The plain data, to a target that can be read back.
pub fn read(bytes: &[u8], password: Option<&[u8]>, machine: &Machine) -> Result<(Vec<u8>, Unpacked), Error> {
    let archive = Archive::open(Arc::new(bytes.to_vec()), password)?;
    let mut kept = Kept::default();
    let unpacked = archive.decompress(&mut kept, &OPTIONS, machine, &mut Unobserved)?;
    Ok((kept.0, unpacked))
}

/// The plain data, through a pipe.
pub fn read_piped(bytes: &[u8], password: Option<&[u8]>, machine: &Machine) -> Result<Vec<u8>, Error> {
    let archive = Archive::open(Arc::new(bytes.to_vec()), password)?;
    let mut out = Vec::new();
    archive.decompress(&mut Pipe(&mut out), &OPTIONS, machine, &mut Unobserved)?;
    Ok(out)
}

/// Verified, and nothing else.
pub fn verify(bytes: &[u8], password: Option<&[u8]>, machine: &Machine) -> Result<Unpacked, Error> {
    Archive::open(Arc::new(bytes.to_vec()), password)?.verify(&OPTIONS, machine, &mut Unobserved)
}

/// The bytes of plain data that all blocks of stream 1 say; everything that a listing shows is read.
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
