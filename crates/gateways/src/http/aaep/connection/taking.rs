//! How a connection handles one message of its peer.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;

use aaep::handshake::{
    Handshake, Reason, Rejected, Request, is_handshake, is_request, read_handshake,
};
use aaep::negotiate;
use engine::aaep::announce::session_stream;
use engine::aaep::listening::Resume;
use engine::aaep::sessions::{DECISION_WAIT_MAX, Question};
use engine::ports::store::StoreError;
use protocol::caller::Caller;
use protocol::ids::SubscriptionId;
use protocol::session::event::Said as Event;

use crate::http::aaep::connection::words::{Asking, asking, recorded, refused};
use crate::http::aaep::connection::{
    ASKING_MAX, Announced, Connection, ConnectionState, Farewell, MESSAGE_BYTES_MAX, Pending, Said,
    Subscribed, Wire,
};
use crate::http::aaep::critical::count_critical;
use crate::http::aaep::listening::refused as flawed;
use crate::http::aaep::sessions::{events_in, session_of};
use crate::http::aaep::state::Aaep;
use crate::http::shared::cursors;
use crate::http::shared::problem::Problem;

/// The messages to send, or why the message is refused, or why the connection ends.
type TakenReply = Result<Result<Vec<String>, Problem>, Farewell>;

impl<W: Wire> ConnectionState<W> {
    pub async fn take(&mut self, text: String) -> Said {
        self.n_messages += 1;
        let number = self.n_messages;
        let gateway = &self.connection.gateway;
        let (caller, now) = (&self.connection.asker.caller, gateway.engine.clock().now());
        let usage = gateway.engine.usage();
        if let Err(reached) = usage.send_more(caller, text.len(), text.len(), now) {
            return Ok(vec![refused(number, reached.into())]);
        }
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(0);
        if let Err(retry) = gateway.frames.check(&self.id, now_ms) {
            return Ok(vec![refused(number, Problem::too_many_frames(retry.seconds))]);
        }
        if text.len() > MESSAGE_BYTES_MAX {
            let detail = format!("message: expected at most {MESSAGE_BYTES_MAX} bytes");
            let problem = Problem::new("body_too_large", detail).field("message");
            return Ok(vec![refused(number, problem)]);
        }
        self.connection.check().await?;
        let answered = match is_handshake(&text) {
            true => match read_handshake(&text) {
                Ok(message) => self.answer(message).await?,
                Err(flaws) if is_request(&text) => {
                    Ok(vec![Handshake::Rejected(Rejected::unreadable(&flaws)).write()])
                }
                Err(flaws) => Err(flawed(flaws)),
            },
            false => self.announce(number, &text).await.map(|()| Vec::new()),
        };
        Ok(answered.unwrap_or_else(|problem| vec![refused(number, problem)]))
    }

    /// Passes events to the engine. The peer is told later, in the same order, whether they are
    /// recorded.
    async fn announce(&mut self, number: u64, text: &str) -> Result<(), Problem> {
        let caller = self.connection.asker.clone().member()?.caller;
        let events = events_in(text.as_bytes())?;
        let session = session_of(&events)?;
        let counted = count_critical(&self.connection.gateway, &caller, &events)?;
        let asked = |event: &Event| asking(&session, event.text());
        let questions = events.iter().filter_map(asked).collect();
        let (n_events, n_bytes) = (events.len(), text.len());
        let engine = self.connection.gateway.engine.clone();
        self.announced_of.push_back(session.clone());
        self.announcing_bytes += n_bytes;
        let mut announcing: Pending<Announced> = Box::pin(async move {
            let result = engine.sessions().announce(&caller, &session, events).await.map(|_| ());
            if result.is_err() {
                counted.give_back();
            }
            Announced { number, session, n_events, n_bytes, questions, result }
        });
        // The first poll queues it in its session before the next message is read.
        let done = poll_fn(|context| Poll::Ready(announcing.as_mut().poll(context))).await;
        match done {
            Poll::Ready(done) => self.announcing.push_back(Box::pin(std::future::ready(done))),
            Poll::Pending => self.announcing.push_back(announcing),
        }
        if !self.has_room() {
            let Connection { gateway, asker, .. } = &self.connection;
            let sessions: BTreeSet<_> = self.announced_of.iter().collect();
            sessions
                .into_iter()
                .for_each(|one| gateway.engine.sessions().hurry(&asker.caller, one));
        }
        Ok(())
    }

    pub fn announced(&mut self, done: Announced) -> Vec<String> {
        let Announced { number, session, n_events, n_bytes, questions, result } = done;
        self.announced_of.pop_front();
        self.announcing_bytes -= n_bytes;
        if let Err(error) = result {
            return vec![refused(number, error.into())];
        }
        for asking in questions {
            if self.asking.len() < ASKING_MAX {
                self.asking.push(self.settling(asking));
            }
        }
        vec![recorded(number, &session, n_events)]
    }

