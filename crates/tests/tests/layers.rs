//! The crate graph is the one that layers.toml allows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn manifest(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).expect("manifest is readable").parse().expect("manifest is TOML")
}

#[test]
fn crates_depend_on_what_layers_toml_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let layers = manifest(&root.join("layers.toml"));
    let allowed: BTreeMap<&str, BTreeSet<&str>> = layers
        .iter()
        .map(|(name, list)| {
            let list = list.as_array().expect("a list of crates");
            (name.as_str(), list.iter().map(|v| v.as_str().expect("a crate's name")).collect())
        })
        .collect();
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).expect("crates/ is readable") {
        let dir = entry.expect("entry is readable").path();
        let name = dir.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        let m = manifest(&dir.join("Cargo.toml"));
        let Some(may) = allowed.get(name.as_str()) else {
            faults.push(format!("{name} is not listed in layers.toml"));
            continue;
        };
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(deps) = m.get(section).and_then(|d| d.as_table()) else { continue };
            for dep in deps.keys().filter(|d| allowed.contains_key(d.as_str())) {
                if !may.contains(dep.as_str()) && *dep != name {
                    faults.push(format!("{name} must not depend on {dep}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn layers_have_no_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let layers = manifest(&root.join("layers.toml"));
    let mut done = BTreeSet::new();
    loop {
        let before = done.len();
        for (name, list) in &layers {
            let list = list.as_array().expect("a list of crates");
            if list.iter().all(|v| done.contains(v.as_str().expect("a crate's name"))) {
                done.insert(name.as_str());
            }
        }
        if done.len() == before {
            break;
        }
    }
    assert_eq!(done.len(), layers.len(), "crates outside a cycle: {done:?}");
}
