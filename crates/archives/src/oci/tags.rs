//! Finds an image by its tag, or by a part of it.

/// The image that `wanted` stands for. `tags` has the number of an image with each tag. The first rule with a result applies:
///
/// 1. The tag itself.
/// 2. The tag without the registry and the version that Docker and podman add.
/// 3. The end of the tag after a slash, with or without `:latest`, if only one image has it.
/// 4. The part after the colon, if only one image has it.
pub(super) fn find(tags: &[(usize, &str)], wanted: &str) -> Option<usize> {
    let with = |is_wanted: &dyn Fn(&str) -> bool| {
        let found = tags.iter().filter(|(_, tag)| is_wanted(tag)).map(|(image, _)| *image);
        found.collect::<Vec<_>>()
    };
    let first = |is_wanted: &dyn Fn(&str) -> bool| with(is_wanted).first().copied();
    let only = |is_wanted: &dyn Fn(&str) -> bool| {
        let mut found = with(is_wanted);
        found.sort_unstable();
        found.dedup();
        if let [one] = found[..] { Some(one) } else { None }
    };
    first(&|tag| tag == wanted)
        .or_else(|| first(&|tag| names(tag, wanted)))
        .or_else(|| only(&|tag| ends_with_path(tag, wanted)))
        .or_else(|| only(&|tag| tag.rsplit_once(':').is_some_and(|(_, end)| end == wanted)))
}

/// Compares names without the registry and the tag that Docker and podman add.
fn names(found: &str, wanted: &str) -> bool {
    let rest =
        ["", "docker.io/", "docker.io/library/", "localhost/"].iter().filter_map(|prefix| found.strip_prefix(prefix));
    rest.filter_map(|rest| rest.strip_prefix(wanted)).any(|rest| rest.is_empty() || rest == ":latest")
}

/// Whether a name ends with a path, as it does without its registry.
fn ends_with_path(found: &str, wanted: &str) -> bool {
    let without_version = found.strip_suffix(":latest").unwrap_or(found);
    let is_end = |name: &str| name.strip_suffix(wanted).is_some_and(|rest| rest.ends_with('/'));
    is_end(found) || is_end(without_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_not_be_whole() {
        for (found, tag, expected) in [
            ("docker.io/library/box:latest", "box", true),
            ("docker.io/library/box:1", "box", false),
            ("docker.io/library/box:1", "box:1", true),
            ("localhost/box:latest", "box:latest", true),
            ("quay.io/box:latest", "box", false),
            ("quay.io/box:latest", "quay.io/box", true),
            ("docker.io/library/box:1", "bo", false),
        ] {
            assert_eq!(names(found, tag), expected, "{found} {tag}");
        }
    }

    #[test]
    fn a_registry_may_be_left_out_if_one_image_remains() {
        let tags =
            [(0, "quay.io/a/box:latest"), (1, "quay.io/b/box:latest"), (1, "quay.io/b/box:2"), (2, "ghcr.io/c/lid:3")];
        for (wanted, image) in [
            ("a/box", Some(0)),
            ("b/box", Some(1)),
            ("b/box:latest", Some(1)),
            ("box", None),
            ("ox", None),
            ("lid:3", Some(2)),
            ("lid", None),
            ("3", Some(2)),
            ("2", Some(1)),
            ("latest", None),
        ] {
            assert_eq!(find(&tags, wanted), image, "{wanted}");
        }
    }
}
