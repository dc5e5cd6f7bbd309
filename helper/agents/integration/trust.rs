//! Codex runs a hook only once the user trusts it. Codex itself is asked, through its app server, for the state of our hook and for the
//! trust: what it trusts is a hash that only it computes.
#![expect(clippy::disallowed_methods, reason = "this room runs Codex's app server")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// It answers within a fifth of a second; a machine that has just started may need longer.
const LIMIT: Duration = Duration::from_secs(20);

/// Whether Codex trusts the hook that runs this line.
pub(super) fn is_trusted(program: &Path, folder: &Path, line: &str) -> Result<bool, String> {
    let mut server = AppServer::start(program)?;
    Ok(server.hook(folder, line)?["trustStatus"] == "trusted")
}

/// Has Codex trust the hook that runs this line, and no other.
pub(super) fn trust(program: &Path, folder: &Path, line: &str) -> Result<(), String> {
    let mut server = AppServer::start(program)?;
    let hook = server.hook(folder, line)?;
    if hook["trustStatus"] == "trusted" {
        return Ok(());
    }
    let (Some(key), Some(hash)) = (hook["key"].as_str(), hook["currentHash"].as_str()) else {
        return Err("it tells no hash of the hook".to_owned());
    };
    let mut value = serde_json::Map::new();
    value.insert(key.to_owned(), json!({ "trusted_hash": hash }));
    let edit = json!({ "keyPath": "hooks.state", "mergeStrategy": "upsert", "value": value });
    server.call("config/batchWrite", &json!({ "edits": [edit], "reloadUserConfig": true }))?;
    if server.hook(folder, line)?["trustStatus"] == "trusted" { Ok(()) } else { Err("it did not take the trust".to_owned()) }
}

/// `codex app-server`, one JSON message in a line.
struct AppServer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    deadline: Instant,
    calls: u64,
}

impl AppServer {
    fn start(program: &Path) -> Result<Self, String> {
        let mut child = Command::new(program)
            .arg("app-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        let (sender, lines) = channel();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let input = child.stdin.take();
        let mut server = Self { child, input, lines, deadline: Instant::now() + LIMIT, calls: 0 };
        let client = json!({ "name": "sidecar", "title": "sidecar", "version": env!("CARGO_PKG_VERSION") });
        server.call("initialize", &json!({ "clientInfo": client }))?;
        server.send(&json!({ "method": "initialized" }))?;
        Ok(server)
    }

    /// What Codex knows of our hook.
    fn hook(&mut self, folder: &Path, line: &str) -> Result<Value, String> {
        let answer = self.call("hooks/list", &json!({ "cwds": [folder] }))?;
        let hooks = answer["data"].as_array().into_iter().flatten().flat_map(|entry| entry["hooks"].as_array().into_iter().flatten());
        let ours = hooks.into_iter().find(|hook| hook["command"] == line && hook["source"] == "user").cloned();
        ours.ok_or_else(|| "it does not know the hook".to_owned())
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|_| format!("its app server does not answer {method}"))?;
            // Notices of other things stand between the answers.
            let Ok(answer) = serde_json::from_str::<Value>(&line) else { continue };
            if answer["id"] == id {
                return match answer.get("error") {
                    Some(error) => {
                        Err(format!("its app server refuses {method}: {}", error["message"].as_str().unwrap_or("no reason given")))
                    }
                    None => Ok(answer["result"].clone()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("its app server is gone")?;
        writeln!(input, "{message}").and_then(|()| input.flush()).map_err(|error| format!("cannot reach its app server: {error}"))
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        // It ends with its input; the end of its output tells that it did.
        drop(self.input.take());
        let deadline = Instant::now() + Duration::from_secs(2);
        while self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
