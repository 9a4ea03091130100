//! Second factors of logins: setting an authenticator up, logging in with it, and attacks on both.

use std::time::{SystemTime, UNIX_EPOCH};

use totp_rs::{Builder, Secret, Totp};

use crate::support::{Browser, HttpResponse, Library, OAuthServer, form_field};

const PAGE: &str = "/account/second-factor";
/// Settings of a server behind a proxy that states the addresses of browsers.
const BEHIND_PROXY: &str = "trusted_proxies = [\"127.0.0.1\"]";

/// The authenticator of a user, and the recovery codes.
pub(crate) struct Authenticator {
    totp: Totp,
    secret: String,
    recovery_codes: Vec<String>,
}

impl Authenticator {
    /// Sets up the second factor of ada, who is logged in.
    pub(crate) fn set_up(browser: &Browser<'_>) -> Self {
        let page = browser.get(PAGE);
        let mut authenticator = Self::of_page(&page);
        let code = authenticator.code(0);
        let fields = [("change", "add"), ("password", OAuthServer::PASSWORD), ("code", &code)];
        let done = submit(browser, &page, &fields);
        assert_eq!(done.status, 200, "{done:?}");
        authenticator.recovery_codes = recovery_codes(&done);
        assert_eq!(authenticator.recovery_codes.len(), 10, "{done:?}");
        authenticator
    }

    /// Reads the secret that a page offers.
    fn of_page(page: &HttpResponse) -> Self {
        let (_, rest) = page.body.split_once("class=\"secret\">").unwrap();
        let secret = rest.split('<').next().unwrap().replace(' ', "");
        let totp = Builder::new().with_secret(Secret::try_from_base32(&secret).unwrap());
        Self { totp: totp.build().unwrap(), secret, recovery_codes: Vec::new() }
    }

    /// Returns the code that the authenticator shows after a number of half minutes.
    pub(crate) fn code(&self, steps: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        self.totp.generate(now.checked_add_signed(steps * 30).unwrap()).to_string()
    }

    /// Returns a code that the authenticator does not show.
    fn wrong_code(&self) -> String {
        let shown: Vec<String> = (-2..3).map(|steps| self.code(steps)).collect();
        (0..1_000_000)
            .map(|number| format!("{number:06}"))
            .find(|code| !shown.contains(code))
            .unwrap()
    }
}

fn recovery_codes(page: &HttpResponse) -> Vec<String> {
    let codes = page.body.split("<li><code>").skip(1);
    codes.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
}

/// Sends the form of the page of the second factor.
fn submit(browser: &Browser<'_>, page: &HttpResponse, fields: &[(&str, &str)]) -> HttpResponse {
    let setup = form_field(&page.body, "setup").unwrap_or_default();
    browser.submit(PAGE, page, &[fields, &[("setup", &setup)]].concat())
}

/// Enters a name and a password, and returns the answer.
pub(crate) fn enter_password(browser: &Browser<'_>, name: &str, password: &str) -> HttpResponse {
    let page = browser.get("/login");
    browser.submit("/login", &page, &[("name", name), ("password", password)])
}

/// Enters a code on the page that asks for one, and returns the answer.
pub(crate) fn enter_code(browser: &Browser<'_>, page: &HttpResponse, code: &str) -> HttpResponse {
    let pending = form_field(&page.body, "pending").expect("a page that asks for a code");
    let name = form_field(&page.body, "name").unwrap();
    let fields = [("pending", pending.as_str()), ("name", &name), ("code", code)];
    browser.submit("/login/second-factor", page, &fields)
}

/// Enters the password of ada and a code, and returns the status.
fn log_in(browser: &Browser<'_>, code: &str) -> u16 {
    let page = enter_password(browser, "ada", OAuthServer::PASSWORD);
    enter_code(browser, &page, code).status
}

