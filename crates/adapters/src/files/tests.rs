//! The folder alone: uploads that are cut short, files, and copies.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use bytes::Bytes;
use engine::ports::files::{Content, Files, Upload};
use protocol::file::Image;
use protocol::ids::{FileId, TeamspaceId};
use protocol::time::Time;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{FileFolder, copy, inspect, list, path_of};

fn upload(number: u8) -> Upload {
    Upload {
        id: format!("00000000-0000-4000-8000-0000000000{number:02}").parse().unwrap(),
        teamspace: TeamspaceId::default_teamspace(),
        owner: "agent:bob".to_owned(),
        size_bytes: 11,
        expected: None,
        offset: 0,
        touched_at: Time::from_millis(1_771_682_400_000),
        file: None,
    }
}

/// Uploads in two pieces; the second is begun twice, as after a crash.
async fn stored(folder: &FileFolder, number: u8) -> (Upload, FileId) {
    let upload = upload(number);
    folder.put_upload(upload.clone()).await.unwrap();
    folder.write(upload.clone(), Bytes::from_static(b"GIF89a")).await.unwrap();
    let upload = Upload { offset: 6, ..upload };
    folder.write(upload.clone(), Bytes::from_static(b"what was cut short")).await.unwrap();
    folder.write(upload.clone(), Bytes::from_static(b" ball")).await.unwrap();
    let upload = Upload { offset: 11, ..upload };
    folder.put_upload(upload.clone()).await.unwrap();
    let Content { digest, size_bytes, image } = folder.measure(upload.clone()).await.unwrap();
    assert_eq!((size_bytes, image), (11, Some(Image::Gif)));
    let file = FileId::of_digest(&digest);
    folder.keep(upload.clone(), file.clone()).await.unwrap();
    (upload, file)
}

#[tokio::test]
async fn a_file_is_read_listed_and_removed_by_its_name() {
    let data = tempfile::tempdir().unwrap();
    let folder = FileFolder::open(data.path()).unwrap();
    let (upload, file) = stored(&folder, 1).await;
    stored(&folder, 2).await;
    let teamspace = upload.teamspace.clone();
    for (offset, n_bytes_max, expected) in
        [(0, 100, "GIF89a ball"), (7, 2, "ba"), (11, 5, ""), (99, 5, "")]
    {
        let read = folder.read(teamspace.clone(), file.clone(), offset, n_bytes_max).await;
        assert_eq!(read.unwrap(), expected.as_bytes());
    }
    assert_eq!(folder.list().await.unwrap(), [(teamspace.clone(), file.clone())], "once");
    let other: TeamspaceId = "other".parse().unwrap();
    assert!(folder.inspect(other, file.clone(), 99).await.unwrap().is_none());
    for _ in 0..2 {
        folder.remove(teamspace.clone(), file.clone()).await.unwrap();
    }
    assert!(folder.inspect(teamspace.clone(), file.clone(), 99).await.unwrap().is_none());
    assert!(folder.read(teamspace, file, 0, 1).await.is_err());
}

#[tokio::test]
async fn an_upload_outlives_the_process_and_is_hidden_from_other_teamspaces() {
    let data = tempfile::tempdir().unwrap();
    let (upload, _) = stored(&FileFolder::open(data.path()).unwrap(), 1).await;
    let folder = FileFolder::open(data.path()).unwrap();
    let (teamspace, id) = (upload.teamspace.clone(), upload.id);
    assert_eq!(folder.upload(teamspace.clone(), id).await.unwrap(), Some(upload.clone()));
    assert_eq!(folder.upload("other".parse().unwrap(), id).await.unwrap(), None);
    let incoming = data.path().join("files/.incoming");
    for left_over in ["00000000-0000-4000-8000-000000000009", "x.json", "x.json.new"] {
        fs::write(incoming.join(left_over), "{").unwrap();
    }
    assert_eq!(folder.uploads().await.unwrap(), std::slice::from_ref(&upload));
    assert_eq!(folder.open_uploads().unwrap(), std::slice::from_ref(&upload));
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 2, "its bytes and its note");
    folder.drop_upload(upload.clone(), false).await.unwrap();
    assert_eq!(folder.upload(teamspace.clone(), id).await.unwrap(), Some(upload.clone()));
    folder.drop_upload(upload, true).await.unwrap();
    assert_eq!(folder.upload(teamspace, id).await.unwrap(), None);
}

