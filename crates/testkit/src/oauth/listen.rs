//! Both servers on free ports of this machine, in a thread of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::behaviour::Behaviour;
use super::fault::{Fault, lost};
use super::route::Route;
use super::seen::SeenRequest;
use super::state::{Shared, lock};
use super::{authorize, device, metadata, register, reply, resource, revoke, token};

/// Largest request.
const REQUEST_BYTES: usize = 4 * 1024 * 1024;

/// The thread of both servers; it ends with this value.
pub(super) struct Listening {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Which of both servers a request came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Server,
    Resource,
}

/// Starts both servers and waits until they listen.
pub(super) fn start(behaviour: Behaviour) -> (Arc<Shared>, Listening) {
    let (stop, stopped) = oneshot::channel();
    let (listening, started) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime for the authorization server");
        runtime.block_on(async move {
            let (server, server_origin) = bind().await;
            let (resource, resource_origin) = bind().await;
            let shared = Arc::new(Shared {
                behaviour: Mutex::new(behaviour),
                state: Mutex::default(),
                seen: Mutex::default(),
                server_origin,
                resource_origin,
            });
            let _ = listening.send(Arc::clone(&shared));
            tokio::select! {
                _ = axum::serve(server, routes(&shared, Side::Server)) => {}
                _ = axum::serve(resource, routes(&shared, Side::Resource)) => {}
                _ = stopped => {}
            }
        });
    });
    let shared = started.recv().expect("both servers listen");
    let listening = Listening {
        stop: Some(stop),
        thread: Some(thread),
    };
    (shared, listening)
}

async fn bind() -> (TcpListener, String) {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("its own address");
    (listener, format!("http://{address}"))
}

fn routes(shared: &Arc<Shared>, side: Side) -> Router {
    Router::new()
        .fallback(handle)
        .with_state((Arc::clone(shared), side))
}

async fn handle(State((shared, side)): State<(Arc<Shared>, Side)>, request: Request) -> Response {
    let seen = read(&shared, request).await;
    lock(&shared.seen).push(seen.clone());
    let fault = next_fault(&shared, seen.route);
    let loses_answer = fault == Some(Fault::LostAnswer);
    if let Some(fault) = fault
        && let Some(answer) = fault.answer().await
    {
        return answer;
    }
    let answer = respond(&shared, side, &seen);
    if loses_answer { lost() } else { answer }
}

/// Routes a request. An endpoint that is on the other server is not found here.
fn respond(shared: &Shared, side: Side, seen: &SeenRequest) -> Response {
    let is_resource = side == Side::Resource;
    let is_server = !is_resource || shared.behaviour().same_origin;
    match seen.route {
        Route::Mcp if is_resource => resource::respond(shared, seen),
        Route::ResourceMetadata if is_resource => metadata::of_resource(shared, seen),
        Route::ServerMetadata if is_server => metadata::of_server(shared, seen),
        Route::Register if is_server => register::respond(shared, seen),
        Route::Authorize if is_server => authorize::respond(shared, seen),
        Route::Token if is_server => token::respond(shared, seen),
        Route::Revoke if is_server => revoke::respond(shared, seen),
        Route::Device if is_server => device::respond(shared, seen),
        Route::DeviceApproval if is_server => device::approve(shared, seen),
        _ if is_resource => metadata::of_resource(shared, seen),
        _ => reply::text(404, "text/plain", "not here".to_owned()),
    }
}

async fn read(shared: &Shared, request: Request) -> SeenRequest {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, REQUEST_BYTES).await.unwrap_or_default();
    let body = String::from_utf8_lossy(&body).into_owned();
    let headers: BTreeMap<_, _> = head
        .headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        })
        .collect();
    let is_form = headers
        .get("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    let query = head.uri.query().unwrap_or_default().as_bytes();
    let form = if is_form { body.as_bytes() } else { b"" };
    let parameters = [query, form]
        .into_iter()
        .flat_map(url::form_urlencoded::parse)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let behaviour = shared.behaviour();
    let path = head.uri.path().to_owned();
    SeenRequest {
        route: Route::of(
            &path,
            &behaviour.resource.path,
            &behaviour.metadata.issuer_path,
        ),
        method: head.method.to_string(),
        path,
        parameters,
        headers,
        body,
    }
}

/// The fault of this request, if there is one, counted.
fn next_fault(shared: &Shared, route: Route) -> Option<Fault> {
    let mut behaviour = lock(&shared.behaviour);
    let rule = behaviour
        .faults
        .iter_mut()
        .find(|rule| rule.route == route && rule.times != Some(0))?;
    if let Some(times) = &mut rule.times {
        *times -= 1;
    }
    Some(rule.fault.clone())
}
