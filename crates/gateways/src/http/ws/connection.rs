//! One open socket: frames are read and answered one after the other, commands run in the order in
//! which they came, and events are passed on. A peer that does not read delays only itself.

use std::collections::VecDeque;
use std::pin::Pin;

use engine::road::submit::SubmitError;
use protocol::caller::{Caller, Principal};
use protocol::conversation::Command as ConversationCommand;
use protocol::conversation::state::{Side, conversation_of};
use protocol::ids::ConversationId;
use protocol::step::{self, State};
use protocol::time::{Span, Time};
use serde_json::json;
use tokio::sync::mpsc;

use crate::http::call::Identity;
use crate::http::conversations::access::stream;
use crate::http::conversations::names::From;
use crate::http::shared::auth::Asker;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;
use crate::http::shared::socket::{Message, PeerGone, ReceiveError, Socket};
use crate::http::shared::streams::OpenStream;
use crate::http::ws::command::Command;
use crate::http::ws::frame::{Asks, Frame, TypingInput, conversation_id};
use crate::http::ws::state::Ws;
use crate::http::ws::subscription::{NEWS_MAX, News, SUBSCRIPTIONS_MAX, Subscription};
use crate::http::ws::typing::{TYPING_EVERY, TYPING_KEPT, Who};
use crate::http::ws::{frame, subscription};
use crate::rate::RetryAfter;

/// How often the token is checked. Its end is noticed within this time.
const BEAT: Span = Span::from_millis(1_000);

/// Commands that wait for the one before them. Past this they are refused with `overloaded`; a
/// client that waits for its answers never has more than one.
pub const WAITING_COMMANDS_MAX: usize = 32;

/// After a frame beyond the rate, nothing more is read for this time.
const TOO_FAST_PAUSE: Span = Span::from_millis(20);

/// A socket that is being opened.
pub struct Connection {
    pub number: u64,
    pub gateway: Ws,
    pub asker: Asker,
    pub identity: Identity,
    /// The secret with which to check again whether the caller is still allowed; none on the
    /// control socket.
    pub secret: Option<String>,
    pub frame_bytes_max: usize,
    pub _place: OpenStream,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Farewell {
    /// The peer has closed it, or is gone.
    Peer,
    Stopping,
    /// The peer sent something that is no frame, or is far too large.
    Unreadable,
    /// The store cannot be read.
    Broken,
    /// The token has ended, or its bearer or roles have changed.
    TokenEnded,
    /// The peer did not answer a ping.
    Silent,
    /// The peer did not finish a message.
    Unfinished,
    /// A message that is not finished has used up what the caller may write.
    QuotaReached,
}

impl std::convert::From<PeerGone> for Farewell {
    fn from(_: PeerGone) -> Self {
        Farewell::Peer
    }
}

impl Farewell {
    fn words(self) -> Option<(u16, &'static str)> {
        match self {
            Farewell::Peer => None,
            Farewell::Stopping => Some((1001, "the server is stopping")),
            Farewell::Unreadable => Some((1002, "what came cannot be read, or is too large")),
            Farewell::Broken => Some((1011, "the server failed; go on from the last cursor")),
            Farewell::TokenEnded => Some((4001, "the token has ended or changed")),
            Farewell::Silent => Some((4002, "no answer to a ping")),
            Farewell::Unfinished => Some((4003, "a message was not finished in time")),
            Farewell::QuotaReached => Some((4004, "what may be written in a minute is used up")),
        }
    }
}

/// A command that runs.
type Running = Pin<Box<dyn Future<Output = String> + Send>>;

/// An open socket.
struct OpenSocket {
    connection: Connection,
    socket: Socket,
    news: mpsc::Sender<News>,
    waiting: VecDeque<(Option<String>, Command)>,
    subscriptions: Vec<Subscription>,
    /// Whether anything came from the peer since the last ping.
    is_heard: bool,
    /// The last typing notice, and when it was sent.
    typed: Option<(ConversationId, bool, Time)>,
}

enum SocketStep {
    Frame(Option<Result<Message, ReceiveError>>),
    Answer(String),
    News(Option<News>),
    Beat,
    Ping,
    Stop,
}

impl Connection {
    pub async fn run(self, socket: Socket) {
        let (news, arriving) = mpsc::channel(NEWS_MAX);
        let open = OpenSocket {
            connection: self,
            socket,
            news,
            waiting: VecDeque::new(),
            subscriptions: Vec::new(),
            is_heard: true,
            typed: None,
        };
        // In a box: the future would be kept twice while the upgrade is awaited.
        Box::pin(open.converse(arriving)).await;
    }

