//! A container that packs nothing: it records decisions and commits, and fails where an item says so.

use std::hint;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use packline_engine::{Config, Fault, Outbox, Permit, Pipeline, Sequencer, Task};
use proptest::prelude::*;

/// How an item is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Split into this many results, every second one without compression; 0 drops the item.
    Parts(u8),
    /// Merged with other tails into one job, which holds all their permits.
    Tail,
}

/// The stage in which an item fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    None,
    Source,
    Hash,
    HashPanic,
    Decide,
    /// After the decision has submitted its parts.
    DecideLate,
    Compress,
    CompressPanic,
    Commit,
}

#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub bytes: usize,
    pub plan: Plan,
    pub flaw: Flaw,
    /// Rounds of busy work in each stage.
    pub cost: u32,
}

impl Item {
    pub fn new(bytes: usize, plan: Plan) -> Self {
        Self { bytes, plan, flaw: Flaw::None, cost: 0 }
    }
}

/// An item with its number and its memory, in any stage.
pub struct Parcel {
    pub number: usize,
    pub part: usize,
    pub item: Item,
    pub mark: u64,
    pub permit: Permit,
}

/// The most tails that share one open job.
pub const TAILS: usize = 3;

/// Counts the tools that are alive.
#[derive(Clone, Default)]
pub struct Fake {
    pub tools: Arc<AtomicUsize>,
}

pub struct Tool(Arc<AtomicUsize>);

impl Drop for Tool {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn busy(rounds: u32) {
    (0..rounds).for_each(|_| hint::spin_loop());
}

pub fn fail<T>(stage: &str, number: usize) -> Result<T, String> {
    Err(format!("planted {stage} {number}"))
}

#[derive(Clone, Default)]
pub struct Hash(pub Fake);

#[derive(Clone, Default)]
pub struct Compress(pub Fake);

impl Fake {
    fn tool(&self) -> Tool {
        self.tools.fetch_add(1, Ordering::SeqCst);
        Tool(Arc::clone(&self.tools))
    }
}

impl Task for Hash {
    type In = Parcel;
    type Out = Parcel;
    type Error = String;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        self.0.tool()
    }

    fn run(&self, _: &mut Tool, mut raw: Parcel) -> Result<Parcel, String> {
        busy(raw.item.cost);
        match raw.item.flaw {
            Flaw::Hash => return fail("hash", raw.number),
            Flaw::HashPanic => panic!("planted hash panic {}", raw.number),
            _ => {}
        }
        raw.mark = (raw.number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Ok(raw)
    }
}

impl Task for Compress {
    type In = Parcel;
    type Out = Parcel;
    type Error = String;
    type Tool = Tool;

    fn tool(&self) -> Tool {
        self.0.tool()
    }

