//! A stand-in for the models' services on the loopback, in the forms that the agents speak, streamed. It answers
//! `ACK <how many prompts the conversation has>: <the last one>`, so an answer shows whether a resumed agent remembers. A prompt
//! `use TOOL {…}` to Claude Code is first answered by a call of that tool with that input, if the agent offers it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The service; it ends with the test.
pub struct ModelApi {
    pub port: u16,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl ModelApi {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let prompts = Arc::new(Mutex::new(Vec::new()));
        let seen = prompts.clone();
        // Threads end with the process: an agent may keep a connection open for as long as it likes.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = seen.clone();
                // A client that goes away in the middle is no fault of the test's.
                std::thread::spawn(move || answer(stream, &seen).ok());
            }
        });
        Self { port, prompts }
    }

    /// The last prompt of each conversation request so far.
    pub fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, seen: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let path = first.split_whitespace().nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let body: Value = serde_json::from_slice(&body(&mut reader)?).unwrap_or_default();
    if path.ends_with("/messages") {
        let texts = messages(&body);
        if let Some(tool) = texts.last().and_then(|prompt| tool_call(&body, prompt)) {
            return stream_messages(&mut stream, &body, &tool);
        }
        let text = reply(&texts, seen);
        if holds(&texts) {
            return std::io::copy(&mut reader, &mut std::io::sink()).map(drop);
        }
        // Titles and the like are asked for in a form of their own.
        let formed = !body["output_config"]["format"].is_null() || !body["output_format"].is_null();
        let text = if formed { json!({ "title": "A title", "isNewTopic": false }).to_string() } else { text };
        let block = json!({ "type": "text", "text": text });
        if body["stream"] == true { stream_messages(&mut stream, &body, &block) } else { send(&mut stream, &message(&body, &block)) }
    } else if path.ends_with("/responses") {
        let text = reply(&inputs(&body), seen);
        stream_responses(&mut stream, &body, &text)
    } else if path.ends_with(":streamGenerateContent") || path.ends_with(":generateContent") {
        let text = reply(&contents(&body), seen);
        // Which model fits, and who speaks next, is asked for in a form of its own.
        let formed = body["generationConfig"]["responseMimeType"] == "application/json";
        let text = if formed { json!({ "reasoning": "none", "model_choice": "flash", "next_speaker": "user" }).to_string() } else { text };
        let answer = json!({
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP", "index": 0 }],
            "usageMetadata": { "promptTokenCount": 1000, "candidatesTokenCount": 12, "totalTokenCount": 1012 }
        });
        if path.ends_with(":generateContent") { send(&mut stream, &answer) } else { stream_plain(&mut stream, &answer) }
    } else if path.ends_with(":countTokens") {
        send(&mut stream, &json!({ "totalTokens": 1000 }))
    } else if path.ends_with("/count_tokens") {
        send(&mut stream, &json!({ "input_tokens": 1000 }))
    } else {
        send(&mut stream, &json!({ "object": "list", "data": [], "models": [] }))
    }
}

/// Reads headers and a body, by its length or in chunks.
fn body(reader: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        match line.split_once(':') {
            None => break,
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            Some(_) => (),
        }
    }
    let mut bytes = Vec::new();
    if !chunked {
        reader.take(length).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim().split(';').next().unwrap_or_default(), 16).unwrap_or(0);
        if size == 0 {
            return Ok(bytes);
        }
        reader.take(size).read_to_end(&mut bytes)?;
        reader.read_line(&mut String::new())?;
    }
}

/// The user's prompts; what agents put in besides stands in tags.
fn messages(body: &Value) -> Vec<String> {
    // Beside the result of a tool stands what the agent says of it.
    let is_result = |message: &Value| list(&message["content"]).iter().any(|block| block["type"] == "tool_result");
    let users = list(&body["messages"]).iter().filter(|message| message["role"] == "user" && !is_result(message));
    let blocks = users.flat_map(|message| match &message["content"] {
        Value::String(text) => vec![text.clone()],
        content => list(content).iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect(),
    });
    blocks.map(|text| without_time(&text)).filter(|text| is_prompt(text)).collect()
}

fn contents(body: &Value) -> Vec<String> {
    let users = list(&body["contents"]).iter().filter(|content| content["role"] == "user");
    let parts = users.flat_map(|content| list(&content["parts"]).iter().filter_map(|part| part["text"].as_str().map(str::to_owned)));
    parts.filter(|text| is_prompt(text)).collect()
}

