//! Reads processors, memory limits and memory use; no other file does.
#![allow(clippy::disallowed_methods, reason = "this is the only file that may count processors")]

use std::fs;
use std::path::{Path, PathBuf};

use packline_runtime::memory::BASE;
use packline_runtime::process_limit;

/// Address space in bytes that a thread reserves: its stack, and the arena from which glibc allocates.
const RESERVED_BY_THREAD: u64 = 66 << 20;
/// Address space in bytes of any process with words of 32 bits: some kernels keep the last quarter for themselves.
const NARROW: u64 = 3 << 30;

/// Returns the number of workers to start: one for each processor, but not more than the address space has room for.
pub fn processors() -> usize {
    free_address_space().map_or(usize::MAX, threads_in).min(usable())
}

/// Returns the number of processors this process may use: those of its affinity mask, but not more than its cgroup's quota, and at least
/// 1.
fn usable() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the processors, their model, the kernel and the memory, on one line.
pub fn description() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    describe(usable(), &read("/proc/cpuinfo"), &read("/proc/sys/kernel/osrelease"), &read("/proc/meminfo"))
}

/// Leaves out unknown parts, such as the name of a processor that `/proc/cpuinfo` does not have.
fn describe(processors: usize, cpuinfo: &str, release: &str, meminfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let model = model.map_or("processors", |(_, name)| name.trim());
    let gibibytes = total_in(meminfo).map(|bytes| bytes as f64 / (1 << 30) as f64);
    let memory = gibibytes.map_or(String::new(), |number| format!(", {number:.1} GiB of memory"));
    format!("{processors} x {model}, Linux {}{memory}", release.trim())
}

/// Returns the peak resident memory of this process so far, in bytes (`VmHWM` of `/proc/self/status`).
pub fn peak_memory() -> Option<u64> {
    peak_in(&fs::read_to_string("/proc/self/status").ok()?)
}

fn peak_in(status: &str) -> Option<u64> {
    kibibytes_of("VmHWM:", status)
}

