//! Pages of the manual, carried out as a reader would: what they tell to type works, and prints what they show.
//!
//! - [`walk`]: the pages of *Start* and some others, one after the other against one server;
//! - [`explain`]: the plans that docs/use/explain.md shows;
//! - [`command_line`]: docs/operate/command-line.md is what `--help` prints.
//!
//! NEXTLEAF_GOLDEN=complete rewrites what pages show.

mod command_line;
mod explain;
mod fences;
mod walk;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page below docs/.
fn page(name: &str) -> String {
    let path = root().join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Whether pages are to be rewritten.
fn rewrites() -> bool {
    std::env::var("NEXTLEAF_GOLDEN").is_ok_and(|v| v == "complete")
}

fn rewrite(name: &str, text: &str) {
    std::fs::write(root().join("docs").join(name), text).expect("a page is writable");
}

/// A folder that goes when the test ends.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("nextleaf-docs-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
