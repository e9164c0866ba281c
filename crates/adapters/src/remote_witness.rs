//! A witness over HTTP, of either form: a place that stores one object for each ledger, or a
//! program that checks proofs and cosigns. Both get the newest checkpoint in the background.

use std::io;

use engine::ledger::seal::NotKept;
use tokio::sync::watch;

use crate::c2sp_witness::C2spWitness;
use crate::http_witness::HttpWitness;

#[derive(Debug)]
pub struct RemoteWitness {
    form: WitnessForm,
    due: watch::Sender<Option<String>>,
}

#[derive(Debug)]
pub enum WitnessForm {
    Object(HttpWitness),
    C2sp(Box<C2spWitness>),
}

impl RemoteWitness {
    pub fn new(form: WitnessForm) -> Self {
        Self { form, due: watch::channel(None).0 }
    }

    /// The newest note that the witness vouches for, on a thread of its own: a start asks before
    /// anything runs.
    pub fn ask(&self) -> Result<Option<String>, NotKept> {
        let failed = || NotKept::Failed(io::Error::other("the witness cannot be asked"));
        let asking = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|_| failed())?;
            let found = runtime.block_on(async {
                match &self.form {
                    WitnessForm::Object(witness) => witness.ask().await.map_err(NotKept::from),
                    WitnessForm::C2sp(witness) => witness.ask().await.map(Some),
                }
            });
            // A name lookup cannot be cancelled, only abandoned.
            runtime.shutdown_background();
            found
        };
        let asked = std::thread::scope(|scope| scope.spawn(asking).join());
        asked.map_err(|_| failed())?
    }

    /// Makes a note the next one to send. It replaces one that was not sent yet.
    pub fn offer(&self, note: &str) {
        self.due.send_replace(Some(note.to_owned()));
    }

    /// The notes to send, the latest only. One that was offered before this call is new, too.
    pub fn due(&self) -> watch::Receiver<Option<String>> {
        let mut due = self.due.subscribe();
        due.mark_changed();
        due
    }

    /// Returns once the witness has the note.
    pub async fn keep(&self, note: &str) -> Result<(), NotKept> {
        match &self.form {
            WitnessForm::Object(witness) => witness.keep(note).await,
            WitnessForm::C2sp(witness) => witness.keep(note).await,
        }
    }

    /// An operator has declared that the ledger goes on, whatever the witness has.
    pub fn accept(&self) {
        match &self.form {
            WitnessForm::Object(witness) => witness.accept(),
            WitnessForm::C2sp(witness) => witness.accept(),
        }
    }

    /// How many entries it knew of when it last answered.
    pub fn kept_size(&self) -> u64 {
        match &self.form {
            WitnessForm::Object(witness) => witness.kept_size(),
            WitnessForm::C2sp(witness) => witness.kept_size(),
        }
    }
}
