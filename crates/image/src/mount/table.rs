//! The flags of mount(8) that make sense for a read-only image.

use rustix::mount::MountFlags as KernelFlags;

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountFlag {
    /// Set-user-id and set-group-id bits, and file capabilities, have effect.
    Suid,
    /// Device files give access to devices.
    Dev,
    /// Programs may be run.
    Exec,
}

/// A set of flags. By default only programs may be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountFlags {
    suid: bool,
    dev: bool,
    exec: bool,
}

impl Default for MountFlags {
    fn default() -> MountFlags {
        MountFlags { suid: false, dev: false, exec: true }
    }
}

impl MountFlags {
    /// Sets one flag on or off.
    pub fn with(mut self, flag: MountFlag, on: bool) -> MountFlags {
        match flag {
            MountFlag::Suid => self.suid = on,
            MountFlag::Dev => self.dev = on,
            MountFlag::Exec => self.exec = on,
        }
        self
    }

    /// Returns the flags of mount(2).
    pub(super) fn kernel(self) -> KernelFlags {
        let mut flags = KernelFlags::RDONLY;
        flags.set(KernelFlags::NOSUID, !self.suid);
        flags.set(KernelFlags::NODEV, !self.dev);
        flags.set(KernelFlags::NOEXEC, !self.exec);
        flags
    }

    /// Returns the words of mount(8) and fusermount.
    pub(super) fn words(self) -> String {
        let word = |on, word: &str| if on { word.to_string() } else { format!("no{word}") };
        ["ro".to_string(), word(self.suid, "suid"), word(self.dev, "dev"), word(self.exec, "exec")].join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_words_say_the_same() {
        let default = MountFlags::default();
        assert_eq!(default.words(), "ro,nosuid,nodev,exec");
        assert_eq!(default.kernel(), KernelFlags::RDONLY | KernelFlags::NOSUID | KernelFlags::NODEV);
        let other = default.with(MountFlag::Suid, true).with(MountFlag::Dev, true).with(MountFlag::Exec, false);
        assert_eq!(other.words(), "ro,suid,dev,noexec");
        assert_eq!(other.kernel(), KernelFlags::RDONLY | KernelFlags::NOEXEC);
    }
}
