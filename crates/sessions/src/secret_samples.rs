//! Forms of secrets for tests: a text around each, and the form of its random part.

/// Texts with `{}` for a secret, and its form: a beginning, and groups of a letter that names an
/// alphabet and a length, such as `ghp_|a36`.
pub(crate) const SAMPLES: &[(&str, &str)] = &[
    ("export AWS_ACCESS_KEY_ID={}", "AKIA|U16"),
    ("aws_secret_access_key = {}", "b40"),
    ("curl 'https://maps.example.org/?k={}'", "AIza|w35"),
    ("AZURE_CLIENT_SECRET={}", "a3|n1|Q~|a34"),
    ("DefaultEndpointsProtocol=https;AccountKey={}==;", "b86"),
    ("git clone https://{}@github.com/ada/garden", "ghp_|a36"),
    ("token: {}", "github_pat_|a22|_|a59"),
    ("GITHUB_TOKEN={}", "ghs_|a36"),
    ("PRIVATE-TOKEN: {}", "glpat-|w20"),
    ("ANTHROPIC_API_KEY={}", "sk-ant-api03-|w93|AA"),
    ("OPENAI_API_KEY={}", "sk-proj-|w74"),
    ("openai.api_key = '{}'", "sk-|a20|T3BlbkFJ|a20"),
    ("huggingface-cli login --token {}", "hf_|l34"),
    ("PERPLEXITY_API_KEY={}", "pplx-|a48"),
    ("GROQ_API_KEY={}", "gsk_|a52"),
    ("use {} for the router", "sk-or-v1-|h64"),
    ("SLACK_TOKEN={}", "xoxb-|n12|-|n12|-|a24"),
    ("post to https://hooks.slack.com/services/{}", "T|U10|/B|U10|/|a24"),
    ("discord webhook https://discord.com/api/webhooks/123456789012345678/{}", "w68"),
    ("DISCORD_BOT_TOKEN={}", "M|a25|.|a6|.|a38"),
    ("https://api.telegram.org/bot{}/getMe", "n10|:AA|w33"),
    ("sendgrid: {}", "SG.|w22|.|w43"),
    ("mailgun api {}", "key-|h32"),
    ("stripe.api_key = \"{}\"", "sk_live_|a24"),
    ("STRIPE_WEBHOOK={}", "whsec_|a32"),
    ("SQUARE_ACCESS_TOKEN={}", "EAAA|w60"),
    ("//registry.npmjs.org/:_authToken={}", "npm_|a36"),
    ("twine upload -p {}", "pypi-AgEIcHlwaS5vcmc|w80"),
    ("gem push with {}", "rubygems_|h48"),
    ("docker login -p {}", "dckr_pat_|w27"),
    ("VAULT_TOKEN={}", "hvs.|w90"),
    ("DIGITALOCEAN_TOKEN={}", "dop_v1_|h64"),
    ("LINEAR_API_KEY={}", "lin_api_|a40"),
    ("FIGMA_TOKEN={}", "figd_|w40"),
    ("DATABRICKS_TOKEN={}", "dapi|h32"),
    ("shopify {}", "shpat_|h32"),
    ("TWILIO_API_KEY={}", "SK|h32"),
    ("cookie {}", "eyJhbGciOiJIUzI1NiJ9.ey|a60|.|w43"),
    ("Authorization: Bearer {}", "a40"),
    ("-H 'Authorization: Basic {}'", "a28"),
    ("-H \"X-Api-Key: {}\"", "a32"),
    ("curl -u ada:{} https://example.org", "a12"),
    ("DATABASE_URL=postgres://ada:{}@db.local:5432/garden", "p12"),
    ("mongodb+srv://ada:{}@cluster0.mongodb.net", "a16"),
    ("redis://:{}@cache.local:6379", "a20"),
    ("api_key = \"{}\"", "a32"),
    ("\"client_secret\": \"{}\"", "a40"),
    ("SECRET_KEY={}", "a50"),
    ("secret_token: {}", "h64"),
    ("AUTH_TOKEN={}", "h40"),
    ("webhook_secret = '{}'", "a24"),
    ("DB_PASSWORD={}", "p14"),
    ("password: \"{}\"", "p12"),
    ("the password is \"{}\"", "p10"),
    ("password \"{}\"", "p10"),
    ("mysql --password={} garden", "p12"),
    ("пароль: {}", "p12"),
    ("contraseña: {}", "p12"),
    ("senha = {}", "p12"),
    ("Passwort: {}", "p12"),
    ("mot de passe : {}", "p12"),
    ("密码: {}", "p12"),
    ("パスワード: {}", "p12"),
    ("비밀번호: {}", "p12"),
    ("токен: {}", "a32"),
    ("https://files.example.org/a?access_token={}", "a40"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----", "b200"),
    ("age: {}", "AGE-SECRET-KEY-1|B58"),
];

/// Returns a random secret of a form; the same for the same seed.
pub(crate) fn random_secret(form: &str, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    let lower = "abcdefghijklmnopqrstuvwxyz";
    let upper = lower.to_uppercase();
    let digits = "0123456789";
    let mut secret = String::new();
    for group in form.split('|') {
        let (kind, length) = group.split_at(1);
        let alphabet = match kind {
            "a" => format!("{lower}{upper}{digits}"),
            "l" => format!("{lower}{upper}"),
            "U" => format!("{upper}234567"),
            "B" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            "b" => format!("{lower}{upper}{digits}+/"),
            "w" => format!("{lower}{upper}{digits}_-"),
            "h" => "0123456789abcdef".to_owned(),
            "n" => digits.to_owned(),
            "p" => format!("{lower}{upper}{digits}{digits}!#%^*+"),
            _ => String::new(),
        };
        match length.parse::<usize>() {
            Ok(length) if !alphabet.is_empty() => {
                let alphabet: Vec<char> = alphabet.chars().collect();
                (0..length).for_each(|_| secret.push(alphabet[next(alphabet.len())]));
            }
            _ => secret.push_str(group),
        }
    }
    secret
}
