//! Rings for a person, and news of the colleagues that this person asked in, as they happen. The
//! stream also marks the person as present. After a break it resumes at its cursor.

use anyhow::{Context, Result, bail};
use axum::body::Body;
use engine::ports::clock::{Clock, SystemClock};
use http_body_util::BodyExt;
use protocol::time::{Span, Time};
use serde_json::Value;
use tokio::sync::mpsc;

use super::colleague::Colleague;
use crate::client::{Answer, Call, Client, Refused};

const TRY_AGAIN: Span = Span::from_millis(1_000);

/// Rings that were not handled yet. A person is never offered more.
const RINGS_MAX: usize = 64;

/// News for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Rings(Ring),
    /// News of a colleague that this person asked in.
    Colleague(Colleague),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    pub transfer: String,
    /// Until when, if that is known.
    pub until: Option<Time>,
}

#[derive(Debug)]
pub struct Rings {
    news: mpsc::Receiver<Result<News>>,
}

impl Rings {
    /// No ring after this call is missed.
    pub async fn open(client: &Client, me: &str) -> Result<Self> {
        let mut stream = RingStream { client: client.clone(), me: me.to_owned(), cursor: None };
        let body = stream.open().await?;
        let (sender, news) = mpsc::channel(RINGS_MAX);
        tokio::spawn(async move {
            let mut body = Some(body);
            loop {
                let opened = match body.take() {
                    Some(body) => Ok(body),
                    None => stream.open().await,
                };
                let followed = match opened {
                    Ok(body) => stream.follow(body, &sender).await,
                    Err(error) => Err(error),
                };
                if let Err(error) = followed
                    && error.downcast_ref::<Refused>().is_some_and(|it| it.code != "stopping")
                {
                    // The receiver may be gone; then the error is not needed.
                    let _ = sender.send(Err(error)).await;
                    return;
                }
                SystemClock.sleep(TRY_AGAIN).await;
            }
        });
        Ok(Self { news })
    }

    pub async fn next(&mut self) -> Result<News> {
        self.news.recv().await.context("the stream of what rings has ended")?
    }
}

struct RingStream {
    client: Client,
    me: String,
    cursor: Option<String>,
}

impl RingStream {
    async fn open(&self) -> Result<Body> {
        let cursor = self.cursor.iter().map(|cursor| ("last-event-id", cursor.clone()));
        let headers: Vec<_> = cursor.collect();
        let response = self.client.open(&Call::get("/v1/events?kind=transfer"), &headers).await?;
        let status = response.status().as_u16();
        let body = response.into_body();
        if status != 200 {
            let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            Answer { status, body, is_json: true }.success()?;
            bail!("the server answered with status {status}");
        }
        Ok(body)
    }

    /// Reads until the stream breaks off.
    async fn follow(&mut self, mut body: Body, told: &mpsc::Sender<Result<News>>) -> Result<()> {
        let mut waiting = String::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.context("the stream broke off")?.into_data() else { continue };
            waiting.push_str(&String::from_utf8_lossy(&data));
            while let Some(end) = waiting.find("\n\n") {
                let block: String = waiting.drain(..end + 2).collect();
                if let Some(news) = self.read(&block) {
                    // The receiver may be gone; the process ends then.
                    let _ = told.send(Ok(news)).await;
                }
            }
        }
        Ok(())
    }

    /// The news for this person in a block, if any; moves the cursor.
    fn read(&mut self, block: &str) -> Option<News> {
        let field = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        if let Some(id) = field("id") {
            self.cursor = Some(id.to_owned());
        }
        let entry: Value = serde_json::from_str(field("data")?).ok()?;
        let data = &entry["data"];
        if entry["event"] == "transfer.ringing" && data["agent"] == *self.me {
            let until = data["until"].as_str().and_then(|at| at.parse().ok());
            return Some(News::Rings(Ring {
                transfer: data["transfer"].as_str()?.to_owned(),
                until,
            }));
        }
        Colleague::read(&entry, &self.me).map(News::Colleague)
    }
}
