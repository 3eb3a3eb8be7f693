//! The rules: one line of data for each kind of secret, with examples that must be found and texts that must not.
//!
//! The shapes are those that the issuers publish. If two rules find the same text, the earlier one names it, so particular
//! rules come before general ones.

use super::plausibility::{
    Candidate, has_number, is_assigned_secret, is_basic_credential, is_certain, is_mixed, is_password, is_random,
    is_varied,
};

/// One kind of secret.
pub(super) struct Rule {
    /// The name on the command line and in redacted text.
    pub kind: &'static str,
    /// The name in messages.
    pub name: &'static str,
    /// The pattern is tried only where one of these occurs.
    pub keywords: &'static [&'static str],
    pub start: Start,
    /// The secret is the first group that matched, or the whole match without groups.
    pub pattern: &'static str,
    /// Tells a secret from a word or an example of the same shape.
    pub is_real: fn(&Candidate<'_>) -> bool,
    /// Examples, in pieces so that this file does not look like a leak itself.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tests are made of"))]
    pub hits: &'static [&'static [&'static str]],
    #[cfg_attr(not(test), expect(dead_code, reason = "what the tests are made of"))]
    pub misses: &'static [&'static str],
}

/// Where a match begins, relative to its keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// At the keyword, which begins a word.
    Word,
    /// At the keyword, whatever is before it.
    Anywhere,
    /// Like `Anywhere`; the match is the first or the last line of a PEM key, and `pem` finds the rest.
    PemLine,
    /// Like `Anywhere`; the keyword may also be in capitals or begin with one.
    AnyCase,
    /// At most this many bytes before the keyword.
    Before(usize),
}

/// A token with a prefix that names its issuer.
const fn token(
    kind: &'static str,
    name: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    hits: &'static [&'static [&'static str]],
    misses: &'static [&'static str],
) -> Rule {
    Rule { kind, name, keywords, start: Start::Word, pattern, is_real: is_varied, hits, misses }
}

// Parts of examples: random, and nobody's secret.
const A4: &str = "h7Qm";
const A8: &str = "kT3vX9bN";
const A16: &str = "q8Zt4Lw1Nx7Ry2Vb";
const A32: &str = "5Kp9Md3Fh6Js0GcTu8Ye2Wn4Ra7Bz1Xv";
const H4: &str = "9d2e";
const H8: &str = "4b7f1c0a";
const H16: &str = "e83a5d0f7126bc94";
const H32: &str = "07c4e9b25fa81d63e2b90f7a4c8d1635";
const U16: &str = "Z5GFH3LQMNOP7RST";
const U32: &str = "K4VX7QZ2MWT6JB5RHD3YNF8GPLC9SAEU";
const D10: &str = "7318402956";
const UUID: &str = "5e1c9a07-3b64-4f28-9d70-c2a8e6b4f019";

