//! Examples of requests and answers, made from their schemas, so that they always match. The name
//! of a field decides its example value.

use protocol::form::Form;
use serde_json::{Map, Value, json};

/// Values for fields of these names, if the schema allows them; the first that fits counts.
const SAMPLES: [(&str, &str); 49] = [
    ("action", "accept"),
    ("agent_id", "bob"),
    ("artifact_id", "export"),
    ("closure_notes", "Checked."),
    ("code", "wrong_state"),
    ("completion_notes", "The columns are back, and a test counts them."),
    ("contact", "ana@example.com"),
    ("criterion", "The file of last night has 48 columns"),
    ("customer_token", "tasuki_b30bb90419c6c51ab40e80d519ef2a832ea2e55a29d76e3f291fb2ffa94d38c9"),
    ("data", "aGVsbG8="),
    ("description", "Exports and their formats."),
    ("detail", "The second criterion contradicts the first."),
    ("disposition", "refunded"),
    ("entry", "hello"),
    ("event", "handoff.accepted"),
    ("evidence", "head -1 counts 48"),
    ("file", "sha256:89150bfd3ce0dd33e3ae21f27ba92bb1dcc4d87b2cff53ea4f7ed28eb1b56b3b"),
    ("from", "alice"),
    ("from_agent", "alice"),
    ("goto", "carol"),
    ("graph", "support"),
    ("holder", "bob"),
    ("id", "hello"),
    ("label", "billing"),
    ("name", "Dana"),
    ("next_cursor", "cur_9Zr5JbQm0uYtS2xkWv8nAcHdLpEiFo3g"),
    ("next_step", "Run export.py against the data of Monday"),
    ("notes", "I start tomorrow."),
    ("operator", "olga"),
    ("outcome", "She has her money back."),
    ("path", "/srv/exports/last-night.csv"),
    ("queue", "desk"),
    ("reason", "Bob knows the export code."),
    ("router", "triage"),
    ("stream", "handoff/01a1dd8b-267b-7517-b6f1-b43d22fa6dcd"),
    ("subscription_id", "sub_2c91"),
    ("success_criteria", "The file of last night has 48 columns"),
    ("summary", "The export drops the last two columns since Tuesday."),
    ("task_id", "PAY-311"),
    ("teamspace", "billing"),
    ("text", "My invoice is wrong."),
    ("title", "Fix the nightly export"),
    ("to", "bob"),
    ("to_agent", "bob"),
    ("token", "tasuki_b30bb90419c6c51ab40e80d519ef2a832ea2e55a29d76e3f291fb2ffa94d38c9"),
    ("url", "https://agents.example/bob"),
    ("user_message", "What is the weather?"),
    ("why", "Bob is away this week."),
    ("workq_status", "not_applicable"),
];

const UUID: &str = "01a1dd8b-267b-7517-b6f1-b43d22fa6dcd";

const TIME: &str = "2026-11-15T04:50:46.523Z";

const HASH: &str = "a4200e57b279c42fe76e764444edf6cd07cc84b4177c455dc2b93f5009074e83";

/// For other fields, the first of these that their schema allows.
const TEXTS: [&str; 15] = [
    UUID,
    TIME,
    "15m",
    "5m",
    "09:00",
    HASH,
    "bob",
    "A line of text.",
    "https://agents.example/bob",
    "#2f6fde",
    "image/png",
    "1.0.0",
    "sip:ana@example.com",
    "en",
    "x",
];

/// Deep enough for every request; deeper optional fields are left out.
const DEPTH_MAX: usize = 8;

/// How many optional fields an example shows.
const OPTIONAL_MAX: usize = 2;

