//! A cache of compiled conversation graphs. Every message of a customer needs one, and compiling
//! takes far longer than a turn may. The store reports a saved graph before it answers the caller
//! that saved it, so later messages are routed by the new version.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use protocol::conversation::graph::{TurnAnswer, TurnFacts};
use protocol::conversation::turn_asked::TurnAsked;
use protocol::graph::{Checked, Ready};
use protocol::ids::{GraphId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::route::GraphProblem;
use protocol::signal::{Heard, hear};
use protocol::step::State;

use crate::heavy_lanes::{HeavyLanes, NotDone};
use crate::ports::clock::Stopwatch;
use crate::ports::store::{Sequenced, StoreError};
use crate::read::Read;
use crate::read::matching::Matching;

/// The total size of the texts of cached graphs; in memory they take several times that. Past it,
/// the graphs that were not used for longest are evicted.
const KNOWN_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The least that a graph counts, even one that does not exist.
const KNOWN_BYTES_MIN: u64 = 4 * 1024;

/// A teamspace may keep a core busy with compiling for half of the time.
const COMPILING_REST_FACTOR: f64 = 1.0;

/// How long a request waits until its graph can be compiled. After that it is answered with
/// `overloaded`.
const COMPILING_WAIT_MAX: Duration = Duration::from_secs(10);

/// Rules of one graph that are counted separately; the others are counted together.
pub const COUNTED_RULES_MAX: usize = 500;

/// A save may come between reading a version and its text; more than a few in a row do not.
const READS_MAX: usize = 8;

/// The upper bounds of the buckets, in seconds: what is promised is below a millisecond.
pub const DECISION_SECONDS: [f64; 8] =
    [0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.05, 0.2];

/// Says how a message sounds.
///
/// An implementation answers at once, and gives the same answer for the same text. A classifier
/// that asks a model belongs outside and passes in its result. The answer may call a person, and
/// decides nothing else.
pub trait SignalReader: Send + Sync + 'static {
    fn hear(&self, text: &str, language: Option<&str>) -> Heard;
}

/// The words that are built in.
#[derive(Debug, Default, Clone, Copy)]
pub struct Lexicon;

impl SignalReader for Lexicon {
    fn hear(&self, text: &str, language: Option<&str>) -> Heard {
        hear(text, language)
    }
}

#[derive(Debug)]
struct Compiling(HeavyLanes);

impl Default for Compiling {
    fn default() -> Self {
        Self(HeavyLanes::new(COMPILING_REST_FACTOR, COMPILING_WAIT_MAX))
    }
}

#[derive(Debug, Default)]
pub struct KnownGraphs {
    known: Mutex<GraphTable>,
    compiling: Compiling,
    matching: Matching,
    pub counts: TurnCounts,
}

#[derive(Debug, Default)]
struct GraphTable {
    graphs: HashMap<(TeamspaceId, GraphId), Kept>,
    n_bytes: u64,
    /// Grows with every use, to find the least recently used.
    uses: u64,
    /// Grows with every save, so that a graph read before the save is not cached after it.
    generation: u64,
}

#[derive(Debug)]
struct Kept {
    /// `None` if there is no such graph.
    graph: Option<Arc<Ready>>,
    n_bytes: u64,
    used: u64,
    decisions: Decisions,
}

/// How often each rule decided; without a rule it was the router's default.
pub type Decisions = BTreeMap<RulePlace, u64>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RulePlace {
    Rule { router: String, rule_index: Option<usize> },
    Others,
}

/// What the metrics page shows about turns.
#[derive(Debug, Default)]
pub struct TurnCounts {
    pub to_agents: AtomicU64,
    pub to_people: AtomicU64,
    pub without_graph: AtomicU64,
    /// Decided by the defaults of the graph, because matching its rules took too long.
    pub spent: AtomicU64,
    /// How many took how long, by [`DECISION_SECONDS`]; the last are those that took longer.
    pub decisions: [AtomicU64; DECISION_SECONDS.len() + 1],
    pub nanoseconds: AtomicU64,
}

