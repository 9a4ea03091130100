//! Ends the sessions of users who are suspended or removed.

use std::{sync::Arc, time::Duration};

use vademecum_accounts::EndedUsers;
use vademecum_actors::UserRegistry;
use vademecum_mcp::Service;

/// Interval between checks for users who were suspended or removed.
const ENDED_USERS_INTERVAL: Duration = Duration::from_millis(500);

/// Ends the sessions of users who are suspended or removed, and lets open connections check their
/// credentials.
pub(super) async fn watch_ended_users(
    mut ended_users: EndedUsers,
    service: Service,
    registry: Arc<UserRegistry>,
) {
    let mut rounds = tokio::time::interval(ENDED_USERS_INTERVAL);
    loop {
        rounds.tick().await;
        let looked = tokio::task::spawn_blocking(move || (ended_users.take(), ended_users)).await;
        let Ok((users, watch)) = looked else { return };
        ended_users = watch;
        match users {
            Ok(users) => {
                for user in &users {
                    registry.remove_user(user);
                    service.end_user_sessions(user);
                }
            }
            Err(error) => tracing::warn!(%error, "ended sessions could not be read"),
        }
    }
}
