//! Where the checkpoints of the ledger are kept, and how fast the database is read again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapters::c2sp_witness::{C2spWitness, COSIGNED_FILE};
use adapters::checkpoint_file::Witness;
use adapters::http_witness::HttpWitness;
use adapters::remote_witness::{RemoteWitness, WitnessForm};
use adapters::witness_call::{Credentials, S3Account, Settings};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::BadSetting;
use crate::proofs::ProofsOfFolder;

/// Far above the names that clouds use, and the length of a label in a host name.
const REGION_BYTES_MAX: usize = 63;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Where else checkpoints are kept; empty means beside the database only.
    pub witness: PathBuf,
    /// A witness over HTTP; empty means none.
    pub witness_url: String,
    /// A file with its bearer token; empty means none.
    pub witness_token_file: PathBuf,
    /// The region of the bucket at the URL; empty means that it is no bucket.
    pub witness_s3_region: String,
    /// A file with the key that signs requests to the bucket.
    pub witness_s3_key_file: PathBuf,
    /// The verifier key of a witness that speaks C2SP's protocol; empty means that the witness only
    /// stores what it is sent.
    pub witness_key: String,
    /// How fast the server reads its database again to check it; 0 means never.
    pub scrub_rows_per_second: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            witness: PathBuf::new(),
            witness_url: String::new(),
            witness_token_file: PathBuf::new(),
            witness_s3_region: String::new(),
            witness_s3_key_file: PathBuf::new(),
            witness_key: String::new(),
            scrub_rows_per_second: 100,
        }
    }
}

impl Ledger {
    /// The witness folder, if there is one.
    pub fn witness(&self) -> Option<&Path> {
        Some(self.witness.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    pub fn open_witness(&self, data: &Path, key_name: &str) -> Result<Option<Witness>> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let unusable = |problem: String| {
            anyhow::Error::from(BadSetting { setting: "ledger.witness", problem })
        };
        if let Some(path) = self.witness().filter(|path| real(path).starts_with(real(data))) {
            let outside = "expected a folder outside the data folder";
            return Err(unusable(format!("{outside}, got {}", path.display())));
        }
        let open = |path: &Path| {
            Witness::open(path, key_name)
                .map_err(|error| unusable(format!("cannot use {}: {error}", path.display())))
        };
        self.witness().map(open).transpose()
    }

    /// The witness over HTTP, if there is one, of the ledger in this folder.
    pub fn open_http_witness(&self, data: &Path, key_name: &str) -> Result<Option<RemoteWitness>> {
        let credentials = self.witness_credentials()?;
        if self.witness_url.is_empty() {
            let needs_url = "expected ledger.witness_url beside it";
            ensure!(self.witness_key.is_empty(), "ledger.witness_key: {needs_url}");
            return match credentials {
                Credentials::None => Ok(None),
                Credentials::Token(_) => bail!("ledger.witness_token_file: {needs_url}"),
                Credentials::S3(_) => bail!("ledger.witness_s3_key_file: {needs_url}"),
            };
        }
        let settings = Settings { url: self.witness_url.clone(), credentials };
        let opened = if self.witness_key.is_empty() {
            HttpWitness::new(&settings, key_name).map(WitnessForm::Object)
        } else {
            let proofs = Arc::new(ProofsOfFolder::new(data.to_owned()));
            C2spWitness::new(&settings, &self.witness_key, data.join(COSIGNED_FILE), proofs)
                .map(|witness| WitnessForm::C2sp(Box::new(witness)))
        };
        let cannot = || format!("ledger.witness_url: cannot use {}", settings.url);
        opened.map(|form| Some(RemoteWitness::new(form))).with_context(cannot)
    }

    /// A bearer token, a key for a bucket, or neither.
    fn witness_credentials(&self) -> Result<Credentials> {
        let (token_file, key_file) = (&self.witness_token_file, &self.witness_s3_key_file);
        let region = &self.witness_s3_region;
        let is_token = !token_file.as_os_str().is_empty();
        match (key_file.as_os_str().is_empty(), region.is_empty()) {
            (true, true) if is_token => return Ok(Credentials::Token(token_file.clone())),
            (true, true) => return Ok(Credentials::None),
            (true, false) => {
                bail!("ledger.witness_s3_region: expected ledger.witness_s3_key_file beside it")
            }
            (false, true) => {
                bail!("ledger.witness_s3_key_file: expected ledger.witness_s3_region beside it")
            }
            (false, false) => {}
        }
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_region = region.len() <= REGION_BYTES_MAX && region.bytes().all(is_letter);
        ensure!(is_region, "ledger.witness_s3_region: expected a name such as eu-central-1");
        let either = "ledger.witness_s3_key_file: a bucket is sent a signature, so expected no";
        ensure!(!is_token, "{either} ledger.witness_token_file beside it");
        ensure!(self.witness_key.is_empty(), "{either} ledger.witness_key beside it");
        let (region, key_file) = (region.clone(), key_file.clone());
        Ok(Credentials::S3(S3Account { region, key_file }))
    }
}
