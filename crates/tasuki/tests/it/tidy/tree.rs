//! The files of the repository as the rules see them. Knows where files are and which of them are
//! tests; knows no rule.

use std::fs;
use std::path::Path;

use super::Finding;
use super::rust_source::RustSource;

pub(super) struct Tree {
    files: Vec<SourceFile>,
}

pub(super) struct SourceFile {
    /// Relative to the root of the workspace, with `/` between the parts.
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    /// Empty if the file is not UTF-8.
    pub(super) text: String,
    /// Present for `.rs` files only.
    pub(super) rust: Option<RustSource>,
}

impl Tree {
    /// Reads the workspace, without what `.gitignore` names.
    pub(super) fn read() -> Tree {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let ignored = Ignored::parse(&ignored);
        let mut files = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).expect("a folder of the workspace") {
                let entry = entry.expect("an entry of a folder of the workspace");
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let kind = entry.file_type().expect("the type of a file in the workspace");
                if ignored.covers(&path) {
                    continue;
                } else if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file()
                    && let Ok(bytes) = fs::read(entry.path())
                {
                    // An editor's temporary file may be gone between the listing and the read.
                    files.push(SourceFile::new(path, bytes));
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Tree { files }
    }

    pub(super) fn of(files: Vec<SourceFile>) -> Tree {
        Tree { files }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter()
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&SourceFile, &RustSource)> {
        self.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    pub(super) fn file(&self, path: &str) -> Option<&SourceFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The text of a file; empty if there is none, so that whatever it should list is missing.
    pub(super) fn text(&self, path: &str) -> &str {
        self.file(path).map_or("", |file| &file.text)
    }
}

impl SourceFile {
    pub(super) fn new(path: String, bytes: Vec<u8>) -> SourceFile {
        let text = String::from_utf8(bytes.clone()).unwrap_or_default();
        let rust = path.ends_with(".rs").then(|| RustSource::new(&text));
        SourceFile { path, bytes, text, rust }
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// A file that holds nothing but tests.
    pub(super) fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.name() == "tests.rs"
            || self.name().ends_with("_tests.rs")
    }

    pub(super) fn is_test_at(&self, line: usize) -> bool {
        self.is_test() || self.rust.as_ref().is_some_and(|rust| line >= rust.tests_from)
    }

    pub(super) fn finding(
        &self,
        line: usize,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) -> Finding {
        Finding { path: self.path.clone(), line, what: what.into(), instead: instead.into() }
    }
}

/// The part of `.gitignore` that we write: `/path`, `name`, a trailing `/`, and `*.suffix`.
struct Ignored {
    paths: Vec<String>,
    names: Vec<String>,
    suffixes: Vec<String>,
}

impl Ignored {
    fn parse(text: &str) -> Ignored {
        let names = vec![".git".to_owned(), "node_modules".to_owned()];
        let mut ignored = Ignored { paths: Vec::new(), names, suffixes: Vec::new() };
        for line in text.lines().map(str::trim) {
            let line = line.trim_end_matches('/');
            if line.is_empty() || line.starts_with('#') {
                continue;
            } else if let Some(path) = line.strip_prefix('/') {
                ignored.paths.push(path.to_owned());
            } else if let Some(suffix) = line.strip_prefix('*') {
                ignored.suffixes.push(suffix.to_owned());
            } else {
                ignored.names.push(line.to_owned());
            }
        }
        ignored
    }

    fn covers(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.paths.iter().any(|ignored| ignored == path)
            || self.names.iter().any(|ignored| ignored == name)
            || self.suffixes.iter().any(|suffix| name.ends_with(suffix))
    }
}

#[test]
fn ignored_files_are_not_read() {
    let ignored = Ignored::parse("# comment\n/target\ntasuki-data/\n*.sqlite\n");
    for path in ["target", "crates/x/tasuki-data", "a.sqlite", "web/node_modules", ".git"] {
        assert!(ignored.covers(path), "{path} should be ignored");
    }
    for path in ["crates/x/target", "sqlite.rs", "crates"] {
        assert!(!ignored.covers(path), "{path} should be read");
    }
}
