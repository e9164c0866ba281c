//! The settings and their sources: flags over environment over `tasuki.toml` over defaults. An
//! unknown key is an error, wherever it is. `config.default.toml` documents every key.

mod layers;
mod ledger;
mod witness;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapters::message_archive::MessageArchive;
use adapters::{artifacts, workq};
use anyhow::{Context, Result, bail};
use axum::http::Uri;
use engine::loops::retention::{Archive, Retention};
use gateways::http::{MetricsReaders, RequestLimits};
use gateways::listen::ConnectionLimits;
use gateways::rate::RateLimit;
use protocol::json::Bounds;
use protocol::quota::{Quota, SetQuotas};
use protocol::time::Span;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use tracing::level_filters::LevelFilter;

use self::layers::{overlay, overlay_environment};
pub use self::ledger::Ledger;
pub use self::witness::Witness;
use crate::scripted::AGENT_ID;
use crate::scripted::at_work::Manner;

/// The file that is read when it lies in the current folder.
pub const FILE_NAME: &str = "tasuki.toml";

/// Ten times as slow is slow enough.
const PACE_PERCENT_MAX: u32 = 1_000;

/// The largest file, unless the operator says otherwise: a scanned contract or a short screen
/// recording.
const FILE_MIB: u32 = 25;

const MIB: u64 = 1024 * 1024;

/// As long as a question may wait.
const TIMEOUT_SECONDS_MAX: u32 = 86_400;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub data: PathBuf,
    pub listen: String,
    /// Agents on this machine are called, also without TLS.
    pub dev: bool,
    pub trusted_proxies: Vec<String>,
    pub metrics: MetricsReaders,
    pub ws_origins: Vec<String>,
    pub aaep_socket: PathBuf,
    pub tls: Tls,
    pub ledger: Ledger,
    pub witness: Witness,
    pub log: Log,
    pub telemetry: Telemetry,
    pub artifacts: Artifacts,
    pub workq: Workq,
    pub messages: Messages,
    pub aaep: Aaep,
    pub limits: Limits,
    pub storage: Storage,
    /// Every quota; 0 is no limit.
    pub quotas: SetQuotas,
}

/// Both or neither; empty means plain HTTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    pub cert: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    pub level: String,
    pub format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Text,
    Json,
}

/// Without an endpoint no traces leave the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    pub otlp_endpoint: String,
    pub ca_cert: PathBuf,
}

/// What the gate may read, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifacts {
    pub roots: Vec<PathBuf>,
    pub allow_private_addresses: bool,
    pub bytes: u64,
    pub count: usize,
    pub artifact_ms: u64,
    pub total_ms: u64,
}

/// Without a URL there is no work queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workq {
    pub url: String,
    pub token_file: PathBuf,
    pub allow_private_addresses: bool,
}

/// The built-in AAEP agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aaep {
    /// The agent that any program on this machine may talk to without a token: `scripted`, or none.
    pub compat: String,
    /// Whether the scripted agent runs.
    pub scripted: bool,
    pub scripted_pace_percent: u32,
    /// 0 uses the timeouts of the script.
    pub scripted_timeout_seconds: u32,
}

/// How long messages are kept, and whether they are archived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// 0 keeps them for ever.
    pub retention_days: u32,
    pub archive: bool,
    pub wake_private_addresses: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    pub body_bytes: usize,
    pub body_read_ms: u64,
    pub json_depth: usize,
    pub json_string_bytes: usize,
    pub json_array_items: usize,
    pub json_object_keys: usize,
    pub requests_per_second: u32,
    pub requests_burst: u32,
    pub streams: usize,
    pub streams_per_token: usize,
    pub fair_shares: bool,
    pub message_read_ms: u64,
    pub ping_ms: u64,
    pub connections: usize,
    pub connections_per_address: usize,
    pub header_read_ms: u64,
    pub keep_alive_ms: u64,
    pub request_ms: u64,
    pub drain_ms: u64,
}

/// The disk of the data folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// When less is free, only operators and what ends something may write; 0 is no reserve.
    pub reserve_mib: u32,
    /// The largest file that can be stored.
    pub file_mib: u32,
}

impl Default for Storage {
    fn default() -> Self {
        Self { reserve_mib: 256, file_mib: FILE_MIB }
    }
}

impl Storage {
    pub fn file_bytes_max(&self) -> u64 {
        u64::from(self.file_mib) * MIB
    }
}

/// A setting that cannot be used, whether it comes from a flag, a variable or a file.
#[derive(Debug, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct BadSetting {
    /// Its name in the file of settings: `tls.cert`.
    pub setting: &'static str,
    pub problem: String,
}

