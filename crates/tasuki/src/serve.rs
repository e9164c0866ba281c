//! `tasuki serve`: a node with its network, from start to a clean stop.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::ledger::behind::Doubt;
use gateways::http::unanswered;
use gateways::listen::{self, ConnectionLimits, Endpoint, Host};
use gateways::tls::{self, TlsError, TlsFiles};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, UnixListener};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio_rustls::rustls::ServerConfig;

use crate::aaep_socket::AaepSocket;
use crate::client::{Call, Client};
use crate::config::{BadSetting, Config, Tls};
use crate::node::{Node, control_socket};
use crate::{demo_bot, output};

/// Whether to fill a new ledger with sample data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demo {
    Yes,
    No,
}

/// Runs until SIGTERM or SIGINT.
pub async fn run(mut config: Config, demo: Demo) -> Result<()> {
    let n_open_files = raise_open_files();
    // From here on a signal is a request to stop, also before everything is up.
    let signals = Signals::listen()?;
    let (stop, stopped) = watch::channel(false);
    let listener = listen_on(&config.listen).await?;
    let address = listener.local_addr().context("cannot tell the address")?;
    check_reach(&config, address.ip())?;
    config.dev |= demo == Demo::Yes && address.ip().is_loopback();
    let is_https = !config.tls.cert.as_os_str().is_empty();
    let endpoint = if is_https {
        Endpoint::Tls(listener, tls_config(&config.tls)?)
    } else {
        Endpoint::Tcp(listener)
    };
    if !is_https && !address.ip().is_loopback() {
        tracing::warn!(%address, "without TLS, tokens can be read on the way here");
    }
    let is_first_start = !config.data.join(store::sqlite::FILE_NAME).exists();
    let node = Node::start(&config, stopped.clone())?;
    node.ready().await;
    let control = bind_control_socket(&config.data)?;
    let aaep = AaepSocket::bind(&config.aaep_socket)?;
    let limits = limits_within(n_open_files, config.connection_limits());
    let endpoints = [(endpoint, limits.network), (Endpoint::Unix(control), limits.control)];
    let serving = endpoints.map(|(endpoint, limits)| {
        let (counts, slow_lane) = (node.connections.clone(), Arc::clone(&node.slow_lane));
        let host = Host { router: node.router.clone(), limits, counts, unanswered, slow_lane };
        tokio::spawn(listen::serve(endpoint, host, stopped.clone()))
    });
    let aaep = aaep.map(|socket| socket.serve(&node));
    let url = format!("{}://{address}", if is_https { "https" } else { "http" });
    greet(&config, &url, &node, is_first_start, demo).await?;
    let client = Client::in_process(node.router.clone());
    let bot = (demo == Demo::Yes).then(|| tokio::spawn(demo_bot::run(client, stopped)));
    signals.first().await;
    tracing::info!("stopping");
    stop.send_replace(true);
    for served in serving {
        served.await.context("a listener failed")?;
    }
    if let Some((served, path)) = aaep {
        served.await.context("the AAEP socket failed")?;
        let _ = std::fs::remove_file(path);
    }
    if let Some(bot) = bot {
        bot.await.context("the bot of the demo failed")?;
    }
    node.stop().await;
    // It may have been removed already; the next start replaces it anyway.
    let _ = std::fs::remove_file(control_socket(&config.data));
    tracing::info!("stopped");
    Ok(())
}

/// Clients that have connected and wait to be accepted. The usual 128 are fewer than we promise to
/// serve at once, and a client that does not fit retries only after a second, or never. The
/// system's own maximum (`net.core.somaxconn`) is usually the same.
const WAITING_CALLERS_MAX: u32 = 4_096;

/// Listens on the first available address of a name.
async fn listen_on(name: &str) -> Result<TcpListener> {
    let cannot = || format!("cannot listen on {name}");
    let addresses = tokio::net::lookup_host(name).await.map_err(|error| BadSetting {
        setting: "listen",
        problem: format!("expected HOST:PORT, such as 127.0.0.1:7420, not `{name}`: {error}"),
    })?;
    let mut failure = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.with_context(cannot)?;
        // Allows a restart to take the port while connections of the last run still linger.
        socket.set_reuseaddr(true).with_context(cannot)?;
        match socket.bind(address).and_then(|()| socket.listen(WAITING_CALLERS_MAX)) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure).with_context(cannot)
}

/// Refuses settings that are safe only if no other machine can connect.
fn check_reach(config: &Config, address: IpAddr) -> Result<(), BadSetting> {
    if address.is_loopback() {
        return Ok(());
    }
    let expected = "expected a loopback address to listen on, such as 127.0.0.1:7420, not";
    let listen = &config.listen;
    if config.aaep.is_open() {
        let agent = &config.aaep.compat;
        return Err(BadSetting {
            setting: "aaep.compat",
            problem: format!(
                "{expected} {listen}: everybody there could talk to `{agent}` without a token"
            ),
        });
    }
    if config.dev {
        return Err(BadSetting {
            setting: "dev",
            problem: format!(
                "{expected} {listen}: a caller that sets an agent's URL could reach what runs \
                 on this machine"
            ),
        });
    }
    Ok(())
}

