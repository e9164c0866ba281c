//! The figures of queues equal those that a plain script computes from the entries of the ledger.
//! The script knows the names of events and nothing of the server's own fold.

mod day;

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::{Clock, ManualClock};
use engine::read::transfers::Counted;
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::Open;
use protocol::conversation::state::customer_name;
use protocol::conversation::{self, Conversation};
use protocol::ids::ConversationId;
use protocol::ledger::{Stream, Subject};
use protocol::queue::report::{Line, Requested};
use protocol::step::{Command, State};
use protocol::time::{Span, Time};
use protocol::transfer::command::{Act, Request, Transfer as Asking};
use protocol::transfer::{self, Kind as TransferKind};
use serde_json::{Value, json};
use store::{Memory, Sqlite};

use crate::server::seed;
use crate::support::{
    self, Random, agent, agent_stream, all_after, default_teamspace, id, operator, start,
};

const N_CHATS: usize = 120;
/// Each commit in a file waits for the disk.
const N_STEPS: [usize; 2] = [4_000, 500];
const N_TRANSFERS_MIN: [usize; 2] = [300, 40];
const QUEUES: [&str; 2] = ["default", "tax"];
const PEOPLE: [&str; 3] = ["hana", "ivan", "olga"];
const HOUR_MS: i64 = 3_600_000;
/// People say so often that they are there that the server does not count them as lost.
const SAY_EVERY: Span = Span::from_minutes(5);

struct Shift {
    engine: Engine,
    clock: Arc<ManualClock>,
    random: Random,
    chats: Vec<ConversationId>,
    said_at: Time,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_are_those_of_a_script_over_the_ledger() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = Arc::new(Sqlite::open(folder.path()).expect("a new database"));
    let stores: [Arc<dyn engine::ports::store::Store>; 2] = [Arc::new(Memory::default()), sqlite];
    let seed = seed("transfers::figures");
    for (index, store) in stores.into_iter().enumerate() {
        let mut shift = Shift::begin(&store, seed, N_CHATS).await;
        for _ in 0..N_STEPS[index] {
            let pause = match shift.random.below(20) {
                0 => HOUR_MS,
                _ => shift.random.below(60_000) as i64,
            };
            shift.step(pause).await;
        }
        let entries = all_after(store.as_ref(), 0).await.expect("the ledger can be read");
        let entries = entries.into_iter().map(|kept| kept.entry);
        let told = told(entries.map(|entry| {
            let body = entry.body.text().expect("a body").to_owned();
            (entry.at, entry.name.to_string(), body)
        }));
        assert!(
            told.len() > N_TRANSFERS_MIN[index],
            "{} transfers are too few to show anything",
            told.len()
        );
        let end = shift.clock.now();
        let middle = Time::from_millis((start().as_millis() + end.as_millis()) / 2);
        let after = end.plus(Span::from_millis(1));
        for (since, until) in [(start(), after), (start(), middle), (middle, after)] {
            shift.check(&told, since, until).await;
        }
        // A shift without these would prove nothing.
        let whole = counted(&told, start(), after, None);
        for figure in ["answered_in_time", "abandoned", "failed", "waiting", "open"] {
            let sum: u64 = whole.iter().filter_map(|line| line[figure].as_u64()).sum();
            assert!(sum > 0, "{figure}");
        }
    }
}

fn shown(line: Line) -> Value {
    let mut shown = json!(line.counts);
    shown["day"] = line.day.to_string()[..10].to_owned().into();
    shown["queue"] = line.queue.as_str().into();
    for (name, times) in [("wait", line.wait), ("handle", line.handle)] {
        shown[name] = match times {
            None => Value::Null,
            Some(it) => {
                json!([it.count, it.mean.as_millis(), it.median.as_millis(), it.p95.as_millis()])
            }
        };
    }
    shown
}

/// A transfer, as the script reads it: its entries in order, as time, name and body.
type Told = Vec<(i64, String, Value)>;

/// All transfers of these entries, by id.
fn told(entries: impl Iterator<Item = (Time, String, String)>) -> BTreeMap<String, Told> {
    let mut all: BTreeMap<String, Told> = BTreeMap::new();
    for (at, name, body) in entries.filter(|(_, name, _)| name.starts_with("transfer.")) {
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let id = body["transfer"].as_str().expect("an id").to_owned();
        all.entry(id).or_default().push((at.as_millis(), name, body));
    }
    all
}

