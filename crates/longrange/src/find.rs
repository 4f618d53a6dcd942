//! The complete search: samples, index, matches of segments, matches of the window.

use crate::error::PhaseError;
use crate::index::Index;
use crate::index::pages::{PagePool, Pile, Piles};
use crate::matching::Matcher;
use crate::matching::match_merger::MatchMerger;
use crate::matching::segment_reader::SegmentReader;
use crate::sampling::Sampler;
use crate::second_pass::{Keeper, Uncovered};
use crate::settings::SHARDS;
use crate::workers::Workers;
use crate::{FindError, Match, Settings, WINDOW_MOST, Window};
use std::sync::{Arc, Mutex};

/// Finds the repeats of `window` and passes them to `each`, on the caller's thread, in order and without overlaps.
///
/// The matches depend only on the bytes and on `settings`. `workers` threads search; they start and end within the call. With 0 or 1 worker
/// only the caller's thread is used, with the same result. `stop` is called before each segment, on the caller's thread.
///
/// If matches leave few bytes uncovered, these bytes are searched again with denser samples.
///
/// Memory is bounded by [`Settings::memory`]. Time is bounded for any content: the window is read twice and [`Settings::samples_most`] words
/// are sorted twice (both four times with a second search). Forwards, no byte is compared more than [`Settings::candidates`] times.
/// Backwards, each comparison of a sample with a candidate covers at most the shortest match or the bytes covered by the found match.
///
/// # Errors
///
/// [`FindError::Read`] if the window cannot be read, [`FindError::Cancelled`] if `stop` returns true, [`FindError::Consumer`] with the first error
/// of `each`, [`FindError::TooLong`] for more than [`WINDOW_MOST`] bytes. All threads have ended when the call returns.
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
    // Settings for another length would use more memory than stated or find fewer matches, but no wrong ones.
    let settings = &settings.fitted(length);
    let workers = Workers::new(workers, stop).or_else(|_| Workers::new(0, stop));
    let search = Search { window, workers: workers.map_err(|_| PhaseError::Stopped)? };
    let mut keeper = Keeper::new(settings.kept_most(), each);
    let mut keep = |found| keeper.add(found);
    let mut merger = MatchMerger::new(settings.least(), &mut keep);
    search.pass(settings, Sampler::sample, Matcher::matches, |next| merger.add(next))?;
    merger.finish()?;
    match keeper.into_kept() {
        Some(matches) => search.search_gaps(settings, Uncovered::new(matches, length), each),
        None => Ok(()),
    }
}

/// A window and the workers that search it.
struct Search<'a> {
    window: Arc<dyn Window>,
    workers: Workers<'a>,
}

impl Search<'_> {
    /// Searches the gaps between the matches more closely, if they are small enough, and passes the matches of both passes on.
    ///
    /// If nearly all content is repeated, the gaps hold each content's first occurrence, and short repeats are found there with little work.
    fn search_gaps<E>(
        &self,
        settings: &Settings,
        left: Uncovered,
        each: &mut dyn FnMut(Match) -> Result<(), E>,
    ) -> Result<(), FindError<E>> {
        let mut merger = MatchMerger::new(settings.least(), each);
        let left = Arc::new(left);
        let mut known = left.matches().iter().copied().peekable();
        if let Some(settings) = &settings.second_pass(left.bytes()) {
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
        sample: impl Fn(&mut Sampler, usize) -> Result<(), PhaseError> + Send + Sync + 'static,
        matches: impl Fn(&mut Matcher, usize) -> Result<Vec<Match>, PhaseError> + Send + Sync + 'static,
        mut take: impl FnMut(Match) -> Result<(), FindError<E>>,
    ) -> Result<(), FindError<E>> {
        let pool = Arc::<PagePool>::default();
        let shards = self.sampled(settings, &pool, sample)?;
        let index = Arc::new(Index::new(settings, shards, &pool, &self.workers)?);
        let window = Arc::clone(&self.window);
        let own_settings = settings.clone();
        let matcher = move || Matcher::new(&own_settings, &index, SegmentReader::new(&window));
        let take = |found: Vec<Match>| found.into_iter().try_for_each(&mut take);
        self.workers.ordered(settings.segments(), matcher, matches, take).map(drop)
    }

    /// The samples that `sample` takes from the segments, in shards.
    fn sampled(
        &self,
        settings: &Settings,
        pool: &Arc<PagePool>,
        sample: impl Fn(&mut Sampler, usize) -> Result<(), PhaseError> + Send + Sync + 'static,
    ) -> Result<Vec<Mutex<Pile>>, PhaseError> {
        let window = Arc::clone(&self.window);
        let own_settings = settings.clone();
        let pool = Arc::clone(pool);
        let sampler = move || Sampler::new(&own_settings, SegmentReader::new(&window), &pool);
        let samplers = self.workers.each(settings.segments(), sampler, sample)?;
        Ok(Piles::merge(samplers.into_iter().map(Sampler::into_shards).collect(), SHARDS))
    }
}