impl Default for Config {
    fn default() -> Self {
        let connections = ConnectionLimits::default();
        Self {
            data: PathBuf::from("./tasuki-data"),
            listen: "127.0.0.1:7420".to_owned(),
            dev: false,
            trusted_proxies: Vec::new(),
            metrics: MetricsReaders::default(),
            ws_origins: Vec::new(),
            aaep_socket: PathBuf::new(),
            tls: Tls::default(),
            ledger: Ledger::default(),
            witness: Witness::default(),
            log: Log { level: "info".to_owned(), format: LogFormat::Text },
            telemetry: Telemetry::default(),
            artifacts: Artifacts::default(),
            workq: Workq::default(),
            messages: Messages::default(),
            aaep: Aaep::default(),
            limits: Limits {
                body_bytes: 1024 * 1024,
                body_read_ms: connections.body_read_ms_max,
                json_depth: 32,
                json_string_bytes: 256 * 1024,
                json_array_items: 1_000,
                json_object_keys: 256,
                requests_per_second: 50_000,
                requests_burst: 100_000,
                streams: 10_000,
                streams_per_token: 2_000,
                fair_shares: true,
                message_read_ms: 30_000,
                ping_ms: 20_000,
                connections: connections.connections_max,
                connections_per_address: connections.connections_per_address_max,
                header_read_ms: connections.header_read_ms_max,
                keep_alive_ms: connections.keep_alive_ms_max,
                request_ms: connections.request_ms_max,
                drain_ms: connections.drain_ms_max,
            },
            storage: Storage::default(),
            quotas: Quota::ALL.map(|quota| (quota, quota.default_limit())).into(),
        }
    }
}

impl Default for Artifacts {
    fn default() -> Self {
        let settings = artifacts::Settings::default();
        Self {
            roots: settings.roots,
            allow_private_addresses: settings.allow_private_addresses,
            bytes: settings.bytes_max,
            count: settings.n_artifacts_max,
            artifact_ms: settings.artifact_ms_max,
            total_ms: settings.total_ms_max,
        }
    }
}

impl Default for Messages {
    fn default() -> Self {
        Self { retention_days: 90, archive: true, wake_private_addresses: false }
    }
}

impl Default for Aaep {
    fn default() -> Self {
        Self {
            compat: String::new(),
            scripted: false,
            scripted_pace_percent: 100,
            scripted_timeout_seconds: 0,
        }
    }
}

impl Aaep {
    pub fn is_open(&self) -> bool {
        !self.compat.is_empty()
    }

    /// How the scripted agent plays, if it runs.
    pub fn manner(&self) -> Option<Manner> {
        let seconds = Some(self.scripted_timeout_seconds).filter(|seconds| *seconds > 0);
        (self.scripted || self.is_open()).then_some(Manner {
            pace_percent: self.scripted_pace_percent,
            timeout_seconds: seconds,
        })
    }

    fn check(&self) -> Result<()> {
        if self.is_open() && self.compat != AGENT_ID {
            bail!("aaep.compat: expected `{AGENT_ID}`, or nothing");
        }
        if self.scripted_pace_percent > PACE_PERCENT_MAX {
            bail!("aaep.scripted_pace_percent: expected at most {PACE_PERCENT_MAX}");
        }
        if self.scripted_timeout_seconds > TIMEOUT_SECONDS_MAX {
            bail!("aaep.scripted_timeout_seconds: expected at most {TIMEOUT_SECONDS_MAX}");
        }
        Ok(())
    }
}

impl Limits {
    /// A limit of 0 would admit no caller. It makes sense only for streams, to have none, and for
    /// the drain, to stop without waiting.
    fn check(&self) -> Result<()> {
        let limits = Table::try_from(self).context("limits are numbers")?;
        let is_nothing = |value: &Value| value.as_integer() == Some(0);
        let may_be_nothing = ["streams", "streams_per_token", "drain_ms"];
        let is_refused = |name: &String| !may_be_nothing.contains(&name.as_str());
        match limits.iter().find(|(name, value)| is_refused(name) && is_nothing(value)) {
            Some((name, _)) => bail!("limits.{name}: expected more than 0"),
            None => Ok(()),
        }
    }
}

impl Log {
    /// A filter takes any other word for the name of a module, and would log nothing at all.
    pub fn check(&self) -> Result<()> {
        let mut words = self.level.split(',').map(str::trim);
        match words.find(|word| !word.contains('=') && word.parse::<LevelFilter>().is_err()) {
            Some(word) => bail!(
                "log.level: `{word}` is no level; expected error, warn, info, debug, trace or off, \
                 or such as `info,gateways=debug`"
            ),
            None => Ok(()),
        }
    }
}