#[test]
fn login_needs_a_code_after_setup() {
    let served = OAuthServer::start();
    let own = served.logged_in_browser();
    assert!(own.get("/account").body.contains(PAGE), "the account leads to it");
    let authenticator = Authenticator::set_up(&own);
    assert!(own.get(PAGE).body.contains("Unused recovery codes: <strong>10</strong>"));
    let client = served.register(&["https://client.example/callback"]);
    let browser = served.browser();
    let request = client.authorization().path();
    let login = browser.get(&request);
    let fields = [("name", "ada"), ("password", OAuthServer::PASSWORD)];
    let page = browser.submit("/login", &login, &fields);
    assert_eq!((page.status, page.header("location")), (200, None), "{page:?}");
    let account = browser.get("/account");
    assert_eq!(account.header("location"), Some("/login"), "not logged in yet");
    let refused = enter_code(&browser, &page, &authenticator.wrong_code());
    assert!(refused.status == 403 && refused.body.contains("or the code is wrong"), "{refused:?}");
    assert_eq!(browser.get("/account").header("location"), Some("/login"));
    let page = browser.submit("/login", &browser.get(&request), &fields);
    let done = enter_code(&browser, &page, &authenticator.code(1));
    assert_eq!(done.header("location"), Some(request.as_str()), "{done:?}");
    let code = client.obtain_code(&browser);
    assert_eq!(client.exchange_code(&code).status, 200);
}

#[test]
fn code_is_accepted_once() {
    let served = OAuthServer::start();
    let authenticator = Authenticator::set_up(&served.logged_in_browser());
    let confirming = authenticator.code(0);
    assert_eq!(log_in(&served.browser(), &confirming), 403, "it confirmed the secret");
    let code = authenticator.code(1);
    assert_eq!(log_in(&served.browser(), &code), 303);
    assert_eq!(log_in(&served.browser(), &code), 403, "used");
    assert_eq!(log_in(&served.browser(), &authenticator.code(3)), 403, "of the future");
    let [recovery, ..] = &authenticator.recovery_codes[..] else { panic!("no codes") };
    assert_eq!(log_in(&served.browser(), &recovery.to_lowercase()), 303);
    assert_eq!(log_in(&served.browser(), recovery), 403, "used");
}

#[test]
fn wrong_password_looks_like_right_one() {
    let served = OAuthServer::start_with("free_attempts = 100");
    let authenticator = Authenticator::set_up(&served.logged_in_browser());
    let page_of = |name: &str, password: &str| {
        let browser = served.browser();
        let page = enter_password(&browser, name, password);
        let changing = ["pending", "csrf", "name"].map(|field| form_field(&page.body, field));
        let shown = changing.into_iter().flatten().fold(page.body.clone(), |text, value| {
            text.replace(&format!("value=\"{value}\""), &"x".repeat(value.len()))
        });
        let policy = page.header("content-security-policy").unwrap().to_owned();
        (page.status, shown, policy, page.headers("set-cookie").count())
    };
    let right = page_of("ada", OAuthServer::PASSWORD);
    assert_eq!(right.0, 200, "{right:?}");
    assert_eq!(page_of("ada", "a wrong password"), right);
    let browser = served.browser();
    let page = enter_password(&browser, "ada", "a wrong password");
    let code = authenticator.code(1);
    let refused = enter_code(&browser, &page, &code);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(log_in(&served.browser(), &code), 303, "a wrong password uses no code up");
    // Some of the names that are no accounts ask for a code, always the same ones.
    let asks = |name: &str| page_of(name, "a wrong password").0 == 200;
    let strangers: Vec<bool> = (0..9).map(|number| asks(&format!("eve{number}"))).collect();
    let again: Vec<bool> = (0..9).map(|number| asks(&format!("eve{number}"))).collect();
    assert_eq!(strangers, again);
}

#[test]
fn names_of_no_account_are_divided() {
    let served = OAuthServer::start_with(BEHIND_PROXY);
    let ask = |number: u32| {
        let browser = served.browser();
        browser.move_to(&format!("203.0.113.{number}"));
        enter_password(&browser, &format!("eve{number}"), "a wrong password").status
    };
    let statuses: Vec<u16> = (0..40).map(ask).collect();
    assert_eq!(statuses, [403; 40], "no account of this server has a second factor");
    Authenticator::set_up(&served.logged_in_browser());
    let statuses: Vec<u16> = (0..40).map(ask).collect();
    let asked = statuses.iter().filter(|status| **status == 200).count();
    assert!((8..33).contains(&asked), "{statuses:?}");
}

