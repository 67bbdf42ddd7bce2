//! What a test does to running servers.

use std::time::Duration;

use super::OAuthServer;
use super::behaviour::Behaviour;
use super::state::lock;

impl OAuthServer {
    /// Changes the behaviour from now on.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut lock(&self.shared.behaviour));
    }

    /// Advances the time of both servers.
    pub fn advance(&self, by: Duration) {
        lock(&self.shared.state).offset += by;
    }

    /// Ends all access tokens. Refresh tokens stay valid.
    pub fn expire_access_tokens(&self) {
        lock(&self.shared.state).access.clear();
    }

    /// Revokes what people agreed to, with all tokens.
    pub fn revoke_grants(&self) {
        for grant in &mut lock(&self.shared.state).grants {
            grant.is_revoked = true;
        }
    }

    /// Forgets registered clients, as servers do after a while. Their grants end too.
    pub fn forget_clients(&self) {
        lock(&self.shared.state).registered.clear();
        self.revoke_grants();
    }

    /// A person approves or declines the device with this code. Returns whether there is one.
    pub fn approve_device(&self, user_code: &str, approved: bool) -> bool {
        let mut state = lock(&self.shared.state);
        let device = state
            .devices
            .values_mut()
            .find(|device| device.user_code == user_code);
        device
            .map(|device| device.approved = Some(approved))
            .is_some()
    }

    /// Every secret that was issued: codes, tokens, client secrets, registration tokens.
    pub fn issued_secrets(&self) -> Vec<String> {
        lock(&self.shared.state).issued.clone()
    }

    /// The number of access tokens that are valid now.
    pub fn live_access_tokens(&self) -> usize {
        let state = lock(&self.shared.state);
        let now = state.now();
        state
            .access
            .values()
            .filter(|token| token.expires > now)
            .filter(|token| state.grants.get(token.grant).is_some_and(|g| !g.is_revoked))
            .count()
    }

    /// The number of clients that registered themselves.
    pub fn registered_clients(&self) -> usize {
        lock(&self.shared.state).registered.len()
    }
}
