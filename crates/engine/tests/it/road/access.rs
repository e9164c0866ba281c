//! Credentials: valid until they are revoked or expire, and not a moment longer.

use std::collections::BTreeSet;
use std::task::{Context, Waker};

use engine::read::access::secret_hash;
use protocol::agent;
use protocol::caller::{Principal, Role};
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use protocol::token::{self, BearerKind, Grant};

use super::Server;
use crate::support::{self, code, default_teamspace, id, operator, start};

/// More than the engine caches at once.
const FORGETTING_STREAMS: usize = 5_000;

fn grant(bearer: &str, bearer_kind: BearerKind) -> Grant {
    Grant { bearer: id(bearer), bearer_kind, roles: BTreeSet::new(), expires_at: None }
}

async fn issue(server: &Server, secret: &str, grant: Grant) -> Stream {
    let subject = Subject::Token(server.engine.new_token_id());
    let stream = Stream { teamspace: default_teamspace(), subject };
    let issue = token::Command::Issue { grant, secret_hash: secret_hash(secret) };
    let done = server.engine.submit(&operator(), stream.clone(), Command::Token(issue), None).await;
    done.expect("an operator may issue a token");
    stream
}

async fn bearer(server: &Server, secret: &str) -> Option<Principal> {
    let bearer = server.engine.access().authenticate(secret).await.expect("the store can be read");
    bearer.map(|bearer| bearer.caller.principal)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_names_its_bearer() {
    let server = Server::start();
    let roles = BTreeSet::from([Role::Coordinator]);
    issue(&server, "a", Grant { roles: roles.clone(), ..grant("barry", BearerKind::Agent) }).await;
    issue(&server, "o", grant("root", BearerKind::Operator)).await;
    issue(&server, "c", grant("carl", BearerKind::Customer)).await;
    let server = server.restart();
    for _ in 0..2 {
        assert_eq!(bearer(&server, "a").await, Some(Principal::Agent(id("barry"))));
        assert_eq!(bearer(&server, "o").await, Some(Principal::Operator(id("root"))));
        assert_eq!(bearer(&server, "c").await, Some(Principal::Customer(id("carl"))));
        assert_eq!(bearer(&server, "").await, None);
        assert_eq!(bearer(&server, "A").await, None);
        assert_eq!(bearer(&server, &secret_hash("a")).await, None);
    }
    let known = server.engine.access().authenticate("a").await.unwrap().unwrap();
    assert_eq!(known.caller.roles, roles);
    assert_eq!(known.caller.teamspace, default_teamspace());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_stops_at_once_and_for_good() {
    let server = Server::start();
    let stream = issue(&server, "secret", grant("barry", BearerKind::Agent)).await;
    let other = issue(&server, "other", grant("barry", BearerKind::Agent)).await;
    assert!(bearer(&server, "secret").await.is_some());
    let revoke = || Command::Token(token::Command::Revoke);
    let by_agent =
        server.engine.submit(&support::agent("barry"), stream.clone(), revoke(), None).await;
    assert_eq!(code(&by_agent), "not_allowed");
    assert!(bearer(&server, "secret").await.is_some());
    server.engine.submit(&operator(), stream.clone(), revoke(), None).await.unwrap();
    assert_eq!(bearer(&server, "secret").await, None);
    server.clock.set(start());
    let server = server.restart();
    assert_eq!(bearer(&server, "secret").await, None);
    assert!(bearer(&server, "other").await.is_some(), "each token ends by itself");
    let again = server.engine.submit(&operator(), stream, revoke(), None).await;
    assert_eq!(again.unwrap().position, 2, "revoking twice records nothing");
    assert_ne!(other, server.ledger().await[0].entry.stream);
}

/// A lookup of a token while it is revoked does not keep it alive.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_token_stops_at_once_however_many_ask_meanwhile() {
    let server = Server::start();
    for round in 0..100 {
        let secret = format!("secret-{round}");
        let stream = issue(&server, &secret, grant("barry", BearerKind::Agent)).await;
        let asking = (0..4).map(|_| {
            let (engine, secret) = (server.engine.clone(), secret.clone());
            tokio::spawn(async move {
                while engine.access().authenticate(&secret).await.unwrap().is_some() {}
            })
        });
        let asking: Vec<_> = asking.collect();
        let revoke = Command::Token(token::Command::Revoke);
        server.engine.submit(&operator(), stream, revoke, None).await.unwrap();
        assert_eq!(bearer(&server, &secret).await, None, "round {round}");
        for task in asking {
            task.await.unwrap();
        }
    }
}

/// The caller that revoked it is gone, and the stream was evicted from the cache meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_counts_though_nobody_waited_for_it() {
    let (server, mut gate) = Server::gated();
    gate.open(1);
    let stream = issue(&server, "secret", grant("barry", BearerKind::Agent)).await;
    gate.reached(1).await;
    // Everything behind this commit waits.
    let engine = server.engine.clone();
    let first = tokio::spawn(async move { support::register(&engine, &["barry"]).await });
    gate.reached(1).await;

    let revoke = Command::Token(token::Command::Revoke);
    let caller = operator();
    let mut revoking = Box::pin(server.engine.submit(&caller, stream, revoke, None));
    assert!(revoking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(revoking);
    for number in 0..FORGETTING_STREAMS {
        let subject = Subject::Agent(id(&format!("agent-{number}")));
        let other = Stream { teamspace: default_teamspace(), subject };
        assert_eq!(server.engine.read().current(&other).await.unwrap(), None);
    }
    let engine = server.engine.clone();
    let asking = tokio::spawn(async move { engine.access().authenticate("secret").await });
    tokio::task::yield_now().await;
    gate.open(2);
    first.await.unwrap();
    assert!(asking.await.unwrap().unwrap().is_none());
    assert_eq!(bearer(&server, "secret").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_directory_says_of_an_agent_counts_at_once() {
    let server = Server::with_agents(&["barry", "tim"]).await;
    for name in ["barry", "tim"] {
        issue(&server, name, grant(name, BearerKind::Agent)).await;
    }
    for roles in [vec![Role::Coordinator], vec![Role::Reviewer, Role::Executor], vec![]] {
        let roles = BTreeSet::from_iter(roles);
        let subject = Subject::Agent(id("barry"));
        let stream = Stream { teamspace: default_teamspace(), subject };
        let set = Command::Agent(agent::Command::SetRoles { roles: roles.clone() });
        server.engine.submit(&operator(), stream, set, None).await.unwrap();
        for (secret, expected) in [("barry", roles), ("tim", BTreeSet::new())] {
            let known = server.engine.access().authenticate(secret).await.unwrap().unwrap();
            assert_eq!(known.caller.roles, expected, "{secret}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_when_it_says() {
    let server = Server::start();
    let expires_at = Some(start().plus(Span::from_minutes(1)));
    issue(&server, "secret", Grant { expires_at, ..grant("barry", BearerKind::Agent) }).await;
    server.clock.advance(Span::from_millis(59_999));
    assert!(bearer(&server, "secret").await.is_some());
    server.clock.advance(Span::from_millis(1));
    assert_eq!(bearer(&server, "secret").await, None);
    server.clock.set(start());
    assert_eq!(bearer(&server, "secret").await, None, "the clock went back");
    server.clock.advance(Span::from_minutes(1));
    let subject = Subject::Token(server.engine.new_token_id());
    let stream = Stream { teamspace: default_teamspace(), subject };
    let late = Grant { expires_at, ..grant("barry", BearerKind::Agent) };
    let issue = token::Command::Issue { grant: late, secret_hash: secret_hash("late") };
    let result = server.engine.submit(&operator(), stream, Command::Token(issue), None).await;
    assert_eq!(code(&result), "schema_invalid");
}
