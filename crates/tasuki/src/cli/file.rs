//! `tasuki file`: storing, getting and listing files; and the uploads of other commands.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use axum::body::Body;
use clap::{Args, Subcommand};
use http_body_util::BodyExt;
use indicatif::HumanBytes;
use protocol::canonical;
use protocol::file::Image;
use protocol::ids::FileId;
use protocol::time::Time;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::reach::Reach;
use super::token;
use crate::client::{Answer, Call, Client, percent_encode};
use crate::{exit_code, output};

/// One read of a file that is hashed.
const READ_BYTES: usize = 256 * 1024;

#[derive(Debug, Args)]
pub struct FileArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(subcommand)]
    command: FileCommand,
}

#[derive(Debug, Subcommand)]
enum FileCommand {
    /// Store a file; prints its name, which messages and artifacts use
    Put {
        /// The file
        path: PathBuf,
    },
    /// Get the bytes of a file
    Get {
        /// The name of the file, such as sha256:…
        file: FileId,
        /// Where to write them; must not be there yet [default: standard output]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
    },
    /// List files, newest first: your own that nothing refers to yet; an operator sees all
    List {
        /// The most files
        #[arg(long, value_name = "N")]
        limit: Option<u64>,
    },
}

pub async fn run(args: FileArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let (client, json) = (&reached.client, args.reach.json);
    match args.command {
        FileCommand::Put { path } => {
            let stored = put(client, &path).await?;
            match json {
                true => output::json(&stored),
                false => output::line(stored["file"].as_str().unwrap_or_default()),
            }
        }
        FileCommand::Get { file, to } => get(client, &file, to.as_deref()).await?,
        FileCommand::List { limit } => {
            let limit = limit.map(|limit| format!("?limit={limit}")).unwrap_or_default();
            let listed = client.call(Call::get(format!("/v1/files{limit}"))).await?.success()?;
            match json {
                true => output::json(&listed),
                false => output::line(&table(&listed)),
            }
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

/// Uploads a file in pieces, and goes on where the server is if a piece was cut short.
pub async fn put(client: &Client, path: &Path) -> Result<Value> {
    let cannot = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    let (name, size_bytes) = digest(&mut file).with_context(cannot)?;
    let begin = json!({ "size_bytes": size_bytes, "file": name });
    let upload = client.call(Call::post("/v1/uploads", begin)).await?.success()?;
    let id = upload["upload_id"].as_str().unwrap_or_default().to_owned();
    let piece_bytes = upload["piece_bytes_max"].as_u64().unwrap_or(1).max(1);
    let mut file = File::open(path).with_context(cannot)?;
    let mut offset = 0;
    while offset < size_bytes {
        let mut piece = Vec::new();
        Read::by_ref(&mut file).take(piece_bytes).read_to_end(&mut piece).with_context(cannot)?;
        if piece.is_empty() {
            bail!("{} changed while it was read", path.display());
        }
        let put = Call {
            method: "PUT",
            path: format!("/v1/uploads/{id}?offset={offset}"),
            body: None,
            key: None,
        };
        offset += piece.len() as u64;
        client.call_with_bytes(&put, piece.into()).await?.success()?;
    }
    let finish = Call::post(format!("/v1/uploads/{id}/finish"), json!({}));
    client.call(finish).await?.success()
}

/// The parts of a message with a text and files, which are uploaded.
pub async fn parts(client: &Client, text: &str, attached: &[PathBuf]) -> Result<Vec<Value>> {
    let mut parts = vec![json!({ "type": "text", "text": text })];
    for path in attached {
        parts.push(put_part(client, path).await?);
    }
    Ok(parts)
}

/// Uploads a file, and returns it as a part of a message.
async fn put_part(client: &Client, path: &Path) -> Result<Value> {
    let stored = put(client, path).await?;
    let image = serde_json::from_value::<Image>(stored["image"].clone()).ok();
    let media_type = image.map_or("application/octet-stream", Image::media_type);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(json!({ "type": "file", "file": stored["file"], "name": name, "media_type": media_type }))
}

/// Uploads the artifacts that are marked so, and names them as the server does.
pub async fn put_artifacts(client: &Client, body: &mut Value) -> Result<()> {
    for list in ["artifacts", "final_artifacts"] {
        // A list that is not given is left out.
        let artifacts = body.get_mut(list).and_then(Value::as_array_mut);
        for artifact in artifacts.into_iter().flatten() {
            let Some(reference) = artifact["ref"].as_object_mut() else { continue };
            if reference.remove(UPLOAD).is_none() {
                continue;
            }
            let path = reference["path"].as_str().unwrap_or_default().to_owned();
            let stored = put(client, Path::new(&path)).await?;
            let name = stored["file"].as_str().unwrap_or_default();
            reference.insert("path".to_owned(), format!("tasuki:{name}").into());
            reference.insert("size_bytes".to_owned(), stored["size_bytes"].clone());
        }
    }
    Ok(())
}

/// Marks an artifact whose file is to be uploaded. No request has this field.
pub const UPLOAD: &str = "upload";

async fn get(client: &Client, file: &FileId, to: Option<&Path>) -> Result<()> {
    let path = format!("/v1/files/{}", percent_encode(file.as_str()));
    let response = client.open(&Call::get(path), &[]).await?;
    let status = response.status().as_u16();
    let body = response.into_body();
    if status >= 300 {
        let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        return Answer { status, body, is_json: true }.success().map(drop);
    }
    let Some(to) = to else {
        let mut out = std::io::stdout();
        return receive(body, &mut out, file).await;
    };
    let beginning = Beginning::create(to)?;
    receive(body, &mut &beginning.file, file).await?;
    beginning.finish(to)
}

/// Writes the bytes of a file as they come. Fails after the last one if they are not those of its
/// name.
async fn receive(mut body: Body, out: &mut dyn Write, file: &FileId) -> Result<()> {
    let mut hasher = Sha256::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.context("the answer broke off")?;
        let Some(bytes) = frame.data_ref() else { continue };
        hasher.update(bytes);
        out.write_all(bytes).context("the bytes cannot be written")?;
    }
    out.flush().context("the bytes cannot be written")?;
    if FileId::of_digest(&hasher.finalize().into()) != *file {
        bail!("the bytes that came are not those of {file}");
    }
    Ok(())
}

/// A file under a temporary name, until all its bytes are right. Removed if it does not get its
/// name.
struct Beginning {
    path: PathBuf,
    file: File,
}

impl Beginning {
    fn create(to: &Path) -> Result<Self> {
        let cannot = || format!("cannot write {}", to.display());
        if to.symlink_metadata().is_ok() {
            bail!("{} is there already; nothing is replaced", to.display());
        }
        let path = to.with_added_extension(format!("{}.partial", std::process::id()));
        let file = File::create_new(&path).with_context(cannot)?;
        Ok(Self { path, file })
    }

    /// Replaces nothing, also if there is such a file by now.
    fn finish(self, to: &Path) -> Result<()> {
        let flags = RenameFlags::NOREPLACE;
        let renamed = renameat_with(CWD, &self.path, CWD, to, flags);
        // Not every file system can tell.
        let renamed = match renamed {
            Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(&self.path, to),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(()),
        };
        renamed.with_context(|| format!("cannot write {}", to.display()))
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        // With its name it is no longer there.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn digest(file: &mut File) -> std::io::Result<(String, u64)> {
    let (mut hasher, mut size_bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let n_read = file.read(&mut buffer)?;
        if n_read == 0 {
            return Ok((format!("sha256:{}", canonical::hex(&hasher.finalize())), size_bytes));
        }
        hasher.update(&buffer[..n_read]);
        size_bytes += n_read as u64;
    }
}

fn table(listed: &Value) -> String {
    let now = token::now();
    let rows = listed["items"].as_array().into_iter().flatten().map(|file| {
        let text = |name: &str| file[name].as_str().unwrap_or("–").to_owned();
        let when = |name: &str| file[name].as_str().and_then(|at| at.parse::<Time>().ok());
        let shown = |at: Option<Time>| at.map_or("–".to_owned(), |at| output::relative(at, now));
        let size = HumanBytes(file["size_bytes"].as_u64().unwrap_or_default()).to_string();
        let used = file["n_references"].as_u64().map_or("–".to_owned(), |n| n.to_string());
        let (stored, unused) = (shown(when("stored_at")), shown(when("unused_until")));
        vec![text("file"), size, text("image"), used, stored, unused]
    });
    let head = ["file", "size", "image", "references", "stored", "removed if unused"];
    output::table(&head, rows.collect())
}
