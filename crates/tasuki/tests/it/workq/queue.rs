//! A small work queue over a real socket that speaks the protocol of `docs/workq.md`, with every
//! way in which one can fail to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How the queue behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Sound,
    Failing,
    Redirecting,
    /// Accepts the call and never answers.
    Silent,
    /// Answers a letter at a time, for ever.
    Dripping,
    Garbage,
    NotHttp,
    Endless,
    BreaksOff,
    OtherId,
    OtherVersion,
    OtherItem,
    /// Confirms a claim and keeps nothing.
    Forgetful,
    /// Confirms a claim for another owner.
    Confused,
    Refusing,
    ResultAndError,
    KeyTwice,
    NoOwner,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub owner: Option<String>,
    pub status: String,
}

#[derive(Debug)]
pub struct Queue {
    pub url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    mode: Mutex<Mode>,
    items: Mutex<BTreeMap<String, Item>>,
    /// The called methods, with their credentials.
    calls: Mutex<Vec<(String, Option<String>)>>,
    called: Notify,
}

impl Queue {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared {
            mode: Mutex::new(Mode::Sound),
            items: Mutex::new(BTreeMap::new()),
            calls: Mutex::new(Vec::new()),
            called: Notify::new(),
        });
        let serving = {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let shared = Arc::clone(&shared);
                    tokio::spawn(async move { shared.serve(stream).await });
                }
            })
        };
        Self { url: format!("http://{address}/rpc"), shared, serving }
    }

    pub fn behave(&self, mode: Mode) {
        *locked(&self.shared.mode) = mode;
    }

    pub fn put(&self, item: &str, owner: &str) {
        let kept = Item { owner: Some(owner.to_owned()), status: "claimed".to_owned() };
        locked(&self.shared.items).insert(item.to_owned(), kept);
    }

    pub fn item(&self, item: &str) -> Option<Item> {
        locked(&self.shared.items).get(item).cloned()
    }

    pub fn owner(&self, item: &str) -> Option<String> {
        self.item(item).and_then(|item| item.owner)
    }

    /// The calls since the last look.
    pub fn calls(&self) -> Vec<(String, Option<String>)> {
        std::mem::take(&mut *locked(&self.shared.calls))
    }

    pub async fn until_called(&self) {
        self.shared.called.notified().await;
    }

    /// Closes the address.
    pub async fn close(&mut self) {
        self.serving.abort();
        // The listener is dropped with its task.
        let _ = (&mut self.serving).await;
    }
}

impl Shared {
    async fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        let (mut length, mut credential, mut line) = (0, None, String::new());
        loop {
            line.clear();
            stream.read_line(&mut line).await.ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line.trim_end().is_empty() { break } else { continue }
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => credential = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.ok()?;
        let request: Value = serde_json::from_slice(&body).ok()?;
        let method = request["method"].as_str()?.to_owned();
        locked(&self.calls).push((method, credential));
        self.called.notify_one();
        let mode = *locked(&self.mode);
        let mut stream = stream.into_inner();
        if mode == Mode::Silent {
            std::future::pending::<()>().await;
        }
        if mode == Mode::Dripping {
            write(&mut stream, "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await?;
            let mut beat = tokio::time::interval(std::time::Duration::from_millis(50));
            loop {
                beat.tick().await;
                write(&mut stream, " ").await?;
            }
        }
        if mode == Mode::Endless {
            write(&mut stream, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await?;
            loop {
                write(&mut stream, &"[".repeat(4096)).await?;
            }
        }
        write(&mut stream, &self.answer(mode, &request)).await
    }

    fn answer(&self, mode: Mode, request: &Value) -> String {
        let http = |status: &str, body: &str| {
            let length = body.len();
            format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}")
        };
        let id = &request["id"];
        let (result, error) = match (mode, self.call(request, mode)) {
            (Mode::Refusing, _) if request["method"] == "workq.claim" => {
                (None, Some(json!({ "code": -32_000, "message": "<b>not for you</b>" })))
            }
            (_, Ok(result)) => (Some(result), None),
            (_, Err(code)) => (None, Some(json!({ "code": code, "message": "no" }))),
        };
        let mut answer = json!({ "jsonrpc": "2.0", "id": id });
        if let Some(result) = result {
            answer["result"] = result;
        }
        if let Some(error) = error {
            answer["error"] = error;
        }
        match mode {
            Mode::Failing => http("500 Internal Server Error", "{}"),
            Mode::Redirecting => {
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: /rpc\r\ncontent-length: 0\r\n\r\n"
                    .to_owned()
            }
            Mode::Garbage => http("200 OK", "\u{0}\u{1b}]0;owned\u{7}<html>"),
            Mode::NotHttp => "220 mail.example ESMTP\r\n".to_owned(),
            Mode::BreaksOff => {
                "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"jsonrpc\"".to_owned()
            }
            Mode::KeyTwice => http("200 OK", &answer.to_string().replacen('{', r#"{"id":0,"#, 1)),
            Mode::OtherId => {
                answer["id"] = json!(4711);
                http("200 OK", &answer.to_string())
            }
            Mode::OtherVersion => {
                answer["jsonrpc"] = json!("1.0");
                http("200 OK", &answer.to_string())
            }
            Mode::OtherItem => {
                answer["result"]["item_id"] = json!("another");
                http("200 OK", &answer.to_string())
            }
            Mode::NoOwner => {
                answer["result"] = json!({ "item_id": request["params"]["item_id"] });
                http("200 OK", &answer.to_string())
            }
            Mode::ResultAndError => {
                answer["error"] = json!({ "code": 1, "message": "but" });
                http("200 OK", &answer.to_string())
            }
            Mode::Confused if request["method"] == "workq.claim" => {
                answer["result"]["owner"] = json!("mallory");
                http("200 OK", &answer.to_string())
            }
            Mode::Sound
            | Mode::Silent
            | Mode::Dripping
            | Mode::Endless
            | Mode::Forgetful
            | Mode::Confused
            | Mode::Refusing => http("200 OK", &answer.to_string()),
        }
    }

    /// The three methods; `Err` is the code of an error.
    fn call(&self, request: &Value, mode: Mode) -> Result<Value, i64> {
        let params = &request["params"];
        let name = params["item_id"].as_str().ok_or(-32_602)?;
        let mut items = locked(&self.items);
        let item = items.get_mut(name).ok_or(-32_004)?;
        let shown =
            |item: &Item| json!({ "item_id": name, "owner": item.owner, "status": item.status });
        let is_owner =
            |agent: &Value| item.owner.is_none() || item.owner.as_deref() == agent.as_str();
        match request["method"].as_str() {
            Some("workq.get") => Ok(shown(item)),
            Some("workq.claim") => {
                if mode == Mode::Refusing || !is_owner(&params["from_agent"]) {
                    return Err(-32_009);
                }
                let owner = params["to_agent"].as_str().map(str::to_owned);
                let claimed = Item { owner, status: "claimed".to_owned() };
                if mode != Mode::Forgetful {
                    *item = claimed.clone();
                }
                Ok(shown(&claimed))
            }
            Some("workq.release") => {
                if !is_owner(&params["agent"]) {
                    return Err(-32_009);
                }
                let status = params["status"].as_str().unwrap_or("open").to_owned();
                *item = Item { owner: None, status };
                Ok(shown(item))
            }
            Some(_) | None => Err(-32_601),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics in here")
}

async fn write(stream: &mut TcpStream, text: &str) -> Option<()> {
    stream.write_all(text.as_bytes()).await.ok()
}
