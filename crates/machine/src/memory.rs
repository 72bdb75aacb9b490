//! How much memory this process may have: the machine's, or less where a limit says so.
//!
//! ```text
//!   /proc/meminfo                                  MemTotal
//!   RLIMIT_AS, RLIMIT_DATA                         ulimit -v, -d; LimitAS=, LimitDATA= of a unit
//!   control groups v2   memory.max, memory.high    containers, MemoryMax=, MemoryHigh= of a unit; of the
//!   control groups v1   memory.limit_in_bytes      process's own group and of all that it lies in
//! ```

use std::path::Path;

/// Where nothing is known.
const FALLBACK_BYTES: usize = 8 << 30;

/// The least of all limits.
pub fn memory_bytes() -> usize {
    let of_machine = physical(&read(Path::new("/proc/meminfo"))).unwrap_or(FALLBACK_BYTES);
    let of_groups = group_limit(&read(Path::new("/proc/self/cgroup")), Path::new("/sys/fs/cgroup"));
    [of_groups, process_limit()].into_iter().flatten().fold(of_machine, usize::min)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn physical(meminfo: &str) -> Option<usize> {
    let kb = |line: &str| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok();
    meminfo.lines().find_map(kb)?.checked_mul(1024)
}

#[cfg(target_os = "linux")]
fn process_limit() -> Option<usize> {
    use rustix::process::{Resource, getrlimit};
    let limits = [Resource::As, Resource::Data].into_iter().filter_map(|r| getrlimit(r).current);
    limits.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)).min()
}

#[cfg(not(target_os = "linux"))]
fn process_limit() -> Option<usize> {
    None
}

/// The least limit of the groups named in `groups` (the text of /proc/self/cgroup) and of those around them. `root`:
/// where their file systems are mounted.
fn group_limit(groups: &str, root: &Path) -> Option<usize> {
    let mut least = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (mounts, files): (&[&str], &[&str]) = if controllers.is_empty() {
            (&["", "unified"], &["memory.max", "memory.high"])
        } else if controllers.split(',').any(|c| c == "memory") {
            (&["memory"], &["memory.limit_in_bytes"])
        } else {
            continue;
        };
        for mount in mounts {
            let mount = root.join(mount);
            let own = mount.join(group.trim_start_matches('/'));
            // A group may be named as it is seen from outside a container, where it is not: the root is there.
            for folder in own.ancestors().take_while(|f| f.starts_with(&mount)) {
                let limits = files.iter().filter_map(|f| read(&folder.join(f)).trim().parse::<usize>().ok());
                least = least.into_iter().chain(limits).min();
            }
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn the_machine_has_memory() {
        assert_eq!(physical("Foo: 1 kB\nMemTotal:       24689764 kB\nMemFree: 2 kB\n"), Some(24689764 << 10));
        assert_eq!(physical("nothing"), None);
        assert!(memory_bytes() > 1 << 20);
    }

    /// A folder with these files.
    fn mounted(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("nextleaf-groups-{}-{name}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().expect("within the root")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        root
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let files = [
            ("memory.max", "max\n"),
            ("a/memory.max", "900\n"),
            ("a/memory.high", "800\n"),
            ("a/b/memory.max", "1000\n"),
            ("a/b/memory.high", "max\n"),
            ("a/c/memory.max", "5\n"),
            ("memory/x/memory.limit_in_bytes", "700\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let root = mounted("nested", &files);
        assert_eq!(group_limit("0::/a/b\n", &root), Some(800), "of the group around");
        assert_eq!(group_limit("0::/a/c\n", &root), Some(5));
        assert_eq!(group_limit("0::/\n", &root), None, "no limit");
        assert_eq!(group_limit("4:cpu,memory:/x/y\n1:name=systemd:/a\n", &root), Some(700));
        assert_eq!(group_limit("4:cpuset:/x\n", &root), None);
        assert_eq!(group_limit("0::/a/b\n4:memory:/x\n", &root), Some(700), "both versions");
        std::fs::remove_dir_all(root).expect("it was made");
    }

    #[test]
    fn a_container_sees_its_limits_at_the_root() {
        let root = mounted("container", &[("memory.max", "1234"), ("memory/memory.limit_in_bytes", "99")]);
        assert_eq!(group_limit("0::/docker/0123456789abcdef\n", &root), Some(1234));
        assert_eq!(group_limit("9:memory:/docker/0123456789abcdef\n", &root), Some(99));
        std::fs::remove_dir_all(root).expect("it was made");
    }
}
