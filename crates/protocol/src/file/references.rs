//! Which stored files an entry names: those in the messages of a conversation, in the package of a
//! handoff, and among its final artifacts. The entry and the references are stored in one commit,
//! and an entry that is erased gives up its references in one commit too.

use super::{Command, Referrer};
use crate::aggregate::{self, Event};
use crate::conversation;
use crate::conversation::part::Part;
use crate::handoff;
use crate::handoff::package::{Artifact, ArtifactKind, ArtifactRef};
use crate::ids::FileId;
use crate::ledger::Subject;
use serde::Deserialize;

/// What stands before the id of a file in the path of an artifact.
pub const PATH_PREFIX: &str = "tasuki:";

/// A file that is named, and the field in which it is.
type Named = (FileId, String);

/// The stored file that an artifact names; `None` if it is something else.
pub fn of_artifact(reference: &ArtifactRef) -> Option<FileId> {
    if reference.kind != ArtifactKind::File {
        return None;
    }
    reference.path.strip_prefix(PATH_PREFIX)?.parse().ok()
}

/// The files that artifacts name, each once.
pub fn of_artifacts(artifacts: &[Artifact]) -> Vec<FileId> {
    named_by("artifacts", artifacts).into_iter().map(|(file, _)| file).collect()
}

/// The files that an entry names, each once, with the fields of the request that led to it.
fn named(event: &Event) -> Vec<Named> {
    if let Event::Conversation(conversation::Event::Said(said)) = event {
        let numbered = said.parts.iter().enumerate();
        return once(numbered.filter_map(|(index, part)| match part {
            Part::File(part) => Some((part.file.clone(), format!("parts[{index}].file"))),
            Part::Text(_) | Part::Attachment(_) => None,
        }));
    }
    let Event::Handoff(event) = event else { return Vec::new() };
    if let Some(proposed) = event.proposed() {
        in_package(&proposed.files)
    } else if let handoff::Event::CompletionStarted(it) = event {
        named_by("final_artifacts", &it.final_artifacts)
    } else if let handoff::Event::Completed(it) = event {
        named_by("final_artifacts", &it.final_artifacts)
    } else {
        Vec::new()
    }
}

/// The files that a package in its sealed form names.
fn in_sealed(package: &str) -> Vec<Named> {
    #[derive(Deserialize)]
    struct Sealed {
        #[serde(default)]
        artifacts: Vec<Artifact>,
    }
    let sealed: Option<Sealed> = serde_json::from_str(package).ok();
    sealed.map(|it| named_by("artifacts", &it.artifacts)).unwrap_or_default()
}

/// The events of a package name no fields: [`in_sealed`] does.
fn in_package(files: &[FileId]) -> Vec<Named> {
    files.iter().map(|file| (file.clone(), "artifacts".to_owned())).collect()
}

fn named_by(field: &str, artifacts: &[Artifact]) -> Vec<Named> {
    let numbered = artifacts.iter().enumerate();
    once(numbered.filter_map(|(index, artifact)| {
        let file = of_artifact(&artifact.reference)?;
        Some((file, format!("{field}[{index}].ref.path")))
    }))
}

fn once(named: impl Iterator<Item = Named>) -> Vec<Named> {
    let mut seen: Vec<Named> = Vec::new();
    for (file, field) in named {
        if !seen.iter().any(|(known, _)| *known == file) {
            seen.push((file, field));
        }
    }
    seen
}

/// Whether an entry that is to be erased names files.
pub fn names_files(event: &Event) -> bool {
    !named(event).is_empty()
}

/// The commands to the files that new entries name: one for each file, in the order of their
/// names, so that two commands that take the turns of several files never wait for each other.
/// `package` is the one that the events propose. `then` are the other commands of the same commit:
/// a new handoff among them names files too.
pub fn refer(
    subject: &Subject,
    command: &aggregate::Command,
    events: &[Event],
    package: Option<&str>,
    then: &[(Subject, aggregate::Command)],
) -> Vec<(Subject, aggregate::Command)> {
    // What moves along asks nothing of others: the first change of the commit does it.
    if let aggregate::Command::Handoff(handoff::Command::Follow(_)) = command {
        return Vec::new();
    }
    let own: Vec<Named> = events.iter().flat_map(named).collect();
    let sealed = package.filter(|_| !own.is_empty()).map(in_sealed).unwrap_or_default();
    let own = own.into_iter().map(|(file, field)| {
        let place = sealed.iter().find(|(known, _)| *known == file);
        let field = place.map_or(field, |(_, field)| field.clone());
        let subject = subject.clone();
        (file, Referrer { subject, field })
    });
    let following = then.iter().flat_map(|(subject, command)| {
        let mut named = Vec::new();
        if let aggregate::Command::Handoff(handoff::Command::Follow(follow)) = command {
            named = named_by("artifacts", &follow.offer.artifacts);
        }
        let named = named.into_iter();
        named.map(|(file, field)| (file, Referrer { subject: subject.clone(), field }))
    });
    let mut all: Vec<(FileId, Vec<Referrer>)> = Vec::new();
    for (file, referrer) in own.chain(following) {
        match all.iter_mut().find(|(known, _)| *known == file) {
            Some((_, by)) => by.push(referrer),
            None => all.push((file, vec![referrer])),
        }
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let commands = all
        .into_iter()
        .map(|(file, by)| (Subject::File(file), aggregate::Command::File(Command::Refer { by })));
    commands.collect()
}

/// The commands to the files that an erased entry named.
pub fn release(subject: &Subject, erased: &Event) -> Vec<(Subject, aggregate::Command)> {
    let mut files: Vec<FileId> = named(erased).into_iter().map(|(file, _)| file).collect();
    files.sort();
    let commands = files.into_iter().map(|file| {
        let release = Command::Release { by: subject.clone() };
        (Subject::File(file), aggregate::Command::File(release))
    });
    commands.collect()
}