    /// Whether the token is valid and its bearer is unchanged.
    async fn check(&self) -> Result<(), Farewell> {
        let Some(secret) = &self.secret else { return Ok(()) };
        let was = &self.asker.caller;
        match self.gateway.engine.access().authenticate(secret).await {
            Ok(Some(bearer))
                if was.principal == bearer.caller.principal && was.roles == bearer.caller.roles =>
            {
                Ok(())
            }
            Ok(Some(_) | None) => Err(Farewell::TokenEnded),
            Err(_store) => Err(Farewell::Broken),
        }
    }
}

impl OpenSocket {
    async fn converse(mut self, mut arriving: mpsc::Receiver<News>) {
        let gateway = self.connection.gateway.clone();
        let clock = gateway.engine.clock();
        let ping_every = Span::from_millis(gateway.limits.ping_ms.try_into().unwrap_or(i64::MAX));
        let mut stopping = gateway.stopping.clone();
        let (mut beat, mut ping) = (clock.sleep(BEAT), clock.sleep(ping_every));
        let mut running: Option<Running> = None;
        let farewell = loop {
            if running.is_none() {
                running = self.waiting.pop_front().map(|(id, call)| self.start(id, call));
            }
            let next = tokio::select! {
                frame = self.socket.recv() => SocketStep::Frame(frame),
                answer = finished(&mut running) => SocketStep::Answer(answer),
                news = arriving.recv() => SocketStep::News(news),
                () = &mut beat => SocketStep::Beat,
                () = &mut ping => SocketStep::Ping,
                _ = stopping.wait_for(|stopping| *stopping) => SocketStep::Stop,
            };
            let said = match next {
                SocketStep::Frame(frame) => self.hear(frame).await,
                SocketStep::Answer(answer) => {
                    running = None;
                    self.send(answer).await
                }
                SocketStep::News(news) => self.pass_on(news).await,
                SocketStep::Beat => {
                    beat = clock.sleep(BEAT);
                    self.connection.check().await
                }
                SocketStep::Ping => {
                    ping = clock.sleep(ping_every);
                    self.ping().await
                }
                SocketStep::Stop => Err(Farewell::Stopping),
            };
            if let Err(farewell) = said {
                break farewell;
            }
        };
        self.close(farewell).await;
        // Commands that were read before the peer left are still run.
        let by_peer =
            [Farewell::Peer, Farewell::Unreadable, Farewell::Unfinished, Farewell::QuotaReached];
        if by_peer.contains(&farewell) {
            if let Some(running) = running {
                running.await;
            }
            while let Some((id, call)) = self.waiting.pop_front() {
                self.start(id, call).await;
            }
        }
    }

    fn start(&self, id: Option<String>, call: Command) -> Running {
        let Connection { gateway, identity, .. } = &self.connection;
        Box::pin(call.run(id, gateway.operations.clone(), identity.clone()))
    }

    async fn hear(&mut self, frame: Option<Result<Message, ReceiveError>>) -> Result<(), Farewell> {
        self.is_heard = true;
        let Connection { gateway, number, .. } = &self.connection;
        let rate = match &frame {
            Some(Ok(Message::Close(_)) | Err(_)) | None => Ok(()),
            Some(Ok(_)) => gateway.frames.check(number, gateway.now_ms()),
        };
        if rate.is_err() {
            // What comes faster than that waits in the network.
            gateway.engine.clock().sleep(TOO_FAST_PAUSE).await;
        }
        match frame {
            Some(Ok(Message::Text(text))) => self.take(&text, rate).await,
            Some(Ok(Message::Binary(_))) => {
                let detail = "expected text frames of JSON";
                self.refuse(None, Problem::new("unsupported_media_type", detail)).await
            }
            // Pings are answered by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Close(_))) | None => Err(Farewell::Peer),
            Some(Err(ReceiveError::Unfinished)) => Err(Farewell::Unfinished),
            Some(Err(ReceiveError::QuotaReached)) => Err(Farewell::QuotaReached),
            Some(Err(ReceiveError::Unreadable(error))) => {
                tracing::debug!(%error, "a socket cannot be read");
                Err(Farewell::Unreadable)
            }
        }
    }