/// Requests of which a schema says too little to make an example.
const REQUESTS: [(&str, &str); 17] = [
    ("add_checkpoint", r#""old 3\nPlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n\ntasuki-0123…""#),
    ("answer_session", r#"{"event_id":"evt_1","decision":"accept"}"#),
    (
        "announce_events",
        r#"{"@context":"https://aaep-protocol.org/context/v1",
            "type":"aaep:agent.session.started","event_id":"evt_1","session_id":"sess_1",
            "sequence_number":0,"timestamp":"2026-02-21T14:00:00.000Z",
            "producer":{"agent_id":"bob","agent_name":"Bob"},
            "summary_normal":"Looks up your bill"}"#,
    ),
    ("append_to_upload", r#""(the bytes of the piece)""#),
    (
        "ask_by_tool",
        r#"{"form":"openai","to":"desk","reference":"thread-42","turn":{"role":"assistant",
            "content":null,"tool_calls":[{"id":"call_1","type":"function","function":
                {"name":"ask_human","arguments":"{\"text\":\"May I refund 10?\"}"}}]}}"#,
    ),
    (
        "call_tools",
        r#"{"form":"openai","epoch":1,"turn":{"role":"assistant","content":null,"tool_calls":[
            {"id":"call_1","type":"function","function":
                {"name":"transfer_to_billing","arguments":"{\"reason\":\"a refund\"}"}}]}}"#,
    ),
    (
        "detect_handoffs",
        r#"{"form":"openai","messages":[{"role":"user","content":"I want my money back"},
            {"role":"assistant","content":null,"tool_calls":[
                {"id":"call_1","type":"function","function":
                    {"name":"transfer_to_billing","arguments":"{\"reason\":\"a refund\"}"}}]},
            {"role":"tool","tool_call_id":"call_1",
                "content":"Successfully transferred to billing"}]}"#,
    ),
    ("discard_delivery", r#"{"event":"cur_5d41402abc4b2a76b9719d911017c592"}"#),
    ("open_conversation", r#"{"agent":"bob","customer":{"name":"Ana"}}"#),
    (
        "open_subscription",
        r#"{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"my-reader",
            "capabilities":{"languages":["en"],"supports_confirmation_reply":true}}"#,
    ),
    ("mute_notices", r#"{"kinds":["activated"]}"#),
    ("read_notices", r#"{"until":"cur_5d41402abc4b2a76b9719d911017c592"}"#),
    ("redeliver_event", r#"{"event":"cur_5d41402abc4b2a76b9719d911017c592"}"#),
    (
        "reply",
        r#"{"type":"confirmation.reply","subscription_id":"sub_1","reply_token":"rpl_1",
            "decision":"accept","timestamp":"2026-02-21T14:00:05.000Z"}"#,
    ),
    (
        "save_graph",
        r#"{"entry":"triage","nodes":[
            {"id":"triage","kind":"router","default":"helper"},
            {"id":"helper","kind":"specialist","agent":"bob"}]}"#,
    ),
    ("store_file", r#""(the bytes of the file)""#),
    ("set_quotas", r#"{"teamspace":"billing","quotas":{"teamspace_stored_mib":10240}}"#),
];

/// The example of a request that is written by hand.
pub fn of_request(operation: &str) -> Option<Value> {
    let (_, text) = REQUESTS.iter().find(|(id, _)| *id == operation)?;
    Some(serde_json::from_str(text).expect("our examples are JSON"))
}

/// A value that has the form of a schema of this document.
pub fn of(document: &Value, schema: &Value) -> Value {
    Examples { document }.of(schema, "", 0)
}

struct Examples<'d> {
    document: &'d Value,
}

impl Examples<'_> {
    fn of(&self, schema: &Value, field: &str, depth: usize) -> Value {
        let schema = self.joined(schema);
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return choices.first().cloned().unwrap_or_default();
        }
        match kind(&schema) {
            "string" => self.text(&schema, field).into(),
            "integer" | "number" => number(&schema),
            "boolean" => true.into(),
            "array" if depth >= DEPTH_MAX => json!([]),
            "array" => match schema.get("items") {
                Some(items) => json!([self.of(items, field, depth + 1)]),
                None => json!([]),
            },
            "object" => self.object(&schema, depth),
            "null" => Value::Null,
            _ => json!({}),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let empty = Map::new();
        let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut example = Map::new();
        let mut n_optional = 0;
        for (name, inner) in fields {
            let is_needed = required.contains(&name.as_str());
            let is_known = SAMPLES.iter().any(|(known, _)| known == name);
            let is_shown = is_known && depth == 0 && n_optional < OPTIONAL_MAX;
            if is_needed || is_shown {
                n_optional += usize::from(!is_needed);
                example.insert(name.clone(), self.of(inner, name, depth + 1));
            }
        }
        Value::Object(example)
    }

    fn text(&self, schema: &Value, field: &str) -> String {
        let form = Form::part(self.document, schema);
        let fits = |text: &&str| form.check(&Value::from(*text)).is_ok();
        let named = SAMPLES.iter().filter(|(name, _)| *name == field).map(|(_, text)| *text);
        let named = named.chain(by_ending(field));
        let plain = schema.get("pattern").is_none() && schema.get("format").is_none();
        let free = plain.then_some("A line of text.");
        let mut candidates = named.chain(free).chain(TEXTS);
        candidates.find(fits).unwrap_or_default().to_owned()
    }

    /// The schema with what it refers to, and the first of several forms that is not `null`.
    fn joined(&self, schema: &Value) -> Value {
        let Some(fields) = schema.as_object() else { return json!({}) };
        let mut joined = Map::new();
        let mut parts: Vec<Value> = Vec::new();
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            parts.extend(self.document.pointer(&reference[1..]).cloned());
        }
        parts.extend(fields.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default());
        for group in ["anyOf", "oneOf"] {
            let branches = fields.get(group).and_then(Value::as_array);
            let is_real =
                |branch: &&Value| branch["type"] != "null" && branch["maxProperties"] != 0;
            parts.extend(branches.into_iter().flatten().find(is_real).cloned());
        }
        for part in &parts {
            join(&mut joined, &self.joined(part));
        }
        let mut rest = fields.clone();
        for done in ["$ref", "allOf", "anyOf", "oneOf"] {
            rest.remove(done);
        }
        join(&mut joined, &Value::Object(rest));
        Value::Object(joined)
    }
}

