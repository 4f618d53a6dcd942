//! One changed byte in a .pln file with recovery data: the content comes back, and no source is removed before.

use super::scene::{Scene, ensure, failure};

/// Content is below this size, so that a round takes less than a minute.
const CONTENT: u64 = 12_000;

pub fn round(scene: &mut Scene) -> Result<(), String> {
    let content = scene.content(CONTENT);
    let redundancy = format!("{}%", 1 + scene.random.below(30));
    scene.write("file", &content)?;
    scene.succeed(&["compress", "-q", "-k", "--recovery", &redundancy, "--record-size", "4K", "file"])?;
    let whole = scene.read("file.pln").unwrap_or_default();
    for position in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[position] ^= 1 + scene.random.below(255) as u8;
        scene.remove("out");
        scene.write("damaged.pln", &damaged)?;
        decompress(scene, &content, &damaged).map_err(|finding| format!("byte {position}: {finding}"))?;
    }
    Ok(())
}

fn decompress(scene: &Scene, content: &[u8], damaged: &[u8]) -> Result<(), String> {
    let words = ["decompress", "-q", "--rm", "-o", "out", "damaged.pln"];
    let output = scene.run(&words)?;
    let source = scene.read("damaged.pln");
    ensure(source.is_none() || source.as_deref() == Some(damaged), || "the source was changed".to_owned())?;
    if !output.status.success() {
        ensure(source.is_some(), || "exit status not 0, and the source is gone".to_owned())?;
        return Err(failure(&words, &output));
    }
    ensure(scene.read("out").as_deref() == Some(content), || "exit status 0 with wrong content".to_owned())
}