    async fn take(&mut self, text: &str, rate: Result<(), RetryAfter>) -> Result<(), Farewell> {
        let Connection { gateway, frame_bytes_max, .. } = &self.connection;
        if text.len() > *frame_bytes_max {
            let too_large = format!("frame: expected at most {frame_bytes_max} bytes");
            let counted = self.socket.count(text.len()).map_err(Problem::from);
            let refused = counted.err().unwrap_or(Problem::new("body_too_large", too_large));
            return self.refuse(None, refused).await;
        }
        let Frame { id, asks } = frame::read(text, &gateway.limits.json);
        let has_room = self.waiting.len() < WAITING_COMMANDS_MAX;
        if !(rate.is_ok() && has_room && matches!(asks, Ok(Asks::Command(_))))
            && let Err(reached) = self.socket.count(text.len())
        {
            return self.refuse(id, reached.into()).await;
        }
        if let Err(retry) = rate {
            return self.refuse(id, Problem::too_many_frames(retry.seconds)).await;
        }
        let asks = match asks {
            Ok(asks) => asks,
            Err(problem) => return self.refuse(id, problem).await,
        };
        let done = match asks {
            Asks::Command(call) if has_room => {
                self.waiting.push_back((id, *call));
                return Ok(());
            }
            Asks::Command(_) => {
                let detail = "too many commands of this connection are waiting";
                Err(Problem::new("overloaded", detail))
            }
            Asks::Subscribe(asked) => self.subscribe(id.clone(), asked).await,
            Asks::Unsubscribe(asked) => {
                let n_before = self.subscriptions.len();
                self.subscriptions.retain(|subscription| subscription.id != asked.of);
                match self.subscriptions.len() < n_before {
                    true => Ok(json!({})),
                    false => Err(Problem::not_found("subscription").field("of")),
                }
            }
            Asks::Typing(asked) => self.typing(asked).await.map(|()| json!({})),
            Asks::Ping => Ok(json!({})),
        };
        match done {
            Ok(body) => self.send(frame::done(id.as_deref(), body).await).await,
            Err(problem) => self.refuse(id, problem).await,
        }
    }

    async fn subscribe(
        &mut self,
        id: Option<String>,
        asked: frame::Subscribe,
    ) -> Result<serde_json::Value, Problem> {
        let expected = "an id, by which its events are told";
        let id = id.ok_or_else(|| Problem::schema_invalid("id", expected))?;
        if self.subscriptions.iter().any(|subscription| subscription.id == id) {
            let detail = "a subscription with this id exists already";
            return Err(Problem::new("already_exists", detail).field("id"));
        }
        if self.subscriptions.len() >= SUBSCRIPTIONS_MAX {
            let detail = format!("a connection has at most {SUBSCRIPTIONS_MAX} subscriptions");
            return Err(Problem::new("too_many_streams", detail));
        }
        let Connection { gateway, asker, .. } = &self.connection;
        let begun = subscription::begin(gateway, asker, id, asked, self.news.clone());
        let (subscription, cursor) = Box::pin(begun).await?;
        self.subscriptions.push(subscription);
        Ok(json!({ "cursor": cursor }))
    }

