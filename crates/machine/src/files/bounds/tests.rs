use super::*;
use std::fs;
use std::os::unix::fs::symlink;

/// A folder with a data folder and others in it.
struct World(PathBuf);

impl World {
    fn new(name: &str) -> World {
        let dir = std::env::temp_dir().join(format!("nextleaf-bounds-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for folder in ["data/tmp", "data/import", "outside/deep"] {
            fs::create_dir_all(dir.join(folder)).expect("a folder");
        }
        for file in ["data/manifest", "data/import/in.csv", "outside/out.csv"] {
            fs::write(dir.join(file), file).expect("a file");
        }
        World(dir)
    }

    fn at(&self, path: &str) -> String {
        self.0.join(path).display().to_string()
    }

    fn bounds(&self, given: Option<&str>) -> Bounds {
        Bounds::new(Some(&self.0.join("data")), given).expect("valid")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn code<T>(result: Result<T>) -> u16 {
    result.map_or_else(|e| e.code().0, |_| 0)
}

#[test]
fn what_may_be_read() {
    let w = World::new("read");
    let default = w.bounds(None);
    assert!(default.shown().ends_with("/data/files/"), "{}", default.shown());
    fs::write(w.at("data/files/a.csv"), "1\n").expect("a file");
    symlink(w.at("data/manifest"), w.at("data/files/link")).expect("a link");
    symlink(w.at("outside"), w.at("data/files/folder")).expect("a link");
    symlink(w.at("data/files"), w.at("outside/in")).expect("a link");
    fs::hard_link(w.at("data/manifest"), w.at("data/files/hard")).expect("a link");
    let anywhere = w.bounds(Some(""));
    let import = w.bounds(Some("import"));
    let all = [&default, &anywhere, &import, &w.bounds(Some("null"))];
    for (path, codes) in [
        ("files/a.csv".to_owned(), [0, 0, 1290, 1290]),
        ("files/../files/a.csv".to_owned(), [0, 0, 1290, 1290]),
        (w.at("outside/in/a.csv"), [0, 0, 1290, 1290]),
        // what is not there is told of where something may be
        ("files/none".to_owned(), [13, 13, 1290, 1290]),
        (w.at("outside/none"), [1290, 13, 1290, 1290]),
        (w.at("outside/out.csv"), [1290, 0, 1290, 1290]),
        ("files/folder/out.csv".to_owned(), [1290, 0, 1290, 1290]),
        ("../outside/out.csv".to_owned(), [1290, 0, 1290, 1290]),
        ("import/in.csv".to_owned(), [1290, 1290, 0, 1290]),
        ("manifest".to_owned(), [1290; 4]),
        ("files/link".to_owned(), [1290; 4]),
        ("files/hard".to_owned(), [1290; 4]),
        ("files/../manifest".to_owned(), [1290; 4]),
        (w.at("outside/in/../manifest"), [1290; 4]),
        (format!("/proc/self/root{}", w.at("data/manifest")), [1290; 4]),
        ("/proc/self/environ".to_owned(), [1290; 4]),
        ("/dev/zero".to_owned(), [1290, 1085, 1290, 1290]),
    ] {
        let found: Vec<u16> = all.iter().map(|bounds| code(bounds.open(&path))).collect();
        let expected: Vec<u16> = codes.to_vec();
        assert_eq!(found, expected, "{path}");
    }
    assert!(Bounds::new(Some(&w.0.join("data")), Some("no such folder")).is_err());
    assert_eq!(Bounds::new(None, None).expect("in memory").shown(), "");
}

#[test]
fn where_folders_may_be_made() {
    let w = World::new("make");
    let (default, anywhere) = (w.bounds(None), w.bounds(Some("")));
    symlink(w.at("data"), w.at("data/files/up")).expect("a link");
    for (i, (path, codes)) in [
        ("files/one/two".to_owned(), [0, 0]),
        (w.at("outside/deep/NEW"), [1290, 0]),
        ("NEW".to_owned(), [1290, 1290]),
        ("tmp/NEW".to_owned(), [1290, 1290]),
        ("files/up/NEW".to_owned(), [1290, 1290]),
        ("files/NEW/../../x".to_owned(), [1290, 1290]),
        (w.at("outside/../data/NEW"), [1290, 1290]),
    ]
    .into_iter()
    .enumerate()
    {
        for (bounds, expected) in [&default, &anywhere].into_iter().zip(codes) {
            assert_eq!(code(bounds.make_dir(&path.replace("NEW", &format!("new{i}")))), expected, "{path}");
        }
    }
    assert!(!w.0.join("data/new2").exists());
    // What is written goes where it was allowed, whatever the name means by then.
    let dir = default.make_dir("files/swapped").expect("allowed");
    fs::rename(w.at("data/files/swapped"), w.at("outside/moved")).expect("ours");
    symlink(w.at("data"), w.at("data/files/swapped")).expect("a link");
    fs::write(dir.path().join("x"), "x").expect("written");
    assert!(w.0.join("outside/moved/x").exists() && !w.0.join("data/x").exists());
}
