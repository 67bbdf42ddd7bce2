//! A pool of connections to a server on this machine.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::header::{HOST, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Request, Uri};
use tokio::time::Instant;

use crate::http::client::{ConnectionError, Outgoing};
use crate::http::http1_connection::{Http1Connection, SendError};
use crate::http::target::Target;

/// Idle connections kept to one server: as many as there may be concurrent calls, so that a full load opens no new
/// ones.
const IDLE_CONNECTIONS: usize = 64;
/// A connection that was idle for longer is not reused: the server may be about to close it.
const IDLE_TIME: Duration = Duration::from_secs(90);
/// Bytes after which the task yields. A server that sends without end is always ready to be read, and the timer of the
/// caller must get a chance to run.
const AT_ONE_GO: usize = 64 * 1024;

/// A server on this machine and its idle connections.
pub(crate) struct Loopback {
    host: String,
    port: u16,
    /// The `Host` header.
    named: HeaderValue,
    /// The most recently used connection is the last.
    idle: Mutex<VecDeque<IdleConnection>>,
}

struct IdleConnection {
    line: Box<Http1Connection>,
    since: Instant,
}

impl Loopback {
    /// Creates a pool for a target; `None` unless it is plain HTTP to this machine.
    pub(crate) fn at(target: &Target) -> Option<Arc<Self>> {
        let url = &target.url;
        if url.scheme() != "http" || !target.is_loopback() {
            return None;
        }
        let host = url.host_str()?;
        let named = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Some(Arc::new(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port_or_known_default()?,
            named: HeaderValue::from_str(&named).ok()?,
            idle: Mutex::default(),
        }))
    }

    /// Sends a request. Returns when the head of the response has arrived.
    pub(crate) async fn send(
        self: &Arc<Self>,
        outgoing: Outgoing<'_>,
        connect: Duration,
    ) -> Result<LoopbackResponse, ConnectionError> {
        let mut request = self.request(outgoing)?;
        while let Some(line) = self.take_idle() {
            match self.ask(line, request).await {
                Err(SendError::Unsent(unsent)) => request = *unsent,
                Err(SendError::Broken(error)) => return Err(ConnectionError::broken(&error)),
                Ok(answer) => return Ok(answer),
            }
        }
        let line = Box::pin(Http1Connection::open(&self.host, self.port, connect)).await?;
        match self.ask(line, request).await {
            Ok(answer) => Ok(answer),
            Err(SendError::Broken(error)) => Err(ConnectionError::broken(&error)),
            Err(SendError::Unsent(_)) => Err(ConnectionError::Broken(
                "it was closed immediately".to_owned(),
            )),
        }
    }

    /// Closes all idle connections.
    pub(crate) fn close_idle(&self) {
        self.idle().clear();
    }

    fn request(&self, outgoing: Outgoing<'_>) -> Result<Request<Full<Bytes>>, ConnectionError> {
        let Outgoing {
            method,
            url,
            headers,
            body,
        } = outgoing;
        let uri = match url.query() {
            Some(query) => Uri::try_from(format!("{}?{query}", url.path())),
            None => Uri::try_from(url.path()),
        };
        let unwritable =
            |flaw| ConnectionError::Broken(format!("its URL cannot be used in a request: {flaw}"));
        let mut request = Request::new(Full::new(body.unwrap_or_default()));
        *request.uri_mut() = uri.map_err(unwritable)?;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        request.headers_mut().insert(HOST, self.named.clone());
        Ok(request)
    }

    async fn ask(
        self: &Arc<Self>,
        mut line: Box<Http1Connection>,
        request: Request<Full<Bytes>>,
    ) -> Result<LoopbackResponse, SendError> {
        let (head, body) = line.ask(request).await?.into_parts();
        Ok(LoopbackResponse {
            head,
            body: Some(body),
            line: Some(line),
            near: Arc::clone(self),
            unpaused: 0,
        })
    }

    fn take_idle(&self) -> Option<Box<Http1Connection>> {
        loop {
            let IdleConnection { mut line, since } = self.idle().pop_back()?;
            if since.elapsed() > IDLE_TIME {
                // The others are older still.
                self.close_idle();
                return None;
            }
            if line.is_free() {
                return Some(line);
            }
        }
    }

    fn give_back(&self, mut line: Box<Http1Connection>) {
        if !line.is_free() {
            return;
        }
        let since = Instant::now();
        let mut idle = self.idle();
        if idle.len() >= IDLE_CONNECTIONS {
            idle.pop_front();
        }
        idle.push_back(IdleConnection { line, since });
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<IdleConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A response whose body is still to be read.
pub(crate) struct LoopbackResponse {
    pub(crate) head: Parts,
    body: Option<Incoming>,
    line: Option<Box<Http1Connection>>,
    near: Arc<Loopback>,
    /// Bytes read since the task last yielded.
    unpaused: usize,
}

impl LoopbackResponse {
    /// Returns the length of the body, if the server announced it.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.body.as_ref()?.size_hint().exact()
    }

    /// Returns the next chunk of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        if self.unpaused >= AT_ONE_GO {
            self.unpaused = 0;
            tokio::task::yield_now().await;
        }
        let chunk = poll_fn(|context| self.poll_chunk(context)).await?;
        self.unpaused += chunk.as_ref().map_or(0, Bytes::len);
        Ok(chunk)
    }

    fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, ConnectionError>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(Ok(None));
        };
        let mut is_driven = false;
        loop {
            let frame = match Pin::new(&mut *body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(ConnectionError::broken(&error)));
                }
                Poll::Ready(None) => return Poll::Ready(Ok(None)),
                Poll::Pending if is_driven => return Poll::Pending,
                Poll::Pending => {
                    is_driven = true;
                    if let Some(line) = &mut self.line {
                        line.drive(context);
                    }
                    continue;
                }
            };
            // Trailers are not needed.
            if let Ok(data) = frame.into_data()
                && !data.is_empty()
            {
                return Poll::Ready(Ok(Some(data)));
            }
        }
    }
}

