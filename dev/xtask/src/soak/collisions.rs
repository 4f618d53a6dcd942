//! Several processes write one output at once, or append to one image: the output is that of one process, complete, and what was
//! appended is in the image.

use super::scene::{Scene, ensure};

pub fn round(scene: &mut Scene) -> Result<(), String> {
    match scene.random.below(3) {
        0 => images(scene),
        1 => compressions(scene),
        _ => decompressions(scene),
    }
}

fn images(scene: &mut Scene) -> Result<(), String> {
    let mut complete = Vec::new();
    let mut children = Vec::new();
    for process in 0..3 {
        let tree = format!("tree{process}");
        scene.plant(&tree, 10, 200_000)?;
        scene.succeed(&["pack", "-q", &tree, "one.sqfs", "-f"])?;
        complete.push(scene.read("one.sqfs"));
    }
    for process in 0..3 {
        let tree = format!("tree{process}");
        let words = ["pack", "-q", "-f", tree.as_str(), "out.sqfs"];
        children.push(scene.command(&words).spawn().map_err(|cause| cause.to_string())?);
    }
    let mut succeeded = 0;
    for child in children {
        let output = child.wait_with_output().map_err(|cause| cause.to_string())?;
        succeeded += u32::from(output.status.success());
    }
    let found = scene.read("out.sqfs");
    ensure(succeeded > 0, || "no pack succeeded".to_owned())?;
    ensure(complete.contains(&found), || "out.sqfs is the image of none of the trees".to_owned())
}

/// Two processes compress and remove one file.
fn compressions(scene: &mut Scene) -> Result<(), String> {
    let content = scene.content(1_000_000);
    scene.write("file", &content)?;
    twice(scene, &["compress", "-q", "-f", "--rm", "file"])?;
    if scene.path("file").exists() {
        return ensure(scene.read("file").as_ref() == Some(&content), || "the source was changed".to_owned());
    }
    let kept = scene.succeed(&["decompress", "-q", "--stdout", "file.pln"])?;
    ensure(kept == content, || "file was removed, and file.pln has another content".to_owned())
}

/// Two processes decompress and remove one file.
fn decompressions(scene: &mut Scene) -> Result<(), String> {
    let content = scene.content(1_000_000);
    scene.write("file", &content)?;
    scene.succeed(&["compress", "-q", "--rm", "file"])?;
    twice(scene, &["decompress", "-q", "-f", "--rm", "file.pln"])?;
    let found = scene.read("file");
    ensure(found.as_ref() == Some(&content) || scene.path("file.pln").exists(), || {
        "file and file.pln are lost".to_owned()
    })?;
    ensure(found.is_none() || found == Some(content), || "file has another content".to_owned())
}

fn twice(scene: &Scene, words: &[&str]) -> Result<(), String> {
    let mut children = Vec::new();
    for _ in 0..2 {
        children.push(scene.command(words).spawn().map_err(|cause| cause.to_string())?);
    }
    for child in children {
        child.wait_with_output().map_err(|cause| cause.to_string())?;
    }
    Ok(())
}

/// Several processes append to one image: what a process with exit status 0 appended is in the image.
pub fn appends(scene: &mut Scene) -> Result<(), String> {
    let processes = 2 + scene.random.below(3);
    scene.plant("base", 5, 100_000)?;
    scene.succeed(&["mksquashfs", "base", "image", "-noappend", "-quiet", "-no-progress"])?;
    let mut children = Vec::new();
    for process in 0..processes {
        let name = format!("added{process}");
        scene.plant(&name, 3, 100_000)?;
        let words = ["mksquashfs", &name, "image", "-keep-as-directory", "-quiet", "-no-progress"];
        children.push((name.clone(), scene.command(&words).spawn().map_err(|cause| cause.to_string())?));
    }
    let mut expected = vec!["f0".to_owned()];
    for (name, child) in children {
        let output = child.wait_with_output().map_err(|cause| cause.to_string())?;
        if output.status.success() {
            expected.push(format!("{name}/f2"));
        }
    }
    ensure(expected.len() > 1, || "none of the processes appended anything".to_owned())?;
    scene.succeed(&["verify", "-q", "image"])?;
    let listed = String::from_utf8_lossy(&scene.succeed(&["list", "image"])?).into_owned();
    for path in expected {
        ensure(listed.lines().any(|line| line == path), || format!("{path} is not in the image"))?;
    }
    Ok(())
}