impl<'a> Read<'a> {
    /// The graph as it was saved last, ready to be asked. `None` if there is none.
    pub async fn graph(
        self,
        teamspace: &TeamspaceId,
        id: &GraphId,
    ) -> Result<Option<Arc<Ready>>, StoreError> {
        if let Some(known) = self.engine.graphs.get(teamspace, id) {
            return Ok(known);
        }
        let generation = self.engine.graphs.lock().generation;
        let (graph, n_bytes) = Box::pin(self.read_graph(teamspace, id)).await?;
        self.engine.graphs.learn(
            (teamspace.clone(), id.clone()),
            graph.clone(),
            n_bytes,
            generation,
        );
        Ok(graph)
    }

    async fn read_graph(
        self,
        teamspace: &TeamspaceId,
        id: &GraphId,
    ) -> Result<(Option<Arc<Ready>>, u64), StoreError> {
        let subject = Subject::Graph(id.clone());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let corrupt = |what: &str| StoreError::Corrupt(format!("{}: {what}", stream.subject));
        for _ in 0..READS_MAX {
            let item = self.item(&stream).await?;
            let Some(State::Graph(graph)) = item.as_ref().map(|item| item.state.as_ref()) else {
                return Ok((None, 0));
            };
            if graph.removed {
                return Ok((None, 0));
            }
            let saved = graph.saved.clone();
            let Some(text) = self.document(&stream, &saved.hash).await? else {
                continue;
            };
            let (id, version) = (id.clone(), saved.version);
            let known = Arc::clone(&self.engine.graphs);
            let key = (teamspace.clone(), id.clone());
            let compiled = self.compiling(teamspace, move || match known.get(&key.0, &key.1) {
                // Another request compiled it while this one waited for its turn.
                Some(Some(ready)) if ready.version == version => Ok(ready),
                Some(_) | None => Ready::new(id, version, &text).map(Arc::new),
            });
            let ready = compiled.await?.map_err(|_| corrupt("its text is no graph"))?;
            return Ok((Some(ready), saved.size_bytes));
        }
        Err(corrupt("its text is missing"))
    }

    /// Reads and checks a document that is to be saved.
    pub async fn check_graph(
        self,
        teamspace: &TeamspaceId,
        document: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Result<Checked, Vec<GraphProblem>>, StoreError> {
        self.compiling(teamspace, move || Checked::read(document.as_ref())).await
    }

    async fn compiling<T: Send + 'static>(
        self,
        teamspace: &TeamspaceId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let lanes = &self.engine.graphs.compiling.0;
        lanes.run(teamspace, work).await.map_err(|not_done| match not_done {
            NotDone::NoTurn => StoreError::Overloaded,
            NotDone::Panicked => StoreError::Corrupt("a graph cannot be compiled".to_owned()),
        })
    }

    /// Asks the graph, if there is one, which agent answers a message, and scores how the message
    /// sounds.
    pub(crate) async fn turn(
        self,
        teamspace: &TeamspaceId,
        asked: TurnAsked,
    ) -> Result<TurnFacts, StoreError> {
        let graph = match &asked.graph {
            Some(id) => self.graph(teamspace, id).await?,
            None => None,
        };
        let holder = self.engine.agent(teamspace, asked.holder.clone()).await?;
        let watch = Stopwatch::start();
        let answer = match graph {
            Some(graph) => Some(Box::pin(self.matched(teamspace, &asked, graph)).await),
            None => None,
        };
        // Microseconds are precise enough.
        let latency_ms = (watch.seconds() * 1e6).round() / 1e3;
        let answer = answer.map(|answer| TurnAnswer { latency_ms, ..answer });
        let heard = self.engine.signal_reader.hear(&asked.text, asked.language.as_deref());
        if let Some(id) = &asked.graph {
            self.engine.graphs.count(teamspace, id, answer.as_ref(), watch.seconds());
        }
        let target = match answer.as_ref().and_then(TurnAnswer::agent) {
            Some(agent) if *agent != asked.holder => {
                self.engine.agent(teamspace, agent.clone()).await?
            }
            Some(_) | None => None,
        };
        Ok(TurnFacts { answer, heard, target, holder })
    }

    async fn matched(
        self,
        teamspace: &TeamspaceId,
        asked: &TurnAsked,
        graph: Arc<Ready>,
    ) -> TurnAnswer {
        let graphs = &self.engine.graphs;
        let matched = graphs.matching.ask(teamspace, asked, graph).await;
        if matched.is_spent {
            graphs.counts.spent.fetch_add(1, Ordering::Relaxed);
        }
        matched.answer
    }

