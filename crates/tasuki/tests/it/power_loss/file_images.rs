//! Stored files and a power cut: on every disk that it could have left are the files that the
//! server acknowledged, also those whose folder another process made and never synced.

use std::path::Path;
use std::process::Command;

use adapters::files::{FOLDER, inspect};
use bytes::Bytes;
use protocol::ids::{FileId, TeamspaceId};
use tasuki::client::{Call, Client};

use super::server_images::{Place, check_everything};
use super::{Ack, Random, check_images, record};
use crate::ledger::Verdict;
use crate::server::{is_full_run, seed};

const CLIENTS: usize = 4;
const FILES_EACH: usize = 12;

/// A file of several sectors, so that it can be torn.
const BYTES_MAX: usize = 6_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_no_stored_file() {
    let seed = seed("power loss of files");
    let place = Place::new();
    let server = place.start(|_| {});
    let token = server.token("alice", &[]);
    assert_eq!(server.stop(), Some(0));
    make_folders(&place);
    let server = place.start(|_| {});
    let mut random = Random::from_seed(seed);
    let storing: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(store_some(server.with_token(&token), random.draw())))
        .collect();
    let mut acks = Vec::new();
    for one in storing {
        acks.extend(one.await.expect("a client does not panic"));
    }
    let (log, _folder) = place.recorded(&server).await;
    let n_images = if is_full_run() { 400 } else { 60 };
    let report = check_images(&log, &acks, n_images, seed, check_files);
    println!("{} files acknowledged; {report}", acks.len());
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.reached.torn > 0 && report.reached.lost_names > 0, "{report}");
    assert!(report.reached.with_acks > n_images / 4, "{report}");
}

/// Half of the folders for files, made by a process that dies before it has synced any.
fn make_folders(place: &Place) {
    let of_files = place.data.join(FOLDER).join("default");
    let parts = (0..=255_u8).step_by(2).map(|part| of_files.join(format!("{part:02x}")));
    let mut command = Command::new("mkdir");
    command.arg(&of_files).args(parts);
    record(&mut command, &place.data, &place.log);
    assert!(command.status().expect("mkdir is installed").success());
}

async fn store_some(client: Client, drawn: u64) -> Vec<Ack<FileId>> {
    let mut random = Random::from_seed(drawn);
    let mut acks = Vec::new();
    for _ in 0..FILES_EACH {
        let n_words = 1 + random.below(BYTES_MAX / 8);
        let bytes: Vec<u8> = (0..n_words).flat_map(|_| random.draw().to_le_bytes()).collect();
        let post = Call { method: "POST", path: "/v1/files".into(), body: None, key: None };
        let stored = client.call_with_bytes(&post, Bytes::from(bytes)).await;
        let stored = stored.expect("the server answers");
        assert_eq!(stored.status, 201, "{}", stored.body);
        let file = stored.body["file"].as_str().and_then(|file| file.parse().ok());
        acks.push(Ack::received(file.expect("a name")));
    }
    acks
}

fn check_files(image: &Path, acks: &[Ack<FileId>]) -> Verdict {
    check_everything(image, &[])?;
    let (root, teamspace) = (image.join(FOLDER), TeamspaceId::default_teamspace());
    for Ack { what: file, .. } in acks {
        match inspect(&root, &teamspace, file, u64::MAX) {
            Ok(Some(content)) if FileId::of_digest(&content.digest) == *file => {}
            Ok(Some(_)) => return Err(format!("other bytes in {file}")),
            Ok(None) => return Err(format!("lost {file}")),
            Err(error) => return Err(format!("{file}: {error}")),
        }
    }
    Ok(())
}
