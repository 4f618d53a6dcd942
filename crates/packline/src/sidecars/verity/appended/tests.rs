//! Runs that are stopped after each step, and in the middle of one.

use std::fs;

use packline_runtime::{Resources, Unobserved};
use packline_testkit::Random;

use super::*;
use crate::requests::{OpenedFile, VerityPlace, VerityRequest, appended_tree, verity};

fn request(path: &Path, place: VerityPlace) -> VerityRequest {
    let mut request = VerityRequest::new(path);
    request.options.place = place;
    request.force = true;
    request.resources = Resources::new(1);
    request
}

/// Does what a run does until it is killed. `steps` counts from 1; `levels` bytes are written in the third.
fn stopped(path: &Path, tree: &[u8], steps: u32, levels: usize) {
    let mut appended = Appended::open(path, &Temporaries::default(), &mut Unobserved).unwrap();
    let superblock = tree.first_chunk().unwrap();
    appended.mark().unwrap();
    if steps > 1 {
        appended.grow(tree.len() as u64).unwrap();
    }
    if steps > 2 {
        appended.fill(&mut &tree[BLOCK..BLOCK + levels]).unwrap();
    }
    if steps > 3 {
        appended.complete(superblock).unwrap();
    }
    // Nothing is cut off then.
    appended.keep();
}

#[test]
fn the_next_run_repairs_a_run_killed_at_any_step() {
    for blocks in [1, 2, 129, 300] {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("image");
        let image = Random::new(1).noise(blocks * BLOCK);
        fs::write(&path, &image).unwrap();
        verity(request(&path, VerityPlace::Append), &mut Unobserved).unwrap();
        let whole = fs::read(&path).unwrap();
        let tree = &whole[image.len()..];
        let levels = tree.len() - BLOCK;
        for (steps, levels) in [(1, 0), (2, 0), (3, 0), (3, levels / 3), (3, levels), (4, levels)] {
            fs::write(&path, &image).unwrap();
            stopped(&path, tree, steps, levels);
            let left = fs::read(&path).unwrap();
            assert_eq!(left[..image.len()], image);
            if steps == 4 {
                assert!(left == whole);
                continue;
            }
            let error = appended_tree(&OpenedFile::open(&path).unwrap()).unwrap_err().to_string();
            assert!(error.contains(&format!("an incomplete hash tree from byte {} on", image.len())), "{error}");
            let refused = verity(request(&path, VerityPlace::Files), &mut Unobserved).unwrap_err().to_string();
            assert_eq!(refused, error);
            assert!(fs::read(&path).unwrap() == left);
            verity(request(&path, VerityPlace::Append), &mut Unobserved).unwrap();
            assert!(fs::read(&path).unwrap() == whole, "{blocks} blocks, {steps} steps");
        }
    }
}

#[test]
fn one_run_at_a_time_appends_and_one_that_fails_leaves_the_image() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("image");
    fs::write(&path, [7; 3 * BLOCK]).unwrap();
    let mut first = Appended::open(&path, &Temporaries::default(), &mut Unobserved).unwrap();
    first.mark().unwrap();
    let refused = verity(request(&path, VerityPlace::Append), &mut Unobserved).unwrap_err().to_string();
    assert!(refused.contains("is locked by another run"), "{refused}");
    first.grow(2 * BLOCK as u64).unwrap();
    drop(first);
    assert!(fs::read(&path).unwrap() == [7; 3 * BLOCK]);
    verity(request(&path, VerityPlace::Append), &mut Unobserved).unwrap();
}
