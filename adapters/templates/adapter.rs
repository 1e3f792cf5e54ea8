// adapter.rs: a template: put a lock library in Rust behind picklock (docs/ADAPTERS.md).
//
//     rustc -O -o /tmp/adapter adapters/templates/adapter.rs
//     picklock run --adapter /tmp/adapter
//
// Replace Library by calls of yours, and say in DECLARES what it does.
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

// "features": all that it does, see docs/ADAPTERS.md; "nodes": or "N", for a majority of several
const DECLARES: &str = r#""library":"template 1","owner":"object","nodes":1,"features":["validity","extend","clock"]"#;
const DELETE: &str = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0";
const EXPIRE: &str =
    "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0";

/// SET NX PX on one node, by hand: your library goes here.
struct Library {
    address: String,
    link: Option<BufReader<TcpStream>>,
}

impl Library {
    /// Fails where nobody knows what became of it; the next one connects again.
    fn ask(&mut self, words: &[&str]) -> Result<String, Error> {
        let mut link = match self.link.take() {
            Some(link) => link,
            None => BufReader::new(TcpStream::connect(&self.address)?),
        };
        let line = Library::exchange(&mut link, words)?;
        self.link = Some(link);
        match line.starts_with('-') {
            true => Err(Error::new(ErrorKind::Other, line)),
            false => Ok(line),
        }
    }

    fn exchange(link: &mut BufReader<TcpStream>, words: &[&str]) -> Result<String, Error> {
        let mut text = format!("*{}\r\n", words.len());
        for word in words {
            text += &format!("${}\r\n{}\r\n", word.len(), word);
        }
        link.get_mut().write_all(text.as_bytes())?;
        let mut line = String::new();
        match link.read_line(&mut line)? {
            0 => Err(Error::new(ErrorKind::UnexpectedEof, "cut off")),
            _ => Ok(line.trim_end().to_string()),
        }
    }
}

/// A member of a request; the lines are flat, and no text in them is escaped.
fn member<'a>(line: &'a str, name: &str) -> &'a str {
    let mark = format!("\"{}\":", name);
    let rest = line.find(&mark).map_or("", |at| &line[at + mark.len()..]);
    let rest = rest.trim_start_matches('[').trim_start_matches('"');
    rest.split(|c| "\",]}".contains(c)).next().unwrap_or("")
}

fn random_value() -> Result<String, Error> {
    let mut bytes = [0u8; 20];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{:02x}", byte)).collect())
}

fn spent(start: Instant, ttl: &str, begun: f64) -> bool {
    ttl.parse().unwrap_or(0.0) * 0.99 - 2.0 - (start.elapsed().as_secs_f64() * 1e3 - begun) <= 0.0
}

struct Adapter {
    start: Instant,
    library: Option<Library>,
    held: HashMap<String, String>,
}

impl Adapter {
    fn mono(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e3
    }

    /// When it was computed, on our own monotonic clock: so that it counts from there.
    fn promise(&self, ttl: &str, begun: f64) -> String {
        let validity = ttl.parse().unwrap_or(0.0) * 0.99 - 2.0 - (self.mono() - begun);
        format!("\"type\":\"ok\",\"validity_ms\":{},\"at_ms\":{}", validity, self.mono())
    }

    fn serve(&mut self, line: &str) -> Result<String, Error> {
        let (resource, ttl, begun) = (member(line, "resource"), member(line, "ttl_ms"), self.mono());
        let value = self.held.get(resource).cloned().unwrap_or_default();
        let fail = "\"type\":\"fail\"".to_string();
        if member(line, "op") == "init" {
            let address = member(line, "nodes").trim_start_matches("redis://").to_string();
            let link = BufReader::new(TcpStream::connect(&address)?);
            self.library = Some(Library { address, link: Some(link) });
            return Ok(format!("\"type\":\"ok\",{}", DECLARES));
        }
        if member(line, "op") == "clock" {
            let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64() * 1e3);
            return Ok(format!("\"type\":\"ok\",\"mono_ms\":{},\"wall_ms\":{:.3}", self.mono(), wall));
        }
        let library = self.library.as_mut().expect("init comes first");
        match member(line, "op") {
            "acquire" => {
                let value = random_value()?;
                if library.ask(&["SET", resource, &value, "NX", "PX", ttl])? != "+OK" {
                    return Ok(fail); // surely not held
                }
                if spent(self.start, ttl, begun) {
                    library.ask(&["EVAL", DELETE, "1", resource, &value])?;
                    return Ok(fail); // too late: nobody could use it
                }
                self.held.insert(resource.to_string(), value.clone());
                Ok(format!("{},\"value\":\"{}\"", self.promise(ttl, begun), value))
            }
            "extend" => match library.ask(&["EVAL", EXPIRE, "1", resource, &value, ttl])?.as_str() {
                ":1" if !spent(self.start, ttl, begun) => Ok(self.promise(ttl, begun)),
                _ => Ok(fail),
            },
            _ => match library.ask(&["EVAL", DELETE, "1", resource, &value])?.as_str() {
                ":1" => Ok("\"type\":\"ok\"".to_string()),
                _ => Ok(fail),
            },
        }
    }
}

fn main() {
    let mut adapter = Adapter { start: Instant::now(), library: None, held: HashMap::new() };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if member(&line, "op") == "shutdown" {
            return;
        }
        let answer = adapter.serve(&line);
        let unknown = |_| "\"type\":\"info\",\"error\":\"no answer\"".to_string(); // nobody knows whether it happened
        println!("{{\"id\":{},{}}}", member(&line, "id"), answer.unwrap_or_else(unknown));
    }
}
