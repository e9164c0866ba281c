//! Whether a long conversation is handed over as quickly as a short one: both in one store, in
//! turns, so that both run under the same machine load.

use std::path::Path;

use anyhow::Result;
use engine::Engine;
use protocol::caller::{Caller, Principal};
use protocol::conversation::Command;
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::part::{Part, Text};
use protocol::conversation::state::customer_name;
use protocol::ledger::{Stream, Subject};
use protocol::step;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::load::now;
use super::report::{Bar, median};
use super::work::{SENDER, TARGET, caller_of, register_agents, teamspace, unlimited};
use tasuki::node::Node;

/// More than this, and the length of a conversation costs.
const RATIO_MAX: f64 = 1.2;

/// A short conversation grows while it is measured, so there are many of them.
const ROUTES_OF_A_SHORT_ONE: usize = 5;

/// Messages in flight at once while a conversation is filled.
const IN_LINE: usize = 64;

#[derive(Debug, Clone, Copy)]
pub struct ConversationPlan {
    pub long: usize,
    pub short: usize,
    pub handoffs: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct ConversationReport {
    pub long: usize,
    pub short: usize,
    pub handoffs: usize,
    /// Medians.
    pub long_ms: f64,
    pub short_ms: f64,
    pub bars: Vec<Bar>,
}

pub async fn run(plan: &ConversationPlan, folder: &Path) -> Result<ConversationReport> {
    let config = unlimited(folder.to_owned());
    let (_keep_running, stopping) = watch::channel(false);
    let node = Node::start(&config, stopping)?;
    register_agents(&node.engine).await?;
    let mut long = Chat::open(&node.engine).await?;
    long.fill(plan.long).await?;
    let (mut long_ms, mut short_ms) = (Vec::new(), Vec::new());
    while long_ms.len() < plan.handoffs {
        let mut short = Chat::open(&node.engine).await?;
        short.fill(plan.short).await?;
        for _ in 0..ROUTES_OF_A_SHORT_ONE {
            short_ms.push(short.hand_over().await?);
            long_ms.push(long.hand_over().await?);
        }
    }
    node.stop().await;
    let handoffs = long_ms.len();
    let (long_ms, short_ms) = (median(long_ms.into_iter()), median(short_ms.into_iter()));
    let measured = long_ms / short_ms;
    let bar = Bar {
        what: format!("a handoff after {} messages, of one after {}", plan.long, plan.short),
        wanted: format!("at most {RATIO_MAX}"),
        measured,
        met: measured <= RATIO_MAX,
    };
    let ConversationPlan { long, short, .. } = *plan;
    Ok(ConversationReport { long, short, handoffs, long_ms, short_ms, bars: vec![bar] })
}

/// A conversation that two agents hand to each other.
struct Chat {
    engine: Engine,
    stream: Stream,
    customer: Caller,
    holder: &'static str,
    epoch: u64,
}

impl Chat {
    async fn open(engine: &Engine) -> Result<Self> {
        let id = engine.new_conversation_id();
        let stream = Stream { teamspace: teamspace(), subject: Subject::Conversation(id) };
        let customer =
            Caller { principal: Principal::Customer(customer_name(id)), ..caller_of(SENDER) };
        let chat = Self { engine: engine.clone(), stream, customer, holder: SENDER, epoch: 1 };
        let agent = Some(SENDER.parse().expect("a valid name"));
        let open = Open { agent, ..Open::default() };
        chat.ask(&caller_of(SENDER), Command::Open(Box::new(open))).await?;
        Ok(chat)
    }

    async fn ask(&self, caller: &Caller, command: Command) -> Result<()> {
        let command = step::Command::Conversation(command);
        self.engine.submit(caller, self.stream.clone(), command, None).await?;
        Ok(())
    }

    async fn fill(&self, n_messages: usize) -> Result<()> {
        let mut n_said = 0;
        while n_said < n_messages {
            let mut saying = JoinSet::new();
            for _ in 0..IN_LINE.min(n_messages - n_said) {
                let (engine, stream) = (self.engine.clone(), self.stream.clone());
                let (customer, say) = (self.customer.clone(), step::Command::Conversation(say()));
                saying.spawn(async move { engine.submit(&customer, stream, say, None).await });
                n_said += 1;
            }
            while let Some(said) = saying.join_next().await {
                said??;
            }
        }
        Ok(())
    }

    /// Returns how many milliseconds it took. The customer speaks first, so that the handoff is not
    /// a loop.
    async fn hand_over(&mut self) -> Result<f64> {
        self.ask(&self.customer, say()).await?;
        let other = if self.holder == SENDER { TARGET } else { SENDER };
        let route = Route {
            goto: Some(other.parse().expect("a valid name")),
            reason: Some("it is about a bill".to_owned()),
            context: Some("The bill of May was charged twice.".to_owned()),
            epoch: Some(self.epoch),
            ..Route::default()
        };
        let started = now();
        self.ask(&caller_of(self.holder), Command::Route(Box::new(route))).await?;
        let took = started.elapsed().as_secs_f64() * 1_000.0;
        (self.holder, self.epoch) = (other, self.epoch + 1);
        Ok(took)
    }
}

fn say() -> Command {
    let text = "My bill is wrong, and nobody answers the telephone.".to_owned();
    Command::Say(Say { parts: vec![Part::Text(Text { text })], ..Say::default() })
}
