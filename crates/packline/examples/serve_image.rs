//! Serves files of an image, and ranges of them, over HTTP at 127.0.0.1:8000: `cargo run --example serve_image IMAGE`.
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write, copy};
use std::net::{TcpListener, TcpStream};

pub fn answer(image: &packline::Image, mut client: TcpStream) -> std::io::Result<()> {
    let lines = BufReader::new((&client).take(16 << 10)).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let open = |line: &String| Some(image.open_file(line.strip_prefix("GET ")?.split(' ').next()?));
    let Some(Ok(mut file)) = lines.first().and_then(open) else {
        return client.write_all(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    };
    let size = file.size();
    let range = lines.iter().map(|line| line.to_lowercase()).find_map(|line| {
        let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().map_or(size, |last: u64| size.min(last.saturating_add(1)))))
    });
    let (status, from, to) = match range {
        None => ("200 OK".to_string(), 0, size),
        Some((from, to)) if from >= to => (format!("416 Range Not Satisfiable\r\nContent-Range: bytes */{size}"), 0, 0),
        Some((from, to)) => (format!("206 Partial Content\r\nContent-Range: bytes {from}-{}/{size}", to - 1), from, to),
    };
    write!(client, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", to - from)?;
    file.seek(SeekFrom::Start(from)).and_then(|_| copy(&mut file.take(to - from), &mut client)).map(drop)
}
#[allow(dead_code, clippy::disallowed_methods)] // A program of its own; the tests use the function above.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let image = packline::Image::open(std::env::args_os().nth(1).ok_or("expected an image")?)?;
    TcpListener::bind("127.0.0.1:8000")?.incoming().flatten().for_each(|client| drop(answer(&image, client)));
    Ok(())
}
