//! Where the checkpoints of the ledger are kept, and how fast the database is read again.

use std::path::{Path, PathBuf};

use adapters::checkpoint_file::Witness;
use adapters::http_witness::{HttpWitness, Settings};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Where else checkpoints are kept; empty means beside the database only.
    pub witness: PathBuf,
    /// A witness over HTTP; empty means none.
    pub witness_url: String,
    /// A file with its bearer token; empty means none.
    pub witness_token_file: PathBuf,
    /// How fast the server reads its database again to check it; 0 means never.
    pub scrub_rows_per_second: u32,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            witness: PathBuf::new(),
            witness_url: String::new(),
            witness_token_file: PathBuf::new(),
            scrub_rows_per_second: 100,
        }
    }
}

impl Ledger {
    /// The witness folder, if there is one.
    pub fn witness(&self) -> Option<&Path> {
        Some(self.witness.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    pub fn open_witness(&self, key_name: &str) -> Result<Option<Witness>> {
        let cannot = |path: &Path| format!("ledger.witness: cannot use {}", path.display());
        let open = |path: &Path| Witness::open(path, key_name).with_context(|| cannot(path));
        self.witness().map(open).transpose()
    }

    /// The witness over HTTP, if there is one.
    pub fn open_http_witness(&self, key_name: &str) -> Result<Option<HttpWitness>> {
        if self.witness_url.is_empty() {
            return Ok(None);
        }
        let url = self.witness_url.clone();
        let settings = Settings { url, token_file: self.witness_token_file.clone() };
        let opened = HttpWitness::new(&settings, key_name);
        opened.map(Some).with_context(|| format!("ledger.witness_url: cannot use {}", settings.url))
    }
}