#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    // ---- keys
    Rule { kind: "private-key", name: "private key", start: Start::PemLine, keywords: &["-----BEGIN ", "-----END "], is_real: is_certain,
        pattern: r"-----(?:BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
        hits: &[&["-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEow\n-----END RSA ", "PRIVATE KEY-----"],
            &["-----BEGIN OPENSSH ", "PRIVATE KEY-----\n", A32, "\n-----END OPENSSH ", "PRIVATE KEY-----"],
            &["-----BEGIN EC ", "PRIVATE KEY-----\n", A32], &["-----BEGIN PGP ", "PRIVATE KEY BLOCK-----\n\n", A32, "\n=abcd\n-----END PGP ", "PRIVATE KEY BLOCK-----"],
            &[r#"{"private_key": "-----BEGIN "#, r"PRIVATE KEY-----\nMIIEvg\n", A32, r"\n-----END ", "PRIVATE KEY-----"]],
        misses: &["-----BEGIN PUBLIC KEY-----\nMIIBIj", "-----BEGIN CERTIFICATE-----", "it looks for `-----BEGIN PRIVATE KEY-----` in a file"] },
    Rule { kind: "private-key", name: "PuTTY private key", start: Start::Word, keywords: &["Private-Lines: "], is_real: is_certain,
        pattern: r"Private-Lines: [0-9]{1,4}\r?\n(?:[A-Za-z0-9+/=]{4,}\r?\n)+(?:Private-MAC: [0-9a-f]{40,})?",
        hits: &[&["Private-Lines: 2\n", A32, A32, "\n", A32, "\nPrivate-MAC: ", H32, H32]], misses: &["Private-Lines: 8, as the format says"] },
    Rule { kind: "private-key", name: "SSH2 private key", start: Start::Anywhere, keywords: &["---- BEGIN SSH2 "], is_real: is_certain,
        pattern: r"---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY ----\r?\n(?:[A-Za-z-]{1,30}: [^\n]{0,200}\n)*(?:[A-Za-z0-9+/=]{4,}\r?\n?)+(?:---- END SSH2 [A-Z ]{0,20}PRIVATE KEY ----)?",
        hits: &[&["---- BEGIN SSH2 ENCRYPTED ", "PRIVATE KEY ----\nComment: \"me\"\n", A32, A32, "\n", A32, "\n---- END SSH2 ENCRYPTED ", "PRIVATE KEY ----"]],
        misses: &["---- BEGIN SSH2 PUBLIC KEY ----\nAAAAB3NzaC1yc2E", "it begins with `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----`"] },
    token("age-key", "age secret key", &["AGE-SECRET-KEY-"], r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,}",
        &[&["AGE-SECRET-", "KEY-1", U32, U16, "QPZRY9X8GF"]], &["AGE-SECRET-KEY-1 begins such a key"]),

    // ---- clouds
    token("aws-access-key", "AWS access key", &["AKIA", "ASIA", "ABIA", "ACCA", "A3T"], r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b",
        &[&["AKIA", U16], &["ASIA", U16]], &["AKIAAAAAAAAAAAAAAAAA and ASIAN", concat!("AKIA", "IOSFODNN7EXAMPLE")]),
    Rule { kind: "aws-secret-key", name: "AWS secret key", start: Start::AnyCase, keywords: &["aws_secret", "awssecret", "awsSecret", "secret_access_key", "secretaccesskey", "secretAccessKey", "SecretAccessKey"],
        is_real: is_varied, pattern: r#"(?i)(?:aws_?secret|secret_?access_?key)[a-z_]{0,20}["']?[ \t]{0,3}(?:=>|[:=])[ \t]{0,3}(?:[>|\\]?[+-]?[ \t]{0,3}\r?\n[ \t]{0,16})?["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|\z)"#,
        hits: &[&["aws_secret_access_key = ", A32, "/", A4, "+bc"], &[r#""SecretAccessKey": ""#, A32, A8, "\""]], misses: &["aws_secret_access_key = ${AWS_SECRET}", "AWS_SECRET_ACCESS_KEY is not set"] },
    token("aws-bedrock-key", "AWS Bedrock key", &["ABSK", "bedrock-api-key-"], r"(?:ABSK[A-Za-z0-9+/]{100,}={0,2}|bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2})",
        &[&["ABSK", A32, A32, A32, A16, "=="], &["bedrock-api-", "key-", A32, A32]], &["ABSK", "bedrock-api-key-rotation"]),
    token("google-api-key", "Google API key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}", &[&["AIza", "Sy", A32, "q"]], &["AIzawa is a town"]),
    token("google-oauth", "Google OAuth credential", &["GOCSPX-", "ya29.", "1//0"], r"(?:GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,}|1//0[A-Za-z0-9_-]{30,})",
        &[&["GOCSPX", "-", A16, A8, A4], &["ya29", ".a0", A32], &["1//0", "e", A32]], &["GOCSPX-your-client-secret", "1//0 is no number"]),
    token("google-hmac-key", "Google Cloud HMAC key", &["GOOG"], r"GOOG[0-9A-Z]{20,57}\b", &[&["GOOG", "1E", U32, U16]], &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLEAPISANDGOOGLECLOUD"]).but(has_number),
    Rule { kind: "firebase-key", name: "Firebase server key", start: Start::Before(11), keywords: &[":APA91b"], is_real: is_varied,
        pattern: r"[A-Za-z0-9_-]{8,11}:APA91b[A-Za-z0-9_-]{100,}", hits: &[&["AAAA", "h7Qm3xZ", ":APA91", "b", A32, A32, A32, A16]], misses: &["x:APA91bcd"] },
    Rule { kind: "azure-client-secret", name: "Azure client secret", start: Start::Before(4), keywords: &["Q~"], is_real: is_varied,
        pattern: r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", hits: &[&["abc8", "Q~", A32]], misses: &["the mark 8Q~ in it"] },
    Rule { kind: "azure-key", name: "Azure key", start: Start::Anywhere, keywords: &["AccountKey=", "SharedAccessKey=", "accountkey=", "sharedaccesskey=", "SharedSecret="], is_real: is_varied,
        pattern: r"(?i)(?:AccountKey|SharedAccessKey|SharedSecret)=([A-Za-z0-9+/]{40,88}={0,2})",
        hits: &[&["AccountName=a;AccountKey", "=", A32, A32, A16, A4, "+a=="], &["SharedAccessKey", "=", A32, A8, "abc="]], misses: &["AccountKey=<key>;EndpointSuffix=core.windows.net"] },
    Rule { kind: "azure-key", name: "Azure key", start: Start::Before(76), keywords: &["JQQJ99", "AZDO"], is_real: is_varied,
        pattern: r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9+/]{20,32}|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}",
        hits: &[&[A32, A16, A4, "JQQJ", "99", A16, A8], &[A32, A32, A8, A4, "AZ", "DO", A4]], misses: &["AZDO_PAT and JQQJ99 are no keys", "https://AZDO1234"] },
    Rule { kind: "azure-sas", name: "Azure shared access signature", start: Start::Anywhere, keywords: &["&sig=", "?sig="], is_real: is_varied,
        pattern: r"[&?]sig=((?:[A-Za-z0-9]|%2[BbFf]|%3[Dd]|[+/=_-]){40,128})", hits: &[&["?sv=2024-11-04&sig", "=", A32, A8, "%2Bab%3D"]], misses: &["?sig=abc&se=2026"] },
    token("alibaba-key", "Alibaba Cloud access key", &["LTAI"], r"LTAI[A-Za-z0-9]{16,24}\b", &[&["LTAI", A16, A4]], &["LTAI is short for it"]),
    token("tencent-key", "Tencent Cloud secret id", &["AKID"], r"AKID[A-Za-z0-9]{32}\b", &[&["AKID", A32]], &["AKIDNEY"]),
    token("digitalocean-token", "DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[a-f0-9]{64}", &[&["dop_v1", "_", H32, H32]], &["dop_v1_abc"]),
    token("cloudflare-token", "Cloudflare token", &["cfk_", "cfut_", "cfat_", "v1.0-"], r"(?:cf(?:k|ut|at)_[A-Za-z0-9_-]{40,64}|v1\.0-[a-f0-9]{24}-[a-f0-9]{146})",
        &[&["cfut", "_", A32, A16], &["cfat", "_", A32, A16], &["v1.0", "-", H16, H8, "-", H32, H32, H32, H32, H16, "ab"]], &["cfk_disable", "v1.0-beta"]),
    token("heroku-key", "Heroku key", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{30,}", &[&["HRKU", "-AA", A32, A16, A8, "ab"]], &["HRKU-…"]),
    Rule { kind: "heroku-key", name: "Heroku key", start: Start::AnyCase, keywords: &["heroku"], is_real: is_certain,
        pattern: r#"(?i)heroku[a-z0-9_.-]{0,20}(?:key|token|secret)["']?[ \t]{0,3}(?:=>|[:=])[ \t]{0,3}["']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"#,
        hits: &[&["HEROKU_API_KEY", "=", UUID]], misses: &["heroku release 5e1c9a07-3b64-4f28-9d70-c2a8e6b4f019"] },
    token("flyio-token", "Fly.io token", &["fo1_", "fm1a_", "fm1r_", "fm2_"], r"f(?:o1|m1[ar]|m2)_[A-Za-z0-9+/_=-]{40,}", &[&["fo1", "_", A32, A16], &["fm2", "_lJPEC", A32, A16]], &["fm2_synth"]),
    token("vercel-token", "Vercel token", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], r"vc[piark]_[A-Za-z0-9]{24,}", &[&["vcp", "_", A32]], &["vcp_memory_size"]).but(is_mixed),
    token("netlify-token", "Netlify token", &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"], r"nf[pcoub]_[A-Za-z0-9]{36,}", &[&["nfp", "_", A32, A4]], &["nfp_table_lookup"]).but(is_mixed),
    token("supabase-key", "Supabase key", &["sbp_", "sb_secret_"], r"(?:sbp_(?:oauth_)?[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,})", &[&["sbp", "_", H32, H8], &["sb_secret", "_", A16, A8]], &["sb_secret_key_name"]),
    token("planetscale-token", "PlanetScale credential", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,}", &[&["pscale_tkn", "_", A32], &["pscale_pw", "_", A32]], &["pscale_tkn_id"]),

    // ---- code
    token("github-token", "GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{22,})",
        &[&["ghp_", A32, A4], &["gho_", A32, A4], &["ghu_", A32, A4], &["ghs_", A32, A4], &["ghr_", A32, A32, A8, A4], &["github_pat", "_11ABCDEFG0", A16, "_", A32, A16, A8]],
        &["the ghp_ prefix, ghp_xxxxxxxxxxxxxxxxxxxxxxxx"]),
    token("gitlab-token", "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glrtr-", "glsoat-", "gloas-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glffct-", "glwt-", "GR1348941"],
        r"(?:gl(?:pat|dt|rtr?|soat|oas|cbt|ptt|ft|imt|agent|ffct|wt)-[A-Za-z0-9_.-]{20,}|GR1348941[A-Za-z0-9_-]{20,})",
        &[&["glpat-", A16, A4], &["glrt-t1_", A16, A4], &["glptt-", H32, H8], &["gldt-", A16, A4], &["glcbt-64_", A16, A4], &["gloas-", H32, H32], &["GR134", "8941", A16, A4]],
        &["glpat-<your-token-goes-in-here>", "glpat-your-own-token-goes-here"]),
    token("bitbucket-token", "Bitbucket token", &["ATBB", "ATCTT3"], r"(?:ATBB[A-Za-z0-9]{32}\b|ATCTT3[A-Za-z0-9_=-]{60,})", &[&["ATBB", A32], &["ATCTT", "3x", A32, A32]], &["ATBB and ATCTT3"]),
    token("atlassian-token", "Atlassian token", &["ATATT3", "ATOA"], r"AT(?:ATT3|OA)[A-Za-z0-9_=-]{60,}", &[&["ATATT", "3xFfGF0", A32, A32, A32, "=", H8]], &["ATOAST"]),
    token("npm-token", "npm token", &["npm_"], r"npm_[A-Za-z0-9]{36}\b", &[&["npm_", A32, A4]], &["npm_config_registry and npm_lifecycle_event"]),
    Rule { kind: "npm-token", name: "npm token", start: Start::Anywhere, keywords: &["_authToken", ":_auth"], is_real: is_varied,
        pattern: r#"(?:_authToken|:_auth)[ \t]{0,3}=[ \t]{0,3}"?([A-Za-z0-9+/_=-]{16,128})"#, hits: &[&["//registry.npmjs.org/:_authToken", "=", UUID]], misses: &["_authToken=${NPM_TOKEN}", "url_auth = get_auth_from_url(self.url)"] },
    token("pypi-token", "PyPI token", &["pypi-AgE"], r"pypi-AgE[A-Za-z0-9_-]{50,}", &[&["pypi-", "AgEIcHlwaS5vcmc", A32, A32]], &["pypi-agenda"]),
    token("crates-io-token", "crates.io token", &["cio"], r"cio[A-Za-z0-9]{32}\b", &[&["cio", A32]], &["ciofuturesunorderedstreamextension2"]).but(is_mixed),
    token("rubygems-key", "RubyGems key", &["rubygems_"], r"rubygems_[a-f0-9]{48}", &[&["rubygems", "_", H32, H16]], &["rubygems_version"]),
    token("nuget-key", "NuGet key", &["oy2"], r"oy2[a-z0-9]{43}\b", &[&["oy2", "a7k3m9q2w5z8x1c4v6b0n", "p7r3t9y2u5i8o1s4d6f0g4"]], &["oy2 is no word"]),
    token("docker-token", "Docker Hub token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{20,}", &[&["dckr_pat", "_", A16, A8, "abc"], &["dckr_oat", "_", A32]], &["dckr_pat_ is the prefix"]),
    Rule { kind: "docker-auth", name: "registry login", start: Start::Anywhere, keywords: &["\"auth\""], is_real: is_basic_credential,
        pattern: r#""auth"[ \t]{0,3}:[ \t]{0,3}"([A-Za-z0-9+/]{8,128}={0,2})""#, hits: &[&["\"auth\": \"", "dXNlcjpodW50ZXIyaHVudGVy\""]], misses: &["\"auth\": \"required\"", "\"auth\": \"c29tZXRoaW5nIGVsc2U=\""] },
    token("artifactory-key", "Artifactory key", &["AKCp", "cmVmdGtu"], r"(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,})", &[&["AKCp", A32, A32, "abcde"], &["cmVmd", "Gtu", A32, A16, A8]], &["AKCprefix"]),
    token("buildkite-token", "Buildkite token", &["bkua_", "bkaj_", "bkct_"], r"bk(?:ua|aj|ct)_[A-Za-z0-9_-]{30,}", &[&["bkua", "_", H32, H8]], &["bkua_token"]),
    token("circleci-token", "CircleCI token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9]{10,}_[a-f0-9]{40}", &[&["CCIPAT", "_", A16, "_", H32, H8]], &["CCIPAT_"]),
    token("terraform-token", "Terraform token", &["atlasv1."], r"atlasv1\.[A-Za-z0-9_=-]{60,}", &[&["atlas", "v1.", A32, A32]], &["atlasv1.json"]),
    token("pulumi-token", "Pulumi token", &["pul-"], r"pul-[a-f0-9]{40}\b", &[&["pul-", H32, H8]], &["pul-esc"]),
    token("sentry-token", "Sentry token", &["sntrys_", "sntryu_"], r"sntry(?:s_eyJ[A-Za-z0-9+/_=-]{40,}|u_[a-f0-9]{64})", &[&["sntryu", "_", H32, H32], &["sntrys", "_eyJ", A32, A32]], &["sntryu_"]),
    token("postman-key", "Postman key", &["PMAK-"], r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", &[&["PMAK", "-", H16, H8, "-", H32, "ab"]], &["PMAK-…"]),
    token("figma-token", "Figma token", &["figd_", "figo_", "figu_"], r"fig[dou]_[A-Za-z0-9_-]{36,}", &[&["figd", "_", A32, A8]], &["figd_ure"]),

    // ---- models
    token("anthropic-key", "Anthropic key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{20,}", &[&["sk-ant-", "api03-", A32, A32, A16, "-", A8, "AA"], &["sk-ant-", "oat01-", A32]],
        &["sk-ant-..., as the documentation says", "sk-ant-api03-your-key-goes-here"]),
    token("openai-key", "OpenAI-style key", &["sk-"], r"sk-[A-Za-z0-9_-]{16,}",
        &[&["sk-", A16, A4, "T3BlbkFJ", A16, A4], &["sk-", "proj-", A32, A32], &["sk-", "svcacct-", A32], &["sk-", "or-v1-", H32, H32], &["sk-", H32]],
        &["sk-learn-contrib-estimators-and-pipelines", "sk-your-api-key-goes-here", "sk-proj-xxxxxxxxxxxxxxxxxxxxxxx"]).but(is_random),
    token("huggingface-token", "Hugging Face token", &["hf_", "api_org_"], r"(?:hf|api_org)_[A-Za-z0-9]{30,}", &[&["hf_", A32, "ab"], &["api_org", "_", A32, "ab"]], &["hf_hub_download(repo_id)"]),
    token("replicate-token", "Replicate token", &["r8_"], r"r8_[A-Za-z0-9]{37}\b", &[&["r8_", A32, A4, "b"]], &["r8_register"]).but(is_mixed),
    token("groq-key", "Groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{40,}", &[&["gsk_", A32, A16, A4]], &["gsk_render_node"]),
    token("xai-key", "xAI key", &["xai-"], r"xai-[A-Za-z0-9]{40,}", &[&["xai-", A32, A32, A16]], &["xai-org/grok"]),
    token("perplexity-key", "Perplexity key", &["pplx-"], r"pplx-[A-Za-z0-9]{40,}", &[&["pplx-", A32, A16]], &["pplx-70b-online"]),
    token("langsmith-key", "LangSmith key", &["lsv2_"], r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", &[&["lsv2_pt", "_", H32, "_", H8, "ab"]], &["lsv2_pt_"]),
    token("nvidia-key", "NVIDIA key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{40,}", &[&["nvapi-", A32, A32]], &["nvapi-docs"]),

    // ---- services
    token("slack-token", "Slack token", &["xox", "xapp-", "xwfp-"], r"(?:xox(?:[abcdeoprs]|e\.xox[bp])-[A-Za-z0-9%-]{10,}|x(?:app|wfp)-[A-Za-z0-9-]{20,})",
        &[&["xoxb-", D10, "12-abcdefGHIJKL"], &["xoxp-", D10, "-", D10, "-", H32], &["xoxa-2-", D10, "-", A16], &["xapp-1-A", D10, "-", H32], &["xoxe.xoxp-1-", A32]],
        &["xoxo-hugs, she wrote", "xoxb-your-bot-token"]).but(has_number),
    Rule { kind: "slack-webhook", name: "Slack webhook", start: Start::Anywhere, keywords: &["hooks.slack.com/"], is_real: is_varied,
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{6,}/(?:[A-Z0-9]{6,}/){0,2}(?:[0-9]{6,}/)?[A-Za-z0-9]{16,}",
        hits: &[&["https://hooks.slack", ".com/services/T0AB1CD2E/B0FG3HI4J/", A16, A8], &["https://hooks.slack", ".com/workflows/T0AB1CD2E/A0FG3HI4J/", D10, "/", A16, A8]], misses: &[concat!("https://hooks.slack.com/", "services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX")] },
    token("stripe-key", "Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_", "sk_org_", "rk_org_", "whsec_"], r"(?:[sr]k_(?:live|test|prod|org)_(?:live_|test_)?[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,})",
        &[&["sk_live", "_", A16, A8], &["rk_test", "_", A32], &["whsec", "_", A32]], &["sk_test_mode = true", "whsec_…"]),
    token("square-token", "Square token", &["sq0atp-", "sq0csp-", "sq0idp-"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}", &[&["sq0atp", "-", A16, A8]], &["sq0idp-is-no-secret-at-all-really"]),
    token("paypal-token", "PayPal token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", &[&["access_token$", "production$7k3m9q2w5z8x1c4v$", H32]], &["access_token$"]),
    token("shopify-token", "Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}", &[&["shpat", "_", H32], &["shpss", "_", H32]], &["shpat_ is the prefix"]),
    token("sendgrid-key", "SendGrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}", &[&["SG.", A16, A4, "ab.", A32, A8, "abc"]], &["SG.Collections.Generic.Dictionary"]),
    token("mailgun-key", "Mailgun key", &["key-"], r"key-[a-f0-9]{32}\b", &[&["key-", H32]], &["key-value-store"]),
    Rule { kind: "mailchimp-key", name: "Mailchimp key", start: Start::Before(32), keywords: &["-us"], is_real: is_varied, pattern: r"\b[a-f0-9]{32}-us[0-9]{1,2}\b", hits: &[&[H32, "-us", "12"]], misses: &["north-us1"] },
    token("brevo-key", "Brevo key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", &[&["xkeysib", "-", H32, H32, "-", A16]], &["xkeysib-…"]),
    token("twilio-key", "Twilio key", &["SK"], r"SK[0-9a-f]{32}\b", &[&["SK", H32]], &["SK is the key's prefix, SKIPPED"]),
    Rule { kind: "discord-token", name: "Discord token", start: Start::Word, is_real: is_varied,
        // Its first part is a number in base64, which begins in one of these ways.
        keywords: &["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        pattern: r"(?:[MN][DTjz]|O[DT])[AEIMQUYcgk][wxyz0-5][A-Za-z0-9_-]{19,24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        hits: &[&["MTIz", "NDU2Nzg5MDEyMzQ1Njc4", ".", "Gq8Zt4", ".", A32, A4]], misses: &["MTIzNDU2Nzg5MDEyMzQ1Njc4 alone is a number"] },
    Rule { kind: "discord-webhook", name: "Discord webhook", start: Start::Anywhere, keywords: &["/api/webhooks/"], is_real: is_varied,
        pattern: r"/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{40,}", hits: &[&["https://discord", ".com/api/webhooks/", D10, "12345678/", A32, A32]], misses: &["POST /api/webhooks/stripe/incoming"] },
    Rule { kind: "telegram-token", name: "Telegram bot token", start: Start::Before(11), keywords: &[":AA"], is_real: is_varied,
        pattern: r"[0-9]{7,11}:AA[A-Za-z0-9_-]{32,35}", hits: &[&[D10, ":AA", A32, "b"], &["https://api.telegram.org/bot", D10, ":AA", A32, "b/getMe"]], misses: &["00:AA:BB:CC:DD:EE", "12:AAA"] },
    token("twitter-token", "X bearer token", &["AAAAAAAAAAAAAAAAAAAA"], r"A{20,24}[A-Za-z0-9%]{60,}", &[&["AAAAAAAAAAAAAAAAAAAAAA", "%2F", A32, A32]], &["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]),
    token("facebook-token", "Facebook token", &["EAAC", "EAAG", "EAAA", "EAAB"], r"EAA[ABCG][A-Za-z0-9]{80,}", &[&["EAAC", "EdEose0cBA", A32, A32, A16]], &["EAAGLE"]),
    token("linear-key", "Linear key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", &[&["lin_api", "_", A32, A8], &["lin_oauth", "_", H32, H32]], &["lin_api_client"]),
    token("notion-token", "Notion token", &["ntn_", "secret_"], r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)", &[&["ntn", "_", D10, A32, A4], &["secret", "_", A32, A8, "abc"]], &["secret_name and ntn_"]),
    token("airtable-token", "Airtable token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", &[&["pat", A8, A4, "ab.", H32, H32]], &["patterns.to.match"]),
    token("dropbox-token", "Dropbox token", &["sl.u.", "sl.B", "sl.A", "sl.C"], r"sl\.(?:u\.|[ABC])[A-Za-z0-9_-]{100,}", &[&["sl", ".u.A", A32, A32, A32, A16]], &["sl.u.x"]),
    token("datadog-key", "Datadog key", &["ddapp_", "ddpat_", "ddsat_"], r"dd(?:app|pat|sat)_[A-Za-z0-9_-]{30,}", &[&["ddapp", "_", A32, A4]], &["ddapp_name"]),
    token("newrelic-key", "New Relic key", &["NRAK-", "NRJS-", "NRII-", "NRIQ-", "NRRA-", "NRSP-", "NRAA-"], r"NR(?:AK|II|IQ|RA|AA|JS)-[A-Za-z0-9_-]{19,42}|NRSP-[a-z0-9]{33}", &[&["NRAK", "-", U16, "A1B2C3D4E5F"], &["NRII", "-", A32]], &["NRAK-…", "NRJS-xxxxxxxxxxxxxxxxxxx"]),
    Rule { kind: "newrelic-key", name: "New Relic key", start: Start::Before(36), keywords: &["NRAL"], is_real: is_varied, pattern: r"\b[a-f0-9]{36}NRAL\b", hits: &[&[H32, H4, "NR", "AL"]], misses: &["NRAL"] },
    token("grafana-token", "Grafana token", &["glc_", "glsa_"], r"gl(?:c_[A-Za-z0-9+/]{32,}={0,3}|sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8})", &[&["glsa", "_", A32, "_", H8], &["glc", "_eyJ", A32, A16]], &["glc_compile"]),
    token("dynatrace-token", "Dynatrace token", &["dt0c01.", "dt0s16.", "dt0s01."], r"dt0(?:c01|s16|s01)\.[A-Z0-9]{24}\.[A-Z0-9]{64}", &[&["dt0c01", ".", U16, "A1B2C3D4.", U32, U32]], &["dt0c01.x"]),
    token("vault-token", "Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,}", &[&["hvs", ".CAES", A32, A32, A16], &["hvb", ".AAAAAQ", A32, A32]], &["hvs.example.org"]),
    token("doppler-token", "Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b", &[&["dp.pt", ".", A32, A8, "abc"]], &["dp.pt.x"]),
    token("1password-token", "1Password credential", &["ops_eyJ", "A3-"], r"(?:ops_eyJ[A-Za-z0-9+/_=-]{100,}|A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}\b)",
        &[&["ops_", "eyJ", A32, A32, A32, A16], &["A3", "-K4VX7Q-Z2MWT6-JB5RH", "-D3YNF-8GPLC-9SAEU"]], &["A3-B4"]),
    token("okta-token", "Okta token", &["SSWS "], r"SSWS (00[A-Za-z0-9_-]{40})", &[&["Authorization: SSWS ", "00", A32, A8]], &["SSWS is Okta's scheme"]),
    token("contentful-token", "Contentful token", &["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{43}", &[&["CFPAT", "-", A32, A8, "abc"]], &["CFPAT-…"]),
    token("clickup-token", "ClickUp token", &["pk_"], r"pk_[0-9]{6,9}_[A-Z0-9]{32}\b", &[&["pk_", "1234567_", U32]], &["pk_live_is_public"]),

    // ---- from any issuer
    token("jwt", "JSON web token", &["eyJ"], r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        &[&["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0", ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"]], &["a token starts with eyJ, as eyJhbGciOiJIUzI1NiJ9 does"]),
    Rule { kind: "password-in-url", name: "password in an address", start: Start::Anywhere, keywords: &["://"], is_real: is_password,
        pattern: r#"://[^\s:/@?#"'`]{0,100}:([^\s:/@"'`${}*\[\]]{3,128})@[A-Za-z0-9\[]"#,
        hits: &[&["postgres://app:", "s3cr3tPa55@db.internal/app"], &["redis://:", "s3cr3tPa55@cache:6379/0"], &["mongodb+srv://u:", "Pa%40ss9word@cluster0.example.net"], &["https://oauth2:", A16, "@gitlab.example/x.git"], &["postgres://app:", "s3c<r3t>Pa55@db/app"], &["postgres://<user>:", "s3cr3tPa55@db/app"], &["postgres://app:", "s3cr3t<abc>Pa55@db"]],
        misses: &["postgres://app:${PASSWORD}@db, http://[::1]:80/@x, ssh://git@host:22/a@b", "https://user:password@example.com", "postgres://user:pass@localhost/db", "https://host:8080/a@b", "postgres://app:<password>@db and https://<user>:<your-token>@host", "<https://host:80>,<me@example.org>"] },
    Rule { kind: "connection-string", name: "password in a connection string", start: Start::Before(160), is_real: is_password,
        keywords: &[";password=", "; password=", ";Password=", "; Password=", ";PASSWORD=", ";pwd=", ";Pwd=", "; Pwd=", ";PWD=", " password=", "&password="],
        pattern: concat!(r"(?i)(?:(?:server|data source|host|hostname|user id|uid|user|username|database|initial catalog) ?=[^;\n]{1,80};(?:[^;\n]{1,80};){0,8} ?(?:password|pwd)=",
            r#"|(?:host|hostaddr|port|dbname|user|username)=[^;,&\s]{1,60}[ &](?:[a-z_]{1,20}=[^;,&\s]{1,60}[ &]){0,6}password=)["']?([^;&\s"'`${}<>*()]{4,128})"#),
        hits: &[&["Server=db;User Id=sa;Password", "=s3cr3tPa55;Encrypt=true"], &["host=db user=app password", "=s3cr3tPa55 dbname=x"], &["jdbc:mysql://db/x?user=app&password", "=s3cr3tPa55"]],
        misses: &["Server=db;User Id=sa;Password={password};", "host=db user=app password=$PW", "host=db user=app password=password", "def login(self, user=None, password=None, port=119)", "connect(host=host, user=user, password=pw)"] },
    Rule { kind: "authorization", name: "authorization header", start: Start::AnyCase, keywords: &["authorization", "bearer", "x-api-key", "X-Api-Key", "x-auth-token", "X-Auth-Token", "private-token"], is_real: is_random,
        pattern: r#"(?i)(?:(?:authorization|x-api-key|x-auth-token|private-token)["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:bearer|token|apikey|key)\s{1,3})?|bearer\s{1,3})([A-Za-z0-9._~+/-]{16,}={0,2})"#,
        hits: &[&["Authorization: Bearer ", A16, A8], &["curl -H 'X-Api-Key: ", A32, "'"], &["\"Authorization\": \"token ", H32, H8, "\""], &["PRIVATE-TOKEN: ", A16, A4]],
        misses: &["Authorization: Bearer <token>; the bearer of good news", "Authorization: Bearer $GITHUB_TOKEN", "authorization: required_for_this_endpoint", "bearer authentication-middleware-v2"] },
    Rule { kind: "authorization", name: "authorization header", start: Start::AnyCase, keywords: &["authorization"], is_real: is_basic_credential,
        pattern: r#"(?i)authorization["']?\s{0,3}[:=]\s{0,3}["']?basic\s{1,3}([A-Za-z0-9+/]{6,128}={0,2})"#,
        hits: &[&["Authorization: Basic ", "dXNlcjpodW50ZXIyaHVudGVy"]], misses: &["Authorization: Basic Authentication", "Authorization: Basic <credentials>"] },
    Rule { kind: "secret-assignment", name: "password for a machine", start: Start::Anywhere, keywords: &["machine "], is_real: is_password,
        pattern: r"machine [ \t]{0,8}[!-~]{1,200}\s{1,16}login\s{1,16}[!-~]{1,200}\s{1,16}password[ \t]{1,16}([!-#%-;=-z|-~][!-~]{3,200})",
        hits: &[&["machine example.net login me password ", A16, "\n"]],
        misses: &["the machine asks for login and password", "machine example.net login me password $PASSWORD"] },
    Rule { kind: "secret-assignment", name: "value of a secret's name", start: Start::AnyCase, is_real: is_assigned_secret,
        keywords: &["password", "passwd", "passphrase", "pwd", "passwort", "secret", "token", "credential", "api_key", "api-key", "apikey", "apiKey", "ApiKey", "access_key", "access-key", "accesskey", "accessKey", "AccessKey",
            "app_key", "app-key", "appkey", "appKey", "auth_key", "authkey", "authKey", "private_key", "privatekey", "privateKey", "encryption_key", "encryptionKey", "signing_key", "signingKey", "master_key", "masterKey", "license_key", "licenseKey", "service_key", "serviceKey", "Password", "Secret", "Token"],
        pattern: concat!(r#"(?i)(?:password|passwd|passphrase|pwd|passwort|secret|token|credentials?|(?:api|access|app|auth|private|encryption|signing|master|license|service)[_-]?key)[a-z0-9_-]{0,24}"#,
            r#"(?:\\?["'`\]]){0,2}[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}(?:(?:[>|][+-]?|\\)[ \t]{0,3}\r?\n[ \t]{0,16})?(?:\\?"([^"\\\s]{8,})|'([^'\s]{8,})|`([^`\s]{8,})|([^\s"'`,;|&()\[\]{}\\]{8,})(?:[\s"'`,;|&\\)}\]]|\z))"#),
        hits: &[&["DB_PASSWORD", "=s3cr3tPa55"], &["password: ", "x7!kQ92mWz"], &["DD_API_KEY", "=", H32], &["clientSecret", ": '", A32, "'"], &["\"accessToken\": \"", A32, "\""], &["export SESSION_SECRET", "=", A32, A32], &[r#"{\"token\":\""#, A32, r#"\"}"#], &["DB_PASSWORD", "=x7<kQ9>2mWz5"], &["<td>api_key", "=", A32, "</td>"]],
        misses: &["password = getpass()", "secret: |\n  What nobody knows", "token: Option<String>", "password: Result<Vec<u8>>", "secret: Arc<Mutex<Vec<u8>>>", "PASSWORD=<password>", "password: <your-password-1>", "TOKEN=$OTHER_TOKEN", "api_key = os.environ[\"API_KEY2\"]", "password: changeme123", "secret = \"your-secret-key-1\"", "token = next_token2(stream)",
            "password_hash = \"5f4dcc3b5aa765d61d8327deb882cf99\"", "token_id: 01M7FAKZG8DE3B4WZZ6KYE37BB", "secret: 5e1c9a07-3b64-4f28-9d70-c2a8e6b4f019", "tokens: 128000", "max_tokens=4096", "token at 2026-11-15T10:04:05Z",
            "secret_path = \"kv/data/prod/app-v2\"", "secretName: my-app-tls-2024-production", "passwordField = document.querySelector1", "token = \"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\""] },
];

impl Rule {
    const fn but(mut self, is_real: fn(&Candidate<'_>) -> bool) -> Rule {
        self.is_real = is_real;
        self
    }
}
