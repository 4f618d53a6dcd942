//! The whole search: samples, index, matches of segments, matches of the window.

use crate::error::Broken;
use crate::index::Index;
use crate::match_merger::MatchMerger;
use crate::matching::Matcher;
use crate::pages::{PagePool, Pile, Piles};
use crate::sampling::Sampler;
use crate::second_pass::{Keeper, Uncovered};
use crate::segment_reader::SegmentReader;
use crate::settings::SHARDS;
use crate::workers::Workers;
use crate::{FindError, Match, Settings, WINDOW_MOST, Window};
use std::sync::{Arc, Mutex};

/// Finds the repeats of `window` and passes them to `each`, on the caller's thread, in order and without overlaps.
///
/// The matches depend on the bytes and on `settings` alone. `workers` threads search, started and ended within the call; with 0 or 1 only
/// the caller's thread is used, with the same result. `stop` is called before each segment, on the caller's thread.
///
/// If few bytes are left uncovered by matches, they are searched once more, with denser samples.
///
/// Memory is bounded by [`Settings::memory`]. Time is bounded too, whatever the window contains: the window is read twice,
/// [`Settings::samples_most`] words are sorted twice (both twice as often with a second search), and no byte is compared more than
/// [`Settings::candidates`] times forwards, nor backwards for each of them and each sample more than the shortest match or the bytes
/// covered by it.
///
/// # Errors
///
/// [`FindError::Read`] if the window cannot be read, [`FindError::Cancelled`] if `stop` returns true, [`FindError::Taken`] with the first error
/// of `each`, [`FindError::TooLong`] for more than [`WINDOW_MOST`] bytes. All threads have ended then.
pub fn find<E>(
    window: Arc<dyn Window>,
    settings: &Settings,
    workers: usize,
    stop: &dyn Fn() -> bool,
    each: &mut dyn FnMut(Match) -> Result<(), E>,
) -> Result<(), FindError<E>> {
    let length = window.length();
    if length > WINDOW_MOST {
        return Err(FindError::TooLong { length, most: WINDOW_MOST });
    }
    // Settings for another length would use more memory than stated, or find less, but never wrong matches.
    let settings = &settings.fitted(length);
    let workers = Workers::new(workers, stop).or_else(|_| Workers::new(0, stop));
    let search = Search { window, workers: workers.map_err(|_| Broken::Stopped)? };
    let mut keeper = Keeper::new(settings.kept_most(), each);
    let mut keep = |found| keeper.add(found);
    let mut merger = MatchMerger::new(settings.least(), &mut keep);
    search.pass(settings, Sampler::sample, Matcher::matches, |next| merger.add(next))?;
    merger.finish()?;
    match keeper.into_kept() {
        Some(matches) => search.again(settings, Uncovered::new(matches, length), each),
        None => Ok(()),
    }
}

/// A window and the workers that search it.
struct Search<'a> {
    window: Arc<dyn Window>,
    workers: Workers<'a>,
}

impl Search<'_> {
    /// Searches the gaps between the matches more closely, if they are small enough, and passes on the matches of both passes.
    ///
    /// Where nearly everything is a repeat, the gaps hold the first occurrence of everything. Short repeats are found there with little
    /// work.
    fn again<E>(
        &self,
        settings: &Settings,
        left: Uncovered,
        each: &mut dyn FnMut(Match) -> Result<(), E>,
    ) -> Result<(), FindError<E>> {
        let mut merger = MatchMerger::new(settings.least(), each);
        let left = Arc::new(left);
        let mut known = left.matches().iter().copied().peekable();
        if let Some(settings) = &settings.again(left.bytes()) {
            let sampled = Arc::clone(&left);
            let searched = Arc::clone(&left);
            let sample = move |sampler: &mut Sampler, number| sampler.sample_left(number, &sampled);
            let matches = move |matcher: &mut Matcher, number| matcher.matches_left(number, &searched);
            self.pass(settings, sample, matches, |next| {
                while let Some(before) = known.next_if(|found| found.at < next.at) {
                    merger.add(before)?;
                }
                merger.add(next)
            })?;
        }
        known.try_for_each(|found| merger.add(found))?;
        merger.finish()
    }

    /// Samples each segment, builds the index, and passes the matches of each segment to `take`, in order.
    fn pass<E>(
        &self,
        settings: &Settings,
        sample: impl Fn(&mut Sampler, usize) -> Result<(), Broken> + Send + Sync + 'static,
        matches: impl Fn(&mut Matcher, usize) -> Result<Vec<Match>, Broken> + Send + Sync + 'static,
        mut take: impl FnMut(Match) -> Result<(), FindError<E>>,
    ) -> Result<(), FindError<E>> {
        let pool = Arc::<PagePool>::default();
        let shards = self.sampled(settings, &pool, sample)?;
        let index = Arc::new(Index::new(settings, shards, &pool, &self.workers)?);
        let window = Arc::clone(&self.window);
        let its_settings = settings.clone();
        let matcher = move || Matcher::new(&its_settings, &index, SegmentReader::new(&window));
        let take = |found: Vec<Match>| found.into_iter().try_for_each(&mut take);
        self.workers.ordered(settings.segments(), matcher, matches, take).map(drop)
    }

    /// The samples that `sample` takes of the segments, in shards.
    fn sampled(
        &self,
        settings: &Settings,
        pool: &Arc<PagePool>,
        sample: impl Fn(&mut Sampler, usize) -> Result<(), Broken> + Send + Sync + 'static,
    ) -> Result<Vec<Mutex<Pile>>, Broken> {
        let window = Arc::clone(&self.window);
        let its_settings = settings.clone();
        let pool = Arc::clone(pool);
        let sampler = move || Sampler::new(&its_settings, SegmentReader::new(&window), &pool);
        let samplers = self.workers.each(settings.segments(), sampler, sample)?;
        Ok(Piles::merge(samplers.into_iter().map(Sampler::into_shards).collect(), SHARDS))
    }
}
