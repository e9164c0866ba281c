//! Who the caller is.

use anyhow::{Result, bail};

use crate::client::{Call, Client};

/// The name of the token's bearer, unless a name was given.
pub async fn own_name(client: &Client) -> Result<String> {
    if let (Some(name), None) = (&client.identity.act_as, &client.identity.token) {
        return Ok(name.clone());
    }
    let status = client.call(Call::get("/v1/acp/status")).await?.success()?;
    match status["mailboxes"][0].as_str() {
        Some(name) => Ok(name.to_owned()),
        None => bail!("say who you are, with --as AGENT or --token TOKEN"),
    }
}