#[test]
fn guessed_codes_count_as_guesses_of_account() {
    let served = OAuthServer::start_with(BEHIND_PROXY);
    let own = served.logged_in_browser();
    let authenticator = Authenticator::set_up(&own);
    let wrong = authenticator.wrong_code();
    let stranger = served.browser();
    let page = enter_password(&stranger, "ada", OAuthServer::PASSWORD);
    // One page serves for several codes, from several addresses, but each of them counts.
    let statuses: Vec<u16> = (0..20)
        .map(|number| {
            stranger.move_to(&format!("203.0.113.{number}"));
            enter_code(&stranger, &page, &wrong).status
        })
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 403).count(), 9, "{statuses:?}");
    assert!(statuses.ends_with(&[429; 11]), "{statuses:?}");
    assert_eq!(enter_code(&stranger, &page, &authenticator.code(1)).status, 429, "not compared");
    stranger.move_to("203.0.113.100");
    let refused = enter_password(&stranger, "ada", OAuthServer::PASSWORD);
    assert_eq!(refused.status, 429, "the same limit");
    own.set_cookie("__Host-vademecum", "");
    assert_eq!(log_in(&own, &authenticator.code(1)), 303, "this browser is known");
}

#[test]
fn complete_logins_are_no_guesses() {
    let served = OAuthServer::start_with("free_attempts = 3");
    let authenticator = Authenticator::set_up(&served.logged_in_browser());
    for code in &authenticator.recovery_codes {
        assert_eq!(log_in(&served.browser(), code), 303);
    }
    let refused = enter_password(&served.browser(), "eve", "a wrong password");
    assert_ne!(refused.status, 429, "the address has no failures");
}

#[test]
fn pending_login_is_bound_to_browser_and_password() {
    let served = OAuthServer::start();
    let authenticator = Authenticator::set_up(&served.logged_in_browser());
    let (own, thief) = (served.browser(), served.browser());
    let page = enter_password(&own, "ada", OAuthServer::PASSWORD);
    let pending = form_field(&page.body, "pending").unwrap();
    let code = authenticator.code(1);
    let fields = [("pending", pending.as_str()), ("name", "ada"), ("code", &code)];
    let stolen = thief.submit("/login/second-factor", &thief.get("/login"), &fields);
    assert!(stolen.status == 403 && stolen.body.contains("took too long"), "{stolen:?}");
    for forged in ["", "x", &pending[1..]] {
        let fields = [("pending", forged), ("name", "ada"), ("code", &code)];
        assert_eq!(own.submit("/login/second-factor", &page, &fields).status, 403, "{forged}");
    }
    let file = served.library.file_path("settings.toml");
    let arguments = ["user", "password", "ada", "--config", file.to_str().unwrap()];
    let changed = served.library.run_with_input(&arguments, "glacier tulip oven\n");
    assert_eq!(changed.code, 0, "{changed:?}");
    assert_eq!(enter_code(&own, &page, &code).status, 403, "the old password");
    let page = enter_password(&own, "ada", "glacier tulip oven");
    assert_eq!(enter_code(&own, &page, &code).status, 303, "the code was not used up");
}

#[test]
fn stolen_login_changes_no_second_factor() {
    let library = Library::new();
    OAuthServer::add_user(&library, "ada");
    OAuthServer::add_user(&library, "eve");
    let served = OAuthServer::serve(library, "");
    let (own, other) = (served.logged_in_browser(), served.logged_in_browser());
    let page = own.get(PAGE);
    let offered = Authenticator::of_page(&page);
    let attempt = |password: &str, code: &str| {
        submit(&own, &page, &[("change", "add"), ("password", password), ("code", code)]).status
    };
    assert_eq!(attempt("a wrong password", &offered.code(0)), 403);
    assert_eq!(attempt(OAuthServer::PASSWORD, &offered.wrong_code()), 403);
    let eve = served.browser();
    assert_eq!(enter_password(&eve, "eve", OAuthServer::PASSWORD).status, 303);
    let foreign = submit(
        &eve,
        &own.get(PAGE),
        &[("change", "add"), ("password", OAuthServer::PASSWORD), ("code", &offered.code(0))],
    );
    assert_eq!(foreign.status, 403, "the form of another user");
    let setup = form_field(&page.body, "setup").unwrap();
    let code = offered.code(0);
    let fields = [
        ("change", "add"),
        ("password", OAuthServer::PASSWORD),
        ("code", code.as_str()),
        ("setup", setup.as_str()),
    ];
    let foreign = eve.submit(PAGE, &eve.get(PAGE), &fields);
    assert!(foreign.status == 403 && foreign.body.contains("too old"), "{foreign:?}");
    assert_eq!(other.get("/account").status, 200);
    let authenticator = Authenticator::set_up(&own);
    assert_eq!(other.get("/account").status, 303, "logins without a code end");
    let page = own.get(PAGE);
    let wrong = authenticator.wrong_code();
    for change in ["renew", "remove"] {
        assert_eq!(submit(&own, &page, &[("change", change), ("code", &wrong)]).status, 403);
    }
    let [first, second, ..] = &authenticator.recovery_codes[..] else { panic!("no codes") };
    let renewed = submit(&own, &page, &[("change", "renew"), ("code", first)]);
    assert_eq!(recovery_codes(&renewed).len(), 10, "{renewed:?}");
    assert_eq!(log_in(&served.browser(), second), 403, "replaced");
    let removed = submit(&own, &page, &[("change", "remove"), ("code", &authenticator.code(1))]);
    assert_eq!(removed.status, 303, "{removed:?}");
    assert_eq!(enter_password(&served.browser(), "ada", OAuthServer::PASSWORD).status, 303);
}