/// Returns the bytes in a line of a `/proc` file that gives kilobytes.
fn kibibytes_of(key: &str, text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Returns the memory of the machine in bytes (`MemTotal` of `/proc/meminfo`).
pub fn memory() -> Option<u64> {
    total_in(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn total_in(meminfo: &str) -> Option<u64> {
    kibibytes_of("MemTotal:", meminfo)
}

/// Returns the memory that this process may use with this many workers, in bytes, by the limits of its cgroup and of its address space.
pub fn memory_limit(workers: usize) -> Option<u64> {
    cgroup_limit().into_iter().chain(memory_in_address_space(workers)).min()
}

/// Returns whether the limit of address space (`ulimit -v`) allows less memory than the limit of the cgroup.
pub fn address_space_limits_memory(workers: usize) -> bool {
    memory_in_address_space(workers).is_some_and(|memory| cgroup_limit().is_none_or(|limit| memory < limit))
}

fn memory_in_address_space(workers: usize) -> Option<u64> {
    Some(memory_in(free_address_space()?, workers))
}

/// Returns the address space that this process may still map, in bytes; `None` without a limit (`ulimit -v`, or words of 32 bits).
fn free_address_space() -> Option<u64> {
    let limit = process_limit("Max address space");
    let limit = limit_of_words(limit, usize::BITS)?;
    Some(free_of(limit, &fs::read_to_string("/proc/self/status").ok()?))
}

fn limit_of_words(limit: Option<u64>, bits: u32) -> Option<u64> {
    limit.into_iter().chain((bits == u32::BITS).then_some(NARROW)).min()
}

fn free_of(limit: u64, status: &str) -> u64 {
    limit.saturating_sub(kibibytes_of("VmSize:", status).unwrap_or(0))
}

/// Returns how many workers may run with this much free address space, at least 1.
fn threads_in(free: u64) -> usize {
    usize::try_from(free / 2 / RESERVED_BY_THREAD).unwrap_or(usize::MAX).max(1)
}

/// Returns the memory limit that fits this much free address space. What [`BASE`] counts is mapped already. Half of the free address space
/// is for the threads of workers, if there are workers.
fn memory_in(free: u64, workers: usize) -> u64 {
    let for_memory = if workers == 0 { free } else { free / 2 };
    BASE.saturating_add(for_memory)
}

/// Returns the memory that this process's cgroup allows, in bytes: the smallest limit on the way to the root, in version 2 or 1.
fn cgroup_limit() -> Option<u64> {
    limit_under(Path::new("/sys/fs/cgroup"), &fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn limit_under(root: &Path, memberships: &str) -> Option<u64> {
    let files = memberships.lines().filter_map(|line| controller_of(root, line));
    files.flat_map(|(top, group, file)| limits_above(&top, &group, file)).min()
}

/// Splits a line of `/proc/self/cgroup` into mount point, group, and name of the file with the limit.
fn controller_of(root: &Path, line: &str) -> Option<(PathBuf, PathBuf, &'static str)> {
    let mut fields = line.splitn(3, ':');
    let _ = fields.next()?;
    let controllers = fields.next()?;
    let group = fields.next()?;
    let group = PathBuf::from(group.trim_start_matches('/'));
    if controllers.is_empty() {
        Some((root.to_path_buf(), group, "memory.max"))
    } else if controllers.split(',').any(|name| name == "memory") {
        Some((root.join("memory"), group, "memory.limit_in_bytes"))
    } else {
        None
    }
}

/// Returns the limits of a group and of all groups above it. In a container the group's own path may be invisible; its limit is then at
/// the top of the mount.
fn limits_above(top: &Path, group: &Path, file: &str) -> Vec<u64> {
    group.ancestors().filter_map(|ancestor| limit_in(&top.join(ancestor).join(file))).collect()
}

/// Returns a limit; `max`, or a number near 2^63, means no limit.
fn limit_in(path: &Path) -> Option<u64> {
    let bytes: u64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
    (bytes < 1 << 60).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use packline_testkit::Sandbox;

    use super::*;

    #[test]
    fn describes_machine_by_known_parts() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast CPU @ 3 GHz\n";
        let line = describe(2, cpuinfo, "6.1.0\n", "MemTotal:       2097152 kB\n");
        assert_eq!(line, "2 x Fast CPU @ 3 GHz, Linux 6.1.0, 2.0 GiB of memory");
        assert_eq!(describe(4, "processor\t: 0\n", "6.1\n", ""), "4 x processors, Linux 6.1");
        assert!(description().contains(" x "));
    }

    #[test]
    fn reads_peak_memory_from_status() {
        assert_eq!(peak_in("Name:\tx\nVmPeak:\t  99 kB\nVmHWM:\t   1234 kB\n"), Some(1234 * 1024));
        assert_eq!(peak_in("Name:\tx\n"), None);
        assert!(peak_memory().is_some_and(|bytes| bytes > 100_000));
    }

    #[test]
    fn address_space_limits_memory_and_workers() {
        assert_eq!(free_of(100 << 20, "VmPeak:\t 9 kB\nVmSize:\t   4096 kB\n"), 96 << 20);
        assert_eq!(free_of(1, "VmSize:\t   4096 kB\n"), 0);
        assert_eq!((limit_of_words(None, 64), limit_of_words(Some(7), 64)), (None, Some(7)));
        assert_eq!((limit_of_words(None, 32), limit_of_words(Some(7), 32)), (Some(NARROW), Some(7)));
        assert_eq!((memory_in(0, 1), memory_in(100 << 20, 1)), (BASE, BASE + (50 << 20)));
        assert_eq!(memory_in(100 << 20, 0), BASE + (100 << 20));
        assert_eq!((threads_in(0), threads_in(1 << 30)), (1, 7));
    }

    #[test]
    fn uses_smallest_limit_of_all_parent_groups() {
        let groups = Sandbox::new("");
        groups.write("a/memory.max", "1000\n");
        groups.write("a/b/memory.max", "max\n");
        assert_eq!(limit_under(groups.path(), "0::/a/b\n"), Some(1000));
        groups.write("a/b/memory.max", "500\n");
        assert_eq!(limit_under(groups.path(), "0::/a/b\n"), Some(500));
        assert_eq!(limit_under(groups.path(), "0::/\n"), None);
    }

    #[test]
    fn reads_version_1_limits() {
        let groups = Sandbox::new("");
        groups.write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        groups.write("memory/g/memory.limit_in_bytes", "4096\n");
        assert_eq!(limit_under(groups.path(), "5:cpu:/g\n4:memory,x:/g\n"), Some(4096));
        assert_eq!(limit_under(groups.path(), "5:cpu:/g\n"), None);
    }
}
