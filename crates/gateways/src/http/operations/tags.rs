//! The groups of operations, in the order of the reference.

/// A group of operations.
#[derive(Debug, Clone, Copy)]
pub struct Tag {
    pub name: &'static str,
    pub description: &'static str,
    /// How the paths of its operations begin, after the first slash.
    paths: &'static [&'static str],
}

pub const TAGS: [Tag; 14] = [
    Tag {
        name: "Handoffs",
        description: "A task moves to a new owner, from a draft to a closed record.",
        paths: &["v1/handoffs", "v1/acp/handoff"],
    },
    Tag {
        name: "Questions",
        description: "What an agent asks a human, the answer, and who goes on with it.",
        paths: &["v1/questions"],
    },
    Tag {
        name: "Messages",
        description: "What agents tell each other, and what the server tells them about handoffs.",
        paths: &["v1/acp/", "v1/notices"],
    },
    Tag {
        name: "Transfers",
        description: "A conversation passes to a person, or the customer is called back.",
        paths: &[
            "v1/conversations/{conversation}/transfers",
            "v1/conversations/{conversation}/callbacks",
            "v1/transfers",
            "v1/bundles",
            "v1/queues",
            "v1/reports",
        ],
    },
    Tag {
        name: "Conversations",
        description: "A chat with a customer: exactly one agent holds it at a time.",
        paths: &["v1/conversations"],
    },
    Tag {
        name: "Files",
        description: "Attachments of messages and artifacts of handoffs, stored by the server.",
        paths: &["v1/files", "v1/uploads"],
    },
    Tag {
        name: "Graphs",
        description: "Routers and specialists: the rules that choose who answers a message.",
        paths: &["v1/graphs"],
    },
    Tag {
        name: "Directory",
        description: "The agents of a teamspace, and what they can do.",
        paths: &["v1/agents"],
    },
    Tag {
        name: "Access",
        description: "Tokens, teamspaces, and what they use.",
        paths: &["v1/tokens", "v1/teamspace", "v1/usage", "v1/quotas"],
    },
    Tag { name: "Events", description: "The ledger, live.", paths: &["v1/events", "ws"] },
    Tag {
        name: "Webhooks",
        description: "The ledger, posted to a URL as signed CloudEvents.",
        paths: &["v1/webhooks"],
    },
    Tag {
        name: "AAEP",
        description: "The Agent Accessibility Event Protocol: sessions that agents announce.",
        paths: &["aaep/", "v1/aaep/", ".well-known/aaep"],
    },
    Tag {
        name: "Operation",
        description: "For people who run the server.",
        paths: &["v1/outbox", "v1/ledger", "healthz", "readyz", "metrics", "witness/"],
    },
    Tag {
        name: "Reference",
        description: "This description itself.",
        paths: &["openapi.json", "schemas/", "docs"],
    },
];

/// The tag of a path: the first that has it.
pub fn of(path: &str) -> &'static str {
    let path = path.trim_start_matches('/');
    let is_of = |tag: &&Tag| tag.paths.iter().any(|start| path.starts_with(start));
    TAGS.iter().find(is_of).map_or("Operation", |tag| tag.name)
}
