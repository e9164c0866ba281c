//! Logs on stderr, as text for people or JSON for programs.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::config::{Config, LogFormat};

/// Starts logging for the whole process.
pub fn start(config: &Config) -> Result<()> {
    let filter = EnvFilter::try_new(&config.log.level)
        .with_context(|| format!("log.level: `{}` is no level or filter", config.log.level))?;
    let is_terminal = std::io::stderr().is_terminal();
    let to_stderr = fmt::layer().with_writer(std::io::stderr).with_ansi(is_terminal);
    let format = match config.log.format {
        LogFormat::Text => to_stderr.with_target(false).boxed(),
        LogFormat::Json => to_stderr.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(format).try_init().context("cannot log twice")
}
