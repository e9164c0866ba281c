//! A witness that speaks C2SP's `tlog-witness`, such as another Tasuki. It is sent each checkpoint
//! with a proof that it continues the last one there, and answers with a cosignature.
//!
//! It cannot be asked what it has. If the size that we believe it to have is wrong, it names the
//! right one: a larger one than ours means that entries are missing here, and one of ours that it
//! does not take means that it has seen another ledger with our key.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use engine::ledger::seal::NotKept;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, StatusCode};
use protocol::canonical::Hash;
use protocol::checkpoint::{Note, parse_size};
use protocol::cosignature::CosignatureVerifier;
use protocol::witness::AddCheckpoint;

use crate::checkpoint_file::size_of;
use crate::durable;
use crate::witness_call::{Failure, SettingError, Settings, WitnessCall, answers, in_time};

/// The newest checkpoint of the ledger with the cosignature of the witness, beside the database.
pub const COSIGNED_FILE: &str = "checkpoint.cosigned";

/// The type of an answer that names a size.
const SIZE_TYPE: &str = "text/x.tlog.size";

/// The first request may name the wrong size. Another program that runs on the same folder, such as
/// a check of it, may make a second one wrong.
const TRIES_MAX: u32 = 3;

/// What a witness is shown of the ledger. May read for long.
pub trait LedgerProofs: fmt::Debug + Send + Sync + 'static {
    /// The newest checkpoint; none if nothing was ever signed.
    fn newest(&self) -> io::Result<Option<String>>;

    /// That the ledger of the old size is the beginning of the one of the new size.
    fn prove(&self, old_size: u64, new_size: u64) -> io::Result<Vec<Hash>>;
}

#[derive(Debug)]
pub struct C2spWitness {
    call: WitnessCall,
    verifier: CosignatureVerifier,
    proofs: Arc<dyn LedgerProofs>,
    cosigned: PathBuf,
    known: Mutex<KnownSize>,
}

#[derive(Debug)]
struct KnownSize {
    /// The last checkpoint that it cosigned, as far as we know.
    size: u64,
    /// An operator has declared a fork, and the witness has not taken a checkpoint since.
    has_forked: bool,
}

/// What it makes of a checkpoint.
enum Answer {
    /// The signature line.
    Cosigned(String),
    /// The size of the last one.
    Conflict(u64),
    WrongProof,
}

impl C2spWitness {
    /// `verifier_key` is that of the witness. `cosigned` is the file for the cosigned checkpoint.
    pub fn new(
        settings: &Settings,
        verifier_key: &str,
        cosigned: PathBuf,
        proofs: Arc<dyn LedgerProofs>,
    ) -> Result<Self, SettingError> {
        let size = fs::read_to_string(&cosigned).ok().and_then(|note| size_of(&note));
        Ok(Self {
            call: WitnessCall::new(settings, "add-checkpoint")?,
            verifier: CosignatureVerifier::new(verifier_key)?,
            proofs,
            cosigned,
            known: Mutex::new(KnownSize { size: size.unwrap_or(0), has_forked: false }),
        })
    }

    /// The newest checkpoint of the ledger, if the witness vouches for it.
    pub async fn ask(&self) -> Result<String, NotKept> {
        let nothing = || io::Error::other("there is no checkpoint that a witness could be shown");
        let mut n_tries = 0;
        loop {
            let note = self.with_proofs(|proofs| proofs.newest()).await?.ok_or_else(nothing)?;
            n_tries += 1;
            match self.add(&note).await {
                // A server that runs meanwhile has sent a later one.
                Err(NotKept::Ahead { .. }) if n_tries < TRIES_MAX => {}
                added => return added.map(|_line| note),
            }
        }
    }

    /// Returns once the witness has cosigned the note, and the cosignature is kept.
    pub async fn keep(&self, note: &str) -> Result<(), NotKept> {
        match self.add(note).await {
            Ok(line) => {
                let (path, cosigned) = (self.cosigned.clone(), format!("{note}{line}\n"));
                let write = move || durable::replace(&path, cosigned.as_bytes(), durable::PUBLIC);
                blocking(write).await?;
                self.known().has_forked = false;
                Ok(())
            }
            Err(NotKept::Ahead { .. } | NotKept::Split { .. }) if self.known().has_forked => {
                let what = "knows the ledger from before the fork, and must be made to forget it";
                Err(Failure(what.to_owned()).into())
            }
            Err(error) => Err(error),
        }
    }

    /// An operator has declared a fork, so it is no news that the witness knows another ledger.
    pub fn accept(&self) {
        self.known().has_forked = true;
    }

    pub fn kept_size(&self) -> u64 {
        self.known().size
    }

    /// The cosignature on a note.
    async fn add(&self, note: &str) -> Result<String, NotKept> {
        let size = size_of(note).ok_or_else(|| io::Error::other("the checkpoint is not one"))?;
        let mut old_size = self.known().size.min(size);
        for _ in 0..TRIES_MAX {
            let proof = self.with_proofs(move |proofs| proofs.prove(old_size, size)).await?;
            match self.send(&AddCheckpoint { old_size, proof, note }).await? {
                Answer::Cosigned(line) => {
                    self.known().size = size;
                    return Ok(line);
                }
                Answer::Conflict(known) if known > size => {
                    return Err(NotKept::Ahead { size: known });
                }
                Answer::Conflict(known) if known != old_size => {
                    self.known().size = known;
                    old_size = known;
                }
                Answer::Conflict(_) | Answer::WrongProof => {
                    return Err(NotKept::Split { size: old_size });
                }
            }
        }
        Err(Failure("names another size each time".to_owned()).into())
    }

    async fn send(&self, request: &AddCheckpoint<'_>) -> Result<Answer, Failure> {
        let failure = |what: &str| Failure(what.to_owned());
        let text = request.to_text();
        let (status, kind, answer) = in_time(async {
            let request = self.call.request(Method::POST);
            let request = request.header(CONTENT_TYPE, "text/plain; charset=utf-8");
            let mut answer = self.call.send(request, Bytes::from(text)).await?;
            let kind = answer.response.headers().get(CONTENT_TYPE).cloned();
            Ok((answer.response.status(), kind, WitnessCall::text(&mut answer).await?))
        })
        .await?;
        match status {
            StatusCode::OK => {
                let body = Note::parse(request.note).map_err(|_| failure("is sent no note"))?.body;
                let line = self.verifier.find(body, &answer);
                let line = line.ok_or_else(|| failure("sends no cosignature with its key"))?;
                Ok(Answer::Cosigned(line.to_owned()))
            }
            StatusCode::CONFLICT => {
                let kind = kind.as_ref().and_then(|kind| kind.to_str().ok()).unwrap_or_default();
                let is_size = kind.split(';').next().is_some_and(|kind| kind.trim() == SIZE_TYPE);
                let size = answer.strip_suffix('\n').and_then(parse_size).filter(|_| is_size);
                size.map(Answer::Conflict).ok_or_else(|| failure("names no size in a conflict"))
            }
            StatusCode::UNPROCESSABLE_ENTITY => Ok(Answer::WrongProof),
            status => Err(answers(status)),
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, KnownSize> {
        self.known.lock().expect("nothing panics while holding the size")
    }

    async fn with_proofs<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn LedgerProofs) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let proofs = Arc::clone(&self.proofs);
        blocking(move || read(&*proofs)).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
