//! The permissions, as one table. The document says which callers may ask at all (`x-who`); the
//! table says what members then get.

use super::cast::{
    AGENT, CALLED, CONVERSATION, FILE, GRAPH, HUMAN, MESSAGE, QUEUE, SESSION, TOKEN, UPLOAD,
    WEBHOOK,
};
use super::reference::Operation;

/// What a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Yes,
    /// `not_allowed`
    Not,
    /// `not_found`
    Gone,
    /// `unauthenticated`
    Who,
    /// `not_holder`
    Late,
}

/// For members only, by operation (and action, for ACP) and the state the handoff is in.
const MEMBERS: &str = "
                         state      sender  target  stranger  coordinator  system  operator  human
list_handoffs            -          yes     yes     yes       yes          yes     yes      yes
initiate_handoff         -          yes     yes     yes       yes          yes     not      yes
draft_handoff            -          yes     yes     yes       yes          yes     not      yes
detect_handoffs          -          yes     yes     yes       yes          yes     yes      yes
show_handoff             proposed   yes     yes     yes       yes          yes     yes      yes
show_handoff             draft      yes     gone    gone      yes          gone    yes      gone
show_handoff             discarded  yes     gone    gone      yes          gone    yes      gone
handoff_history          closed     yes     yes     yes       yes          yes     yes      yes
handoff_history          draft      yes     gone    gone      yes          gone    yes      gone
edit_draft               draft      yes     gone    gone      not          gone    not      gone
discard_draft            draft      yes     gone    gone      not          gone    not      gone
propose_draft            draft      yes     gone    gone      not          gone    not      gone
accept_handoff           proposed   not     yes     not       not          not     not      not
accept_handoff           draft      not     gone    gone      not          gone    not      gone
reject_handoff           proposed   not     yes     not       not          not     not      not
reject_handoff           activated  not     yes     not       not          not     not      not
approve_handoff          guarded    not     not     not       not          not     not      yes
refuse_handoff           guarded    not     not     not       not          not     not      yes
counter_handoff          rejected   yes     not     not       not          not     not      not
withdraw_handoff         proposed   yes     not     not       not          not     not      not
delegate_handoff         activated  not     yes     not       not          not     not      not
reassign_handoff         accepted   not     not     not       yes          not     yes      not
extend_sla               proposed   not     not     not       yes          not     yes      not
activate_handoff         accepted   not     yes     not       not          not     not      not
report_progress          activated  not     yes     not       not          not     not      not
recall_handoff           accepted   yes     not     not       not          not     not      not
recall_handoff           activated  yes     not     not       not          not     not      not
complete_handoff         activated  not     yes     not       not          not     not      not
complete_handoff         unconfirmed not    yes     not       not          not     not      not
confirm_completion       unconfirmed yes    not     not       yes          not     yes      not
dispute_completion       unconfirmed yes    not     not       yes          not     yes      not
close_handoff            completed  yes     yes     not       yes          not     yes      not
close_handoff            rejected   yes     yes     not       yes          not     yes      not
acp_handoff:query        -          yes     yes     yes       yes          yes     yes      yes
acp_handoff:initiate     -          yes     yes     yes       yes          yes     not      yes
acp_handoff:draft        -          yes     yes     yes       yes          yes     not      yes
acp_handoff:draft        draft      yes     gone    gone      not          gone    not      gone
acp_handoff:initiate     draft      yes     gone    gone      not          gone    not      gone
acp_handoff:discard      draft      yes     gone    gone      not          gone    not      gone
acp_handoff:accept       proposed   not     yes     not       not          not     not      not
acp_handoff:accept       draft      not     gone    gone      not          gone    not      gone
acp_handoff:reject       proposed   not     yes     not       not          not     not      not
acp_handoff:counter      rejected   yes     not     not       not          not     not      not
acp_handoff:withdraw     proposed   yes     not     not       not          not     not      not
acp_handoff:approve      guarded    not     not     not       not          not     not      yes
acp_handoff:delegate     activated  not     yes     not       not          not     not      not
acp_handoff:reassign     accepted   not     not     not       yes          not     yes      not
acp_handoff:extend_sla   proposed   not     not     not       yes          not     yes      not
acp_handoff:activate     accepted   not     yes     not       not          not     not      not
acp_handoff:progress     activated  not     yes     not       not          not     not      not
acp_handoff:recall       accepted   yes     not     not       not          not     not      not
acp_handoff:complete     activated  not     yes     not       not          not     not      not
acp_handoff:confirm      unconfirmed yes    not     not       yes          not     yes      not
acp_handoff:dispute      unconfirmed yes    not     not       yes          not     yes      not
acp_handoff:close        completed  yes     yes     not       yes          not     yes      not
ask_question             -          yes     yes     yes       yes          yes     not      yes
list_questions           -          yes     yes     yes       yes          yes     yes      yes
show_question            q.open     yes     gone    gone      yes          gone    yes      yes
answer_question          q.open     not     gone    gone      not          gone    not      yes
withdraw_question        q.open     yes     gone    gone      yes          gone    yes      not
claim_question           q.answered yes     gone    gone      not          gone    not      not
renew_claim              q.claimed  yes     gone    gone      not          gone    not      not
finish_question          q.claimed  yes     gone    gone      not          gone    not      not
ask_tool                 -          yes     yes     yes       yes          yes     yes      yes
ask_by_tool              -          yes     yes     yes       yes          yes     not      yes
acp_send                 -          yes     yes     yes       yes          yes     not      yes
acp_query                -          yes     yes     yes       yes          yes     yes      yes
acp_inbox                -          yes     yes     yes       yes          yes     yes      yes
acp_status               -          yes     yes     yes       yes          yes     yes      yes
list_notices             -          yes     yes     yes       yes          yes     yes      yes
read_notices             -          yes     yes     yes       yes          yes     not      yes
mute_notices             -          yes     yes     yes       yes          yes     not      yes
show_message             -          yes     yes     gone      yes          gone    yes      gone
acp_respond              -          yes     yes     gone      yes          gone    not      gone
read_message             -          not     yes     gone      not          gone    not      gone
follow_events            -          yes     yes     yes       yes          yes     yes      yes
list_agents              -          yes     yes     yes       yes          yes     yes      yes
set_roles                -          not     not     not       yes          not     yes      not
set_presence             -          not     not     not       yes          not     yes      not
show_teamspace           -          yes     yes     yes       yes          yes     yes      yes
show_usage               -          yes     yes     yes       yes          yes     yes      yes
show_agent               -          yes     yes     yes       yes          yes     yes      yes
handoff_tools            -          yes     yes     yes       yes          yes     yes      yes
list_webhooks            -          yes     yes     yes     yes     yes     yes     yes
create_webhook           -          yes     yes     yes     yes     yes     yes     yes
show_webhook             -          yes     gone    gone    gone    gone    yes     gone
change_webhook           -          yes     gone    gone    gone    gone    yes     gone
rotate_webhook_key       -          yes     gone    gone    gone    gone    yes     gone
pause_webhook            -          yes     gone    gone    gone    gone    yes     gone
resume_webhook           -          yes     gone    gone    gone    gone    yes     gone
remove_webhook           -          yes     gone    gone    gone    gone    yes     gone
list_deliveries          -          yes     gone    gone    gone    gone    yes     gone
test_webhook             -          yes     gone    gone    gone    gone    yes     gone
redeliver_event          -          gone    gone    gone    gone    gone    gone    gone
discard_delivery         -          gone    gone    gone    gone    gone    gone    gone
list_graphs              -          yes     yes     yes       yes          yes     yes      yes
show_graph               -          yes     yes     yes       yes          yes     yes      yes
save_graph               -          not     not     not       yes          not     yes      not
remove_graph             -          not     not     not       yes          not     yes      not
announce_events          -          yes     yes     yes       yes          yes     not      not
list_sessions            -          yes     yes     yes       yes          yes     yes      yes
show_session             -          yes     gone    gone      yes          gone    yes      gone
session_events           -          yes     gone    gone      yes          gone    yes      gone
await_decision           -          yes     gone    gone      yes          gone    yes      gone
answer_session           -          not     gone    gone      not          gone    yes      yes
compat_listen            -          yes     yes     yes       yes          yes     yes      yes
compat_message           -          yes     yes     yes       yes          yes     yes      yes
compat_session           -          yes     yes     yes       yes          yes     not      yes
compat_health            -          yes     yes     yes       yes          yes     yes      yes
compat_socket            -          yes     yes     yes       yes          yes     yes      yes
list_conversations       -          yes     yes     yes       yes          yes     yes      yes
open_conversation        -          yes     yes     yes       yes          yes     yes      yes
mint_customer_token      -          yes     not     gone      not          gone    yes      gone
read_history             -          yes     yes     gone      yes          gone    yes      gone
show_bundle              t.queued   yes     yes     gone      yes          gone    yes      yes
show_queue               -          yes     yes     yes       yes          yes     yes      yes
list_queues              -          yes     yes     yes       yes          yes     yes      yes
list_transfers           -          yes     yes     yes       yes          yes     yes      yes
report_queues            -          not     not     not       yes          not     yes      not
configure_queue          -          not     not     not       yes          not     yes      not
";

