//! The reference as a page: plain HTML without scripts, so that it reads in any browser and with
//! any reader. The operations stand under their tags, each with an example to copy.

use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Map, Value};

use crate::http::operations::OPERATIONS;
use crate::http::operations::tags::{TAGS, Tag};
use crate::http::reference::openapi;
use crate::http::shared::operation::{Operation, Who};

pub async fn page() -> Response {
    let document = openapi();
    let mut body = String::from("<nav aria-label=\"Groups\"><ul>");
    for tag in &TAGS {
        body.push_str(&format!("<li><a href=\"#{0}\">{0}</a></li>", tag.name));
    }
    body.push_str("<li><a href=\"#Types\">Types</a></li></ul></nav>");
    for tag in &TAGS {
        body.push_str(&group(tag, &document));
    }
    body.push_str("<h2 id=\"Types\">Types</h2>");
    if let Some(schemas) = document["components"]["schemas"].as_object() {
        for (name, schema) in schemas {
            let name = escape(name);
            body.push_str(&format!("<details id=\"{name}\"><summary>{name}</summary>"));
            body.push_str(&format!("<pre>{}</pre></details>", escape(&pretty(schema))));
        }
    }
    let page = include_str!("../../../assets/reference.html").replace("<!--operations-->", &body);
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_SECURITY_POLICY, policy), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (headers, Html(page)).into_response()
}

fn group(tag: &Tag, document: &Value) -> String {
    let mut text = format!("<h2 id=\"{0}\">{0}</h2><p>{1}</p>", tag.name, escape(tag.description));
    for operation in OPERATIONS.iter().filter(|operation| operation.tag() == tag.name) {
        let described = &document["paths"][operation.path][operation.method];
        text.push_str(&section(operation, described));
    }
    text
}

fn section(operation: &Operation, described: &Value) -> String {
    let who = match operation.who {
        Who::Anyone => "Anyone may ask.",
        Who::Member => "Needs a token.",
        Who::Party => "Needs the token of a participant; some steps are not for the customer.",
        Who::Operator => "Needs an operator's token.",
    };
    let request = example("Request", &described["requestBody"]["content"]);
    let status = operation.status.to_string();
    let title = format!("Response {status}");
    let response = example(&title, &described["responses"][&status]["content"]);
    format!(
        "<section><h3 id=\"{id}\"><span class=\"method\">{method}</span> <code>{path}</code></h3>\
         <p><strong>{summary}</strong> {description}</p><p class=\"who\">{who}</p>\
         {request}{response}\
         <details><summary>Parameters and schemas</summary>\
         <pre>{detail}</pre></details></section>",
        id = operation.id,
        method = operation.method.to_uppercase(),
        path = escape(operation.path),
        summary = escape(operation.summary),
        description = code(&escape(operation.description())),
        detail = escape(&pretty(described)),
    )
}

/// The example of a request or an answer, if it has a body.
fn example(title: &str, content: &Value) -> String {
    let media = content.as_object().and_then(|kinds| kinds.iter().next());
    let Some((kind, media)) = media else { return String::new() };
    let example = &media["example"];
    if example.as_object().is_some_and(Map::is_empty) {
        return String::new();
    }
    let text = example.as_str().map_or_else(|| pretty(example), str::to_owned);
    let (title, kind, text) = (escape(title), escape(kind), escape(&text));
    format!("<h4>{title} <small>{kind}</small></h4><pre>{text}</pre>")
}

/// Turns text between backquotes into code.
fn code(text: &str) -> String {
    let mut parts = text.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        html.push_str(if index % 2 == 0 { "<code>" } else { "</code>" });
        html.push_str(part);
    }
    html
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    /// Long lines wrap, so nothing scrolls and nothing but links and summaries takes the focus.
    #[tokio::test]
    async fn examples_are_no_stops_for_the_keyboard() {
        let page = to_bytes(page().await.into_body(), usize::MAX).await.expect("a page");
        let page = String::from_utf8_lossy(&page).into_owned();
        assert!(page.matches("<pre").count() > 300);
        assert!(page.contains("pre { ") && page.contains("white-space: pre-wrap"), "they wrap");
        for focusable in ["tabindex", "overflow: auto", "overflow: scroll"] {
            assert!(!page.contains(focusable), "{focusable}");
        }
    }
}