impl Drop for LoopbackResponse {
    fn drop(&mut self) {
        // If more of the response is to come, the connection is not free and is closed, so that the server sees that
        // the rest is not wanted.
        self.body = None;
        if let Some(line) = self.line.take() {
            self.near.give_back(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};
    use reqwest::Url;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    const GOOD: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    const ENDED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    const ENDLESS: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n";
    const LONG: Duration = Duration::from_secs(30);

    struct Server {
        near: Arc<Loopback>,
        url: Url,
        done: JoinHandle<()>,
    }

    impl Server {
        /// Starts a server whose connections answer one request per given text and are then closed. After an endless
        /// response it waits until the client disconnects.
        async fn start(connections: &'static [&'static [&'static str]]) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let done = tokio::spawn(async move {
                for answers in connections {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let mut request = [0; 1024];
                    for answer in *answers {
                        assert!(stream.read(&mut request).await.unwrap() > 0);
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        if *answer == ENDLESS {
                            assert_eq!(stream.read(&mut request).await.unwrap_or(0), 0);
                        }
                    }
                }
            });
            let url = Url::parse(&format!("http://{address}/mcp?a=b")).unwrap();
            let target = Target {
                url: url.clone(),
                headers: HeaderMap::new(),
            };
            let near = Loopback::at(&target).unwrap();
            Self { near, url, done }
        }

        async fn ask(&self) -> Result<LoopbackResponse, ConnectionError> {
            let outgoing = Outgoing {
                method: Method::POST,
                url: &self.url,
                headers: HeaderMap::new(),
                body: Some(Bytes::from_static(b"{}")),
            };
            self.near.send(outgoing, LONG).await
        }

        async fn check(&self) {
            let mut answer = self.ask().await.ok().unwrap();
            assert_eq!(answer.chunk().await.ok().unwrap().unwrap(), "ok");
        }

        /// Waits until the server has handled all its connections.
        async fn done(self) {
            timeout(LONG, self.done).await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn a_connection_is_used_again_and_one_that_the_server_closed_is_not() {
        let server = Server::start(&[&[GOOD, ENDED, GOOD], &[GOOD]]).await;
        for _ in 0..3 {
            server.check().await;
        }
        let closed = async {
            while server
                .near
                .idle()
                .iter_mut()
                .any(|idle| idle.line.is_free())
            {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, closed).await.unwrap();
        server.check().await;
        server.done().await;
    }

    #[tokio::test]
    async fn a_request_that_the_server_may_have_read_is_not_sent_again() {
        let server = Server::start(&[&[GOOD, ""], &[GOOD]]).await;
        server.check().await;
        assert!(matches!(
            server.ask().await,
            Err(ConnectionError::Broken(_))
        ));
        server.check().await;
        server.done().await;
    }

    #[tokio::test]
    async fn a_response_that_is_dropped_unread_closes_its_connection() {
        let server = Server::start(&[&[ENDLESS], &[GOOD]]).await;
        server.check().await;
        assert!(server.near.idle().is_empty());
        server.check().await;
        server.done().await;
    }

    #[tokio::test]
    async fn only_plain_connections_to_this_machine_are_near() {
        for (url, is_near) in [
            ("http://localhost/mcp", true),
            ("http://[::1]:8080/mcp", true),
            ("https://localhost/mcp", false),
            ("http://example.com/mcp", false),
        ] {
            let target = Target {
                url: Url::parse(url).unwrap(),
                headers: HeaderMap::new(),
            };
            assert_eq!(Loopback::at(&target).is_some(), is_near, "{url}");
        }
    }
}