#[test]
fn operator_resets_a_lost_second_factor() {
    let served = OAuthServer::start();
    let own = served.logged_in_browser();
    let authenticator = Authenticator::set_up(&own);
    assert_eq!(served.run(&["user", "reset-second-factor", "eve"]).code, 1);
    let reset = served.run(&["user", "reset-second-factor", "ada"]);
    assert_eq!(reset.code, 0, "{reset:?}");
    assert_eq!(own.get("/account").status, 303, "logged out");
    assert_eq!(enter_password(&own, "ada", OAuthServer::PASSWORD).status, 303);
    let again = served.run(&["user", "reset-second-factor", "ada"]);
    assert!(
        again.code == 1 && again.stderr.contains("has no second factor and no passkey"),
        "{again:?}"
    );
    let next = Authenticator::set_up(&own);
    let lost = &authenticator.recovery_codes[0];
    assert_eq!(log_in(&served.browser(), lost), 403, "codes of before");
    assert_eq!(log_in(&served.browser(), &next.code(1)), 303);
    let log = served.read_audit_log();
    for (method, outcome) in [
        ("second_factor.add", "ok"),
        ("user.reset_second_factor", "ok"),
        ("user.reset_second_factor", "error"),
    ] {
        let entries = log.as_array().unwrap();
        let is_recorded =
            entries.iter().any(|it| it["method"] == method && it["outcome"] == outcome);
        assert!(is_recorded, "{method} {outcome}: {log}");
    }
    let wrong_code = |entry: &serde_json::Value| entry["reason"] == "wrong_code";
    assert!(log.as_array().unwrap().iter().any(wrong_code), "{log}");
}

#[test]
fn link_of_operator_needs_no_code() {
    let served = OAuthServer::start();
    Authenticator::set_up(&served.logged_in_browser());
    let link = served.run(&["login", "--user", "ada"]).stdout;
    assert_eq!(served.browser().redeem_link(&link).status, 303);
}

#[test]
fn second_factor_is_in_no_file_or_log() {
    let served = OAuthServer::start();
    let authenticator = Authenticator::set_up(&served.logged_in_browser());
    assert_eq!(log_in(&served.browser(), &authenticator.code(1)), 303);
    assert_eq!(log_in(&served.browser(), &authenticator.recovery_codes[0]), 303);
    let secrets = authenticator.recovery_codes.iter().chain([&authenticator.secret]);
    let secrets: Vec<String> = secrets.cloned().collect();
    let secret = Secret::try_from_base32(&authenticator.secret).unwrap();
    let OAuthServer { library, server } = served;
    let logged = server.kill_and_read_log();
    let files = walkdir::WalkDir::new(library.data_folder()).into_iter().map(Result::unwrap);
    for file in files.filter(|file| file.file_type().is_file()) {
        let content = std::fs::read(file.path()).unwrap();
        let holds = |needle: &[u8]| content.windows(needle.len()).any(|part| part == needle);
        assert!(!holds(secret.as_bytes()), "{file:?}");
        for text in &secrets {
            assert!(!holds(text.as_bytes()) && !logged.contains(text), "{file:?}");
        }
    }
}
