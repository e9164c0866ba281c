//! Cursors as callers see them: sealed, for their teamspace and one purpose. Only this module
//! converts between sequence numbers of the ledger and cursors.

use aaep::cursor::Cursor;
use protocol::caller::Caller;
use protocol::ids::TeamspaceId;
use protocol::sealed_cursor::{Purpose, Scope, is_numeric};

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

/// The beginning of the events, for every caller.
const BEGINNING: &str = "0";

/// The entry after which a caller wants to resume. A cursor beyond the newest entry belongs to
/// another ledger; waiting for it would miss new entries. Operators of the whole server may give a
/// number.
pub fn events_after(
    gateway: &Gateway,
    asker: &Asker,
    (field, text): (&str, &str),
    newest: u64,
) -> Result<u64, Problem> {
    let scope = Scope { teamspace: &asker.caller.teamspace, purpose: Purpose::Events };
    let numeric = Some(text)
        .filter(|text| *text == BEGINNING || (is_numeric(text) && asker.is_server_operator()));
    let place = match numeric {
        Some(number) => number.parse().ok(),
        None => gateway.engine.cursor_key().open(scope, text).map(|cursor| cursor.sequence),
    };
    place.filter(|place| *place <= newest).ok_or_else(|| {
        let expected = "the cursor of an event that you were sent, or 0 for the beginning";
        refused(field, text, expected)
    })
}

/// The cursor of an event.
pub fn event(gateway: &Gateway, teamspace: &TeamspaceId, sequence: u64) -> String {
    let scope = Scope { teamspace, purpose: Purpose::Events };
    gateway.engine.cursor_key().seal(scope, Cursor::of_entry(sequence))
}

/// A cursor in the events that also advances with entries of other teamspaces.
pub fn moving_place(gateway: &Gateway, teamspace: &TeamspaceId, sequence: u64) -> String {
    let scope = Scope { teamspace, purpose: Purpose::Events };
    let engine = &gateway.engine;
    engine.cursor_key().seal_moving(scope, Cursor::of_entry(sequence), engine.clock().now())
}

/// The row before which a page of this list begins.
pub fn row_before(
    gateway: &Gateway,
    caller: &Caller,
    list: impl Into<Purpose>,
    text: Option<&str>,
) -> Result<Option<u64>, Problem> {
    let scope = Scope { teamspace: &caller.teamspace, purpose: list.into() };
    let Some(text) = text else { return Ok(None) };
    match gateway.engine.cursor_key().open(scope, text) {
        Some(cursor) => Ok(Some(cursor.sequence)),
        None => Err(refused("cursor", text, "the `next_cursor` of an earlier page of this list")),
    }
}

/// The `next_cursor` of a page of this list.
pub fn next_row(
    gateway: &Gateway,
    caller: &Caller,
    list: impl Into<Purpose>,
    row: Option<u64>,
) -> Option<String> {
    let scope = Scope { teamspace: &caller.teamspace, purpose: list.into() };
    row.map(|row| gateway.engine.cursor_key().seal(scope, Cursor::of_entry(row)))
}

/// The cursor of an event that an agent announced.
pub fn announced(gateway: &Gateway, teamspace: &TeamspaceId, cursor: Cursor) -> String {
    gateway.engine.cursor_key().seal(Scope { teamspace, purpose: Purpose::Announced }, cursor)
}

/// The cursor up to which a listener was told everything, whether or not it has moved.
pub fn announced_so_far(gateway: &Gateway, teamspace: &TeamspaceId, cursor: Cursor) -> String {
    let scope = Scope { teamspace, purpose: Purpose::Announced };
    gateway.engine.cursor_key().seal_moving(scope, cursor, gateway.engine.clock().now())
}

/// The event after which a listener wants to resume.
pub fn announced_after(
    gateway: &Gateway,
    teamspace: &TeamspaceId,
    (field, text): (&str, &str),
) -> Result<Cursor, Problem> {
    let scope = Scope { teamspace, purpose: Purpose::Announced };
    let cursor = gateway.engine.cursor_key().open(scope, text);
    cursor.ok_or_else(|| refused(field, text, "the cursor of an event that you were sent"))
}

/// The same refusal for every reason: it does not tell a forged cursor from one of another place.
pub fn refused(field: &str, text: &str, expected: &str) -> Problem {
    let hint = match is_numeric(text) && text != BEGINNING {
        true => "; a sequence number is no cursor, so start again without one",
        false => "",
    };
    Problem::new("cursor_invalid", format!("{field}: expected {expected}{hint}")).field(field)
}