/// For members and the customer of a conversation that the sender opened and the target holds.
const PARTIES: &str = "
                      state  customer sender target stranger coordinator system operator human
open_socket           -      yes       yes     yes     yes       yes          yes     yes       yes
open_subscription     -      yes       yes     yes     yes       yes          yes     yes       yes
listen       subscription    gone      yes     gone    gone      gone         gone    gone      gone
reply                 -      yes       yes     yes     yes       yes          yes     yes       yes
open_aaep_socket      -      yes       yes     yes     yes       yes          yes     yes       yes
store_file            -      yes       yes     yes     yes       yes          yes     yes       yes
list_files            -      yes       yes     yes     yes       yes          yes     yes       yes
download_file         -      gone      yes     gone    gone      gone         gone    gone      gone
begin_upload          -      yes       yes     yes     yes       yes          yes     yes       yes
show_upload           -      gone      yes     gone    gone      gone         gone    gone      gone
append_to_upload      -      gone      yes     gone    gone      gone         gone    gone      gone
finish_upload         -      gone      yes     gone    gone      gone         gone    gone      gone
abandon_upload        -      gone      yes     gone    gone      gone         gone    gone      gone
show_conversation     -      yes       yes     yes     gone      yes          gone    yes       gone
read_transcript       -      yes       yes     yes     gone      yes          gone    yes       gone
download_attachment   -      yes       yes     yes     gone      yes          gone    yes       gone
say                   -      yes       late    yes     gone      late         gone    not       gone
route_conversation    -      not       late    yes     gone      late         gone    not       gone
call_tools            -      not       late    yes     gone      late         gone    not       gone
show_progress         -      not       late    yes     gone      late         gone    not       gone
list_choices          -      yes       yes     yes     gone      yes          gone    yes       gone
observe_signals       -      not       yes     yes     gone      yes          gone    yes       gone
select_agent          -      yes       not     not     gone      not          gone    not       gone
close_conversation    -      yes       not     yes     gone      yes          gone    yes       gone
request_human         -      yes       late    yes     gone      yes          gone    yes       gone
ask_callback          -      yes       late    yes     gone      yes          gone    yes       gone
settle_callback       -      not       not     not     gone      yes          gone    yes       yes
show_transfer      t.queued    yes     yes     yes     gone      yes          gone    yes       yes
pick_up_transfer   t.queued    not     not     not     gone      not          gone    not       yes
accept_transfer    t.ringing   not     not     not     gone      not          gone    not       yes
decline_transfer   t.ringing   not     not     not     gone      not          gone    not       yes
hold_transfer      t.connected not     not     not     gone      not          gone    not       yes
resume_transfer    t.on_hold   not     not     not     gone      not          gone    not       yes
complete_transfer  t.connected not     not     not     gone      yes          gone    yes       yes
end_transfer       t.connected not     not     not     gone      yes          gone    yes       yes
cancel_transfer    t.queued    yes     not     not     gone      yes          gone    yes       not
fail_transfer      t.queued    not     not     not     gone      yes          gone    yes       not
transfer_on        t.connected not     not     not     gone      not          gone    not       yes
note_transfer      t.connected not     not     not     gone      yes          gone    yes       yes
whisper_transfer   t.connected not     not     not     gone      yes          gone    yes       not
rate_transfer      t.completed yes     not     not     gone      not          gone    not       not
export_conversation   -      not       yes     not     gone      yes          gone    yes       gone
";

