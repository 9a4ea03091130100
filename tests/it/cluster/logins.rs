//! Logins: any server completes what another has begun, and none accepts a code again.

use super::Cluster;
use crate::{
    second_factors::{Authenticator, enter_code, enter_password},
    support::{Browser, OAuthServer, Server},
};

impl Cluster {
    /// Serves a node at which users log in.
    fn serve_logins(&self, node: usize) -> Server {
        let more = format!(
            "[server]\npublic_url = \"{}\"\n[auth]\nmode = \"multi\"\noauth = true\n",
            OAuthServer::ISSUER
        );
        self.nodes[node].serve_with_settings(&self.settings(&more))
    }
}

#[test]
fn second_factor_is_shared_by_all_nodes() {
    let cluster = Cluster::new(2);
    cluster.create_key(0, "ada");
    let (one, other) = (cluster.serve_logins(0), cluster.serve_logins(1));
    let settings = cluster.nodes[0].file_path("settings.toml");
    let arguments = ["user", "password", "ada", "--config", settings.to_str().unwrap()];
    let line = format!("{}\n", OAuthServer::PASSWORD);
    assert_eq!(cluster.nodes[0].run_with_input(&arguments, &line).code, 0);
    let own = Browser::at_public_address(&one);
    assert_eq!(enter_password(&own, "ada", OAuthServer::PASSWORD).status, 303);
    let authenticator = Authenticator::set_up(&own);
    // One server takes the password, the other one the code, as behind a proxy.
    let (here, there) = (Browser::at_public_address(&one), Browser::at_public_address(&other));
    let page = enter_password(&here, "ada", OAuthServer::PASSWORD);
    there.set_cookie("__Host-vademecum", &here.cookie("__Host-vademecum").unwrap());
    let code = authenticator.code(1);
    assert_eq!(enter_code(&there, &page, &code).status, 303);
    assert_eq!(there.get("/account").status, 200);
    for server in [&one, &other] {
        let thief = Browser::at_public_address(server);
        let page = enter_password(&thief, "ada", OAuthServer::PASSWORD);
        assert_eq!(enter_code(&thief, &page, &code).status, 403, "used");
    }
}