    /// How often each rule of a graph has decided, since this process first used this version.
    pub fn decisions(self, teamspace: &TeamspaceId, id: &GraphId) -> Decisions {
        let known = self.engine.graphs.lock();
        let kept = known.graphs.get(&(teamspace.clone(), id.clone()));
        kept.map(|kept| kept.decisions.clone()).unwrap_or_default()
    }

    pub fn turn_counts(self) -> &'a TurnCounts {
        &self.engine.graphs.counts
    }
}

impl KnownGraphs {
    /// Drops the graphs that committed entries change. The next lookup reads them again.
    pub fn update(&self, entries: &[Sequenced]) {
        for Sequenced { entry, .. } in entries {
            if let Subject::Graph(id) = &entry.stream.subject {
                let mut known = self.lock();
                known.remove(&(entry.stream.teamspace.clone(), id.clone()));
                known.generation += 1;
            }
        }
    }

    /// The cached graph. The inner `None` means that there is no such graph.
    fn get(&self, teamspace: &TeamspaceId, id: &GraphId) -> Option<Option<Arc<Ready>>> {
        let mut known = self.lock();
        known.uses += 1;
        let uses = known.uses;
        let kept = known.graphs.get_mut(&(teamspace.clone(), id.clone()))?;
        kept.used = uses;
        Some(kept.graph.clone())
    }

    fn learn(
        &self,
        key: (TeamspaceId, GraphId),
        graph: Option<Arc<Ready>>,
        n_bytes: u64,
        generation: u64,
    ) {
        let mut known = self.lock();
        if known.generation != generation {
            return;
        }
        known.remove(&key);
        let n_bytes = n_bytes.max(KNOWN_BYTES_MIN);
        if known.n_bytes + n_bytes > KNOWN_BYTES_MAX {
            known.make_room(n_bytes);
        }
        let used = known.uses;
        known.n_bytes += n_bytes;
        known.graphs.insert(key, Kept { graph, n_bytes, used, decisions: Decisions::new() });
    }

    fn count(
        &self,
        teamspace: &TeamspaceId,
        id: &GraphId,
        answer: Option<&TurnAnswer>,
        seconds: f64,
    ) {
        let counts = &self.counts;
        let one = match answer {
            None => &counts.without_graph,
            Some(answer) if answer.agent().is_some() => &counts.to_agents,
            Some(_) => &counts.to_people,
        };
        one.fetch_add(1, Ordering::Relaxed);
        let Some(answer) = answer else { return };
        let bucket = DECISION_SECONDS.iter().position(|bound| seconds <= *bound);
        let bucket = bucket.unwrap_or(DECISION_SECONDS.len());
        counts.decisions[bucket].fetch_add(1, Ordering::Relaxed);
        counts.nanoseconds.fetch_add((seconds * 1e9) as u64, Ordering::Relaxed);
        let mut known = self.lock();
        let Some(kept) = known.graphs.get_mut(&(teamspace.clone(), id.clone())) else { return };
        if kept.graph.as_ref() != Some(&answer.graph) {
            return;
        }
        for hop in &answer.routed.hops {
            let (router, rule_index) = (hop.from.clone(), hop.rule_index);
            let place = RulePlace::Rule { router, rule_index };
            let is_counted =
                kept.decisions.len() < COUNTED_RULES_MAX || kept.decisions.contains_key(&place);
            let place = if is_counted { place } else { RulePlace::Others };
            *kept.decisions.entry(place).or_default() += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, GraphTable> {
        self.known.lock().expect("nothing panics in here")
    }
}

impl GraphTable {
    /// Evicts the graphs that were not used for longest, until half is free: sorting all of them is
    /// then rare.
    fn make_room(&mut self, n_bytes: u64) {
        let by_use = self.graphs.iter().map(|(key, kept)| (kept.used, key.clone()));
        let mut by_use: Vec<_> = by_use.collect();
        by_use.sort_unstable_by_key(|(used, _)| *used);
        for (_, key) in by_use {
            if self.n_bytes + n_bytes <= KNOWN_BYTES_MAX / 2 {
                break;
            }
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &(TeamspaceId, GraphId)) {
        if let Some(kept) = self.graphs.remove(key) {
            self.n_bytes -= kept.n_bytes;
        }
    }
}
