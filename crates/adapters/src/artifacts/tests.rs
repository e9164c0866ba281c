//! Looks at honest and at hostile artifacts. Files and URLs have a file each; here is what they
//! share, and what is true of any artifact.

mod files;
mod stage;
mod urls;

use super::*;

#[test]
fn a_root_that_is_not_a_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let shown = |path: PathBuf| {
        let roots = vec![folder.path().to_owned(), path];
        Artifacts::new(Settings { roots, ..Settings::default() }).unwrap_err().to_string()
    };
    assert_eq!(shown(file.clone()), format!("{} is not a folder", file.display()));
    let gone = folder.path().join("gone");
    assert_eq!(shown(gone.clone()), format!("{} is not a folder", gone.display()));
    for path in ["relative", "/tmp/../tmp", ""] {
        let expected = format!("{path} cannot be a root: expected an absolute path without `..`");
        assert_eq!(shown(path.into()), expected);
    }
}

#[tokio::test]
async fn what_nobody_can_look_at_is_said_so() {
    let artifacts = Artifacts::new(Settings::default()).unwrap();
    let rows = [
        (ArtifactKind::Branch, "not verifiable: no adapter is configured for a branch"),
        (ArtifactKind::Pr, "not verifiable: no adapter is configured for a pr"),
        (ArtifactKind::Session, "not verifiable: no adapter is configured for a session"),
        (ArtifactKind::WorkqItem, "not verifiable: no adapter is configured for a workq_item"),
        (ArtifactKind::File, "forbidden: it is not below a folder that may be looked into"),
    ];
    for (kind, expected) in rows {
        let seen = look(&artifacts, artifact(kind, "/etc/passwd")).await;
        assert_eq!(shown(&seen), expected, "{kind:?}");
    }
}

#[tokio::test]
async fn findings_come_in_order_and_those_beyond_the_limit_are_forbidden() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "hello").unwrap();
    let roots = vec![folder.path().to_owned()];
    let settings = Settings { roots, n_artifacts_max: 3, ..Settings::default() };
    let artifacts = Artifacts::new(settings).unwrap();
    let named = |(index, name): (usize, &&str)| Artifact {
        artifact_id: format!("a{index}"),
        ..artifact(ArtifactKind::File, folder.path().join(name).to_str().unwrap())
    };
    let names = ["file", "gone", "file", "file", "gone"];
    let asked: Vec<Artifact> = names.iter().enumerate().map(named).collect();
    let seen = artifacts.look(&asked).await;
    let lines: Vec<String> =
        seen.iter().map(|seen| format!("{} {}", seen.artifact_id, shown(&seen.finding))).collect();
    let expected = [
        "a0 verified 5",
        "a1 missing: there is no such file",
        "a2 verified 5",
        "a3 forbidden: more than 3 artifacts",
        "a4 forbidden: more than 3 artifacts",
    ];
    assert_eq!(lines, expected);
    assert_eq!(artifacts.look(&[]).await, []);
}

#[test]
fn what_is_repeated_is_one_short_line() {
    assert_eq!(
        repeated("a\nb\u{1b}[31m\u{202e}c\r\t"),
        "a\u{fffd}b\u{fffd}[31m\u{fffd}c\u{fffd}\u{fffd}"
    );
    for text in ["x".repeat(10_000), "ä".repeat(10_000), "\0".repeat(10_000)] {
        let length = repeated(&text).len();
        assert!((REPEATED_BYTES_MAX - 3..=REPEATED_BYTES_MAX).contains(&length), "{length}");
    }
}

/// A look is started by a task that may run on any thread.
#[test]
fn a_look_can_be_sent() {
    fn check<T: Send>(_: T) {}
    let artifacts = Artifacts::new(Settings::default()).unwrap();
    check(artifacts.look(&[]));
}

fn artifact(kind: ArtifactKind, path: &str) -> Artifact {
    let reference = ArtifactRef {
        description: None,
        path: path.to_owned(),
        required: None,
        sha256: None,
        size_bytes: None,
        kind,
        version: None,
    };
    Artifact { artifact_id: "a".to_owned(), reference }
}

async fn look(artifacts: &Artifacts, artifact: Artifact) -> Finding {
    let [seen] = <[Seen; 1]>::try_from(artifacts.look(&[artifact]).await).expect("one finding");
    seen.finding
}

fn sha256(content: &[u8]) -> String {
    canonical::hex(&canonical::sha256(&[content]))
}

/// A finding in a line.
fn shown(finding: &Finding) -> String {
    match finding {
        Finding::Verified { size_bytes, .. } => format!("verified {size_bytes}"),
        Finding::Present => "present".to_owned(),
        Finding::NotVerifiable { detail } => format!("not verifiable: {detail}"),
        Finding::Missing { detail } => format!("missing: {detail}"),
        Finding::Mismatch { detail } => format!("mismatch: {detail}"),
        Finding::Forbidden { detail } => format!("forbidden: {detail}"),
        Finding::Unavailable { detail } => format!("unavailable: {detail}"),
    }
}
