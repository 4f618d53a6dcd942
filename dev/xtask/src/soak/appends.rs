//! Several processes append to one image at once: what a process with exit status 0 appended is in the image.

use super::scene::{Scene, ensure};

pub fn round(scene: &mut Scene) -> Result<(), String> {
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