/// The state of a handoff for the actions of operators only.
const OPERATORS: [(&str, &str); 2] =
    [("erase_content", "closed"), ("erase_question", "q.withdrawn")];

/// One request, and its permitted callers.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: String,
    pub method: String,
    pub path: String,
    pub operation: String,
    /// The action, for ACP.
    pub action: Option<String>,
    /// The state the handoff must be in; empty without a handoff.
    pub state: &'static str,
    pub success: u16,
    who: String,
    members: Vec<(&'static str, Verdict)>,
}

/// The cases of an operation; at least one, or the operation has no rule.
pub fn cases(operation: &Operation) -> Vec<Case> {
    let case = |name: String| Case {
        name,
        method: operation.method.clone(),
        path: operation.path.clone(),
        operation: operation.id.clone(),
        action: None,
        state: "",
        success: operation.success,
        who: operation.who.clone(),
        members: Vec::new(),
    };
    if operation.who != "member" && operation.who != "party" {
        let mut needed = OPERATORS.iter().filter(|(id, _)| *id == operation.id);
        let state = needed.next().map_or("", |(_, state)| state);
        return vec![Case { state, ..case(operation.id.clone()) }];
    }
    let table = if operation.who == "party" { PARTIES } else { MEMBERS };
    let mut lines = table.lines().filter(|line| !line.trim().is_empty());
    let callers: Vec<_> = lines.next().expect("a head").split_whitespace().skip(1).collect();
    let mut cases = Vec::new();
    for line in lines {
        let mut cells = line.split_whitespace();
        let name = cells.next().expect("an operation");
        let (id, action) = name.split_once(':').map_or((name, None), |(id, it)| (id, Some(it)));
        if id != operation.id {
            continue;
        }
        let state = cells.next().filter(|state| *state != "-").unwrap_or_default();
        let members = callers.iter().copied().zip(cells.map(verdict)).collect();
        let action = action.map(str::to_owned);
        cases.push(Case { action, state, members, ..case(format!("{name} {state}")) });
    }
    assert!(!cases.is_empty(), "{} has no rule", operation.id);
    cases
}

