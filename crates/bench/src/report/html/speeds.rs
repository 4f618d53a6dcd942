//! Codecs in memory: speed on one core, and size.

use super::bars::{Bar, bars};
use super::markup::panels;
use super::palette::Look;
use super::pareto::{Dot, Words, pareto};
use crate::report::{CodecSpeed, Spread, number};

pub(super) fn speeds(codecs: &[CodecSpeed]) -> String {
    let mut sizes: Vec<u64> = codecs.iter().map(|codec| codec.block_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of = |size: u64| codecs.iter().filter(|codec| codec.block_size == size).collect::<Vec<_>>();
    sizes.into_iter().map(|size| of_size(size, &of(size))).collect()
}

fn of_size(size: u64, codecs: &[&CodecSpeed]) -> String {
    let blocks = match number::block_size(size) {
        size if size.is_empty() => String::new(),
        size => format!(", blocks of {size}"),
    };
    speed_bars(&format!("Speed on one core{blocks}"), codecs)
        + &size_against_speed(&format!("Size against speed on one core{blocks}"), codecs)
}

fn speed_bars(title: &str, codecs: &[&CodecSpeed]) -> String {
    let chart = |title: &str, speed: &dyn Fn(&CodecSpeed) -> Option<Spread>| {
        let bar = |codec: &&CodecSpeed| speed(codec).map(|speed| bar(&codec.codec, speed));
        let drawn: Vec<Bar> = codecs.iter().filter_map(bar).collect();
        (!drawn.is_empty()).then(|| (title.to_string(), bars(&drawn, "MB per second", None, title)))
    };
    let drawn = [chart("Compress", &CodecSpeed::compress_speed), chart("Decompress", &CodecSpeed::decompress_speed)];
    let reading = "Megabytes (10^6) of content per second on one processor, median of the runs; longer is better. Whiskers show \
                   the slowest and the fastest run. If speeds differ by more than a factor of 30, the scale is logarithmic \
                   and squares mark the speeds.";
    panels(title, "", &drawn.into_iter().flatten().collect::<Vec<_>>(), reading)
}

fn bar(label: &str, speed: Spread) -> Bar {
    let [least, median, most] = [speed.least, speed.median, speed.most].map(|speed| speed / 1e6);
    Bar { label: label.into(), value: median, range: Some((least, most)), text: number::short(median), class: "cx" }
}

fn size_against_speed(title: &str, codecs: &[&CodecSpeed]) -> String {
    let dot = |codec: &&CodecSpeed| {
        let speed = codec.compress_speed()?.median / 1e6;
        let size = codec.ratio()? * 100.0;
        let title = format!("{}: {} MB/s, {} %", codec.codec, number::short(speed), number::short(size));
        Some(Dot { look: Look::NEUTRAL, label: codec.codec.clone(), title, speed, size })
    };
    let dots: Vec<Dot> = codecs.iter().filter_map(dot).filter(|dot| dot.size > 0.0).collect();
    let reading = "Right is faster, down is smaller. No codec beats the codecs on the stepped line in both.";
    let words = Words { label: title.into(), x: "MB compressed per second, one core", y: "stored, % of content" };
    pareto(title, "", &dots, &words, reading)
}