/// The figures by day and queue, in the same form as those of the server.
fn counted(
    told: &BTreeMap<String, Told>,
    since: Time,
    until: Time,
    wanted: Option<&str>,
) -> Vec<Value> {
    let mut groups: BTreeMap<(String, String), Vec<Figures>> = BTreeMap::new();
    for it in told.values() {
        let figures = figures(it);
        let at = Time::from_millis(it[0].0);
        if at < since || at >= until || wanted.is_some_and(|wanted| wanted != figures.queue) {
            continue;
        }
        let day = at.to_string()[..10].to_owned();
        groups.entry((day, figures.queue.clone())).or_default().push(figures);
    }
    let lines = groups.into_iter().map(|((day, queue), all)| {
        let n = |is: &dyn Fn(&Figures) -> bool| all.iter().filter(|it| is(it)).count();
        json!({
            "day": day, "queue": queue, "requested": all.len(),
            "answered": n(&|it| it.wait_ms.is_some()),
            "answered_in_time": n(&|it| it.in_time),
            "abandoned": n(&|it| it.wait_ms.is_none() && it.end == Some("abandoned")),
            "failed": n(&|it| it.wait_ms.is_none() && it.end == Some("failed")),
            "waiting": n(&|it| it.wait_ms.is_none() && it.end.is_none()),
            "open": n(&|it| it.wait_ms.is_some() && it.end.is_none()),
            "wait": times(all.iter().filter_map(|it| it.wait_ms).collect()),
            "handle": times(all.iter().filter_map(|it| it.handle_ms).collect()),
        })
    });
    lines.collect()
}

struct Figures {
    queue: String,
    wait_ms: Option<i64>,
    in_time: bool,
    handle_ms: Option<i64>,
    end: Option<&'static str>,
}

fn figures(told: &Told) -> Figures {
    let text = |body: &Value, name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let first = told.iter().position(|(_, name, _)| name == "transfer.connected");
    let until_answer = &told[..first.unwrap_or(told.len())];
    let (_, _, queued) = until_answer
        .iter()
        .rfind(|(_, name, _)| name == "transfer.queued")
        .expect("it entered a queue");
    let wait_ms = first.map(|first| told[first].0 - told[0].0);
    let target: Span = text(&queued["limits"], "target").parse().expect("a span");
    // With a person from each answer to the next return or the end.
    let (mut with_person_since, mut handle_ms, mut end) = (None, 0, None);
    for (at, name, body) in told {
        match name.as_str() {
            "transfer.connected" => with_person_since = with_person_since.or(Some(*at)),
            "transfer.passed_on" => {
                handle_ms += with_person_since.take().map_or(0, |since| at - since);
            }
            "transfer.returned" if body["leg"] == 0 => {
                handle_ms += with_person_since.take().map_or(0, |since| at - since);
            }
            "transfer.over" => {
                handle_ms += with_person_since.take().map_or(0, |since| at - since);
                end = Some(if body["outcome"] == "failed" { "failed" } else { "abandoned" });
            }
            _ => {}
        }
    }
    Figures {
        queue: text(queued, "queue"),
        in_time: wait_ms.is_some_and(|wait| wait <= target.as_millis()),
        handle_ms: wait_ms.and(end).map(|_| handle_ms),
        wait_ms,
        end,
    }
}

fn times(mut all: Vec<i64>) -> Value {
    if all.is_empty() {
        return Value::Null;
    }
    all.sort_unstable();
    let rank = |share: f64| all[((all.len() as f64 * share).ceil() as usize).max(1) - 1];
    let sum: i64 = all.iter().sum();
    json!([all.len(), sum / all.len() as i64, rank(0.5), rank(0.95)])
}

impl Shift {
    async fn begin(
        store: &Arc<dyn engine::ports::store::Store>,
        seed: u64,
        n_chats: usize,
    ) -> Self {
        let (engine, clock) = support::engine_on(Arc::clone(store));
        support::register(&engine, &["bob"]).await;
        for (queue, target) in QUEUES.iter().zip(["20s", "5m"]) {
            // No ring is answered for long, and some waits end.
            let settings = json!({ "mode": "pick", "target": target, "wait": "3h", "rings": 3 });
            let settings = serde_json::from_value(settings).expect("settings of a queue");
            for command in [
                agent::Command::Register { kind: Kind::Queue, profile: Profile::default() },
                agent::Command::SetQueue { settings: Box::new(settings) },
            ] {
                submit(&engine, &operator(), agent_stream(queue), Command::Agent(command)).await;
            }
        }
        for person in PEOPLE {
            let profile = Profile { capacity: Some(40), ..Profile::default() };
            let register = agent::Command::Register { kind: Kind::Human, profile };
            submit(&engine, &operator(), agent_stream(person), Command::Agent(register)).await;
        }
        let (random, said_at) = (Random::from_seed(seed), Time::from_millis(0));
        let mut shift = Self { engine, clock, random, chats: Vec::new(), said_at };
        for _ in 0..n_chats {
            let chat = shift.open().await;
            shift.chats.push(chat);
        }
        shift
    }

