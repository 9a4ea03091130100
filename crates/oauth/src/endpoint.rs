//! Addresses of the parts of the server.

/// Address at which a browser or a client finds a part of the server, below its public address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Asks the user for consent.
    Authorize,
    /// Exchanges codes and refresh tokens for tokens.
    Token,
    /// Registers clients (RFC 7591).
    Register,
    /// Revokes tokens (RFC 7009).
    Revoke,
    /// Logs a user in.
    Login,
    /// Logs a browser in with a one-time code.
    LoginCode,
    /// Takes the code of a second factor after the password.
    LoginSecondFactor,
    /// Logs a browser in with a passkey.
    LoginPasskey,
    /// Sends the browser to the outside provider.
    Provider,
    /// Takes the answer of the outside provider.
    ProviderCallback,
    /// Lists the grants of the user.
    Account,
    /// Sets up and removes the second factor of the user.
    SecondFactor,
    /// Registers and removes passkeys of the user.
    Passkeys,
    /// Revokes a grant of the user.
    RevokeGrant,
    /// Logs the browser out.
    Logout,
}

impl Endpoint {
    /// Returns the path below the public address.
    pub fn path(self) -> &'static str {
        match self {
            Self::Authorize => "/oauth/authorize",
            Self::Token => "/oauth/token",
            Self::Register => "/oauth/register",
            Self::Revoke => "/oauth/revoke",
            Self::Login => "/login",
            Self::LoginCode => "/login/code",
            Self::LoginSecondFactor => "/login/second-factor",
            Self::LoginPasskey => "/login/passkey",
            Self::Provider => "/login/provider",
            Self::ProviderCallback => "/login/callback",
            Self::Account => "/account",
            Self::SecondFactor => "/account/second-factor",
            Self::Passkeys => "/account/passkeys",
            Self::RevokeGrant => "/account/revoke",
            Self::Logout => "/account/logout",
        }
    }
}
