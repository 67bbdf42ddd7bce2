//! The Prometheus metrics route.

use std::collections::HashMap;

use pegboard_gateway::{Gateway, http};
use pegboard_hub::RunState;
use pegboard_trace::{CONTENT_TYPE, Gauges, ServerGauges, Tracer};

use crate::Pegboard;

impl Pegboard {
    /// Returns the route `/metrics`, or no route if metrics are off. Merge it with the gateway's routes, behind the
    /// same access checks.
    pub fn metrics_route(&self, gateway: &Gateway) -> http::Router {
        let Some(tracer) = self.telemetry().tracer().cloned() else {
            return http::Router::new();
        };
        let gateway = gateway.clone();
        http::metrics_route(CONTENT_TYPE, move || page(&tracer, &gateway))
    }
}

fn page(tracer: &Tracer, gateway: &Gateway) -> String {
    let tokens_saved_per_list = gateway.report_saved_tokens();
    let hub = gateway.hub();
    let (catalog, health) = (hub.catalog(), hub.health());
    let tools: HashMap<&str, usize> = catalog
        .servers()
        .map(|entry| (entry.name().as_str(), entry.record.tools.len()))
        .collect();
    let servers: Vec<_> = health
        .iter()
        .map(|server| ServerGauges {
            name: server.server.as_str(),
            is_running: matches!(server.state, RunState::Running | RunState::Busy),
            is_stale: server.stale,
            failures: server.failures,
            tools: tools.get(server.server.as_str()).copied().unwrap_or(0),
        })
        .collect();
    tracer.metrics(&Gauges {
        servers: &servers,
        tools: catalog.tools().count(),
        tokens_saved_per_list,
    })
}
