//! A plain HTTP/1 connection, driven by the caller that waits for a response.
//!
//! A task per connection would cost two more task switches per request, which is more than the rest of the request
//! costs.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::client::ConnectionError;

pub(crate) struct Http1Connection {
    sender: SendRequest<Full<Bytes>>,
    connection: OpenConnection,
}

/// `None` once the connection is closed.
type OpenConnection = Option<Connection<TokioIo<TcpStream>, Full<Bytes>>>;

/// Why there is no response.
pub(crate) enum SendError {
    /// Nothing was sent, so the request can use another connection.
    Unsent(Box<Request<Full<Bytes>>>),
    Broken(hyper::Error),
}

impl Http1Connection {
    pub(crate) async fn open(
        host: &str,
        port: u16,
        within: Duration,
    ) -> Result<Box<Self>, ConnectionError> {
        let stream = match timeout(within, TcpStream::connect((host, port))).await {
            Ok(connected) => {
                connected.map_err(|error| ConnectionError::Connect(error.to_string()))?
            }
            Err(_) => return Err(ConnectionError::ConnectTimeout),
        };
        // Requests are small and must not be delayed.
        let _ = stream.set_nodelay(true);
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| ConnectionError::broken(&error))?;
        Ok(Box::new(Self {
            sender,
            connection: Some(connection),
        }))
    }

    /// Sends a request and waits for the head of its response.
    pub(crate) async fn ask(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendError> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let connection = &mut self.connection;
        let answered = poll_fn(|context| {
            drive(connection, context);
            answer.as_mut().poll(context)
        });
        answered
            .await
            .map_err(|mut failed| match failed.take_message() {
                Some(unsent) => SendError::Unsent(Box::new(unsent)),
                None => SendError::Broken(failed.into_error()),
            })
    }

    /// Reads and writes as far as possible.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) {
        drive(&mut self.connection, context);
    }

    /// Returns whether the connection can take a request. Also detaches the waker of its previous user.
    pub(crate) fn is_free(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.connection.is_some() && self.sender.is_ready()
    }
}

/// Errors surface in the response future.
fn drive(connection: &mut OpenConnection, context: &mut Context<'_>) {
    if let Some(open) = connection
        && Pin::new(open).poll(context).is_ready()
    {
        *connection = None;
    }
}
