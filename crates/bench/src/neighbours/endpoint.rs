//! Endpoints on this machine: one that takes deliveries and notes when they come, and one that
//! accepts connections and never answers.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::Time;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::http::is_whole;

/// Connections that the silent endpoint keeps open.
const KEPT_MAX: usize = 4_096;

/// An event that was delivered.
#[derive(Debug, Clone)]
pub struct Delivered {
    pub name: String,
    /// Its stream, such as `handoff/<id>`.
    pub subject: String,
    /// When the server recorded it.
    pub recorded: Time,
    pub arrived: Time,
}

/// Takes every delivery. Listens until its runtime ends.
#[derive(Debug, Clone)]
pub struct Receiver {
    pub url: String,
    delivered: Arc<Mutex<Vec<Delivered>>>,
}

impl Receiver {
    pub async fn listen() -> Result<Self> {
        let (listener, url) = bind().await?;
        let delivered = Arc::<Mutex<Vec<Delivered>>>::default();
        let kept = Arc::clone(&delivered);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                // The server may break a connection off, and tries again.
                tokio::spawn(async move { take(stream, &kept).await.unwrap_or_default() });
            }
        });
        Ok(Self { url, delivered })
    }

    pub fn delivered(&self) -> Vec<Delivered> {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where calls go unanswered. Listens until its runtime ends.
pub async fn silent() -> Result<String> {
    let (listener, url) = bind().await?;
    tokio::spawn(async move {
        let mut kept = std::collections::VecDeque::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push_back(stream);
            if kept.len() > KEPT_MAX {
                kept.pop_front();
            }
        }
    });
    Ok(url)
}

async fn bind() -> Result<(TcpListener, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen")?;
    let url = format!("http://{}/in", listener.local_addr()?);
    Ok((listener, url))
}

async fn take(mut stream: TcpStream, delivered: &Mutex<Vec<Delivered>>) -> Result<()> {
    let mut request = Vec::new();
    loop {
        request.clear();
        while !is_whole(&request) {
            if stream.read_buf(&mut request).await? == 0 {
                return Ok(());
            }
        }
        let arrived = SystemClock.now();
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").context("a request has a head")?.1;
        let event: Value = serde_json::from_str(body)?;
        let field = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let recorded = field("time").parse().context("an event has a time")?;
        let one = Delivered { name: field("type"), subject: field("subject"), recorded, arrived };
        delivered.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await?;
    }
}
