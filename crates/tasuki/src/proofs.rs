//! Proofs that the ledger of a data folder only grew, for a witness that checks them.
//!
//! A proof takes the edge of the tree at the old size and the entries since. The edges of the last
//! proof are remembered, so that each entry is read once while checkpoints follow each other. The
//! edge of another size is made by reading the ledger from its beginning.

use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

use adapters::c2sp_witness::LedgerProofs;
use adapters::checkpoint_file;
use engine::ports::store::Sealed;
use protocol::canonical::Hash;
use protocol::merkle::{ConsistencyProver, Edge};
use store::sqlite::ReadOnly;

use crate::checkpoint_check::{PAGE_ENTRIES_MAX, edge_at};

#[derive(Debug)]
pub struct ProofsOfFolder {
    folder: PathBuf,
    /// The old and the new edge of the last proof.
    edges: Mutex<Vec<Edge>>,
}

impl ProofsOfFolder {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, edges: Mutex::default() }
    }

    fn edge(
        &self,
        database: &ReadOnly,
        sealed: Option<&Sealed>,
        size: u64,
    ) -> io::Result<Option<Edge>> {
        let edges = self.edges.lock().expect("nothing panics while holding the edges");
        match edges.iter().find(|edge| edge.size() == size) {
            Some(edge) => Ok(Some(edge.clone())),
            None => edge_at(database, sealed, size).map_err(io::Error::other),
        }
    }

    fn remember(&self, edges: Vec<Edge>) {
        *self.edges.lock().expect("nothing panics while holding the edges") = edges;
    }
}

impl LedgerProofs for ProofsOfFolder {
    /// The one that was sealed last. Before there is one, that of the empty ledger.
    fn newest(&self) -> io::Result<Option<String>> {
        let database = ReadOnly::open(&self.folder).map_err(io::Error::other)?;
        match database.sealed().map_err(io::Error::other)? {
            Some(sealed) => Ok(Some(sealed.note)),
            None => checkpoint_file::newest(&self.folder),
        }
    }

    fn prove(&self, old_size: u64, new_size: u64) -> io::Result<Vec<Hash>> {
        let missing = || io::Error::other("the ledger lacks entries that a proof needs");
        let database = ReadOnly::open(&self.folder).map_err(io::Error::other)?;
        let sealed = database.sealed().map_err(io::Error::other)?;
        if old_size == 0 || old_size == new_size {
            // The proof is empty. The next one begins here, and the seal often has the edge.
            let sealed = sealed.filter(|sealed| sealed.size == new_size);
            let edge = sealed.and_then(|sealed| Edge::from_bytes(sealed.size, &sealed.edge));
            edge.into_iter().for_each(|edge| self.remember(vec![edge]));
            return Ok(Vec::new());
        }
        let old = self.edge(&database, sealed.as_ref(), old_size)?.ok_or_else(missing)?;
        let mut prover = ConsistencyProver::new(old.clone(), new_size).ok_or_else(missing)?;
        while prover.size() < new_size {
            let n_left = usize::try_from(new_size - prover.size()).unwrap_or(PAGE_ENTRIES_MAX);
            let page = database.entries(prover.size(), n_left.min(PAGE_ENTRIES_MAX));
            let page = page.map_err(io::Error::other)?;
            if page.is_empty() {
                return Err(missing());
            }
            page.iter().for_each(|one| prover.push(&one.entry.hash));
        }
        let (proof, new) = prover.finish().ok_or_else(missing)?;
        self.remember(vec![old, new]);
        Ok(proof)
    }
}
