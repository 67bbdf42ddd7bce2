//! A ledger in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use pegboard_model::{
    Activity, ActivityKind, ApprovalRequest, ApprovalResponse, ConfigHash, Fingerprint, Grant,
    ReviewDecision, ReviewKind, ServerName, Timestamp,
};
use tokio::sync::watch;

use super::inbox_notifier::InboxNotifier;
use super::inbox_viewers::InboxViewers;
use super::rows::grant_of;
use super::{InboxViewer, Ledger};
use crate::StoreResult;

type Key = (Option<ServerName>, String, ConfigHash);
type ReviewKey = (ServerName, ConfigHash, ReviewKind, String, Fingerprint);

/// Stores grants, approval requests and activity in memory.
pub struct MemoryLedger {
    held: Mutex<LedgerState>,
    notifier: InboxNotifier,
    viewers: InboxViewers,
}

#[derive(Default)]
struct LedgerState {
    grants: BTreeMap<Key, Grant>,
    inbox: Vec<(ApprovalRequest, Option<ApprovalResponse>)>,
    reviews: BTreeMap<ReviewKey, ReviewDecision>,
    activity: VecDeque<Activity>,
    last_line: u64,
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self {
            held: Mutex::default(),
            notifier: InboxNotifier::here(),
            viewers: InboxViewers::default(),
        }
    }
}

impl MemoryLedger {
    /// Creates an empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    fn held(&self) -> MutexGuard<'_, LedgerState> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(grant: &Grant) -> Key {
    let version = &grant.version;
    (version.server.clone(), version.tool.clone(), version.config)
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn grants(&self) -> StoreResult<Vec<Grant>> {
        Ok(self.held().grants.values().cloned().collect())
    }

    async fn grants_of(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<Vec<Grant>> {
        let held = self.held();
        let of =
            |grant: &&Grant| grant.version.server.as_ref() == server && grant.version.tool == tool;
        Ok(held.grants.values().filter(of).cloned().collect())
    }

    async fn save_grant(&self, grant: Grant) -> StoreResult<()> {
        self.held().grants.insert(key(&grant), grant);
        self.notifier.notify_all();
        Ok(())
    }

    async fn revoke(&self, server: Option<&ServerName>, tool: &str) -> StoreResult<usize> {
        let revoked = {
            let grants = &mut self.held().grants;
            let before = grants.len();
            grants.retain(|(of, name, _), _| of.as_ref() != server || name != tool);
            before - grants.len()
        };
        self.notifier.notify_all();
        Ok(revoked)
    }

    async fn add_request(&self, request: ApprovalRequest, most: usize) -> StoreResult<bool> {
        {
            let inbox = &mut self.held().inbox;
            let now = request.asked_at;
            inbox.retain(|(held, _)| held.expires_at > now);
            if inbox.len() >= most {
                return Ok(false);
            }
            inbox.push((request, None));
        }
        self.notifier.notify_all();
        Ok(true)
    }

    async fn pending_requests(&self, now: Timestamp) -> StoreResult<Vec<ApprovalRequest>> {
        let held = self.held();
        let waiting = held
            .inbox
            .iter()
            .filter(|(request, response)| response.is_none() && request.expires_at > now);
        Ok(waiting.map(|(request, _)| request.clone()).collect())
    }

    async fn decide(
        &self,
        id: &str,
        response: ApprovalResponse,
    ) -> StoreResult<Option<ApprovalRequest>> {
        let answered = {
            let held = &mut *self.held();
            let mut waiting = held.inbox.iter_mut();
            let found = waiting.find(|(request, before)| {
                request.id == id && before.is_none() && request.expires_at > response.at
            });
            found.map(|(request, given)| {
                if let Some(grant) = grant_of(request, &response) {
                    held.grants.insert(key(&grant), grant);
                }
                *given = Some(response);
                request.clone()
            })
        };
        self.notifier.notify_all();
        Ok(answered)
    }

    async fn decision(&self, id: &str) -> StoreResult<Option<ApprovalResponse>> {
        let held = self.held();
        let found = held.inbox.iter().find(|(request, _)| request.id == id);
        Ok(found.and_then(|(_, response)| response.clone()))
    }

    async fn remove_request(&self, id: &str) -> StoreResult<Option<ApprovalResponse>> {
        let closed = {
            let inbox = &mut self.held().inbox;
            let at = inbox.iter().position(|(request, _)| request.id == id);
            at.map(|at| inbox.remove(at))
        };
        self.notifier.notify_all();
        Ok(closed.and_then(|(_, response)| response))
    }

    fn review_decisions(&self) -> StoreResult<Vec<ReviewDecision>> {
        Ok(self.held().reviews.values().cloned().collect())
    }

    async fn save_review(&self, decision: ReviewDecision) -> StoreResult<()> {
        let key = (
            decision.server.clone(),
            decision.config,
            decision.kind,
            decision.name.clone(),
            decision.fingerprint,
        );
        self.held().reviews.insert(key, decision);
        self.notifier.notify_all();
        Ok(())
    }

    fn used_tools(&self, server: &ServerName) -> StoreResult<Vec<String>> {
        let held = self.held();
        let granted = held
            .grants
            .keys()
            .filter(|(of, _, _)| of.as_ref() == Some(server));
        let called = held
            .activity
            .iter()
            .filter(|line| line.kind == ActivityKind::Call && line.server.as_ref() == Some(server));
        let called = called.filter_map(|line| line.tool.clone());
        Ok(granted
            .map(|(_, tool, _)| tool.clone())
            .chain(called)
            .collect())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.notifier.subscribe()
    }

    fn register_viewer(&self) -> StoreResult<InboxViewer> {
        self.viewers.register_viewer()
    }

    fn has_viewers(&self) -> bool {
        self.viewers.has_viewers()
    }

    async fn add_activity(&self, lines: Vec<Activity>, most: usize) -> StoreResult<()> {
        let held = &mut *self.held();
        for mut line in lines {
            held.last_line += 1;
            line.id = held.last_line;
            held.activity.push_back(line);
        }
        let over = held.activity.len().saturating_sub(most);
        held.activity.drain(..over);
        Ok(())
    }

    async fn activity(&self, limit: usize, before: Option<u64>) -> StoreResult<Vec<Activity>> {
        let held = self.held();
        let newest = held.activity.iter().rev();
        let wanted = newest.filter(|line| before.is_none_or(|before| line.id < before));
        Ok(wanted.take(limit).cloned().collect())
    }
}