/// Values for fields by the ending of their names.
fn by_ending(field: &str) -> Option<&'static str> {
    let endings = [
        ("_at", TIME),
        ("_id", UUID),
        ("delegations", UUID),
        ("hash", HASH),
        ("digest", HASH),
        ("chain", "alice"),
        ("agent", "bob"),
        ("approval", "not_needed"),
    ];
    endings.into_iter().find(|(ending, _)| field.ends_with(ending)).map(|(_, text)| text)
}

fn join(joined: &mut Map<String, Value>, more: &Value) {
    for (keyword, value) in more.as_object().into_iter().flatten() {
        match (joined.get_mut(keyword), value) {
            (Some(Value::Object(before)), Value::Object(more)) if keyword == "properties" => {
                for (name, schema) in more {
                    let both = match before.get(name) {
                        Some(first) => json!({ "allOf": [first, schema] }),
                        None => schema.clone(),
                    };
                    before.insert(name.clone(), both);
                }
            }
            (Some(Value::Array(before)), Value::Array(more)) if keyword == "required" => {
                before.extend(more.iter().cloned());
            }
            (Some(before), more) if keyword == "items" => {
                *before = json!({ "allOf": [before.clone(), more] });
            }
            (_, _) => {
                joined.insert(keyword.clone(), value.clone());
            }
        }
    }
}

fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null").unwrap_or("null")
        }
        _ if schema.get("properties").is_some() => "object",
        _ => "any",
    }
}

/// The smallest allowed number above 0, if there is one.
fn number(schema: &Value) -> Value {
    let min = schema.get("minimum").and_then(Value::as_f64).unwrap_or(0.0);
    let max = schema.get("maximum").and_then(Value::as_f64).unwrap_or(f64::MAX);
    let number = if min <= 1.0 && 1.0 <= max { 1.0 } else { min };
    let number = match schema.get("exclusiveMaximum").and_then(Value::as_f64) {
        Some(below) if number >= below => below / 2.0,
        Some(_) | None => number,
    };
    if number.fract() == 0.0 { json!(number as i64) } else { json!(number) }
}
