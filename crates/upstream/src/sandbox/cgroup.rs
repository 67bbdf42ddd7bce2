//! A cgroup for one server, where the system delegates cgroups to this user (version 2, `Delegate=memory pids`).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Where version 2 is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// A cgroup with limits. Dropping it removes it; the processes in it have ended by then.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Moves a process into a new cgroup below our own. Returns `None` if that is not delegated to us. The process may
    /// have started others before; those are only counted.
    pub(super) fn for_process(
        pid: u32,
        memory: Option<u64>,
        processes: Option<u32>,
    ) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let roots = MOUNTS.iter().map(Path::new);
        let root = roots
            .into_iter()
            .find(|root| root.join("cgroup.controllers").exists())?;
        Self::below(&root.join(path), pid, memory, processes)
    }

    fn below(parent: &Path, pid: u32, memory: Option<u64>, processes: Option<u32>) -> Option<Self> {
        let enabled = std::fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
        let has = |controller: &str| enabled.split_whitespace().any(|word| word == controller);
        let is_possible =
            (memory.is_none() || has("memory")) && (processes.is_none() || has("pids"));
        if !is_possible {
            return None;
        }
        let number = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("pegboard-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let cgroup = Self { folder };
        let write =
            |file: &str, value: String| std::fs::write(cgroup.folder.join(file), value).ok();
        if let Some(memory) = memory {
            write("memory.max", memory.to_string())?;
            // All of its processes end together, so that the end is seen.
            write("memory.oom.group", "1".to_owned());
        }
        if let Some(processes) = processes {
            write("pids.max", processes.to_string())?;
        }
        write("cgroup.procs", pid.to_string())?;
        Some(cgroup)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Ends what is left (Linux 5.14); the folder can only be removed when it is empty.
        let _ = std::fs::write(self.folder.join("cgroup.kill"), "1");
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_is_used_only_if_its_controllers_are_delegated() {
        let root = tempfile::tempdir().unwrap();
        let control = root.path().join("cgroup.subtree_control");
        assert!(Cgroup::below(root.path(), 1, Some(5), None).is_none());
        std::fs::write(&control, "cpu memory\n").unwrap();
        assert!(Cgroup::below(root.path(), 1, None, Some(5)).is_none());
        let cgroup = Cgroup::below(root.path(), 77, Some(5), None).unwrap();
        let read = |file: &str| std::fs::read_to_string(cgroup.folder.join(file)).unwrap();
        assert_eq!(
            (read("memory.max"), read("cgroup.procs")),
            ("5".to_owned(), "77".to_owned())
        );
    }
}
