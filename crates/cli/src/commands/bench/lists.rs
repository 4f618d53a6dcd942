//! Parses lists: codecs, levels, block sizes, jobs, words.

use std::ffi::OsStr;

use packline_bench::report::{Container, Step, Tails, Task};
use packline_codec::Spec;
use packline_squashfs::BlockSize;

use crate::ui::size::parse_size;

/// The longest list; a mistaken range must not fill the memory.
const MAX_LENGTH: usize = 4096;
const MAX_JOBS: i64 = 1024;

/// Parses codecs and their parameters, all separated by commas. A part that begins with the name of a codec begins the next codec; any
/// other part continues the previous one, because no parameter has the name of a codec.
pub fn codecs(text: &str) -> Result<Vec<Spec>, String> {
    let mut whole: Vec<String> = Vec::new();
    for part in text.split(',') {
        let name = part.split(':').next().unwrap_or(part);
        match whole.last_mut().filter(|_| !Spec::names().contains(&name)) {
            Some(codec) => {
                codec.push(',');
                codec.push_str(part);
            }
            None => whole.push(part.to_owned()),
        }
    }
    whole.iter().map(|codec| Spec::parse(codec).map_err(|error| error.to_string())).collect()
}

/// Parses levels: numbers, and ranges `FIRST-LAST` of numbers from 0 on.
pub fn levels(text: &str) -> Result<Vec<i64>, String> {
    numbers(text, i64::from(i32::MIN), i64::from(i32::MAX))
}

/// Parses numbers of jobs and sorts them.
pub fn jobs(text: &str) -> Result<Vec<usize>, String> {
    let mut jobs: Vec<usize> = numbers(text, 1, MAX_JOBS)?.into_iter().map(|jobs| jobs as usize).collect();
    jobs.sort_unstable();
    Ok(jobs)
}

/// Returns 1, 2, 4 and so on, and the number of processors.
pub fn usual_jobs(processors: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(1usize), |jobs| jobs.checked_mul(2));
    doubling.take_while(|&jobs| jobs < processors).chain([processors.max(1)]).collect()
}

/// Parses block sizes: powers of two from 4K to 1M.
pub fn block_sizes(text: &str) -> Result<Vec<u64>, String> {
    let mut sizes = Vec::new();
    for part in text.split(',') {
        let size = parse_size(OsStr::new(part))?;
        let valid = BlockSize::new(size)
            .map_err(|_| format!("'{part}' is not a block size (expected a power of two from 4K to 1M)"))?;
        put(&mut sizes, valid.into());
    }
    Ok(sizes)
}

/// Parses which tail ends share fragment blocks: `always`, `small` or `never`.
pub fn fragments(text: &str) -> Result<Vec<Tails>, String> {
    // `--tails`, the former name of the option, had other words.
    let text = text.replace("no-tail-packing", "small").replace("no-fragments", "never").replace("fragments", "always");
    words(&text, &[Tails::Fragments, Tails::NoTailPacking, Tails::NoFragments], |tails| match tails {
        Tails::NoFragments => "never",
        Tails::NoTailPacking => "small",
        Tails::Fragments | Tails::Unknown => "always",
    })
}

/// Parses what an image is unpacked to: `directory` or `tar`.
pub fn tasks(text: &str) -> Result<Vec<Task>, String> {
    words(text, &[Task::Unpack, Task::Tar], |task| if task == Task::Tar { "tar" } else { "directory" })
}

/// Parses the steps of `bench serial`.
pub fn steps(text: &str) -> Result<Vec<Step>, String> {
    words(text, &Step::ALL, Step::name)
}

/// Parses containers: `squashfs`, `lrz` or `pln`.
pub fn containers(text: &str) -> Result<Vec<Container>, String> {
    words(text, &Container::ALL, Container::name)
}

