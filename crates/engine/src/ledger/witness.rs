//! This server as a witness of the ledgers of others: it remembers the newest checkpoint of each,
//! and cosigns one only if it continues the last.

use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;

use protocol::checkpoint::{Checkpoint, Note, Verifier};
use protocol::cosignature::Cosigner;
use protocol::time::Time;
use protocol::witness::{AddCheckpoint, Refusal};

/// Where the newest checkpoint of each log is remembered, by the name of the log.
pub trait WitnessRecords: Send + Sync + 'static {
    fn newest(&self, origin: &str) -> io::Result<Option<String>>;

    /// Returns once the note is durable.
    fn keep(&self, origin: &str, note: &str) -> io::Result<()>;
}

/// Why there is no cosignature.
#[derive(Debug, thiserror::Error)]
pub enum NotCosigned {
    #[error("the checkpoint is refused: {0:?}")]
    Refused(Refusal),
    #[error("the record of the log cannot be used: {0}")]
    Failed(#[from] io::Error),
}

/// The witness, and the logs that its operator named.
pub struct Witness {
    logs: Vec<Verifier>,
    /// Held by the one request that may change the record of a log.
    turns: BTreeMap<String, Mutex<()>>,
    cosigner: Cosigner,
    records: Box<dyn WitnessRecords>,
}

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Witness").field("logs", &self.logs).finish_non_exhaustive()
    }
}

impl Witness {
    pub fn new(logs: Vec<Verifier>, cosigner: Cosigner, records: Box<dyn WitnessRecords>) -> Self {
        let turns = logs.iter().map(|log| (log.key_name().to_owned(), Mutex::default())).collect();
        Self { logs, turns, cosigner, records }
    }

    /// What others need to check its cosignatures.
    pub fn verifier_key(&self) -> String {
        self.cosigner.verifier_key()
    }

    /// Cosigns the checkpoint of a request; the answer is a signature line. Blocks until the
    /// checkpoint is durable.
    pub fn add_checkpoint(&self, body: &str, now: Time) -> Result<String, NotCosigned> {
        let request = AddCheckpoint::parse(body)?;
        let checkpoint = request.open(&self.logs)?;
        let origin = &checkpoint.origin;
        let turn = self.turns.get(origin).expect("every log that is known has a turn");
        let _turn = turn.lock().expect("nothing panics while holding a turn");
        let last = self.last(origin)?;
        request.check_continues(last.as_ref(), &checkpoint)?;
        let body = Note::parse(request.note).expect("it was opened above").body;
        let line = self.cosigner.cosign(body, now);
        // The same checkpoint again is durable already.
        if last.as_ref() != Some(&checkpoint) {
            self.records.keep(origin, &format!("{}{line}", request.note))?;
        }
        Ok(line)
    }

    /// A record that cannot be read is never taken for none.
    fn last(&self, origin: &str) -> io::Result<Option<Checkpoint>> {
        let Some(record) = self.records.newest(origin)? else { return Ok(None) };
        let checkpoint = Note::parse(&record).ok().and_then(|note| note.checkpoint());
        let checkpoint = checkpoint.filter(|found| found.origin == origin);
        let unreadable = || io::Error::other(format!("the record of {origin} is no checkpoint"));
        checkpoint.map(Some).ok_or_else(unreadable)
    }
}

impl From<Refusal> for NotCosigned {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use protocol::checkpoint::Signer;
    use protocol::merkle::Edge;

    use super::*;

    #[derive(Debug, Default, Clone)]
    struct Records {
        notes: Arc<Mutex<BTreeMap<String, String>>>,
    }

    impl WitnessRecords for Records {
        fn newest(&self, origin: &str) -> io::Result<Option<String>> {
            Ok(self.notes.lock().unwrap().get(origin).cloned())
        }

        fn keep(&self, origin: &str, note: &str) -> io::Result<()> {
            match note.contains("\n4\n") {
                true => Err(io::Error::other("the disk is full")),
                false => {
                    self.notes.lock().unwrap().insert(origin.to_owned(), note.to_owned());
                    Ok(())
                }
            }
        }
    }

    /// What is not durable is not cosigned, and what cannot be read is not forgotten.
    #[test]
    fn a_record_that_fails_refuses() {
        let log = Signer::new("log", &[7; 32]).unwrap();
        let records = Records::default();
        let verifier = Verifier::new(&log.verifier_key()).unwrap();
        let cosigner = Signer::new("us", &[8; 32]).unwrap().cosigner();
        let witness = Witness::new(vec![verifier], cosigner, Box::new(records.clone()));
        let ask = |size| {
            let mut edge = Edge::empty();
            (0..size).for_each(|_| edge.push(b"leaf"));
            let (origin, root) = ("log".to_owned(), edge.root());
            let note = log.sign(&Checkpoint { origin, size, root });
            witness.add_checkpoint(&format!("old 0\n\n{note}"), Time::from_millis(0))
        };
        assert!(matches!(ask(4), Err(NotCosigned::Failed(_))));
        assert!(records.notes.lock().unwrap().is_empty());
        assert!(ask(0).is_ok());
        assert!(ask(3).is_ok());
        let conflict = Refusal::Conflict { size: 3 };
        assert!(matches!(ask(3), Err(NotCosigned::Refused(found)) if found == conflict));
        records.notes.lock().unwrap().insert("log".to_owned(), "garbled".to_owned());
        assert!(matches!(ask(5), Err(NotCosigned::Failed(_))));
    }
}
