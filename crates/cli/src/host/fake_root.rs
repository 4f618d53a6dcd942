//! Tells whether fakeroot or pseudo replaces functions of libc for this process, and rejects commands that a static build cannot run
//! then.
//!
//! Both show owners, permissions and devices that only they know. A statically linked program calls the kernel directly, so it would
//! silently store the real ones.

/// Commands that read or set owners, permissions or devices of files.
const COMMANDS: [&str; 10] = [
    "pack",
    "unpack",
    "mksquashfs",
    "unsquashfs",
    "gensquashfs",
    "rdsquashfs",
    "mkfs.erofs",
    "fsck.erofs",
    "lrztar",
    "lrzuntar",
];

/// A program that makes its children believe that they run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FakeRoot {
    Fakeroot,
    Pseudo,
}

/// The variables that these programs set for their children.
#[derive(Debug, Default)]
pub struct Variables {
    pub fakeroot_key: Option<Vec<u8>>,
    pub pseudo_prefix: Option<Vec<u8>>,
    pub pseudo_disabled: Option<Vec<u8>>,
    pub ld_preload: Option<Vec<u8>>,
}

impl FakeRoot {
    /// Returns the active program, found in the environment.
    pub fn of(variables: &Variables) -> Option<FakeRoot> {
        let preloads = |library: &[u8]| {
            let preloaded = variables.ld_preload.as_deref().unwrap_or_default();
            preloaded.windows(library.len()).any(|part| part == library)
        };
        if filled(variables.fakeroot_key.as_deref()) || preloads(b"libfakeroot") {
            return Some(FakeRoot::Fakeroot);
        }
        let found = filled(variables.pseudo_prefix.as_deref()) || preloads(b"libpseudo");
        // bitbake sets the prefix for every task, and disables pseudo for most tasks.
        let disabled = variables.pseudo_disabled.as_deref().is_some_and(is_on);
        (found && !disabled).then_some(FakeRoot::Pseudo)
    }

    fn name(self) -> &'static str {
        match self {
            FakeRoot::Fakeroot => "fakeroot",
            FakeRoot::Pseudo => "pseudo",
        }
    }

    /// Returns the command that starts a program outside of fakeroot or pseudo.
    fn without(self) -> &'static str {
        match self {
            FakeRoot::Fakeroot => "env -u FAKEROOTKEY -u LD_PRELOAD",
            FakeRoot::Pseudo => "env -u PSEUDO_PREFIX -u LD_PRELOAD",
        }
    }
}

fn filled(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| !value.is_empty())
}

/// Returns whether pseudo reads a value as yes: everything that does not begin like 0, false or no.
fn is_on(value: &[u8]) -> bool {
    !matches!(value.first(), Some(b'0' | b'f' | b'F' | b'n' | b'N'))
}

/// Returns why a command cannot run, if it cannot. `is_static` is whether this program is statically linked.
pub fn refusal(command: &str, is_static: bool, active: Option<FakeRoot>) -> Option<String> {
    let active = active.filter(|_| is_static && COMMANDS.contains(&command))?;
    Some(format!(
        "{} has no effect on this statically linked program: owners, permissions and devices would be wrong\n\
         Use a dynamically linked packline, or run this one without {}: {} packline ...",
        active.name(),
        active.name(),
        active.without()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(variables: &[(&str, &str)]) -> Option<FakeRoot> {
        let value = |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_bytes().to_vec())
        };
        FakeRoot::of(&Variables {
            fakeroot_key: value("FAKEROOTKEY"),
            pseudo_prefix: value("PSEUDO_PREFIX"),
            pseudo_disabled: value("PSEUDO_DISABLED"),
            ld_preload: value("LD_PRELOAD"),
        })
    }

    #[test]
    fn finds_the_active_program_in_the_environment() {
        assert_eq!(active(&[]), None);
        assert_eq!(active(&[("FAKEROOTKEY", "17")]), Some(FakeRoot::Fakeroot));
        assert_eq!(active(&[("LD_PRELOAD", "libfakeroot-sysv.so")]), Some(FakeRoot::Fakeroot));
        assert_eq!(active(&[("LD_PRELOAD", "/lib/libc.so /usr/lib/libfakeroot.so")]), Some(FakeRoot::Fakeroot));
        assert_eq!(active(&[("PSEUDO_PREFIX", "/usr")]), Some(FakeRoot::Pseudo));
        assert_eq!(active(&[("LD_PRELOAD", "libpseudo.so")]), Some(FakeRoot::Pseudo));
        assert_eq!(active(&[("LD_PRELOAD", "libjemalloc.so"), ("FAKEROOTKEY", "")]), None);
    }

    #[test]
    fn disabled_pseudo_is_not_active() {
        for (value, expected) in
            [("1", None), ("yes", None), ("0", Some(FakeRoot::Pseudo)), ("no", Some(FakeRoot::Pseudo))]
        {
            assert_eq!(active(&[("PSEUDO_PREFIX", "/usr"), ("PSEUDO_DISABLED", value)]), expected, "{value}");
        }
    }

    #[test]
    fn only_static_builds_are_rejected_and_only_for_trees() {
        let fakeroot = Some(FakeRoot::Fakeroot);
        let message = refusal("mksquashfs", true, fakeroot).unwrap();
        assert!(message.contains("fakeroot has no effect") && message.contains("env -u FAKEROOTKEY"), "{message}");
        assert!(refusal("unpack", true, Some(FakeRoot::Pseudo)).unwrap().contains("without pseudo"));
        assert_eq!(refusal("mksquashfs", false, fakeroot), None);
        assert_eq!(refusal("compress", true, fakeroot), None);
        assert_eq!(refusal("mksquashfs", true, None), None);
    }
}
