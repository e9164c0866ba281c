//! A load that keeps records: many writers walk handoffs through their states over HTTP. They
//! record acknowledged requests, and keep the others, to be repeated with the same key.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tasuki::client::{Call, Client};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::power_loss::{Ack, Random};
use crate::server::{Server, offer};

/// The required load.
pub const WRITERS: usize = 64;

/// Tasks that several writers want at once, so that holding one matters.
const SHARED_TASKS: usize = 8;

/// A transition that the server has confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    pub handoff: String,
    pub position: u64,
    pub status: String,
}

/// A request that did not succeed, with the state of its handoff before it.
#[derive(Debug, Clone)]
pub struct Unanswered {
    /// The title of the offer, which no other walk uses.
    pub title: String,
    pub handoff: Option<String>,
    pub position: u64,
    /// The code of the problem that came back, if one did.
    pub code: Option<String>,
}

/// Such a request and the result of sending it again.
#[derive(Debug)]
pub struct Repeated {
    pub request: Unanswered,
    pub answer: Repeat,
}

#[derive(Debug)]
pub enum Repeat {
    Confirmed(Transition),
    /// Another agent has the task by now.
    Refused,
    FailedAgain,
}

/// The tokens of the two agents of the load.
#[derive(Debug, Clone)]
pub struct Tokens {
    alice: String,
    bob: String,
}

impl Tokens {
    pub fn make(server: &Server) -> Self {
        Self { alice: server.token("alice", &[]), bob: server.token("bob", &[]) }
    }

    pub fn crew(&self, server: &Server) -> Crew {
        Crew { alice: server.with_token(&self.alice), bob: server.with_token(&self.bob) }
    }
}

/// The two agents as clients of one running server.
#[derive(Debug, Clone)]
pub struct Crew {
    pub alice: Client,
    pub bob: Client,
}

#[derive(Debug)]
pub struct Load {
    writers: Vec<Writer>,
    pub acks: Arc<Acks>,
}

/// Everything acknowledged so far.
#[derive(Debug)]
pub struct Acks {
    all: Mutex<Vec<Ack<Transition>>>,
    count: watch::Sender<usize>,
}

impl Acks {
    pub fn all(&self) -> Vec<Ack<Transition>> {
        self.all.lock().expect("nothing panics while holding the acks").clone()
    }

    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    pub async fn until(&self, count: usize) {
        let mut changes = self.count.subscribe();
        changes.wait_for(|now| *now >= count).await.expect("we hold the sender");
    }

    fn add(&self, transition: Transition) {
        let ack = Ack::received(transition);
        self.all.lock().expect("nothing panics while holding the acks").push(ack);
        self.count.send_modify(|count| *count += 1);
    }
}

impl Load {
    /// `name` sets it apart from other loads on the same server.
    pub fn new(name: &str, n_writers: usize, seed: u64) -> Self {
        let writers = (0..n_writers).map(|number| Writer::new(name, number, seed));
        let acks = Acks { all: Mutex::default(), count: watch::channel(0).0 };
        Self { writers: writers.collect(), acks: Arc::new(acks) }
    }

    /// With summaries of so many bytes in the packages.
    pub fn with_packages(mut self, package_bytes: usize) -> Self {
        for writer in &mut self.writers {
            writer.package_bytes = package_bytes;
        }
        self
    }

    /// Runs all writers at once, until there are `acks_max` acknowledgements in all, or until each
    /// of them met a failure.
    pub async fn run(&mut self, crew: &Crew, acks_max: usize) {
        let mut working = JoinSet::new();
        for mut writer in self.writers.drain(..) {
            let (crew, acks) = (crew.clone(), Arc::clone(&self.acks));
            working.spawn(async move {
                while acks.count() < acks_max && writer.step(&crew, &acks).await == Next::GoOn {}
                writer
            });
        }
        self.writers = working.join_all().await;
    }

    /// Repeats the unanswered requests, each once and all at once.
    pub async fn repeat(&mut self, crew: &Crew) -> Vec<Repeated> {
        let mut repeating = JoinSet::new();
        for mut writer in self.writers.drain(..) {
            let (crew, acks) = (crew.clone(), Arc::clone(&self.acks));
            repeating.spawn(async move {
                let Some(request) = writer.unanswered() else { return (writer, None) };
                writer.step(&crew, &acks).await;
                let answer = match &writer.failed {
                    Some(_) => Repeat::FailedAgain,
                    None => writer.confirmed.clone().map_or(Repeat::Refused, Repeat::Confirmed),
                };
                (writer, Some(Repeated { request, answer }))
            });
        }
        let (writers, repeated): (Vec<_>, Vec<_>) = repeating.join_all().await.into_iter().unzip();
        self.writers = writers;
        repeated.into_iter().flatten().collect()
    }

    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.writers.iter().filter_map(Writer::unanswered).collect()
    }
}

#[derive(Debug)]
struct Writer {
    /// The prefix of this writer's walks, tasks and keys.
    name: String,
    random: Random,
    package_bytes: usize,
    n_walks: usize,
    walk: Walk,
    /// The effect of the last request, if any.
    confirmed: Option<Transition>,
    failed: Option<Failed>,
}