fn words<T: Copy + PartialEq>(text: &str, known: &[T], name: fn(T) -> &'static str) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    for part in text.split(',') {
        let names = || known.iter().map(|&one| name(one)).collect::<Vec<_>>().join(", ");
        let one = known.iter().find(|&&one| name(one) == part);
        put(&mut found, *one.ok_or_else(|| format!("unknown '{part}' (expected one or more of {})", names()))?);
    }
    Ok(found)
}

fn numbers(text: &str, least: i64, most: i64) -> Result<Vec<i64>, String> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = range(part)?;
        if first < least || last > most || first > last {
            return Err(format!("'{part}' is out of range (expected {least} to {most})"));
        }
        if last - first >= MAX_LENGTH as i64 || numbers.len() > MAX_LENGTH {
            return Err(format!("'{part}' has too many values (expected at most {MAX_LENGTH})"));
        }
        (first..=last).for_each(|number| put(&mut numbers, number));
    }
    Ok(numbers)
}

/// Parses a number, or two numbers with a dash between them.
fn range(part: &str) -> Result<(i64, i64), String> {
    let number = |text: &str| {
        let parsed = text.parse::<i64>();
        parsed.map_err(|_| format!("'{part}' is not a number or a range (expected 3, or 1-9, or several with commas)"))
    };
    // A leading dash is a sign.
    match part.char_indices().skip(1).find(|&(_, character)| character == '-') {
        Some((dash, _)) => Ok((number(&part[..dash])?, number(&part[dash + 1..])?)),
        None => number(part).map(|number| (number, number)),
    }
}

pub fn put<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        codecs(text).unwrap().iter().map(Spec::to_string).collect()
    }

    #[test]
    fn parses_commas_between_codecs_and_within_parameters() {
        assert_eq!(shown("lz4,none"), ["lz4", "none"]);
        assert_eq!(shown("xz:level=3,extreme,lz4,gzip:rle,fixed"), ["xz:level=3,extreme", "lz4", "gzip:rle,fixed"]);
        assert_eq!(shown("zstd:level=15"), ["zstd"]);
        for wrong in ["", "lz5", "zstd,level=x", "lz4,", "level=3,zstd"] {
            assert!(codecs(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn parses_numbers_and_ranges() {
        assert_eq!(levels("1,5-8,3,3,-7").unwrap(), [1, 5, 6, 7, 8, 3, -7]);
        assert_eq!(jobs("4,1-2").unwrap(), [1, 2, 4]);
        for wrong in ["", "1,", "x", "3-1", "1-", "1-2-3", "0-99999999"] {
            assert!(levels(wrong).is_err(), "{wrong:?}");
        }
        assert!(jobs("0").is_err() && jobs("1025").is_err());
    }

    #[test]
    fn usual_jobs_double_up_to_processor_count() {
        assert_eq!(usual_jobs(1), [1]);
        assert_eq!(usual_jobs(2), [1, 2]);
        assert_eq!(usual_jobs(6), [1, 2, 4, 6]);
        assert_eq!(usual_jobs(8), [1, 2, 4, 8]);
    }

    #[test]
    fn parses_sizes_and_words() {
        assert_eq!(block_sizes("128K,1M,131072").unwrap(), [128 << 10, 1 << 20]);
        assert!(["2K", "2M", "100K", "", "128K,"].iter().all(|wrong| block_sizes(wrong).is_err()));
        let all = [Tails::NoFragments, Tails::NoTailPacking, Tails::Fragments];
        assert_eq!(fragments("never,small,always").unwrap(), all);
        assert_eq!(fragments("no-fragments,no-tail-packing,fragments").unwrap(), all);
        assert!(fragments("none").unwrap_err().contains("always, small, never"));
        assert_eq!(steps("verify,pack-tar").unwrap(), [Step::Verify, Step::PackTar]);
        assert_eq!(containers("lrz").unwrap(), [Container::Lrz]);
        assert_eq!(tasks("tar,directory").unwrap(), [Task::Tar, Task::Unpack]);
    }
}
