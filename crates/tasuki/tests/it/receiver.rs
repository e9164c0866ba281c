//! An agent on a socket of its own: the calls it received, and its answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// How an agent behaves when it is called.
#[derive(Debug, Clone)]
pub enum Answer {
    Status(u16),
    /// 503, to be tried again after so many seconds.
    Busy(u32),
    Redirect(String),
    /// 200 with this body.
    Says(String),
    /// The same, once it is released.
    Late(Arc<Notify>, String),
    Silence,
}

/// Gives its answers in order; the last one stays.
pub struct Receiver {
    pub url: String,
    seen: watch::Receiver<Vec<Seen>>,
    answers: Arc<Mutex<Vec<Answer>>>,
    listening: JoinHandle<()>,
}

#[derive(Debug, Clone)]
pub struct Seen {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Seen {
    pub fn data(&self) -> Value {
        serde_json::from_str::<Value>(&self.body).expect("JSON")["data"].take()
    }
}

impl Receiver {
    pub async fn answering(answers: &[Answer]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a port"), answers)
    }

    pub fn on(listener: TcpListener, answers: &[Answer]) -> Self {
        let url = format!("http://{}/wake?of=bob", listener.local_addr().expect("an address"));
        let (kept, seen) = watch::channel(Vec::new());
        let kept = Arc::new(kept);
        let answers = Arc::new(Mutex::new(answers.to_vec()));
        let given = Arc::clone(&answers);
        let listening = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let (kept, given) = (Arc::clone(&kept), Arc::clone(&given));
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    let answer = next(&given);
                    kept.send_modify(|seen| seen.push(request));
                    give(stream, answer).await;
                });
            }
        });
        Self { url, seen, answers, listening }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.borrow().clone()
    }

    pub fn n_seen(&self) -> usize {
        self.seen.borrow().len()
    }

    /// Waits until it was called this often.
    pub async fn called(&self, n_calls: usize) -> Vec<Seen> {
        let mut seen = self.seen.clone();
        seen.wait_for(|seen| seen.len() >= n_calls).await.expect("it listens").clone()
    }

    /// Applies from now on.
    pub fn answers(&self, answers: &[Answer]) {
        *self.answers.lock().expect("nothing panics in here") = answers.to_vec();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn next(answers: &Mutex<Vec<Answer>>) -> Answer {
    let mut answers = answers.lock().expect("nothing panics in here");
    if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
}

async fn give(mut stream: TcpStream, answer: Answer) {
    let says =
        |body: &str| format!("HTTP/1.1 200 x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let answer = match answer {
        Answer::Status(code) => format!("HTTP/1.1 {code} x\r\ncontent-length: 0\r\n\r\n"),
        Answer::Busy(seconds) => {
            format!("HTTP/1.1 503 x\r\nretry-after: {seconds}\r\ncontent-length: 0\r\n\r\n")
        }
        Answer::Redirect(to) => {
            format!("HTTP/1.1 307 x\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
        }
        Answer::Says(body) => says(&body),
        Answer::Late(go, body) => {
            go.notified().await;
            says(&body)
        }
        Answer::Silence => std::future::pending().await,
    };
    // The caller may be gone already.
    let _ = stream.write_all(answer.as_bytes()).await;
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some((head, body)) = std::str::from_utf8(&bytes).ok()?.split_once("\r\n\r\n") {
            let mut lines = head.lines();
            let line = lines.next().expect("a request has a line").to_owned();
            let headers = lines.map(|line| line.split_once(": ").expect("a header"));
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let headers: BTreeMap<_, _> = headers.collect();
            if body.len() == headers["content-length"].parse::<usize>().expect("a number") {
                return Some(Seen { line, headers, body: body.to_owned() });
            }
        }
        let mut more = [0; 4_096];
        let n_read = stream.read(&mut more).await.ok().filter(|n_read| *n_read > 0)?;
        bytes.extend_from_slice(&more[..n_read]);
    }
}