fn verdict(cell: &str) -> Verdict {
    match cell {
        "yes" => Verdict::Yes,
        "not" => Verdict::Not,
        "gone" => Verdict::Gone,
        "late" => Verdict::Late,
        other => panic!("no such cell: {other}"),
    }
}

impl Case {
    pub fn verdict(&self, caller: &str) -> Verdict {
        match (self.who.as_str(), caller) {
            ("anyone", _) => Verdict::Yes,
            (_, "none" | "garbage" | "revoked" | "expired") => Verdict::Who,
            ("operator", "operator") => Verdict::Yes,
            ("operator", _) | ("member", "customer") => Verdict::Not,
            ("member" | "party", caller) => {
                let mut members = self.members.iter();
                members.find(|(name, _)| *name == caller).expect("a column for every caller").1
            }
            (who, _) => panic!("unknown kind of caller: {who}"),
        }
    }

    pub fn is_acp(&self) -> bool {
        self.action.is_some()
    }

    /// Whether it is about one thing that another teamspace may have.
    pub fn has_subject(&self) -> bool {
        self.path.contains('{') || (self.is_acp() && !self.state.is_empty())
    }

    /// Which kind of thing stands in the path.
    pub fn subject_kind(&self) -> &'static str {
        match self.path.as_str() {
            path if path.ends_with("/presence") => HUMAN,
            path if path.ends_with("/callbacks/done") => CALLED,
            path if path.contains("{agent}") => AGENT,
            path if path.contains("{queue}") => QUEUE,
            path if path.contains("{conversation}") => CONVERSATION,
            path if path.contains("{graph}") => GRAPH,
            path if path.contains("{session}") => SESSION,
            path if path.contains("{webhook}") => WEBHOOK,
            path if path.contains("{file}") => FILE,
            path if path.contains("{upload}") => UPLOAD,
            path if path.contains("{token}") => TOKEN,
            path if path.contains("{message}") => MESSAGE,
            _ => self.state,
        }
    }

    pub fn unknown(&self) -> &'static str {
        if self.subject_kind() == SESSION {
            super::UNKNOWN_SESSION
        } else if [AGENT, GRAPH, HUMAN, QUEUE].contains(&self.subject_kind()) {
            super::UNKNOWN_NAME
        } else {
            super::UNKNOWN_ID
        }
    }
}
