//! main.rs: rslock behind picklock's adapter protocol (docs/ADAPTERS.md).
//!
//!     adapters/rslock/target/release/picklock-adapter-rslock
use rslock::{Lock, LockError, LockManager};
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static HELD: LazyLock<Mutex<HashMap<String, Arc<Lock>>>> = LazyLock::new(Default::default);

fn monotonic() -> f64 {
    START.elapsed().as_secs_f64() * 1e3
}

/// validity_time counts from when the library computed it, right before it returned.
fn promise(resource: &str, done: Result<Lock, LockError>) -> Value {
    let at = monotonic();
    match done {
        Ok(lock) => {
            let value: String = lock.val.iter().map(|byte| format!("{byte:02x}")).collect();
            let validity = lock.validity_time;
            HELD.lock().unwrap().insert(resource.to_string(), Arc::new(lock));
            json!({"type": "ok", "value": value, "validity_ms": validity, "at_ms": at})
        }
        Err(error) => json!({"type": "fail", "error": error.to_string()}),
    }
}

async fn serve(manager: LockManager, request: Value) {
    let resource = request["resource"].as_str().unwrap_or("");
    let ttl = Duration::from_millis(request["ttl_ms"].as_u64().unwrap_or(0));
    let held = HELD.lock().unwrap().get(resource).cloned();
    let answer = match (request["op"].as_str().unwrap_or(""), held) {
        ("acquire", _) => promise(resource, manager.lock(resource.as_bytes(), ttl).await),
        ("extend", Some(lock)) => promise(resource, manager.extend(&lock, ttl).await),
        ("release", Some(lock)) => {
            HELD.lock().unwrap().remove(resource);
            manager.unlock(&lock).await;
            json!({"type": "info", "error": "the library does not say what came of it"})
        }
        _ => json!({"type": "fail", "error": "not held"}),
    };
    say(&request, answer);
}

fn say(request: &Value, mut answer: Value) {
    answer["id"] = request["id"].clone();
    println!("{answer}");
}

fn begin(request: &Value) -> LockManager {
    let nodes = request["nodes"].as_array().expect("nodes");
    let urls = nodes.iter().map(|url| url.as_str().expect("a url").to_string()).collect();
    let mut manager = LockManager::new(urls);
    let options = &request["options"];
    let delay = options["retry_delay_ms"].as_f64().unwrap_or(200.0)
        + options["retry_jitter_ms"].as_f64().unwrap_or(200.0);
    let tries = options["retry_count"].as_u64().unwrap_or(3) as u32 + 1;
    manager.set_retry(tries, Duration::from_millis(delay.max(1.0) as u64));
    let features = ["validity", "extend", "several", "clock"];
    let said = json!({"type": "ok", "library": "rslock 0.10.0", "features": features,
                      "owner": "object", "drift_factor": 0.01, "nodes": "N"});
    say(request, said);
    manager
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut manager = None;
    LazyLock::force(&START);
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        match request["op"].as_str() {
            Some("shutdown") => break,
            Some("init") => manager = Some(begin(&request)),
            Some("clock") => {
                let wall = SystemTime::now().duration_since(UNIX_EPOCH).expect("a date");
                let wall_ms = wall.as_secs_f64() * 1e3;
                say(&request, json!({"type": "ok", "mono_ms": monotonic(), "wall_ms": wall_ms}));
            }
            _ => drop(runtime.spawn(serve(manager.clone().expect("init comes first"), request))),
        }
    }
    runtime.shutdown_background();
}