    async fn open(&self) -> ConversationId {
        let chat = self.engine.new_conversation_id();
        let customer_queues = QUEUES.map(id).to_vec();
        let open = Open { agent: Some(id("bob")), customer_queues, ..Open::default() };
        let open = conversation::Command::Open(Box::new(open));
        submit(&self.engine, &operator(), stream(chat), Command::Conversation(open)).await;
        chat
    }

    /// The figures of the server are those of the script: of all queues, and of each.
    async fn check(&self, told: &BTreeMap<String, Told>, since: Time, until: Time) {
        for queue in [None, Some(QUEUES[0]), Some(QUEUES[1]), Some("nowhere")] {
            let expected = counted(told, since, until, queue);
            let requested = Requested { since, until, queue: queue.map(id) };
            let report = self.engine.read().queue_report(&default_teamspace(), requested).await;
            let Ok(Counted::All(report)) = report else { panic!("it can be counted") };
            let lines: Vec<Value> = report.lines().into_iter().map(shown).collect();
            assert_eq!(json!(lines), json!(expected), "{queue:?}");
        }
    }

    /// Time passes, and a person or a customer does something.
    async fn step(&mut self, pause_ms: i64) {
        self.clock.advance(Span::from_millis(pause_ms));
        let now = self.clock.now();
        if now.since(self.said_at) >= SAY_EVERY {
            self.said_at = now;
            for person in PEOPLE {
                let presence = Presence::Available;
                let said = Command::Agent(agent::Command::SetPresence { presence });
                submit(&self.engine, &agent(person), agent_stream(person), said).await;
            }
        }
        self.engine.fire_due_deadlines().await.expect("the store works");
        let place = self.random.below(self.chats.len());
        let chat = self.chats[place];
        let state = self.engine.read().current(&stream(chat)).await.expect("it can be read");
        let Some(State::Conversation(it)) = state.as_deref() else { panic!("no conversation") };
        if it.closed.is_some() {
            self.chats[place] = self.open().await;
            return;
        }
        let (caller, command) = self.anything(it);
        let command = Command::Conversation(conversation::Command::Transfer(command));
        submit(&self.engine, &caller, stream(chat), command).await;
    }

    fn anything(&mut self, it: &Conversation) -> (Caller, transfer::Command) {
        let customer =
            Caller { principal: Principal::Customer(customer_name(it.id)), ..operator() };
        let person: &str = self.random.pick::<&str>(&PEOPLE);
        let person = agent(person);
        let Some(transfer) = it.open_transfer() else {
            let queue: &str = self.random.pick::<&str>(&QUEUES);
            let queue = Some(id(queue));
            let request = Box::new(Request { queue, ..Request::default() });
            let transfer = self.engine.new_transfer_id();
            return (customer, transfer::Command::Request { transfer, request });
        };
        let dice = self.random.below(100);
        let (caller, act) = match (transfer.claim(), transfer.answering()) {
            (None, _) if dice < 10 => (customer, Act::Cancel { reason: None }),
            (None, _) => (person, Act::Pickup { accept: dice < 60 }),
            (Some(claim), None) => {
                let rung = agent(claim.agent.as_str());
                (rung, if dice < 60 { Act::Accept } else { Act::Decline { reason: None } })
            }
            (Some(_), Some(claim)) => {
                let act = match dice {
                    0..15 => Act::Hold,
                    15..30 => Act::Resume,
                    30..45 => {
                        let queue: &str = self.random.pick::<&str>(&QUEUES);
                        blind(queue)
                    }
                    45..47 => Act::End { reason: None },
                    _ => Act::Complete { summary: None, disposition: None, to: None },
                };
                (agent(claim.agent.as_str()), act)
            }
        };
        let epoch = caller.agent().map(|_| it.epoch);
        (caller, transfer::Command::Act { transfer: transfer.id, epoch, act })
    }
}

fn blind(to: &str) -> Act {
    Act::Transfer(Box::new(Asking {
        kind: TransferKind::Blind,
        to: id(to),
        reason: None,
        customer_text: None,
        epoch: None,
        context: Default::default(),
    }))
}

/// What is refused changes nothing.
async fn submit(engine: &Engine, caller: &Caller, stream: Stream, command: Command) {
    use engine::road::submit::SubmitError;
    match engine.submit(caller, stream, command, None).await {
        Ok(_) | Err(SubmitError::Rejected(_)) => {}
        Err(error) => panic!("the store works: {error}"),
    }
}

fn stream(chat: ConversationId) -> Stream {
    Stream { teamspace: default_teamspace(), subject: Subject::Conversation(chat) }
}
