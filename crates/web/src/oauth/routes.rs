//! Routes of the authorization server.

use actix_web::web;
use vademecum_oauth::Endpoint;

use super::{account, authorize, login, metadata, passkeys, provider, second_factor, token};

/// Adds the routes.
pub(crate) fn configure_oauth_routes(app: &mut web::ServiceConfig) {
    app.service(
        web::resource(metadata::METADATA_PATHS).route(web::get().to(metadata::server_metadata)),
    )
    .service(
        web::resource(Endpoint::Authorize.path())
            .route(web::get().to(authorize::show_authorization))
            .route(web::post().to(authorize::answer_consent)),
    )
    .service(web::resource(Endpoint::Token.path()).route(web::post().to(token::issue_token)))
    .service(web::resource(Endpoint::Revoke.path()).route(web::post().to(token::revoke_token)))
    .service(web::resource(Endpoint::Register.path()).route(web::post().to(token::register_client)))
    .service(
        web::resource(Endpoint::Login.path())
            .route(web::get().to(login::show_login_page))
            .route(web::post().to(login::log_in)),
    )
    .service(
        web::resource(Endpoint::LoginCode.path())
            .route(web::get().to(login::show_code_page))
            .route(web::post().to(login::redeem_code)),
    )
    .service(
        web::resource(Endpoint::LoginSecondFactor.path())
            .route(web::get().to(login::restart_login))
            .route(web::post().to(login::take_second_factor)),
    )
    .service(
        web::resource(Endpoint::LoginPasskey.path())
            .route(web::get().to(login::restart_login))
            .route(web::post().to(passkeys::log_in)),
    )
    .service(
        web::resource(Endpoint::Passkeys.path())
            .route(web::get().to(passkeys::show_passkeys))
            .route(web::post().to(passkeys::change_passkeys)),
    )
    .service(
        web::resource(Endpoint::SecondFactor.path())
            .route(web::get().to(second_factor::show_second_factor))
            .route(web::post().to(second_factor::change_second_factor)),
    )
    .service(
        web::resource(Endpoint::Provider.path())
            .route(web::get().to(provider::begin_provider_login)),
    )
    .service(
        web::resource(Endpoint::ProviderCallback.path())
            .route(web::get().to(provider::finish_provider_login)),
    )
    .service(web::resource(Endpoint::Account.path()).route(web::get().to(account::show_account)))
    .service(
        web::resource(Endpoint::RevokeGrant.path()).route(web::post().to(account::revoke_grant)),
    )
    .service(web::resource(Endpoint::Logout.path()).route(web::post().to(account::log_out)));
}
