//! The names of the tools that hand over to an agent, and how to read them.
//!
//! Providers accept `[a-zA-Z0-9_-]` and 64 characters; an agent's id has dots and may itself be 64
//! long. Ids are lower-case, so capitals can encode what does not fit:
//!
//! | id | after the prefix |
//! |---|---|
//! | `billing` | `billing` |
//! | `billing.eu` | `billingDeu`, `D` for each dot |
//! | `agent` | `Iagent`, because `transfer_to_agent` is the tool for every agent |
//! | `human` | `Ihuman`, because `transfer_to_human` asks for a person |
//! | too long | its beginning, `H`, and 16 hex digits of its SHA-256 |
//!
//! All but the last can be read back without knowing the agents.

use crate::canonical::{hex, sha256};
use crate::ids::AgentId;
use crate::route::graph::HUMAN;

/// The longest name of a tool that every provider accepts.
pub const TOOL_NAME_BYTES_MAX: usize = 64;

/// The tool that takes its target as an argument.
pub const ANY_AGENT: &str = "transfer_to_agent";

/// The tool that asks for a person.
pub const PERSON: &str = "transfer_to_human";

/// The prefix of the tools that hand over. Other tools may not begin like this.
pub const FORTH: &str = "transfer_to_";

/// The prefix of the calls that say the work came back.
pub const BACK: &str = "transfer_back_to_";

const HASH_DIGITS: usize = 16;
const DOT: char = 'D';
const ESCAPED: char = 'I';
const HASHED: char = 'H';

/// The name of the tool that hands over to this agent.
pub fn forth(id: &AgentId) -> String {
    named(FORTH, id)
}

/// The name of the call that says the work came back to this agent.
pub fn back(id: &AgentId) -> String {
    named(BACK, id)
}

/// The agent whose tool has this name, as far as the name alone can tell.
pub fn read(tool: &str) -> Option<AgentId> {
    let ending = tool.strip_prefix(FORTH).or_else(|| tool.strip_prefix(BACK))?;
    let ending = match ending.strip_prefix(ESCAPED) {
        Some(rest) if rest == "agent" || rest == HUMAN => rest,
        Some(_) | None => ending,
    };
    if ending.contains(HASHED) {
        return None;
    }
    let id: AgentId = ending.replace(DOT, ".").parse().ok()?;
    // Only names that we would generate are ours.
    (forth(&id) == tool || back(&id) == tool).then_some(id)
}

pub(super) fn is_of_tool_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn named(prefix: &str, id: &AgentId) -> String {
    let room = TOOL_NAME_BYTES_MAX - prefix.len();
    let plain = id.as_str().replace('.', &DOT.to_string());
    if [ANY_AGENT, PERSON].contains(&format!("{prefix}{plain}").as_str()) {
        return format!("{prefix}{ESCAPED}{plain}");
    }
    if plain.len() <= room {
        return format!("{prefix}{plain}");
    }
    let hash = hex(&sha256(&[id.as_str().as_bytes()]));
    let kept = &plain[..room - HASH_DIGITS - 1];
    format!("{prefix}{kept}{HASHED}{}", &hash[..HASH_DIGITS])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> AgentId {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_those_of_the_page() {
        let long = "x".repeat(64);
        let cases = [
            ("billing", "transfer_to_billing"),
            ("billing-2_b", "transfer_to_billing-2_b"),
            ("billing.eu", "transfer_to_billingDeu"),
            ("agent", "transfer_to_Iagent"),
            ("human", "transfer_to_Ihuman"),
            ("agent.", "transfer_to_agentD"),
            (long.as_str(), "transfer_to_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxH7ce100971f64e700"),
        ];
        for (agent, tool) in cases {
            assert_eq!(forth(&id(agent)), tool);
        }
        assert_eq!(back(&id("agent")), "transfer_back_to_agent");
        assert_eq!(back(&id("human")), "transfer_back_to_human");
        assert_eq!(read("transfer_to_Ihuman"), Some(id("human")));
    }

    #[test]
    fn names_that_are_not_ours_are_not_read() {
        let ours = [ANY_AGENT, PERSON];
        for tool in ["transfer_to_", "transfer_to_Data", "transfer_to_Ix", "x"].iter().chain(&ours)
        {
            assert_eq!(read(tool), None, "{tool}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Every id has a name that every provider accepts, and short ones can be read back.
        #[test]
        fn names_go_there_and_back(text in "[a-z0-9][a-z0-9._-]{0,63}") {
            let id = id(&text);
            for (tool, room) in [(forth(&id), 52), (back(&id), 47)] {
                prop_assert!(tool.len() <= TOOL_NAME_BYTES_MAX);
                prop_assert!(tool.bytes().all(is_of_tool_name));
                prop_assert_ne!(tool.as_str(), ANY_AGENT);
                prop_assert_ne!(tool.as_str(), PERSON);
                let expected = (text.len() <= room).then(|| id.clone());
                prop_assert_eq!(read(&tool), expected);
            }
        }
    }
}