fn tls_config(settings: &Tls) -> Result<Arc<ServerConfig>> {
    let files =
        TlsFiles { certificate_chain: settings.cert.clone(), private_key: settings.key.clone() };
    let setting = |error: &TlsError| match error {
        TlsError::Unreadable { path, .. } if *path == files.private_key => Some("tls.key"),
        TlsError::NoPrivateKey { .. } => Some("tls.key"),
        TlsError::Unreadable { .. }
        | TlsError::NoCertificate { .. }
        | TlsError::Unusable { .. } => Some("tls.cert"),
        TlsError::Versions(_) => None,
    };
    tls::server_config(&files).map_err(|error| match setting(&error) {
        Some(setting) => BadSetting { setting, problem: error.to_string() }.into(),
        None => error.into(),
    })
}

/// Whether the default teamspace never had an operator. More than a page of tokens means that it
/// has an operator who makes them.
async fn is_without_operator(client: &Client) -> Result<bool> {
    let tokens = client.call(Call::get("/v1/tokens?limit=200")).await?.success()?;
    let mut tokens_made = tokens["items"].as_array().into_iter().flatten();
    let is_operator = |token: &Value| token["bearer"] == "operator";
    Ok(tokens["next_cursor"].is_null() && !tokens_made.any(is_operator))
}

/// Prints the next steps. Before there is an operator, they include a token that is shown only
/// once.
async fn greet(
    config: &Config,
    url: &str,
    node: &Node,
    is_first_start: bool,
    demo: Demo,
) -> Result<()> {
    let client = Client::in_process(node.router.clone());
    if let Some(behind) = node.engine.ledger().behind() {
        let hint = match behind.doubt {
            Doubt::Lost | Doubt::NoWitness | Doubt::Foreign => {
                "restore a newer backup, or go on without the rest with"
            }
            Doubt::Unreached => "it is asked again until it answers; to go on without it,",
        };
        output::remark(&format!(
            "Tasuki can be read at {url}, and not written to: {behind}\n\
             hint: {hint}\n      \
             tasuki ledger fork --data {} --reason TEXT",
            config.data.display(),
        ));
    } else if is_without_operator(&client).await? {
        let body = json!({ "agent": "root", "kind": "operator" });
        let issued = client.call(Call::post("/v1/tokens", body)).await?.success()?;
        let token = issued["token"].as_str().unwrap_or_default();
        output::remark(&format!(
            "\nTasuki is ready at {url}\n\n  \
             operator token (shown once)   {token}\n  \
             API reference                 {url}/docs\n  \
             a token for an agent          tasuki token create --data {data} --agent NAME\n",
            data = config.data.display(),
        ));
        if is_first_start && demo == Demo::Yes {
            crate::cli::demo::fill(&client, url).await?;
        }
    } else {
        output::remark(&format!("Tasuki is ready at {url} (reference: {url}/docs)"));
        if demo == Demo::Yes && demo_bot::is_ours(&client).await? {
            output::remark(&crate::cli::demo::steps_of_a_later_start(&config.data));
        }
    }
    if config.aaep.is_open() {
        output::remark(&crate::cli::demo::compat_steps(url));
    }
    tracing::info!(url, data = %config.data.display(), "ready");
    Ok(())
}

/// Each connection is an open file, and the usual limit of 1,024 is less than we promise to hold.
/// Returns the limit.
pub fn raise_open_files() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit on open files stays as it is");
    }
    // `None` is no limit.
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |n| n.try_into().unwrap_or(usize::MAX))
}

/// Open files that the network never takes, or half of all if there are fewer than twice as many.
/// The database takes about 20, the logs and checkpoints as many, webhooks 64, the AAEP socket 256,
/// and the control socket a quarter of these.
const RESERVED_FILES: usize = 1_024;

struct EndpointLimits {
    network: ConnectionLimits,
    control: ConnectionLimits,
}

/// Without a reserve, a flood of connections would stop seals, logs and the control socket.
fn limits_within(n_open_files: usize, wanted: ConnectionLimits) -> EndpointLimits {
    let n_reserved = RESERVED_FILES.min(n_open_files / 2);
    let n_wanted = wanted.connections_max;
    let n_network = n_wanted.min(n_open_files - n_reserved);
    if n_network < n_wanted {
        tracing::warn!(
            "the limit on open files is {n_open_files}, so there can be {n_network} connections, \
             and not the {n_wanted} of `limits.connections`"
        );
    }
    let n_control = n_wanted.min(n_reserved / 4);
    EndpointLimits {
        network: ConnectionLimits { connections_max: n_network, ..wanted },
        control: ConnectionLimits { connections_max: n_control, ..wanted },
    }
}

/// The folder's lock is ours by now, so a socket that is still there is left over from a crash.
fn bind_control_socket(data: &Path) -> Result<UnixListener> {
    let path = control_socket(data);
    match std::fs::remove_file(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).context("cannot remove the old control socket"),
    }
    let listener = UnixListener::bind(&path)
        .with_context(|| format!("cannot make the control socket {}", path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        .context("cannot protect the control socket")?;
    Ok(listener)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot wait for SIGINT")?,
        })
    }

    async fn first(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
