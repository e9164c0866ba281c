//! Who the caller is. On TCP the bearer token says so. On the control socket the caller owns the
//! data folder, because only its owner can open the socket. A body never says so.

use std::collections::BTreeSet;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use engine::read::access::SESSION_BYTES_MAX;
use protocol::caller::{Caller, Principal};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::rejection::Rejection;

use crate::http::shared::credential::Credential;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;
use crate::http::shared::query::{QueryNotTaken, check_no_query};
use crate::large_bodies::{Size, TooMuch};
use crate::listen::Peer;
use crate::slow_lane;

/// Names the runtime session a caller works in, for provenance.
pub static SESSION_HEADER: HeaderName = HeaderName::from_static("tasuki-session");

/// On the control socket: the teamspace to act in, and the agent to act as.
pub static TEAMSPACE_HEADER: HeaderName = HeaderName::from_static("tasuki-teamspace");

pub static ACT_AS_HEADER: HeaderName = HeaderName::from_static("tasuki-act-as");

/// The headers that proxies add.
const PROXIED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// An authenticated request.
#[derive(Debug, Clone)]
pub struct Asker {
    pub caller: Caller,
    pub credential: Credential,
}

impl<S: Send + Sync> FromRequestParts<S> for Asker
where
    Gateway: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        authenticate(&Gateway::from_ref(state), parts).await
    }
}

pub async fn authenticate(gateway: &Gateway, parts: &Parts) -> Result<Asker, Problem> {
    let peer = parts.extensions.get::<Peer>().copied();
    let is_local = peer.is_some_and(Peer::is_local);
    let now_ms = u64::try_from(gateway.engine.clock().now().as_millis()).unwrap_or(0);
    let identified = match bearer_secret(&parts.headers) {
        Ok(Some(secret)) => match from_token(gateway, secret).await {
            Ok(asker) => check_agrees(&asker.caller, &parts.headers).map(|()| asker),
            Err(problem) => Err(problem),
        },
        Ok(None) if is_local => Box::pin(from_control_socket(gateway, &parts.headers)).await,
        Ok(None) => Err(Problem::unauthenticated()),
        Err(problem) => Err(problem),
    };
    let mut asker = identified.map_err(|problem| {
        if problem.status != StatusCode::UNAUTHORIZED {
            return problem;
        }
        // Only failed logins are limited: a valid token from the same address passes.
        let address = gateway.proxies.client_address(peer.and_then(Peer::address), &parts.headers);
        match gateway.failures.check(&address, now_ms) {
            Ok(()) => problem,
            Err(retry) => Problem::too_many_failures(retry.seconds),
        }
    })?;
    if parts.extensions.get::<QueryNotTaken>().is_some() {
        check_no_query(&parts.uri)?;
    }
    if let Some(session) = text_header(&parts.headers, &SESSION_HEADER)? {
        if session.is_empty() || session.len() > SESSION_BYTES_MAX {
            return Err(Problem::schema_invalid(SESSION_HEADER.as_str(), "1 to 200 bytes of text"));
        }
        asker.caller.session = session.to_owned();
    }
    match asker.credential {
        Credential::Token(id) => {
            gateway.rate.check(&id, now_ms).map_err(|retry| Problem::rate_limited(retry.seconds))?
        }
        Credential::Local | Credential::Open => {}
    }
    let size = Size::of(&parts.headers);
    slow_lane::identify(&gateway.slow_lane, &asker.caller.teamspace, size).await;
    let waited = gateway.large_bodies.wait(&asker.caller, size).await;
    waited.map_err(|TooMuch { retry_seconds }| Problem::too_large_too_often(retry_seconds))?;
    Ok(asker)
}

pub async fn from_token(gateway: &Gateway, secret: &str) -> Result<Asker, Problem> {
    let bearer =
        gateway.engine.access().authenticate(secret).await?.ok_or_else(Problem::unauthenticated)?;
    Ok(Asker { caller: bearer.caller, credential: Credential::Token(bearer.token) })
}

/// A token identifies the caller and the teamspace. Headers that name them must agree with it:
/// otherwise the request would be carried out as another agent than the headers name.
fn check_agrees(caller: &Caller, headers: &HeaderMap) -> Result<(), Problem> {
    let own = caller.agent().map_or("", AgentId::as_str);
    let teamspace = caller.teamspace.as_str();
    let said = [
        (&ACT_AS_HEADER, own, caller.principal.to_string()),
        (&TEAMSPACE_HEADER, teamspace, format!("{} in teamspace {teamspace}", caller.principal)),
    ];
    for (header, expected, bearer) in said {
        if text_header(headers, header)?.is_some_and(|text| text != expected) {
            let detail = format!("{header}: expected to be left out beside the token of {bearer}");
            let problem = Problem::new("identity_mismatch", detail).field(header.as_str());
            return Err(problem.fact("bearer", bearer));
        }
    }
    Ok(())
}

