//! Refusals by caller and state: each action in each state, by each caller, with each wrong id.
//!
//! A cell is a code in short: `wrong` is `wrong_state`, `not` is `not_allowed`, `gone` is
//! `not_found`. `ok` is no refusal, and left to the tests of what may be done.

use super::row::Row;

/// By a caller that may do it, in every state.
pub const STATES: &str = "
                     DRAFT  PROPOSED  ACCEPTED  ACTIVATED  REJECTED  COMPLETED  CLOSED  DISCARDED
edit        alice    ok     wrong     wrong     wrong      wrong     wrong      wrong   wrong
initiate    alice    ok     wrong     wrong     wrong      wrong     wrong      wrong   wrong
accept      bob      gone   ok        wrong     wrong      wrong     wrong      wrong   gone
reject      bob      gone   ok        ok        ok         wrong     wrong      wrong   gone
activate    bob      gone   wrong     ok        wrong      wrong     wrong      wrong   gone
progress    bob      gone   wrong     wrong     ok         wrong     wrong      wrong   gone
recall      alice    wrong  wrong     ok        ok         wrong     wrong      wrong   wrong
complete    bob      gone   wrong     wrong     ok         wrong     wrong      wrong   gone
discard     alice    ok     wrong     wrong     wrong      wrong     wrong      wrong   ok
close       alice    wrong  wrong     wrong     wrong      ok        ok         wrong   wrong
close       bob      gone   wrong     wrong     wrong      ok        ok         wrong   gone
close   coordinator  ok     ok        ok        ok         ok        ok         wrong   wrong
close   operator     ok     ok        ok        ok         ok        ok         wrong   wrong
";

/// In a state that allows it, by every caller.
pub const CALLERS: &str = "
                     alice  bob   carol  coordinator  system  operator  customer
edit     DRAFT       ok     gone  gone   not          gone    not       not
initiate DRAFT       ok     gone  gone   not          gone    not       not
accept   PROPOSED    not    ok    not    not          not     not       not
reject   PROPOSED    not    ok    not    not          not     not       not
reject   ACCEPTED    not    ok    not    not          not     not       not
reject   ACTIVATED   not    ok    not    not          not     not       not
activate ACCEPTED    not    ok    not    not          not     not       not
progress ACTIVATED   not    ok    not    not          not     not       not
recall   ACCEPTED    ok     not   not    not          not     not       not
recall   ACTIVATED   ok     not   not    not          not     not       not
complete ACTIVATED   not    ok    not    not          not     not       not
discard  DRAFT       ok     gone  gone   not          gone    not       not
close    REJECTED    ok     ok    not    ok           not     ok        not
close    COMPLETED   ok     ok    not    ok           not     ok        not
";

/// With an id that does not exist, or not for this caller.
pub const IDS: &str = "
                     UNKNOWN  MALFORMED  UPPER  OTHERS
edit        alice    gone     gone       gone   gone
initiate    alice    gone     gone       gone   gone
accept      bob      gone     gone       gone   gone
reject      bob      gone     gone       gone   gone
activate    bob      gone     gone       gone   gone
progress    bob      gone     gone       gone   gone
recall      alice    gone     gone       gone   gone
complete    bob      gone     gone       gone   gone
discard     alice    gone     gone       gone   gone
close       alice    gone     gone       gone   gone
close   coordinator  gone     gone       gone   gone
close   operator     gone     gone       gone   gone
show        alice    gone     gone       gone   gone
show    operator     gone     gone       gone   gone
history     alice    gone     gone       gone   gone
";

/// Reads a grid whose columns are callers or handoffs.
pub fn rows(grid: &str) -> Vec<Row> {
    let mut lines = grid.lines().filter(|line| !line.trim().is_empty());
    let columns: Vec<_> = lines.next().expect("a head").split_whitespace().collect();
    let mut rows = Vec::new();
    for line in lines {
        let mut cells = line.split_whitespace();
        let (action, given) = (cells.next().expect("an action"), cells.next().expect("a name"));
        for (column, cell) in columns.iter().zip(cells) {
            let (caller, id) = if is_id(given) { (*column, given) } else { (given, *column) };
            let expected = match cell {
                "ok" => continue,
                "wrong" => "409 wrong_state",
                "not" => "403 not_allowed",
                "gone" => "404 not_found",
                other => panic!("no such cell: {other}"),
            };
            let action = match action {
                "show" => format!("GET /v1/handoffs/{{{id}}}"),
                "history" => format!("GET /v1/handoffs/{{{id}}}/history"),
                action => format!("{action} {id}"),
            };
            rows.push(Row::new(caller, &action, expected));
        }
    }
    rows
}

fn is_id(name: &str) -> bool {
    name.chars().all(|character| character.is_ascii_uppercase())
}
