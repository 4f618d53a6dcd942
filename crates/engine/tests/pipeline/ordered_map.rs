//! Ordered maps.

use packline_engine::{Config, Fault, OrderedMap, Pool, Scheduling, Task};
use proptest::prelude::*;

/// Doubles a number after some busy work; fails for numbers from `fails_from`.
struct Double {
    fails_from: u64,
}

impl Task for Double {
    type In = u64;
    type Out = u64;
    type Error = u64;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), input: u64) -> Result<u64, u64> {
        (0..input % 7 * 100).for_each(|_| std::hint::spin_loop());
        if input >= self.fails_from { Err(input) } else { Ok(input * 2) }
    }
}

/// The results of a map for the numbers from 0 to `count`, and its error.
fn run(mut map: OrderedMap<Double>, count: u64, refuses: u64) -> (Vec<u64>, Option<u64>) {
    let mut seen = Vec::new();
    let mut take = |out: u64| {
        if out == refuses {
            return Err(1_000_000 + out);
        }
        seen.push(out);
        Ok(())
    };
    let ran = (0..count).try_for_each(|input| {
        drop(map.reserve(50, &mut take)?);
        map.submit(input, &mut take)
    });
    let end = match ran.and_then(|()| map.drain(&mut take)) {
        Ok(()) => None,
        Err(Fault::Work(error)) => Some(error),
        Err(other) => panic!("{other:?}"),
    };
    if end.is_some() {
        assert!(matches!(map.submit(0, &mut take), Err(Fault::Stopped)));
    }
    (seen, end)
}

fn expected(count: u64, fails_from: u64, refuses: u64) -> (Vec<u64>, Option<u64>) {
    let mut seen = Vec::new();
    for input in 0..count {
        if input >= fails_from {
            return (seen, Some(input));
        }
        if input * 2 == refuses {
            return (seen, Some(1_000_000 + refuses));
        }
        seen.push(input * 2);
    }
    (seen, None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn results_and_first_error_equal_a_loop(
        count in 0u64..200, fails_from in 0u64..300, refuses in 0u64..600, budget in 0usize..3000,
    ) {
        for workers in [0, 1, 2, 7] {
            let map = OrderedMap::new(Double { fails_from }, Config::new(workers, budget)).unwrap();
            prop_assert_eq!(run(map, count, refuses), expected(count, fails_from, refuses));
        }
    }
}

#[test]
fn maps_on_one_pool_do_not_disturb_each_other() {
    let pool = Pool::new(2, &Scheduling::default(), None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let map = OrderedMap::on(&pool, Double { fails_from: u64::MAX }, Config::new(0, 500));
                assert_eq!(run(map, 500, u64::MAX), expected(500, u64::MAX, u64::MAX));
            });
        }
    });
}

#[test]
fn advance_consumes_at_least_one_result() {
    for workers in [0, 2] {
        let mut map = OrderedMap::new(Double { fails_from: 9 }, Config::new(workers, 100)).unwrap();
        let mut seen = 0;
        let mut take = |_| {
            seen += 1;
            Ok(())
        };
        map.advance(&mut take).unwrap();
        (0..3).for_each(|input| map.submit(input, &mut take).unwrap());
        map.advance(&mut take).unwrap();
        map.drain(&mut take).unwrap();
        assert_eq!((seen, map.stats().fed, map.stats().committed), (3, 3, 3));
    }
}
