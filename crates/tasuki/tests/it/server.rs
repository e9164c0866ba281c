//! A real server for tests: the built executable in a process of its own, on its own folder and
//! port, and the few calls that scenarios are written with.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Mutex;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tasuki::client::{Answer, Call, Client, Identity};
use tempfile::TempDir;

/// A server, stopped when dropped.
#[derive(Debug)]
pub struct Server {
    child: Mutex<Child>,
    log: Mutex<Log>,
    pub url: String,
    pub data: PathBuf,
    /// The lines of its log before `ready`.
    pub said_at_start: Vec<String>,
    _folder: Option<TempDir>,
}

#[derive(Debug)]
enum Log {
    Growing(JoinHandle<Vec<Value>>),
    Complete(Vec<Value>),
}

impl Server {
    /// A server on a new folder.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        Self::start_on(&data, |_| {}).owning(folder)
    }

    /// The folder goes with the server.
    pub fn owning(self, folder: TempDir) -> Self {
        let mut server = self;
        server._folder = Some(folder);
        server
    }

    /// A server on a given folder; `change` may add flags or environment.
    pub fn start_on(data: &Path, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().expect("the executable starts");
        let stderr = child.stderr.take().expect("stderr is piped");
        let mut lines = BufReader::new(stderr).lines();
        let mut seen = Vec::new();
        let url = loop {
            let line = lines
                .next()
                .unwrap_or_else(|| panic!("the server ended before it was ready: {seen:#?}"))
                .expect("stderr is text");
            let entry: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
            if entry["message"] == "ready" {
                break entry["url"].as_str().expect("ready names the URL").to_owned();
            }
            seen.push(line);
        };
        // The output must be read, or the server blocks when the pipe is full.
        let parse = |line: String| serde_json::from_str(&line).ok();
        let reading =
            std::thread::spawn(move || lines.map_while(Result::ok).filter_map(parse).collect());
        let log = Mutex::new(Log::Growing(reading));
        crate::hidden_places::remember(data);
        let (child, data, said_at_start) = (Mutex::new(child), data.to_owned(), seen);
        Self { child, log, url, data, said_at_start, _folder: None }
    }

    /// `host:port`, for raw connections.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// A client without a credential.
    pub fn anonymous(&self) -> Client {
        Client::network(&self.url, None).expect("the URL is one")
    }

    pub fn with_token(&self, token: &str) -> Client {
        let token = Some(token.to_owned());
        self.anonymous().with_identity(Identity { token, ..Identity::default() })
    }

    /// A token made in the documented way, by the command line, while the server runs.
    /// An agent without another kind is declared as a worker, which can be given conversations.
    pub fn token(&self, agent: &str, more: &[&str]) -> String {
        let create = |more: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
            command.args(["token", "create", "--agent", agent, "--data"]).arg(&self.data);
            command.args(more).output().expect("the executable runs")
        };
        let worker = || create(&[more, &["--kind", "worker"]].concat());
        let declared = (!more.contains(&"--kind")).then(worker);
        // A known agent of another kind keeps it.
        let declared = declared.filter(|output| output.status.success());
        let output = declared.unwrap_or_else(|| create(more));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("a token is text").trim().to_owned()
    }

    /// An agent with a token of its own.
    pub fn agent(&self, agent: &str) -> Client {
        self.with_token(&self.token(agent, &[]))
    }

    pub fn pid(&self) -> u32 {
        self.child.lock().expect("nothing panics while holding the child").id()
    }

    /// What the process has in memory.
    pub fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(path).expect("the server lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }

    /// Its log from `ready` to its end, for which this waits.
    pub fn log(&self) -> Vec<Value> {
        let mut log = self.log.lock().expect("nothing panics while holding the log");
        let lines = match std::mem::replace(&mut *log, Log::Complete(Vec::new())) {
            Log::Growing(reading) => reading.join().expect("reading lines does not panic"),
            Log::Complete(lines) => lines,
        };
        *log = Log::Complete(lines.clone());
        lines
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        let mut child = self.child.lock().expect("nothing panics while holding the child");
        child.try_wait().expect("the child can be waited for")
    }

    /// SIGKILL, without a clean stop.
    pub fn kill(&self) {
        let mut child = self.child.lock().expect("nothing panics while holding the child");
        // It may be dead already, which is fine.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// SIGTERM, and its exit code.
    pub fn stop(&self) -> Option<i32> {
        let pid = i32::try_from(self.pid()).expect("pids are small");
        let pid = rustix::process::Pid::from_raw(pid).expect("a pid is not 0");
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let mut child = self.child.lock().expect("nothing panics while holding the child");
        child.wait().expect("the child can be waited for").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A server that must refuse to start on a folder: its output and exit status.
pub fn refused_start(data: &Path, change: impl FnOnce(&mut Command)) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--data"]).arg(data);
    change(&mut command);
    command.stdin(Stdio::null()).output().expect("the executable runs")
}

/// Lets this process have as many connections as the system allows; the usual 1,024 are few.
pub fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("a limit may be raised to its maximum");
}

/// Whether the long runs are wanted: `./test --full`.
pub fn is_full_run() -> bool {
    std::env::var_os("TASUKI_TEST_FULL").is_some()
}

/// The seed of a random test: new in each run, printed, and repeated with `TASUKI_SEED`.
pub fn seed(test: &str) -> u64 {
    let given = std::env::var("TASUKI_SEED").ok();
    let seed = given.map_or_else(crate::power_loss::monotonic_ns, |text| {
        text.parse().expect("TASUKI_SEED is a number")
    });
    println!("{test}: TASUKI_SEED={seed}");
    seed
}

/// A complete offer of a task to an agent.
pub fn offer(task: &str, to: &str) -> Value {
    json!({
        "to_agent": to,
        "task": {
            "task_id": task,
            "title": "Mend the retry logic",
            "objective": "No customer is charged twice",
            "success_criteria": ["Every retry is idempotent"],
            "priority": "normal",
        },
        "context": { "summary": "Two customers were charged twice." },
        "work_state": { "status": "in_progress", "next_step": "Read client.rs" },
    })
}

/// A call that must succeed; its body.
pub async fn ok(client: &Client, call: Call) -> Value {
    let described = format!("{} {}", call.method, call.path);
    let answer = client.call(call).await.expect("the server answers");
    assert!(answer.status < 300, "{described}: {} {}", answer.status, answer.body);
    answer.body
}

/// A call that must be refused; its answer.
pub async fn refused(client: &Client, call: Call) -> Answer {
    let described = format!("{} {}", call.method, call.path);
    let answer = client.call(call).await.expect("the server answers");
    assert!(answer.status >= 400, "{described}: {} {}", answer.status, answer.body);
    answer
}

/// Proposes a task and returns the handoff's id.
pub async fn initiate(client: &Client, task: &str, to: &str) -> String {
    let done = ok(client, Call::post("/v1/handoffs", offer(task, to))).await;
    done["handoff_id"].as_str().expect("an id").to_owned()
}

/// Waits until the server has told of as many rejections, which it does asynchronously.
pub async fn told_of_rejections(operator: &Client, n_rejections: usize) {
    let told = || Call::get("/v1/acp/messages?type=system.error&limit=200");
    while ok(operator, told()).await["items"].as_array().map_or(0, Vec::len) < n_rejections {}
}

/// One action on a handoff.
pub async fn act(client: &Client, id: &str, action: &str, body: Value) -> Value {
    ok(client, Call::post(format!("/v1/handoffs/{id}/{action}"), body)).await
}