/// A crash between the note that says so and the removal leaves the bytes under both names.
#[tokio::test]
async fn an_upload_that_became_a_file_has_no_bytes_of_its_own_after_a_start() {
    let data = tempfile::tempdir().unwrap();
    let folder = FileFolder::open(data.path()).unwrap();
    let (upload, file) = stored(&folder, 1).await;
    let done = Upload { file: Some(file.clone()), ..upload };
    folder.put_upload(done.clone()).await.unwrap();
    let bytes = data.path().join("files/.incoming").join(done.id.to_string());
    assert!(bytes.exists());
    assert_eq!(
        folder.open_uploads().unwrap(),
        std::slice::from_ref(&done),
        "a retry of `finish` finds it"
    );
    assert!(!bytes.exists());
    let kept = folder.inspect(done.teamspace, file, 99).await.unwrap();
    assert_eq!(kept.map(|content| content.size_bytes), Some(11));
}

#[tokio::test]
async fn a_copy_has_the_bytes_of_its_name_or_is_none() {
    let data = tempfile::tempdir().unwrap();
    let folder = FileFolder::open(data.path()).unwrap();
    let (upload, file) = stored(&folder, 1).await;
    let (from, to) = (data.path().join("files"), data.path().join("copied"));
    assert!(copy(&from, &to, &upload.teamspace, &file).unwrap());
    assert_eq!(list(&to).unwrap(), [(upload.teamspace.clone(), file.clone())]);
    let path = path_of(&from, &upload.teamspace, &file);
    fs::write(&path, "other bytes").unwrap();
    let changed = inspect(&from, &upload.teamspace, &file, 99).unwrap().unwrap();
    assert_ne!(FileId::of_digest(&changed.digest), file);
    let again = data.path().join("again");
    assert!(!copy(&from, &again, &upload.teamspace, &file).unwrap());
    assert_eq!(list(&again).unwrap(), []);
    // Storing the bytes again repairs the file.
    stored(&folder, 2).await;
    assert!(copy(&from, &again, &upload.teamspace, &file).unwrap());
}

/// Puts something in place of a file, which lies aside.
type Put = fn(&Path, &Path);

/// What lies behind a link may be a secret, and a pipe has no end.
#[tokio::test]
async fn only_a_regular_file_in_its_folders_is_read() {
    let data = tempfile::tempdir().unwrap();
    let folder = FileFolder::open(data.path()).unwrap();
    let (upload, file) = stored(&folder, 1).await;
    let root = data.path().join("files");
    let path = path_of(&root, &upload.teamspace, &file);
    let parts = path.parent().unwrap().to_owned();
    let aside = data.path().join("aside");
    let wrongs: [(&str, Put); 5] = [
        ("a link to the same bytes", |aside, path| symlink(aside.join("file"), path).unwrap()),
        ("a link in place of its folder", |aside, path| {
            let parts = path.parent().unwrap();
            fs::rename(aside.join("file"), path).unwrap();
            fs::rename(parts, aside.join("parts")).unwrap();
            symlink(aside.join("parts"), parts).unwrap();
        }),
        ("a folder", |_, path| fs::create_dir(path).unwrap()),
        ("a pipe", |_, path| {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }),
        ("a socket", |_, path| drop(UnixListener::bind(path).unwrap())),
    ];
    for (what, put) in wrongs {
        let _ = fs::remove_dir_all(&aside);
        fs::create_dir(&aside).unwrap();
        let _ = fs::remove_file(&parts);
        let _ = fs::remove_dir_all(&parts);
        let (_, file) = stored(&folder, 1).await;
        fs::rename(&path, aside.join("file")).unwrap();
        put(&aside, &path);
        let (teamspace, kind) = (upload.teamspace.clone(), std::io::ErrorKind::InvalidData);
        let read = folder.read(teamspace.clone(), file.clone(), 0, 9).await.unwrap_err();
        let size = folder.size(teamspace.clone(), file.clone()).await.unwrap_err();
        let inspected = folder.inspect(teamspace.clone(), file.clone(), 9).await.unwrap_err();
        for error in [read, size, inspected] {
            assert_eq!((error.kind(), &*error.to_string()), (kind, "is no regular file"), "{what}");
        }
        assert!(!copy(&root, &data.path().join("copied"), &teamspace, &file).unwrap(), "{what}");
    }
}

/// Bytes behind a link could not be read again, and the link may lead anywhere.
#[tokio::test]
async fn nothing_is_stored_behind_a_link() {
    let data = tempfile::tempdir().unwrap();
    let folder = FileFolder::open(data.path()).unwrap();
    let (upload, file) = stored(&folder, 1).await;
    let root = data.path().join("files");
    let path = path_of(&root, &upload.teamspace, &file);
    let parts = path.parent().unwrap();
    let aside = data.path().join("aside");
    for linked in [parts, parts.parent().unwrap()] {
        folder.remove(upload.teamspace.clone(), file.clone()).await.unwrap();
        fs::rename(linked, &aside).unwrap();
        symlink(&aside, linked).unwrap();
        let error = folder.keep(upload.clone(), file.clone()).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
        fs::remove_file(linked).unwrap();
        fs::rename(&aside, linked).unwrap();
        folder.keep(upload.clone(), file.clone()).await.unwrap();
    }
}
