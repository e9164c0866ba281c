//! A WebSocket to a server, over the same transports as requests.

use std::pin::Pin;

use anyhow::{Context, Result};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::client::{Client, Refused, Transport, Unreachable};

/// Bytes both ways, over any transport.
pub trait Duplex: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Duplex for T {}

pub type Socket = WebSocketStream<Pin<Box<dyn Duplex>>>;

impl Client {
    /// Opens the socket at a path, on which this subprotocol is spoken.
    pub async fn socket_at(&self, path: &str, protocol: &'static str) -> Result<Socket> {
        let stream: Pin<Box<dyn Duplex>> = match &self.transport {
            Transport::InProcess(_) => return Err(Unreachable("this folder".to_owned()).into()),
            Transport::Socket(path) => {
                let unreachable = |_| Unreachable(path.display().to_string());
                Box::pin(UnixStream::connect(path).await.map_err(unreachable)?)
            }
            Transport::Network(remote) => remote.connect().await?,
        };
        let url = format!("ws://tasuki{path}");
        let mut request = url.into_client_request().context("the path is no path")?;
        let headers = request.headers_mut();
        headers.insert("sec-websocket-protocol", HeaderValue::from_static(protocol));
        let identity = [
            ("authorization", self.identity.token.as_ref().map(|token| format!("Bearer {token}"))),
            ("tasuki-act-as", self.identity.act_as.clone()),
            ("tasuki-teamspace", self.identity.teamspace.clone()),
            ("tasuki-session", self.identity.session()),
        ];
        for (name, value) in identity {
            if let Some(value) = value {
                let value =
                    value.parse().with_context(|| format!("{name}: expected plain text"))?;
                headers.insert(name, value);
            }
        }
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                let problem: Value = serde_json::from_slice(body).unwrap_or_default();
                Err(Refused::new(&problem).into())
            }
            Err(error) => Err(error).context("the server did not open a socket"),
        }
    }
}