    /// Tells the other side of a conversation: the holder about the customer, or the customer about
    /// the holder. Other callers neither send nor get typing notices.
    async fn typing(&mut self, asked: TypingInput) -> Result<(), Problem> {
        let Connection { gateway, asker, .. } = &self.connection;
        let caller = &asker.caller;
        let id = spoken_of(caller, asked.conversation.as_deref())?;
        let stream = stream(&caller.teamspace, id);
        let nothing = || Problem::not_found("conversation");
        let state = gateway.engine.read().current(&stream).await?.ok_or_else(nothing)?;
        let State::Conversation(conversation) = state.as_ref() else { return Err(nothing()) };
        let (from, whom) = match conversation.side(caller).ok_or_else(nothing)? {
            Side::Customer => (From::Customer, Who::Agent(conversation.holder.clone())),
            Side::Agent(agent) if *agent == conversation.holder => {
                let shown = identity(gateway, &caller.teamspace, agent).await?;
                (From::Agent(shown), Who::Customer)
            }
            Side::Agent(_) | Side::Overseer => {
                let detail = "only the customer and the holder are seen typing";
                return Err(Problem::new("not_allowed", detail));
            }
        };
        let now = gateway.engine.clock().now();
        let is_repeated = self.typed.is_some_and(|(last, on, at)| {
            (last, on) == (id, asked.on) && (at..at.plus(TYPING_EVERY)).contains(&now)
        });
        if conversation.closed.is_some() {
            return Ok(());
        }
        // A bot that types has more time to answer, also by notices that are not passed on: its
        // limit may be shorter than their distance. Most give it no time, and write nothing.
        let is_sign = asked.on && conversation.wait.extended(now).is_some();
        if whom == Who::Customer && is_sign {
            let command = ConversationCommand::ShowProgress { epoch: Some(conversation.epoch) };
            let command = step::Command::Conversation(command);
            // If it has changed hands meanwhile, the notice is only late.
            match gateway.engine.submit(caller, stream.clone(), command, None).await {
                Ok(_) | Err(SubmitError::Rejected(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if is_repeated {
            return Ok(());
        }
        let frame = json!({ "typing": {
            "conversation": id.to_string(),
            "from": from,
            "on": asked.on,
            "ttl_ms": TYPING_KEPT.as_millis(),
        } });
        gateway.typing.tell(&stream, &whom, &frame.to_string());
        self.typed = Some((id, asked.on, now));
        Ok(())
    }

    async fn pass_on(&mut self, news: Option<News>) -> Result<(), Farewell> {
        self.connection.check().await?;
        match news {
            Some(News::Frames(frames, _unread)) => {
                for frame in frames {
                    self.socket.feed(Message::Text(frame)).await?;
                }
                Ok(self.socket.flush().await?)
            }
            Some(News::Broken) => Err(Farewell::Broken),
            None => unreachable!("the connection itself can be sent news"),
        }
    }

    async fn ping(&mut self) -> Result<(), Farewell> {
        if !std::mem::take(&mut self.is_heard) {
            return Err(Farewell::Silent);
        }
        Ok(self.socket.ping().await?)
    }

    async fn refuse(&mut self, id: Option<String>, problem: Problem) -> Result<(), Farewell> {
        self.send(frame::refusal(id.as_deref(), problem).await).await
    }

    async fn send(&mut self, frame: String) -> Result<(), Farewell> {
        Ok(self.socket.send(Message::Text(frame.into())).await?)
    }

    async fn close(&mut self, farewell: Farewell) {
        self.subscriptions.clear();
        tracing::debug!(?farewell, "a socket closes");
        self.socket.close(farewell.words()).await;
    }
}

/// The answer of the command that runs, if one does.
async fn finished(running: &mut Option<Running>) -> String {
    match running {
        Some(running) => running.await,
        None => std::future::pending().await,
    }
}

/// A customer has one conversation, and need not name it.
fn spoken_of(caller: &Caller, named: Option<&str>) -> Result<ConversationId, Problem> {
    if let Some(named) = named {
        return conversation_id(named);
    }
    let own = match &caller.principal {
        Principal::Customer(name) => conversation_of(name),
        Principal::Agent(_) | Principal::Operator(_) | Principal::System => None,
    };
    own.ok_or_else(|| Problem::schema_invalid("conversation", "the id of a conversation"))
}
