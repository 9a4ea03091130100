//! The layers of the sandbox that a child process has, and those that it lacks.

use serde::{Deserialize, Serialize};

/// The layers that are active in a child process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLayers {
    /// Limits of memory, CPU time, file size and open files.
    pub limits: bool,
    /// It can gain no privileges by starting a program (`no_new_privs`).
    pub no_new_privileges: bool,
    /// System calls are filtered (seccomp).
    pub system_calls: bool,
    /// Version of Landlock that limits access to files; 0 without it.
    pub landlock: u32,
}

/// What a version of Landlock restricts beyond the one before.
const LANDLOCK_VERSIONS: [&str; 6] = [
    "files",
    "moves between folders",
    "truncation",
    "TCP",
    "devices",
    "signals and abstract sockets",
];

impl SandboxLayers {
    /// Returns the active layers, as shown to the user.
    pub fn active(self) -> Vec<String> {
        let mut active = Vec::new();
        let mut add = |is_active: bool, name: &str| {
            if is_active {
                active.push(name.to_owned());
            }
        };
        add(self.system_calls, "filter of system calls (seccomp)");
        add(self.limits, "limits of memory, CPU time and files");
        add(self.no_new_privileges, "no new privileges");
        if self.landlock > 0 {
            let count = usize::try_from(self.landlock).unwrap_or(usize::MAX);
            let covered = LANDLOCK_VERSIONS.get(..count).unwrap_or(&LANDLOCK_VERSIONS);
            active.push(format!("Landlock {} ({})", self.landlock, covered.join(", ")));
        }
        active
    }

    /// Returns the missing layers with a remedy each, as shown to the user.
    pub fn missing(self) -> Vec<String> {
        let layers = [
            (
                self.system_calls,
                "filter of system calls (seccomp): use a Linux kernel with CONFIG_SECCOMP_FILTER on \
                 x86_64 or aarch64, and let the service manager or container permit seccomp",
            ),
            (self.limits, "limits of memory, CPU time and files: use a Unix system"),
            (self.no_new_privileges, "no new privileges: use Linux"),
            (
                self.landlock > 0,
                "Landlock: use Linux 5.13 or newer with `landlock` in its parameter `lsm=`, and let \
                 the container permit its system calls",
            ),
        ];
        let missing = layers.into_iter().filter(|(is_active, _)| !is_active);
        missing.map(|(_, remedy)| remedy.to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_active_or_missing() {
        let all = SandboxLayers {
            limits: true,
            no_new_privileges: true,
            system_calls: true,
            landlock: 3,
        };
        assert_eq!((all.active().len(), all.missing().len()), (4, 0));
        assert!(all.active()[3].ends_with("3 (files, moves between folders, truncation)"));
        assert!(SandboxLayers { landlock: 9, ..all }.active()[3].contains("signals"));
        let none = SandboxLayers::default();
        assert_eq!((none.active().len(), none.missing().len()), (0, 4));
        let old = SandboxLayers { landlock: 0, ..all };
        assert!(old.missing()[0].starts_with("Landlock: use Linux 5.13"));
    }
}