impl Messages {
    pub fn retention(&self, data: &Path) -> Retention {
        let kept = Span::from_hours(24 * i64::from(self.retention_days));
        let archive = || -> Arc<dyn Archive> { Arc::new(MessageArchive::new(data)) };
        Retention {
            kept: (self.retention_days > 0).then_some(kept),
            archive: self.archive.then(archive),
        }
    }
}

impl Artifacts {
    pub fn settings(&self) -> artifacts::Settings {
        artifacts::Settings {
            roots: self.roots.clone(),
            allow_private_addresses: self.allow_private_addresses,
            bytes_max: self.bytes,
            n_artifacts_max: self.count,
            artifact_ms_max: self.artifact_ms,
            total_ms_max: self.total_ms,
        }
    }
}

impl Workq {
    /// The work queue, if one is configured.
    pub fn open(&self) -> Result<Option<workq::Workq>> {
        if self.url.is_empty() {
            return Ok(None);
        }
        let opened = workq::Workq::new(workq::Settings {
            url: self.url.clone(),
            token_file: self.token_file.clone(),
            allow_private_addresses: self.allow_private_addresses,
        });
        Ok(Some(opened?))
    }
}

impl Config {
    /// Defaults, then the file, then the environment. Flags are put on top by the command line.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self> {
        let mut table = Table::try_from(Config::default()).context("the defaults are a table")?;
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let given: Table =
                text.parse().with_context(|| format!("cannot read {}", path.display()))?;
            overlay(&mut table, given, "")
                .with_context(|| format!("cannot use {}", path.display()))?;
        }
        overlay_environment(&mut table, environment)?;
        let config: Self = Value::Table(table).try_into().context("cannot use the settings")?;
        config.check()
    }

    fn check(self) -> Result<Self> {
        let has = |path: &Path| !path.as_os_str().is_empty();
        if has(&self.tls.cert) != has(&self.tls.key) {
            bail!("tls: expected both `cert` and `key`, or neither");
        }
        self.limits.check()?;
        self.log.check()?;
        self.aaep.check()?;
        self.telemetry.traces_url()?;
        Ok(self)
    }

    pub fn request_limits(&self) -> RequestLimits {
        let limits = &self.limits;
        let at_least_one = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        RequestLimits {
            body_bytes_max: limits.body_bytes,
            body_read_ms_max: limits.body_read_ms,
            json: Bounds {
                depth_max: limits.json_depth,
                string_bytes_max: limits.json_string_bytes,
                array_items_max: limits.json_array_items,
                object_keys_max: limits.json_object_keys,
                free_text: &[],
                free_below: &[],
            },
            rate: RateLimit {
                per_minute: at_least_one(limits.requests_per_second.saturating_mul(60)),
                burst: at_least_one(limits.requests_burst),
            },
            streams_max: limits.streams,
            streams_per_token_max: limits.streams_per_token,
            message_read_ms_max: limits.message_read_ms,
            ping_ms: limits.ping_ms,
        }
    }

    pub fn connection_limits(&self) -> ConnectionLimits {
        let limits = &self.limits;
        ConnectionLimits {
            header_read_ms_max: limits.header_read_ms,
            body_read_ms_max: limits.body_read_ms,
            request_ms_max: limits.request_ms,
            keep_alive_ms_max: limits.keep_alive_ms,
            connections_max: limits.connections,
            connections_per_address_max: limits.connections_per_address,
            drain_ms_max: limits.drain_ms,
            ..ConnectionLimits::default()
        }
    }
}

impl Telemetry {
    /// Where spans are sent, if anywhere. The setting is the collector's base address, as in
    /// OpenTelemetry's own variables; its errors do not repeat it, for it may hold a password.
    pub fn traces_url(&self) -> Result<Option<Uri>> {
        const PATH: &str = "/v1/traces";
        if self.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        let base = self.otlp_endpoint.trim_end_matches('/');
        let base = base.strip_suffix(PATH).unwrap_or(base);
        let is_base = |uri: &Uri| {
            uri.query().is_none()
                && uri.authority().is_some_and(|name| !name.as_str().contains('@'))
        };
        let uri = format!("{base}{PATH}").parse().ok().filter(is_base);
        let uri =
            uri.context("telemetry.otlp_endpoint: expected a URL such as http://localhost:4318")?;
        match uri.scheme_str() {
            Some("http") => Ok(Some(uri)),
            Some("https") if !self.ca_cert.as_os_str().is_empty() => Ok(Some(uri)),
            Some("https") => bail!("telemetry.ca_cert: https needs the certificates to trust"),
            Some(_) | None => bail!("telemetry.otlp_endpoint: expected http:// or https://"),
        }
    }
}

#[cfg(test)]
mod tests;