/// How the last request failed.
#[derive(Debug, Clone)]
struct Failed {
    code: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// One handoff from its first request to its last.
#[derive(Debug)]
struct Walk {
    title: String,
    task: String,
    is_shared: bool,
    steps: &'static [Step],
    handoff: Option<String>,
    position: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Draft,
    Propose,
    Initiate,
    Accept,
    Activate,
    Reject,
    Complete,
    Close,
}

/// Ways through the states. Those of shared tasks leave the task with its first owner.
const OWN_WALKS: [&[Step]; 3] = [
    &[Step::Initiate, Step::Accept, Step::Activate, Step::Complete, Step::Close],
    &[Step::Draft, Step::Propose, Step::Accept, Step::Activate, Step::Complete, Step::Close],
    &[Step::Initiate, Step::Reject, Step::Close],
];
const SHARED_WALKS: [&[Step]; 2] = [
    &[Step::Initiate, Step::Reject, Step::Close],
    &[Step::Initiate, Step::Accept, Step::Activate, Step::Reject, Step::Close],
];

impl Writer {
    fn new(load: &str, number: usize, seed: u64) -> Self {
        let name = format!("{load}-{number}");
        let mut random = Random::from_seed(seed ^ ((number as u64) << 32));
        let walk = Walk::draw(&mut random, &name, 0);
        let (confirmed, failed) = (None, None);
        Self { name, random, package_bytes: 0, n_walks: 0, walk, confirmed, failed }
    }

    /// The next request of the walk. After a failure it is the same one, with the same key.
    async fn step(&mut self, crew: &Crew, acks: &Acks) -> Next {
        let [step, rest @ ..] = self.walk.steps else {
            unreachable!("a walk that has ended is replaced at once")
        };
        let (client, call) = self.walk.request(*step, crew, self.package_bytes);
        let answer = match client.call(call).await {
            Ok(answer) => answer,
            Err(_) => return self.fail(None),
        };
        let code = answer.body["code"].as_str();
        self.confirmed = None;
        if answer.status < 300 {
            let transition = transition(&answer.body);
            self.walk.handoff = Some(transition.handoff.clone());
            self.walk.position = transition.position;
            self.confirmed = Some(transition.clone());
            acks.add(transition);
            self.walk.steps = rest;
        } else if self.walk.is_shared && code == Some("ownership_conflict") {
            self.walk.steps = &[];
        } else if answer.status >= 500 {
            return self.fail(Some(code.unwrap_or_default().to_owned()));
        } else {
            panic!("{} {step:?}: {} {}", self.walk.title, answer.status, answer.body);
        }
        self.failed = None;
        if self.walk.steps.is_empty() {
            self.n_walks += 1;
            self.walk = Walk::draw(&mut self.random, &self.name, self.n_walks);
        }
        Next::GoOn
    }

    fn fail(&mut self, code: Option<String>) -> Next {
        self.failed = Some(Failed { code });
        Next::Stop
    }

    fn unanswered(&self) -> Option<Unanswered> {
        let Failed { code } = self.failed.clone()?;
        let Walk { title, handoff, position, .. } = &self.walk;
        Some(Unanswered {
            title: title.clone(),
            handoff: handoff.clone(),
            position: *position,
            code,
        })
    }
}

impl Walk {
    fn draw(random: &mut Random, writer: &str, number: usize) -> Self {
        let title = format!("{writer}-{number}");
        let is_shared = random.happens(25);
        let (task, steps) = if is_shared {
            let task = format!("shared-{}", random.below(SHARED_TASKS));
            (task, SHARED_WALKS[random.below(SHARED_WALKS.len())])
        } else {
            (format!("own-{title}"), OWN_WALKS[random.below(OWN_WALKS.len())])
        };
        Self { title, task, is_shared, steps, handoff: None, position: 0 }
    }

    fn request<'crew>(
        &self,
        step: Step,
        crew: &'crew Crew,
        package_bytes: usize,
    ) -> (&'crew Client, Call) {
        let (client, action, body) = match step {
            Step::Draft => (&crew.alice, "drafts", self.offer(package_bytes)),
            Step::Initiate => (&crew.alice, "", self.offer(package_bytes)),
            Step::Propose => (&crew.alice, "initiate", json!({})),
            Step::Accept => (&crew.bob, "accept", json!({})),
            Step::Activate => (&crew.bob, "activate", json!({})),
            Step::Complete => (&crew.bob, "complete", json!({ "completion_notes": "merged" })),
            Step::Reject => {
                let body = json!({ "reason": "capacity_unavailable", "detail": "two releases" });
                (&crew.bob, "reject", body)
            }
            Step::Close => (&crew.alice, "close", json!({})),
        };
        let parts = ["/v1/handoffs", self.handoff.as_deref().unwrap_or_default(), action];
        let path: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let key = Some(format!("{}-{step:?}", self.title));
        (client, Call { key, ..Call::post(path.join("/"), body) })
    }

    fn offer(&self, package_bytes: usize) -> Value {
        let mut offer = offer(&self.task, "bob");
        offer["task"]["title"] = self.title.as_str().into();
        if package_bytes > 0 {
            offer["context"]["summary"] = "x".repeat(package_bytes).into();
        }
        offer
    }
}

fn transition(body: &Value) -> Transition {
    let text =
        |name: &str| body[name].as_str().expect("an answer says what it is about").to_owned();
    Transition {
        handoff: text("handoff_id"),
        position: body["position"].as_u64().expect("an answer has a position"),
        status: text("status"),
    }
}
