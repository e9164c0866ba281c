//! The ledgers of others for which this server is a witness.

use std::collections::BTreeMap;
use std::path::Path;

use adapters::checkpoint_file::part_name;
use adapters::witness_records::RecordFiles;
use anyhow::{Context, Result, bail};
use engine::ledger::witness::Witness as Witnessing;
use protocol::checkpoint::{Signer, Verifier};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The verifier keys of their logs, each named like its log; empty means that it is none.
    pub origins: Vec<String>,
}

impl Witness {
    pub fn open(&self, data: &Path, signer: &Signer) -> Result<Option<Witnessing>> {
        if self.origins.is_empty() {
            return Ok(None);
        }
        let mut files = BTreeMap::new();
        let mut logs = Vec::new();
        for key in &self.origins {
            let cannot = || format!("witness.origins: cannot use {key}");
            let log = Verifier::new(key).with_context(cannot)?;
            let name = log.key_name().to_owned();
            // Two logs with one record would each take the other for a fork.
            if files.insert(part_name(&name), name.clone()).is_some_and(|other| other != name) {
                bail!("witness.origins: expected names that differ in their letters, as {name}");
            }
            logs.push(log);
        }
        let records = RecordFiles::open(data).context("the folder `witness` cannot be made")?;
        Ok(Some(Witnessing::new(logs, signer.cosigner(), Box::new(records))))
    }
}