    /// Ends when a question is settled.
    fn settling(&self, asking: Asking) -> Pending<Result<(Asking, Question), StoreError>> {
        let engine = self.connection.gateway.engine.clone();
        let stream = session_stream(&self.connection.asker.caller, &asking.session);
        Box::pin(async move {
            loop {
                let token = &asking.reply_token;
                let found =
                    engine.sessions().question_settled(&stream, token, DECISION_WAIT_MAX).await?;
                match found {
                    Some(Question::Open { .. }) => {}
                    Some(question) => return Ok((asking, question)),
                    None => return Ok((asking, Question::Withdrawn)),
                }
            }
        })
    }

    async fn answer(&mut self, message: Handshake) -> TakenReply {
        let Connection { gateway, asker, .. } = &self.connection;
        let (engine, caller) = (&gateway.engine, &asker.caller);
        match message {
            Handshake::Request(request) => self.subscribe(request).await,
            Handshake::Renegotiate(asked) => {
                match engine.listeners().renegotiate(caller, &gateway.host(), &asked).await {
                    Ok(Ok(accepted)) => Ok(Ok(vec![Handshake::Accepted(accepted).write()])),
                    Ok(Err(rejected)) => {
                        let is_own = self.is_own(&asked.subscription_id);
                        self.reject(rejected, is_own).await.map(Ok)
                    }
                    Err(error) => Ok(Err(error.into())),
                }
            }
            Handshake::Close(close) => match engine.listeners().close(caller, &close).await {
                Ok(()) if self.is_own(&close.subscription_id) => {
                    self.subscription = None;
                    Err(Farewell::Left)
                }
                Ok(()) => Ok(Ok(Vec::new())),
                Err(error) => Ok(Err(error.into())),
            },
            reply @ (Handshake::ConfirmationReply(_) | Handshake::ClarificationReply(_)) => {
                // The next events of the session show whether the answer counted.
                Ok(engine
                    .listeners()
                    .reply(caller, &reply)
                    .await
                    .map(|()| Vec::new())
                    .map_err(Problem::from))
            }
            Handshake::Accepted(_) | Handshake::Rejected(_) => {
                let expected = "an event, a subscription.request, .renegotiate or .close, or a \
                                reply";
                Ok(Err(Problem::schema_invalid("type", expected)))
            }
        }
    }

    async fn subscribe(&mut self, request: Request) -> TakenReply {
        if self.subscription.is_some() {
            let rejected = Rejected {
                reason_code: Reason::RateLimit,
                reason_message: "this connection has a subscription; renegotiate it, or open \
                                 another connection"
                    .to_owned(),
                retry_after_seconds: None,
                alternative_manifest_uri: None,
            };
            return Ok(Ok(vec![Handshake::Rejected(rejected).write()]));
        }
        let scope = negotiate::scope(&request.capabilities).unwrap_or_default();
        let Connection { gateway, asker, .. } = &self.connection;
        let resume = |text: &str| resume(gateway, &asker.caller, text);
        let resume = match scope.resume_after.as_deref().map(resume).transpose() {
            Ok(resume) => resume.unwrap_or(Resume::No),
            Err(problem) => return Ok(Err(problem)),
        };
        let (engine, caller) = (&gateway.engine, &asker.caller);
        let accepted = match engine.listeners().subscribe(caller, &gateway.host(), request).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(rejected)) => return self.reject(rejected, true).await.map(Ok),
            Err(error) => return Ok(Err(error.into())),
        };
        let id: SubscriptionId = accepted.subscription_id.parse().expect("it was just made");
        let goes_on = resume != Resume::No;
        let mut listening =
            engine.listeners().listen(caller, &id, resume).await?.ok_or(Farewell::Over)?;
        if goes_on {
            listening.ask_again().await?;
        }
        let tells_places = scope.places;
        let own = Subscribed { id, listening, tells_places };
        let mut said = vec![Handshake::Accepted(accepted).write()];
        // A listener that loses its connection before the first event resumes here.
        said.extend(own.place(gateway, caller).filter(|_| tells_places));
        self.subscription = Some(Box::new(own));
        Ok(Ok(said))
    }

    /// A connection whose subscription is rejected ends.
    async fn reject(&mut self, rejected: Rejected, is_own: bool) -> Said {
        let said = vec![Handshake::Rejected(rejected).write()];
        if !is_own {
            return Ok(said);
        }
        self.subscription = None;
        self.say(said).await?;
        Err(Farewell::Rejected)
    }

    fn is_own(&self, id: &str) -> bool {
        self.subscription.as_ref().is_some_and(|own| own.id.as_str() == id)
    }
}

fn resume(gateway: &Aaep, caller: &Caller, text: &str) -> Result<Resume, Problem> {
    if text.starts_with("evt_") {
        return Ok(Resume::AfterEvent(text.to_owned()));
    }
    let given = ("capabilities.tasuki.resume_after", text);
    cursors::announced_after(gateway, &caller.teamspace, given).map(Resume::After)
}
