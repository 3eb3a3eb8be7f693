//! Secrets do not travel: what looks like a credential is caught before it is recorded.

use super::support::*;

/// Made up, and in pieces so that this file does not look like a leak.
fn token() -> String {
    ["ghp_", "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"].concat()
}

fn nothing_of_it_anywhere(world: &World) {
    for (path, content) in world.everything() {
        assert!(!content.contains(&token()), "{path}");
    }
}

#[test]
fn a_typed_run_with_a_secret_is_refused_and_records_nothing() {
    let world = World::new();
    let note = format!("fixed it\nwith {} in hand", token());
    let output = world.run(&["run", "--note", &note]).expect(5);
    assert!(
        output.stderr.contains("error: this looks like a secret: github-token in line 2 of the note\n"),
        "{}",
        output.stderr
    );
    assert!(output.stderr.contains("or pass `--allow-secret github-token`"), "{}", output.stderr);
    assert!(output.stderr.contains("nothing was recorded"), "{}", output.stderr);
    assert!(!output.stderr.contains(&token()) && output.stdout.is_empty());
    world.run(&["check"]).expect(0);
    nothing_of_it_anywhere(&world);
    for arguments in [["run", "--current-state", &note], ["run", "--agent", &token()]] {
        world.run(&arguments).expect(5);
        nothing_of_it_anywhere(&world);
    }
}

#[test]
fn a_kind_can_be_allowed_for_one_run() {
    let world = World::new();
    let output = world.run(&["run", "--note", &token(), "--allow-secret", "github-token"]).expect(0);
    assert!(!output.stderr.contains("secret"), "{}", output.stderr);
    assert!(world.read(NOTES).contains(&token()));
    world.run(&["run", "--note", &token(), "--allow-secret", "jwt"]).expect(5);
    world.run(&["run", "--note", &token(), "--allow-secret", "everything"]).expect(64);
}

#[test]
fn the_config_chooses_between_refusing_redacting_and_reporting() {
    let world = World::with_config("[guard]\nsecrets = \"redact\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n");
    let output = world.run(&["run", "--note", &format!("see {}!", token())]).expect(0);
    assert!(
        output.stderr.contains("note: what looks like a secret was taken out: github-token in line 1 of the note\n"),
        "{}",
        output.stderr
    );
    assert!(world.read(NOTES).contains("\nsee [redacted:github-token]!\n"));
    nothing_of_it_anywhere(&world);
    world.write("handover.toml", "[guard]\nsecrets = \"warn\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n");
    let output = world.run(&["run", "--note", &token()]).expect(0);
    assert!(output.stderr.contains("what looks like a secret was recorded: github-token"), "{}", output.stderr);
    assert!(world.read(NOTES).contains(&token()));
}

#[test]
fn a_secret_in_a_commit_message_or_in_what_a_command_prints_is_not_taken_along() {
    let world = World::with_git();
    let commit = |message: &str| {
        world.git(&["-c", "user.name=t", "-c", "user.email=t@example", "commit", "-qm", message, "--allow-empty"]);
    };
    commit("before");
    world.write(
        "handover.toml",
        "[[step]]\nname = \"facts\"\nkind = \"collect\"\n[[step]]\nname = \"print\"\nkind = \"command\"\nrun = [\"cat\", \"../printed\"]\n\
         [[step]]\nname = \"note\"\nkind = \"note\"\n",
    );
    world.write("../printed", token());
    world.run(&["run"]).expect(0);
    commit(&format!("use {}", token()));
    world.run(&["run"]).expect(0);
    assert!(world.read(NOTES).contains("use [redacted:github-token]"));
    for (path, content) in world.everything() {
        let is_theirs = path.starts_with(".git/") || path.starts_with(".agent-handover/log/");
        assert!(is_theirs || !content.contains(&token()), "{path}");
    }
}

#[test]
fn a_key_that_a_command_prints_is_kept_by_nobody() {
    let world = World::with_config("[[step]]\nname = \"print\"\nkind = \"command\"\nrun = [\"cat\", \"../key\"]\n");
    let line = "MIIEowIBAAKCAQEAsecretsecretsecretsecretsecretsecret\n";
    world.write(
        "../key",
        format!("-----BEGIN RSA {}-----\n{}-----END RSA {}-----\n", "PRIVATE KEY", line.repeat(60), "PRIVATE KEY"),
    );
    world.run(&["run"]).expect(0);
    let kept: String = world.database().query_row("SELECT result FROM step", [], |row| row.get(0)).unwrap();
    assert!(kept.contains("[redacted:private-key]") && !kept.contains("secretsecret"), "{kept}");
}

#[test]
fn a_dry_run_refuses_what_the_run_would_refuse() {
    let world = World::new();
    world.run(&["run", "--dry-run", "--note", &token()]).expect(5);
    world.run(&["run", "--dry-run", "--note", "n"]).expect(0);
}

#[test]
fn names_in_git_are_cleaned_like_messages() {
    let world = World::with_git();
    world.git(&["checkout", "-q", "-b", &token()]);
    world.write(&format!("{}.pem", token()), "");
    world.run(&["run"]).expect(0);
    assert!(world.read(NOTES).contains("[redacted:github-token]"));
    for (path, content) in world.tree() {
        assert!(path.starts_with("ghp_") || !content.contains(&token()), "{path}");
    }
}

/// Of each secret every piece of eight letters is looked for, in every file and in the database.
#[test]
fn secrets_are_redacted_whole_at_record() {
    let config = "[guard]\nsecrets = \"redact\"\n[[step]]\nname = \"note\"\nkind = \"note\"\n";
    let body = "q8Zt4Lw1Nx7Ry2Vb5Kp9Md3Fh6Js0GcTu8Ye2Wn4Ra7Bz1Xv";
    let line = "MIIEowIBAAKCAQEAq8Zt4Lw1Nx7Ry2Vb5Kp9Md3Fh6Js0Gc";
    let marker = |which: &str| format!("-----{which} RSA {} KEY-----", "PRIVATE");
    for (before, secret, after) in [
        ("use ghp_", body.to_owned(), " now"),
        ("GITHUB_TOKEN=ghp_", body.to_owned(), "\nnext"),
        ("curl -H 'Authorization: Bearer ", body.repeat(9), "' x"),
        ("postgres://app:", "s3cr3tPa55w0rd".to_owned(), "@db/app"),
        ("Server=db;User Id=sa;Password=", "s3cr3t!Pa55w0rd".to_owned(), ";x=1"),
        ("API_SECRET=\"", format!("{body}+/=!{body}"), "\" # mine"),
        (
            "{\"private_key\": \"",
            [marker("BEGIN"), line.to_owned(), line.to_owned(), marker("END")].join("\\n"),
            "\\n\"}",
        ),
        ("> ", [marker("BEGIN"), line.to_owned(), "> Qm9vYmFyYmF6".to_owned()].join("\n> "), "\n\nand so on"),
    ] {
        let world = World::with_config(config);
        let output = world.run(&["run", "--note", &format!("{before}{secret}{after}")]).expect(0);
        assert!(output.stderr.contains("what looks like a secret was taken out"), "{}", output.stderr);
        let notes = world.read(NOTES);
        assert!(notes.contains("[redacted:"), "{notes}");
        for (path, content) in world.everything() {
            for piece in secret.as_bytes().windows(8) {
                let piece = std::str::from_utf8(piece).unwrap();
                assert!(!content.contains(piece), "{piece} of {before}… is in {path}");
            }
        }
    }
}