/// Copilot CLI puts the time before each prompt.
fn without_time(text: &str) -> String {
    let (time, prompt) = text.split_once("</current_datetime>").unwrap_or(("<current_datetime>", text));
    if time.starts_with("<current_datetime>") { prompt.trim_start().to_owned() } else { text.to_owned() }
}

fn inputs(body: &Value) -> Vec<String> {
    let users = list(&body["input"]).iter().filter(|item| item["type"] == "message" && item["role"] == "user");
    let texts = users.map(|item| list(&item["content"]).iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join(" "));
    texts.filter(|text| is_prompt(text)).collect()
}

fn is_prompt(text: &str) -> bool {
    !text.trim_start().starts_with(['<', '#'])
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn reply(texts: &[String], seen: &Mutex<Vec<String>>) -> String {
    let last = texts.last().cloned().unwrap_or_default();
    let short: String = last.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
    seen.lock().unwrap().push(last);
    format!("ACK {}: {short}", texts.len())
}

/// The prompt that gets no answer for as long as its agent waits.
fn holds(texts: &[String]) -> bool {
    texts.last().is_some_and(|last| last == "hold on")
}

fn send(stream: &mut TcpStream, document: &Value) -> std::io::Result<()> {
    let text = document.to_string();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len())
}

/// A stream of events; its end is the end of the connection.
fn stream(stream: &mut TcpStream, events: &[Value]) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n")?;
    for event in events {
        write!(stream, "event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())?;
    }
    stream.flush()
}

fn stream_plain(stream: &mut TcpStream, event: &Value) -> std::io::Result<()> {
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {event}\r\n\r\n")?;
    stream.flush()
}

/// The call that a prompt asks for, as long as it was not made.
fn tool_call(body: &Value, prompt: &str) -> Option<Value> {
    let (name, input) = prompt.strip_prefix("use ")?.split_once(' ')?;
    let asked = list(&body["messages"]).iter().rfind(|message| message["role"] == "user")?.to_string();
    let is_offered = list(&body["tools"]).iter().any(|tool| tool["name"] == name);
    let input: Value = serde_json::from_str(input).ok()?;
    let call = json!({ "type": "tool_use", "id": fresh("toolu"), "name": name, "input": input });
    (is_offered && !asked.contains("tool_result")).then_some(call)
}

/// Claude Code puts messages of one id together.
fn fresh(prefix: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("{prefix}_{}", LAST.fetch_add(1, Ordering::Relaxed))
}

fn message(body: &Value, block: &Value) -> Value {
    let reason = if block["type"] == "tool_use" { "tool_use" } else { "end_turn" };
    json!({
        "id": fresh("msg"), "type": "message", "role": "assistant", "model": body["model"], "content": [block],
        "stop_reason": reason, "stop_sequence": null, "usage": { "input_tokens": 1000, "output_tokens": 12 }
    })
}

fn stream_messages(out: &mut TcpStream, body: &Value, block: &Value) -> std::io::Result<()> {
    let mut start = message(body, block);
    let reason = start["stop_reason"].take();
    start["content"] = json!([]);
    let (mut empty, delta) = (
        block.clone(),
        match block["type"].as_str() {
            Some("tool_use") => json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() }),
            _ => json!({ "type": "text_delta", "text": block["text"] }),
        },
    );
    let (key, nothing) = if block["type"] == "tool_use" { ("input", json!({})) } else { ("text", json!("")) };
    empty[key] = nothing;
    let events = [
        json!({ "type": "message_start", "message": start }),
        json!({ "type": "content_block_start", "index": 0, "content_block": empty }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null }, "usage": { "output_tokens": 12 } }),
        json!({ "type": "message_stop" }),
    ];
    stream(out, &events)
}

fn stream_responses(out: &mut TcpStream, body: &Value, text: &str) -> std::io::Result<()> {
    let item = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }]
    });
    let response =
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": body["model"], "output": [] });
    let mut done = response.clone();
    done["status"] = "completed".into();
    done["output"] = json!([item]);
    done["usage"] = json!({
        "input_tokens": 1000, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 12, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 1012
    });
    let events = [
        json!({ "type": "response.created", "sequence_number": 0, "response": response }),
        json!({ "type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item }),
        json!({ "type": "response.output_text.delta", "sequence_number": 2, "output_index": 0, "content_index": 0, "item_id": "msg_1", "delta": text }),
        json!({ "type": "response.output_item.done", "sequence_number": 3, "output_index": 0, "item": item }),
        json!({ "type": "response.completed", "sequence_number": 4, "response": done }),
    ];
    stream(out, &events)
}