async fn from_control_socket(gateway: &Gateway, headers: &HeaderMap) -> Result<Asker, Problem> {
    let teamspace: TeamspaceId = match text_header(headers, &TEAMSPACE_HEADER)? {
        Some(text) => text.parse().map_err(|error: protocol::ids::InvalidId| {
            Problem::schema_invalid(TEAMSPACE_HEADER.as_str(), error.expected)
        })?,
        None => TeamspaceId::default_teamspace(),
    };
    let agent = text_header(headers, &ACT_AS_HEADER)?.map(|text| {
        text.parse().map_err(|error: protocol::ids::InvalidId| {
            Problem::schema_invalid(ACT_AS_HEADER.as_str(), error.expected)
        })
    });
    from_owner(gateway, teamspace, agent.transpose()?, ACT_AS_HEADER.as_str()).await
}

/// The owner of the data folder: as an operator, or as the agent that `field` names.
pub async fn from_owner(
    gateway: &Gateway,
    teamspace: TeamspaceId,
    agent: Option<AgentId>,
    field: &'static str,
) -> Result<Asker, Problem> {
    let mut roles = BTreeSet::new();
    let principal = match agent {
        Some(agent) => {
            let subject = Subject::Agent(agent.clone());
            let stream = Stream { teamspace: teamspace.clone(), subject };
            if gateway.engine.read().current(&stream).await?.is_none() {
                return Err(Rejection::UnknownAgent { field, agent }.into());
            }
            roles = gateway.engine.access().roles_of(&teamspace, &agent).await?;
            Principal::Agent(agent)
        }
        None => Principal::Operator("local".parse().expect("`local` is a valid name")),
    };
    let session = "control-socket".to_owned();
    let caller = Caller { teamspace, principal, roles, session };
    Ok(Asker { caller, credential: Credential::Local })
}

pub fn bearer_secret(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = single_header(headers, &AUTHORIZATION)? else { return Ok(None) };
    let text = value.to_str().map_err(|_| Problem::unauthenticated())?;
    let (scheme, secret) = text.split_once(' ').ok_or_else(Problem::unauthenticated)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(Problem::unauthenticated());
    }
    Ok(Some(secret.trim()))
}

fn text_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Problem> {
    let not_text = || Problem::schema_invalid(name.as_str(), "plain ASCII text");
    let value = single_header(headers, name)?;
    value.map(|value| value.to_str().map_err(|_| not_text())).transpose()
}

/// A header that may occur only once: with two values it would be unclear which counts.
pub fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).into_iter();
    let first = values.next();
    if values.any(|value| Some(value) != first) {
        return Err(Problem::schema_invalid(name.as_str(), "to be given once"));
    }
    Ok(first)
}

impl Gateway {
    /// Whether the caller is a program on this machine. A request that came through a proxy on this
    /// machine may be from anywhere, and so may a page whose own host name resolves to this
    /// machine.
    pub fn is_called_from_here(&self, parts: &Parts) -> bool {
        let peer = parts.extensions.get::<Peer>().copied().and_then(Peer::address);
        let is_direct = !PROXIED.iter().any(|name| parts.headers.contains_key(*name));
        let host = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        peer.is_some_and(|address| address.is_loopback())
            && is_direct
            && host.is_some_and(|host| is_loopback_name(&format!("http://{host}")))
    }
}

pub fn is_loopback_name(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
    is_plain && uri.host().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host))
}

impl Asker {
    /// Customers take part in conversations, not in handoffs.
    pub fn member(self) -> Result<Self, Problem> {
        match self.caller.principal {
            Principal::Agent(_) | Principal::Operator(_) => Ok(self),
            Principal::Customer(_) | Principal::System => {
                Err(Problem::new("not_allowed", "only members of the teamspace may do this"))
            }
        }
    }

    /// Whether this is an operator of the whole server: the owner of the data folder, or an
    /// operator of the default teamspace. Only they see numbers that count over all teamspaces.
    pub fn is_server_operator(&self) -> bool {
        let is_operator = matches!(self.caller.principal, Principal::Operator(_));
        let is_default = self.caller.teamspace == TeamspaceId::default_teamspace();
        match self.credential {
            Credential::Local => is_operator,
            Credential::Token(_) => is_operator && is_default,
            Credential::Open => false,
        }
    }

    pub fn server_operator(self) -> Result<Self, Problem> {
        if self.is_server_operator() {
            return Ok(self);
        }
        Err(Problem::new("not_allowed", "only an operator of the default teamspace may do this"))
    }

    pub fn operator(self) -> Result<Self, Problem> {
        match self.caller.principal {
            Principal::Operator(_) => Ok(self),
            Principal::Agent(_) | Principal::Customer(_) | Principal::System => {
                Err(Problem::new("not_allowed", "only an operator may do this"))
            }
        }
    }
}