    fn run(&self, _: &mut Tool, mut job: Parcel) -> Result<Parcel, String> {
        busy(job.item.cost.rotate_left(5) % 2000);
        match job.item.flaw {
            Flaw::Compress => return fail("compress", job.number),
            Flaw::CompressPanic => panic!("planted compress panic {}", job.number),
            _ => {}
        }
        job.mark ^= job.part as u64;
        job.permit.shrink_to(job.permit.bytes() / 2);
        Ok(job)
    }
}

pub type FakePipeline = Pipeline<Hash, Compress>;

/// A pipeline whose tools `fake` counts.
pub fn pipeline(fake: &Fake, config: Config) -> FakePipeline {
    Pipeline::new(Hash(fake.clone()), Compress(fake.clone()), config).unwrap()
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Log {
    pub decided: Vec<(usize, u64)>,
    pub committed: Vec<(usize, usize, u64)>,
    pub end: Option<String>,
}

#[derive(Default)]
pub struct Packer {
    pub log: Log,
    open: Option<Parcel>,
    tails: usize,
}

/// The receiver of the jobs of decisions: the engine's outbox, or the reference's list.
pub trait Next {
    fn submit(&mut self, job: Parcel);
    fn pass(&mut self, result: Parcel);
}

impl Next for Outbox<Compress> {
    fn submit(&mut self, job: Parcel) {
        Outbox::submit(self, job);
    }

    fn pass(&mut self, result: Parcel) {
        Outbox::pass(self, result);
    }
}

impl Packer {
    fn parts(mut parcel: Parcel, parts: u8, next: &mut dyn Next) {
        for part in 0..usize::from(parts) {
            let share = parcel.permit.bytes() / usize::from(parts);
            let piece = Parcel { part, permit: parcel.permit.split(share), ..parcel };
            match part % 2 {
                0 => next.submit(piece),
                _ => next.pass(piece),
            }
        }
        parcel.permit.shrink_to(0);
    }

    fn tail(&mut self, parcel: Parcel, next: &mut dyn Next) {
        self.tails += 1;
        match &mut self.open {
            Some(open) => {
                open.mark ^= parcel.mark;
                open.permit.merge(parcel.permit);
                if parcel.item.flaw != Flaw::None {
                    open.item.flaw = parcel.item.flaw;
                }
            }
            None => self.open = Some(parcel),
        }
        if self.tails >= TAILS {
            self.flush(next);
        }
    }

    pub fn flush(&mut self, next: &mut dyn Next) {
        self.tails = 0;
        if let Some(open) = self.open.take() {
            next.submit(open);
        }
    }

    pub fn decide_item(&mut self, hashed: Parcel, next: &mut dyn Next) -> Result<(), String> {
        let number = hashed.number;
        let mark = hashed.mark;
        let flaw = hashed.item.flaw;
        if flaw == Flaw::Decide {
            return fail("decide", number);
        }
        match hashed.item.plan {
            Plan::Parts(parts) => Self::parts(hashed, parts, next),
            Plan::Tail => self.tail(hashed, next),
        }
        if flaw == Flaw::DecideLate {
            return fail("late decide", number);
        }
        self.log.decided.push((number, mark));
        Ok(())
    }

    pub fn commit_result(&mut self, packed: &Parcel) -> Result<(), String> {
        if packed.item.flaw == Flaw::Commit {
            return fail("commit", packed.number);
        }
        self.log.committed.push((packed.number, packed.part, packed.mark));
        Ok(())
    }

    /// Two jobs and two results that belong to no item.
    pub fn last(part: usize, permit: Permit) -> [Parcel; 2] {
        let number = usize::MAX;
        let item = Item::new(10, Plan::Parts(1));
        let job = Parcel { number, part, item, mark: 0, permit };
        [job, Parcel { number, part, item, mark: 1, permit: Permit::detached(1) }]
    }
}

impl Sequencer<Hash, Compress> for Packer {
    fn decide(&mut self, hashed: Parcel, next: &mut Outbox<Compress>) -> Result<(), String> {
        self.decide_item(hashed, next)
    }

    fn commit(&mut self, packed: Parcel) -> Result<(), String> {
        self.commit_result(&packed)
    }
}

type Ran = Result<(), Fault<String>>;

fn feed_all(pipe: &mut FakePipeline, items: &[Item], packer: &mut Packer) -> Ran {
    for (number, &item) in items.iter().enumerate() {
        if item.flaw == Flaw::Source {
            // An error of an earlier item comes first.
            pipe.drain(packer)?;
            return fail("source", number).map_err(Fault::Work);
        }
        let permit = pipe.reserve(item.bytes, packer)?;
        pipe.submit(Parcel { number, part: 0, item, mark: 0, permit }, packer)?;
    }
    Ok(())
}

/// Submits the open tails, and two jobs and two results that belong to no item.
fn finish(pipe: &mut FakePipeline, packer: &mut Packer) -> Ran {
    pipe.settle(packer)?;
    packer.flush(pipe.outbox());
    for part in 0..2 {
        let [job, result] = Packer::last(part, pipe.reserve(10, packer)?);
        pipe.outbox().submit(job);
        pipe.outbox().pass(result);
    }
    pipe.drain(packer)
}

/// Sends `items` through `pipe` and records the results.
pub fn run(pipe: &mut FakePipeline, items: &[Item]) -> Log {
    quiet();
    let mut packer = Packer::default();
    let ran = feed_all(pipe, items, &mut packer).and_then(|()| finish(pipe, &mut packer));
    packer.log.end = ran.err().map(|fault| format!("{fault:?}"));
    packer.log
}

/// Keeps planted panics out of the test's output. Other panics are still reported.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload().downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| info.payload().downcast_ref::<&str>().copied());
            let planted = text.is_some_and(|text| text.starts_with("planted"));
            if !planted {
                report(info);
            }
        }));
    });
}

fn plan() -> impl Strategy<Value = Plan> {
    prop_oneof![3 => (0u8..4).prop_map(Plan::Parts), 1 => Just(Plan::Tail)]
}

/// Items without a flaw, most of them quick.
pub fn items(most: usize) -> impl Strategy<Value = Vec<Item>> {
    let cost = prop_oneof![2 => Just(0u32), 2 => 0u32..100, 1 => 0u32..2000];
    let item = (0usize..300, plan(), cost);
    let item = item.prop_map(|(bytes, plan, cost)| Item { cost, ..Item::new(bytes, plan) });
    prop::collection::vec(item, 0..most)
}

/// Any flaw except `Flaw::None`.
pub fn flaw() -> impl Strategy<Value = Flaw> {
    prop::sample::select(vec![
        Flaw::Source,
        Flaw::Hash,
        Flaw::HashPanic,
        Flaw::Decide,
        Flaw::DecideLate,
        Flaw::Compress,
        Flaw::CompressPanic,
        Flaw::Commit,
    ])
}
