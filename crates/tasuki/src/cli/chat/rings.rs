//! What rings for a person, as it happens. The stream is also what shows that they are there. Comes
//! back by itself after a break, from where it was.

use anyhow::{Context, Result, bail};
use axum::body::Body;
use engine::clock::{Clock, SystemClock};
use http_body_util::BodyExt;
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client::{Answer, Call, Client, Refused};

const TRY_AGAIN: Span = Span::from_millis(1_000);

/// Rings that were not looked at yet. More than one person takes is not offered.
const RINGS_MAX: usize = 64;

#[derive(Debug)]
pub struct Rings {
    rings: mpsc::Receiver<Result<String>>,
}

impl Rings {
    /// From here on none is missed.
    pub async fn open(client: &Client, me: &str) -> Result<Self> {
        let mut stream = Stream { client: client.clone(), me: me.to_owned(), cursor: None };
        let body = stream.open().await?;
        let (sender, rings) = mpsc::channel(RINGS_MAX);
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
                    // Whoever listened may have gone; then nobody needs to know.
                    let _ = sender.send(Err(error)).await;
                    return;
                }
                SystemClock.sleep(TRY_AGAIN).await;
            }
        });
        Ok(Self { rings })
    }

    /// The next transfer that rings.
    pub async fn next(&mut self) -> Result<String> {
        self.rings.recv().await.context("the stream of what rings has ended")?
    }
}

struct Stream {
    client: Client,
    me: String,
    cursor: Option<String>,
}

impl Stream {
    async fn open(&self) -> Result<Body> {
        let cursor = self.cursor.iter().map(|cursor| ("last-event-id", cursor.clone()));
        let headers: Vec<_> = cursor.collect();
        let response = self.client.open(&Call::get("/v1/events?kind=transfer"), &headers).await?;
        let status = response.status().as_u16();
        let body = response.into_body();
        if status != 200 {
            let bytes = body.collect().await.context("the answer broke off")?.to_bytes();
            let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            Answer { status, body }.success()?;
            bail!("the server answered with status {status}");
        }
        Ok(body)
    }

    /// Until it breaks off.
    async fn follow(&mut self, mut body: Body, rings: &mpsc::Sender<Result<String>>) -> Result<()> {
        let mut waiting = String::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.context("the stream broke off")?.into_data() else { continue };
            waiting.push_str(&String::from_utf8_lossy(&data));
            while let Some(end) = waiting.find("\n\n") {
                let block: String = waiting.drain(..end + 2).collect();
                if let Some(transfer) = self.read(&block) {
                    // Whoever listened may have gone; the process ends then.
                    let _ = rings.send(Ok(transfer)).await;
                }
            }
        }
        Ok(())
    }

    /// The transfer, if it is a ring for us; and our place in the stream.
    fn read(&mut self, block: &str) -> Option<String> {
        let field = |name: &str| {
            let mut lines = block.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        if let Some(id) = field("id") {
            self.cursor = Some(id.to_owned());
        }
        let entry: Value = serde_json::from_str(field("data")?).ok()?;
        let is_ring = entry["event"] == "transfer.ringing" && entry["data"]["agent"] == *self.me;
        is_ring.then(|| entry["data"]["transfer"].as_str().map(str::to_owned))?
    }
}
